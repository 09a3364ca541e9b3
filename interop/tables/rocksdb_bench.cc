// Measures RocksDB's own filter builders with the keys of fullbloom-table's example bench_filters.
//
//   rocksdb_bench [KEYS] [ROUNDS]
//
// The builder's interface is declared in a header that packages do not ship; only the order of its virtual functions
// matters. Partitions are filters of 2,901 keys one after the other (4 KiB less a tenth at ten bits per key), without
// the top-level index.

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace rocksdb {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;
  virtual void AddKey(const Slice& key) = 0;
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buffer) = 0;
};

}  // namespace rocksdb

namespace {

void Measure(const char* name, const std::string& policy_name, const std::vector<std::string>& keys, size_t part,
             int rounds) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::ConfigOptions config;
  if (!rocksdb::FilterPolicy::CreateFromString(config, policy_name, &policy).ok()) std::exit(1);
  rocksdb::BlockBasedTableOptions options;
  rocksdb::FilterBuildingContext context(options);
  std::vector<double> times;
  size_t bytes = 0;
  for (int round = 0; round < rounds; round++) {
    bytes = 0;
    const auto start = std::chrono::steady_clock::now();
    for (size_t first = 0; first < keys.size(); first += part) {
      std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
      for (size_t i = first; i < std::min(keys.size(), first + part); i++) builder->AddKey(keys[i]);
      std::unique_ptr<const char[]> buffer;
      bytes += builder->Finish(&buffer).size();
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    times.push_back(taken.count() / double(keys.size()));
  }
  std::sort(times.begin(), times.end());
  std::printf("rocksdb build %s: %.1f ns per key (%.1f to %.1f), %zu bytes\n", name, times[times.size() / 2], times.front(),
              times.back(), bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  std::vector<std::string> keys;
  for (unsigned long i = 0; i < count; i++) {
    char text[32];
    std::snprintf(text, sizeof text, "key%013lu", 2 * i);
    keys.emplace_back(text);
  }
  Measure("full bloom", "rocksdb.internal.FastLocalBloomFilter:10", keys, count, rounds);
  Measure("partitioned bloom", "rocksdb.internal.FastLocalBloomFilter:10", keys, 2901, rounds);
  Measure("full ribbon", "rocksdb.internal.Standard128RibbonFilter:10", keys, count, rounds);
  Measure("partitioned ribbon", "rocksdb.internal.Standard128RibbonFilter:10", keys, 4000, rounds);
}
