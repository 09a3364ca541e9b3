// Types what `fullbloom plan --from` says: opens a database with these options for its column families, rewrites all of
// it, and prints the number of keys that are there. Without a database, writes one with two families first.
//
//   rocksdb_plan DATABASE FAMILY=OPTIONS...

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

static void Must(const rocksdb::Status& status, const std::string& what) {
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", what.c_str(), status.ToString().c_str());
    std::exit(1);
  }
}

// Two families, one with five times the keys of the other, with filters of ten bits.
static void Write(const std::string& path) {
  rocksdb::Options options;
  options.create_if_missing = true;
  Must(rocksdb::GetOptionsFromString(
           options, "block_based_table_factory={filter_policy=bloomfilter:10:false};target_file_size_base=200000", &options),
       "options");
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(options, path, &opened), path);
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* orders = nullptr;
  Must(db->CreateColumnFamily(options, "orders", &orders), "create");
  for (int i = 0; i < 30000; ++i) {
    const std::string key = "key " + std::to_string(i * 7919 % 30000);
    Must(db->Put({}, key, std::string(40, 'v')), key);
    if (i % 5 == 0) Must(db->Put({}, orders, key, std::string(40, 'o')), key);
  }
  Must(db->Flush({}), "flush");
  Must(db->Flush({}, orders), "flush");
  Must(db->DestroyColumnFamilyHandle(orders), "close");
  Must(db->Close(), "close");
}

int main(int argc, char** argv) {
  std::vector<std::string> names;
  rocksdb::DBOptions options;
  if (!rocksdb::DB::ListColumnFamilies(options, argv[1], &names).ok()) Write(argv[1]);
  Must(rocksdb::DB::ListColumnFamilies(options, argv[1], &names), argv[1]);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    rocksdb::ColumnFamilyOptions family;
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t at = argument.find('=');
      if (argument.substr(0, at) == name) {
        Must(rocksdb::GetColumnFamilyOptionsFromString({}, family, argument.substr(at + 1), &family), argument);
      }
    }
    families.emplace_back(name, family);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(options, argv[1], families, &handles, &opened), "open");
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  long keys = 0;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Must(db->CompactRange(all, handle, nullptr, nullptr), "compact");
    std::unique_ptr<rocksdb::Iterator> each(db->NewIterator({}, handle));
    for (each->SeekToFirst(); each->Valid(); each->Next()) ++keys;
    Must(each->status(), "iterate");
    Must(db->DestroyColumnFamilyHandle(handle), "close");
  }
  Must(db->Close(), "close");
  std::printf("%ld\n", keys);
  return 0;
}
