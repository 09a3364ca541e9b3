// A C interface to the Bloom filter of an installed RocksDB (7.x).
//
// The policy is found by name through the public API. It returns objects of two abstract classes. Since 7.0
// these are declared in headers that packages do not contain, so they are declared here. Only the order of
// the virtual functions matters. `fullbloom-bench rocksdb` checks it before the measurement: bytes and
// answers must be equal to fullbloom's.

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace rocksdb {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;
  virtual void AddKey(const Slice& key) = 0;
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buffer) = 0;
  // More functions follow (a Finish with a status, a check after building, a size estimate); not called here.
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() = default;
  virtual bool MayMatch(const Slice& key) = 0;
  virtual void MayMatch(int count, Slice** keys, bool* answers) = 0;
};

}  // namespace rocksdb

namespace {

// RocksDB's MultiGet never passes more keys to one call: its reader has room for this many on the stack.
constexpr size_t kBatch = 32;

struct Reader {
  std::unique_ptr<rocksdb::FilterBitsReader> reader;
};

struct Builder {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder;
};

std::shared_ptr<const rocksdb::FilterPolicy> Policy(double bits_per_key) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::ConfigOptions options;
  std::string name = "rocksdb.internal.FastLocalBloomFilter:" + std::to_string(bits_per_key);
  if (!rocksdb::FilterPolicy::CreateFromString(options, name, &policy).ok()) return nullptr;
  return policy;
}

}  // namespace

extern "C" {

const char* rocksdb_shim_version() {
  static const std::string version = std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
                                     "." + std::to_string(ROCKSDB_PATCH);
  return version.c_str();
}

// Creates a builder with this many bits per key; null on failure.
Builder* rocksdb_shim_builder(double bits_per_key) {
  auto policy = Policy(bits_per_key);
  if (!policy) return nullptr;
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  table.filter_policy = policy;
  rocksdb::FilterBuildingContext context(table);
  auto* builder = policy->GetBuilderWithContext(context);
  if (builder == nullptr) return nullptr;
  return new Builder{policy, std::unique_ptr<rocksdb::FilterBitsBuilder>(builder)};
}

// Adds `count` keys of `width` bytes.
void rocksdb_shim_add(Builder* builder, const char* keys, size_t width, size_t count) {
  for (size_t i = 0; i < count; i++) builder->builder->AddKey(rocksdb::Slice(keys + i * width, width));
}

// Finishes the builder. Returns the length of the filter, or 0 on failure. The caller frees the bytes with
// rocksdb_shim_free.
size_t rocksdb_shim_finish(Builder* builder, const char** filter) {
  std::unique_ptr<Builder> ends(builder);
  std::unique_ptr<const char[]> buffer;
  rocksdb::Slice content = builder->builder->Finish(&buffer);
  if (buffer == nullptr || buffer.get() != content.data()) return 0;
  *filter = buffer.release();
  return content.size();
}

// Destroys the builder without making a filter.
void rocksdb_shim_forget(Builder* builder) { delete builder; }

void rocksdb_shim_free(const char* filter) { delete[] filter; }

// A reader over bytes that must outlive it.
Reader* rocksdb_shim_open(const char* filter, size_t len) {
  auto policy = Policy(10.0);
  if (!policy) return nullptr;
  return new Reader{std::unique_ptr<rocksdb::FilterBitsReader>(
      policy->GetFilterBitsReader(rocksdb::Slice(filter, len)))};
}

void rocksdb_shim_close(Reader* reader) { delete reader; }

size_t rocksdb_shim_single(Reader* reader, const char* keys, size_t width, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) found += reader->reader->MayMatch(rocksdb::Slice(keys + i * width, width));
  return found;
}

void rocksdb_shim_batch(Reader* reader, const char* keys, size_t width, size_t count, bool* answers) {
  rocksdb::Slice slices[kBatch];
  rocksdb::Slice* pointers[kBatch];
  for (size_t i = 0; i < kBatch; i++) pointers[i] = &slices[i];
  for (size_t start = 0; start < count; start += kBatch) {
    size_t n = count - start < kBatch ? count - start : kBatch;
    for (size_t i = 0; i < n; i++) slices[i] = rocksdb::Slice(keys + (start + i) * width, width);
    reader->reader->MayMatch(static_cast<int>(n), pointers, answers + start);
  }
}

}  // extern "C"
