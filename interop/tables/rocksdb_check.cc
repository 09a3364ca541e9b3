// Ingests tables that fullbloom wrote into a real RocksDB, reads every key, and checks RocksDB's filter statistics.
//
//   rocksdb_check KEYS TABLE...
//
// Prints one line for each table and exits 1 if a table is refused, a key is missing or wrong, or the filter of a table
// does not reject absent keys at about the expected rate.

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

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

int Fail(const std::string& table, const std::string& why) {
  std::printf("FAILED %s: %s\n", table.c_str(), why.c_str());
  return 1;
}

int Check(const std::string& table, unsigned long keys) {
  const std::string dir = table + ".db";
  std::filesystem::remove_all(dir);
  rocksdb::BlockBasedTableOptions block_options;
  block_options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  const bool prefixes = table.find("-both.") != std::string::npos || table.find("-prefix.") != std::string::npos;
  const bool prefixes_only = table.find("-prefix.") != std::string::npos;
  block_options.whole_key_filtering = !prefixes_only;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(block_options));
  options.statistics = rocksdb::CreateDBStatistics();
  options.paranoid_file_checks = true;
  if (prefixes) options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(11));
  rocksdb::DB* raw = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, dir, &raw);
  if (!status.ok()) return Fail(table, status.ToString());
  std::unique_ptr<rocksdb::DB> db(raw);

  rocksdb::IngestExternalFileOptions ingest;
  ingest.verify_checksums_before_ingest = true;
  status = db->IngestExternalFile({table}, ingest);
  if (!status.ok()) return Fail(table, "not ingested: " + status.ToString());
  status = db->VerifyChecksum();
  if (!status.ok()) return Fail(table, "checksums: " + status.ToString());

  std::string value;
  for (unsigned long i = 0; i < keys; i++) {
    status = db->Get({}, Key(2 * i), &value);
    if (!status.ok() || value != "value-" + Key(2 * i)) return Fail(table, Key(2 * i) + ": " + status.ToString());
  }
  unsigned long seen = 0;
  std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator([] {
    rocksdb::ReadOptions read;
    read.total_order_seek = true;
    return read;
  }()));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen++;
  if (seen != keys || !iterator->status().ok()) return Fail(table, "an iterator sees " + std::to_string(seen) + " keys");

  options.statistics->Reset();
  for (unsigned long i = 0; i + 1 < keys; i++) {
    status = db->Get({}, Key(2 * i + 1), &value);
    if (!status.IsNotFound()) return Fail(table, "an absent key: " + status.ToString());
  }
  const auto ticker = [&](rocksdb::Tickers t) { return options.statistics->getTickerCount(t); };
  const double useful = double(ticker(rocksdb::BLOOM_FILTER_USEFUL)) / double(keys - 1);
  const double prefix_useful = double(ticker(rocksdb::BLOOM_FILTER_PREFIX_USEFUL)) / double(keys - 1);
  std::printf("ok %-40s useful %.4f prefix useful %.4f\n", table.substr(table.rfind('/') + 1).c_str(), useful, prefix_useful);
  // At ten bits per key, 0.8 to 1.2 % of absent keys pass. A prefix filter contains the prefixes of the absent keys.
  if (!prefixes_only && (useful < 0.985 || useful > 0.995)) return Fail(table, "the filter is not used as expected");
  if (prefixes) {
    options.statistics->Reset();
    rocksdb::ReadOptions read;
    read.prefix_same_as_start = true;
    unsigned long rejected = 0;
    for (unsigned long i = 0; i < 1000; i++) {
      std::unique_ptr<rocksdb::Iterator> seek(db->NewIterator(read));
      seek->Seek(Key(10 * keys + 100 * i));
      if (!seek->Valid()) rejected++;
      seek->Seek(Key(2 * (i % keys)));
      if (!seek->Valid()) return Fail(table, "a seek to " + Key(2 * i) + " finds nothing");
      seek->SeekForPrev(Key(2 * (i % keys) + 1));
      if (!seek->Valid()) return Fail(table, "a backward seek to " + Key(2 * i + 1) + " finds nothing");
    }
    if (rejected != 1000) return Fail(table, "seeks beyond the table find keys");
    // A colon sorts after the digits: these prefixes lie between those of the table's keys and belong to no key.
    options.statistics->Reset();
    for (unsigned long i = 0; i < 1000; i++) {
      std::string absent = Key(2 * (i * 19 % keys));
      absent[10] = ':';
      std::unique_ptr<rocksdb::Iterator> seek(db->NewIterator(read));
      seek->Seek(absent);
      if (seek->Valid()) return Fail(table, "a seek to an absent prefix finds a key");
    }
    const unsigned long useful_prefixes = ticker(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
    if (useful_prefixes < 950) return Fail(table, "only " + std::to_string(useful_prefixes) + " of 1,000 absent prefixes rejected");
  }
  iterator.reset();
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
