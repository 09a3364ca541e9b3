// Writes databases with random options with a real RocksDB. fullbloom then verifies their tables.
//
//   rocksdb_random DIRECTORY COUNT SEED
//
// One line is printed for each database: its directory, a tab and the options chosen.

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

namespace {

std::mt19937_64 generator;

size_t Below(size_t n) { return generator() % n; }

template <typename T, size_t N>
T OneOf(const T (&choices)[N]) {
  return choices[Below(N)];
}

// Text with common prefixes, small numbers in binary, or any bytes; sometimes empty.
std::string Key(size_t kind) {
  char text[64];
  switch (kind) {
    case 0:
      return std::string(text, std::snprintf(text, sizeof text, "user%05zu:%zu", Below(900), Below(40)));
    case 1: {
      const uint32_t number = __builtin_bswap32(uint32_t(Below(30000)));
      return std::string(reinterpret_cast<const char*>(&number), 4);
    }
    default: {
      std::string key(Below(40), '\0');
      for (char& byte : key) byte = char(generator());
      return key;
    }
  }
}

void Must(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), status.ToString().c_str());
  std::exit(1);
}

void Write(const std::string& dir) {
  rocksdb::BlockBasedTableOptions blocks;
  char bits[16];
  std::snprintf(bits, sizeof bits, "%.1f", 1.0 + double(Below(200)) / 10);
  static const char* const kPolicies[] = {"bloomfilter:", "bloomfilter:", "ribbonfilter:"};
  const std::string policy = std::string(OneOf(kPolicies)) + bits;
  std::shared_ptr<const rocksdb::FilterPolicy> made;
  Must(rocksdb::FilterPolicy::CreateFromString({}, policy, &made), policy);
  blocks.filter_policy = made;
  blocks.format_version = uint32_t(Below(6));
  static const rocksdb::ChecksumType kChecksums[] = {rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kxxHash64,
                                                     rocksdb::kXXH3, rocksdb::kNoChecksum};
  blocks.checksum = blocks.format_version == 0 ? rocksdb::kCRC32c : OneOf(kChecksums);
  static const size_t kBlockSizes[] = {200, 1000, 4096, 16384};
  blocks.block_size = OneOf(kBlockSizes);
  blocks.block_restart_interval = int(1 + Below(20));
  blocks.index_block_restart_interval = int(1 + Below(8));
  blocks.use_delta_encoding = Below(2);
  blocks.whole_key_filtering = Below(4) != 0;
  blocks.optimize_filters_for_memory = Below(4) == 0;
  blocks.enable_index_compression = Below(2);
  blocks.detect_filter_construct_corruption = Below(2);
  const size_t index = Below(4);
  const bool partitioned = index == 2 && Below(4) != 0;
  if (index == 2) blocks.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  if (index == 3 && blocks.format_version >= 2) {
    blocks.index_type = rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey;
  }
  blocks.partition_filters = partitioned;
  blocks.metadata_block_size = 200 + Below(4000);
  if (Below(3) == 0) blocks.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;

  rocksdb::Options options;
  options.create_if_missing = true;
  static const rocksdb::CompressionType kCompressions[] = {
      rocksdb::kNoCompression,  rocksdb::kSnappyCompression, rocksdb::kZlibCompression,
      rocksdb::kLZ4Compression, rocksdb::kLZ4HCCompression,  rocksdb::kZSTD};
  options.compression = OneOf(kCompressions);
  if (options.compression == rocksdb::kZSTD && Below(2)) options.compression_opts.max_dict_bytes = 4096;
  const size_t prefix = Below(4);
  if (prefix == 1) options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1 + Below(9)));
  if (prefix == 2) options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(1 + Below(9)));
  if (prefix == 3) options.prefix_extractor.reset(rocksdb::NewNoopTransform());
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));

  rocksdb::DB* raw = nullptr;
  Must(rocksdb::DB::Open(options, dir, &raw), dir);
  std::unique_ptr<rocksdb::DB> db(raw);
  const size_t kind = Below(3), flushes = 1 + Below(3);
  for (size_t flush = 0; flush < flushes; flush++) {
    const size_t count = 1 + Below(Below(5) ? 3000 : 40);
    for (size_t i = 0; i < count; i++) {
      const std::string key = Key(kind);
      switch (Below(12)) {
        case 0: Must(db->Delete({}, key), "delete"); break;
        default: Must(db->Put({}, key, std::string(Below(60), 'v') + key), "put");
      }
    }
    if (Below(3) == 0) {
      std::string from = Key(kind), to = Key(kind);
      if (to < from) std::swap(from, to);
      Must(db->DeleteRange({}, db->DefaultColumnFamily(), from, to), "delete a range");
    }
    Must(db->Flush({}), "flush");
  }
  if (Below(2)) Must(db->CompactRange({}, nullptr, nullptr), "compact");
  std::printf("%s\t%s, version %u, checksum %d, index %zu%s, compression %d, prefix %zu, whole keys %d, for memory %d\n", dir.c_str(),
              policy.c_str(), blocks.format_version, int(blocks.checksum), index,
              partitioned ? " partitioned" : "", int(options.compression), prefix, int(blocks.whole_key_filtering), int(blocks.optimize_filters_for_memory));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::filesystem::create_directories(argv[1]);
  generator.seed(std::strtoul(argv[3], nullptr, 10));
  for (size_t i = 0; i < std::strtoul(argv[2], nullptr, 10); i++) {
    Write(std::string(argv[1]) + "/rocksdb-" + std::to_string(i));
  }
  return 0;
}
