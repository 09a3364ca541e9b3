// Adapter of LevelDB: KeyMayMatch of its filter policy.

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <memory>

#include "adapter.h"

namespace {

conformance::Answers Answer(const conformance::Request& request) {
  if (request.Text("ask") != "filter") return {};
  static const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  const std::string bytes = request.Bytes();
  return conformance::LookUp(request, [&](const std::string& key) { return policy->KeyMayMatch(key, bytes); });
}

}  // namespace

int main() {
  return conformance::Run("LevelDB", std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion), "\"leveldb\"",
                          Answer);
}
