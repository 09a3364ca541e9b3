// Writes databases with random puts, merges, deletions of keys and ranges, ingested tables and two column families, flushes
// them now and then, and leaves the last writes in the write-ahead log. Prints the keys that RocksDB finds, in hex, those of
// one family after the other.
//
//   rocksdb_live DATABASE SEED > keys

#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

static void Must(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}

// Appends operands.
class Append : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* before, const rocksdb::Slice& operand, std::string* after,
             rocksdb::Logger*) const override {
    *after = (before ? before->ToString() : "") + operand.ToString();
    return true;
  }
  const char* Name() const override { return "append"; }
};

int main(int, char** argv) {
  const std::string path = argv[1];
  std::mt19937 random(std::strtoul(argv[2], nullptr, 10));
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  rocksdb::Options options;
  options.create_if_missing = true;
  options.merge_operator = std::make_shared<Append>();
  options.write_buffer_size = 64 << 10;
  options.level0_file_num_compaction_trigger = 4;
  options.avoid_flush_during_shutdown = true;
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(options, path, &opened), "open");
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* other = nullptr;
  Must(db->CreateColumnFamily(options, "other", &other), "create");
  rocksdb::ColumnFamilyHandle* families[] = {db->DefaultColumnFamily(), other};
  auto key = [&] { return "key " + std::to_string(10000 + below(3000)); };
  for (int i = 0; i < 30000; ++i) {
    rocksdb::ColumnFamilyHandle* family = families[below(2)];
    switch (below(20)) {
      case 0: case 1: case 2: case 3: case 4:
        Must(db->Delete({}, family, key()), "delete");
        break;
      case 5: case 6:
        Must(db->Merge({}, family, key(), "+"), "merge");
        break;
      case 7: {
        if (below(40) != 0) break;
        const uint32_t from = 10000 + below(3000);
        Must(db->DeleteRange({}, family, "key " + std::to_string(from), "key " + std::to_string(from + below(300))), "delete range");
        break;
      }
      case 8: {
        rocksdb::WriteBatch batch;
        Must(batch.Put(families[0], key(), "batch"), "batch");
        Must(batch.Delete(families[1], key()), "batch");
        Must(batch.PutLogData("a note"), "batch");
        Must(db->Write({}, &batch), "write");
        break;
      }
      default:
        Must(db->Put({}, family, key(), std::string(below(30), 'v')), "put");
    }
    if (below(4000) == 0) Must(db->Flush({}, family), "flush");
    if (below(8000) == 0) {
      const std::string file = path + ".ingest";
      rocksdb::SstFileWriter writer({}, options);
      Must(writer.Open(file), "open a table");
      for (uint32_t at = 10000 + below(50); at < 13000; at += 1 + below(100)) {
        Must(below(3) ? writer.Put("key " + std::to_string(at), "ingested") : writer.Delete("key " + std::to_string(at)), "add");
      }
      Must(writer.Finish(), "finish");
      rocksdb::IngestExternalFileOptions how;
      how.move_files = true;
      Must(db->IngestExternalFile(family, {file}, how), "ingest");
    }
  }
  for (rocksdb::ColumnFamilyHandle* family : families) {
    std::unique_ptr<rocksdb::Iterator> each(db->NewIterator({}, family));
    for (each->SeekToFirst(); each->Valid(); each->Next()) std::printf("%s\n", each->key().ToString(true).c_str());
    Must(each->status(), "iterate");
  }
  Must(db->DestroyColumnFamilyHandle(other), "close");
  Must(db->Close(), "close");
  return 0;
}
