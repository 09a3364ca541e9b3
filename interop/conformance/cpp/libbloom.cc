// Adapter of libbloom 1.6, which has no files: bloom_init makes the struct, and the bits are put into it.

#include <bloom.h>

#include <cstring>
#include <stdexcept>

#include "adapter.h"

namespace {

conformance::Answers Answer(const conformance::Request& request) {
  if (request.Text("ask") != "filter" || request.Text("dialect") != "libbloom-1") return {};
  const std::string bytes = request.Bytes();
  bloom filter{};
  if (bloom_init(&filter, 1000, 0.1)) throw std::runtime_error("bloom_init failed");
  filter.bits = static_cast<int>(request.Number("bits"));
  filter.bytes = static_cast<int>(bytes.size());
  filter.hashes = static_cast<int>(request.Number("probes"));
  unsigned char* const own = filter.bf;
  filter.bf = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const conformance::Answers answers = conformance::LookUp(request, [&](const std::string& key) {
    return bloom_check(&filter, key.data(), static_cast<int>(key.size())) == 1;
  });
  filter.bf = own;
  bloom_free(&filter);
  return answers;
}

}  // namespace

int main() { return conformance::Run("libbloom", bloom_version(), "\"libbloom\"", Answer); }
