// Adapter of fullbloom's C interface: fullbloom_filter_decode. Keys are bytes there, so numbers that a system does not hash
// as bytes are left out.

#include <fullbloom.h>

#include <memory>
#include <stdexcept>

#include "adapter.h"

namespace {

void Check(fullbloom_status status) {
  if (status != FULLBLOOM_OK) throw std::runtime_error(std::string(fullbloom_status_words(status)) + ": " + fullbloom_message());
}

// The dialect that the request names, or that the bytes name within the system.
std::string Dialect(const conformance::Request& request, const std::string& bytes) {
  const std::string system = request.Text("system");
  const auto byte = [&](size_t at) { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0x100; };
  if (system == "guava") return byte(0) == 0 ? "guava-32" : "guava";
  if (system == "spark") return byte(3) == 2 ? "spark-2" : "spark";
  if (system == "rocksdb") {
    const unsigned marker = byte(bytes.size() - 5);
    return marker == 0xff ? "rocksdb" : marker == 0xfe ? "rocksdb-ribbon" : "rocksdb-legacy";
  }
  if (system == "cassandra" || system == "libbloom") return request.Text("dialect");
  return system;
}

conformance::Answers Answer(const conformance::Request& request) {
  const std::string system = request.Text("system");
  const bool hashes_numbers = system == "orc" && request.Text("type") != "bytes" && request.Text("type") != "text";
  if (request.Text("ask") != "filter" || hashes_numbers) return {};
  const std::string bytes = request.Bytes();
  fullbloom_dialect dialect;
  Check(fullbloom_dialect_by_name(Dialect(request, bytes).c_str(), &dialect));
  fullbloom_filter* filter = nullptr;
  Check(fullbloom_filter_decode(dialect, bytes.data(), bytes.size(), static_cast<uint64_t>(request.Number("bits")),
                                static_cast<uint32_t>(request.Number("probes")), &filter));
  const auto free = [](fullbloom_filter* f) { fullbloom_filter_free(&f); };
  const std::unique_ptr<fullbloom_filter, decltype(free)> owner(filter, free);
  if (system == "native") {
    const std::vector<std::string> secret = request.Hex("secret");
    if (!secret.empty()) Check(fullbloom_filter_unlock(filter, reinterpret_cast<const uint8_t*>(secret[0].data())));
    const std::string type = request.Text("type");
    Check(fullbloom_filter_require_key_type(filter, type == "int"    ? FULLBLOOM_KEYS_INT
                                                    : type == "long" ? FULLBLOOM_KEYS_LONG
                                                    : type == "text" ? FULLBLOOM_KEYS_TEXT
                                                                     : FULLBLOOM_KEYS_BYTES));
  }
  return conformance::LookUp(request, [&](const std::string& key) {
    bool answer = true;
    Check(fullbloom_filter_may_contain(filter, key.data(), key.size(), &answer));
    return answer;
  });
}

}  // namespace

int main() {
  return conformance::Run("fullbloom (C)", fullbloom_version(),
                          "\"native\", \"parquet\", \"guava\", \"spark\", \"orc\", \"cassandra\", \"rocksdb\", \"leveldb\", \"libbloom\", \"dcso\"", Answer);
}
