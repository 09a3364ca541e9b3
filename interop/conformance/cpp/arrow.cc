// Adapter of Arrow C++, compiled with the headers and libraries inside pyarrow's wheel: `filter` by
// BlockSplitBloomFilter::Deserialize, `column` by ParquetFileReader's BloomFilterReader.

#include <arrow/config.h>
#include <arrow/io/memory.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <cstring>
#include <memory>

#include "adapter.h"

namespace {

using Filters = std::vector<std::unique_ptr<parquet::BloomFilter>>;

// The hash of a value by the overload for its physical type.
uint64_t Hash(const parquet::BloomFilter& filter, const std::string& physical, const std::string& key) {
  const auto number = [&](auto value) {
    std::memcpy(&value, key.data(), sizeof value);
    return value;
  };
  if (physical == "INT32") return filter.Hash(number(int32_t{}));
  if (physical == "INT64") return filter.Hash(number(int64_t{}));
  if (physical == "FLOAT") return filter.Hash(number(float{}));
  if (physical == "DOUBLE") return filter.Hash(number(double{}));
  const auto* bytes = reinterpret_cast<const uint8_t*>(key.data());
  if (physical == "INT96") {
    const auto value = number(parquet::Int96{});
    return filter.Hash(&value);
  }
  if (physical == "BYTE_ARRAY") {
    const parquet::ByteArray value(static_cast<uint32_t>(key.size()), bytes);
    return filter.Hash(&value);
  }
  const parquet::FLBA value(bytes);
  return filter.Hash(&value, static_cast<uint32_t>(key.size()));
}

Filters Column(const std::shared_ptr<arrow::io::RandomAccessFile>& file, const std::string& name) {
  const auto reader = parquet::ParquetFileReader::Open(file);
  auto& filters = reader->GetBloomFilterReader();
  Filters out;
  for (int group = 0; group < reader->metadata()->num_row_groups(); group++) {
    const auto metadata = reader->metadata()->RowGroup(group);
    for (int column = 0; column < metadata->num_columns(); column++) {
      if (metadata->schema()->Column(column)->path()->ToDotString() != name) continue;
      const auto of_group = filters.RowGroup(group);
      out.push_back(of_group ? of_group->GetColumnBloomFilter(column) : nullptr);
    }
  }
  return out;
}

conformance::Answers Answer(const conformance::Request& request) {
  const auto file = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(request.Bytes()));
  Filters filters;
  if (request.Text("ask") == "filter") {
    filters.push_back(std::make_unique<parquet::BlockSplitBloomFilter>(
        parquet::BlockSplitBloomFilter::Deserialize(parquet::default_reader_properties(), file.get(), *file->GetSize())));
  } else if (request.Text("ask") == "column") {
    filters = Column(file, request.Text("column"));
  } else {
    return {};
  }
  const std::string physical = request.Text("physical");
  return conformance::LookUp(request, [&](const std::string& key) {
    for (const auto& filter : filters)
      if (!filter || filter->FindHash(Hash(*filter, physical, key))) return true;
    return false;
  });
}

}  // namespace

int main() { return conformance::Run("Arrow C++", ARROW_VERSION_STRING, "\"parquet\"", Answer); }
