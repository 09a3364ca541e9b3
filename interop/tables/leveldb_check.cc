// Repairs a database from tables that fullbloom wrote, with a real LevelDB, reads every key, and counts the calls of its
// filter policy.
//
//   leveldb_check KEYS TABLE...
//
// LevelDB cannot ingest a table, but RepairDB makes a database from the tables in a directory.

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace {

std::string Key(unsigned long n) {
  char text[32];
  std::snprintf(text, sizeof text, "key%010lu", n);
  return text;
}

// The built-in policy under its own name, with counters.
class Counting : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return policy_->Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* dst) const override {
    policy_->CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    const bool answer = policy_->KeyMayMatch(key, filter);
    asked++;
    rejected += !answer;
    return answer;
  }
  mutable unsigned long asked = 0, rejected = 0;

 private:
  std::unique_ptr<const leveldb::FilterPolicy> policy_{leveldb::NewBloomFilterPolicy(10)};
};

int Fail(const std::string& table, const std::string& why) {
  std::printf("FAILED %s: %s\n", table.c_str(), why.c_str());
  return 1;
}

int Check(const std::string& table, unsigned long keys) {
  const std::string dir = table + ".db";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directory(dir);
  std::filesystem::copy_file(table, dir + "/000005.ldb");
  Counting policy;
  leveldb::Options options;
  options.filter_policy = &policy;
  options.paranoid_checks = true;
  leveldb::Status status = leveldb::RepairDB(dir, options);
  if (!status.ok()) return Fail(table, "not repaired: " + status.ToString());
  leveldb::DB* raw = nullptr;
  status = leveldb::DB::Open(options, dir, &raw);
  if (!status.ok()) return Fail(table, "not opened: " + status.ToString());
  std::unique_ptr<leveldb::DB> db(raw);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  std::string value;
  for (unsigned long i = 0; i < keys; i++) {
    status = db->Get(read, Key(2 * i), &value);
    if (!status.ok() || value != "value-" + Key(2 * i)) return Fail(table, Key(2 * i) + ": " + status.ToString());
  }
  if (policy.asked != keys || policy.rejected != 0) return Fail(table, "the filter was not asked for each key");
  unsigned long seen = 0;
  {
    std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator(read));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen++;
    if (seen != keys || !iterator->status().ok()) return Fail(table, "an iterator sees " + std::to_string(seen) + " keys");
  }
  policy.asked = policy.rejected = 0;
  for (unsigned long i = 0; i + 1 < keys; i++) {
    status = db->Get(read, Key(2 * i + 1), &value);
    if (!status.IsNotFound()) return Fail(table, "an absent key: " + status.ToString());
  }
  const double useful = double(policy.rejected) / double(keys - 1);
  std::printf("ok %-40s asked %lu useful %.4f\n", table.substr(table.rfind('/') + 1).c_str(), policy.asked, useful);
  if (useful < 0.98 || useful > 0.995) return Fail(table, "the filter is not used as expected");
  db.reset();
  std::filesystem::remove_all(dir);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int failed = 0;
  for (int i = 2; i < argc; i++) failed |= Check(argv[i], std::strtoul(argv[1], nullptr, 10));
  return failed;
}
