// Adapter of RocksDB: the reader of the built-in filter policy, as block-based tables use it.

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/version.h>

#include <memory>

#include "adapter.h"

namespace rocksdb {

// Public headers only name this class; its methods, in this order, are those of table/block_based/filter_policy_internal.h.
class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice& entry) = 0;
};

}  // namespace rocksdb

namespace {

conformance::Answers Answer(const conformance::Request& request) {
  if (request.Text("ask") != "filter") return {};
  static const std::unique_ptr<const rocksdb::FilterPolicy> policy(rocksdb::NewBloomFilterPolicy(10));
  // The reader may look at a whole cache line: the bytes are in memory of their own, so that a sanitizer would see more.
  const std::string bytes = request.Bytes();
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(bytes));
  return conformance::LookUp(request, [&](const std::string& key) { return reader->MayMatch(key); });
}

}  // namespace

int main() {
  return conformance::Run("RocksDB", std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH),
                          "\"rocksdb\"", Answer);
}
