// Fingerprint filters written in C++: those of fastfilter_cpp with the parameters of its own benchmark, and Taffy cuckoo
// filters of libfilter. They are compiled for this CPU.
//
// Each gets 64-bit numbers as keys. Only those delete keys that fastfilter_cpp's benchmark lets delete them.

#include "filterapi.h"

#include "filter/taffy-cuckoo.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace {

using hashing::SimpleMixSplit;

struct Contender {
  virtual ~Contender() = default;
  virtual void insert(const std::uint64_t* keys, std::size_t count) = 0;
  virtual std::size_t count(const std::uint64_t* keys, std::size_t count) = 0;
  virtual void answer(const std::uint64_t* keys, std::size_t count, bool* out) = 0;
  virtual void remove(const std::uint64_t*, std::size_t) {}
  virtual std::size_t bytes() const = 0;
};

// `batch`: the filter has a function of its own for many keys; they are copied into the vector that it takes.
template <typename Table, bool deletes, bool batch>
struct Field final : Contender {
  using Api = FilterAPI<Table>;
  Table table;

  explicit Field(std::size_t keys) : table(Api::ConstructFromAddCount(keys)) {}

  void insert(const std::uint64_t* keys, std::size_t count) override {
    if constexpr (batch) {
      Api::AddAll({keys, keys + count}, 0, count, &table);
    } else {
      for (std::size_t i = 0; i < count; ++i) Api::Add(keys[i], &table);
    }
  }

  std::size_t count(const std::uint64_t* keys, std::size_t count) override {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t key = keys[i];
      found += Api::Contain(key, &table);
    }
    return found;
  }

  void answer(const std::uint64_t* keys, std::size_t count, bool* out) override {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t key = keys[i];
      out[i] = Api::Contain(key, &table);
    }
  }

  void remove(const std::uint64_t* keys, std::size_t count) override {
    if constexpr (deletes) {
      for (std::size_t i = 0; i < count; ++i) Api::Remove(keys[i], &table);
    }
  }

  std::size_t bytes() const override { return table.SizeInBytes(); }
};

// A Taffy filter grows from nothing and takes hashes; it gets those that the others compute.
struct Taffy final : Contender {
  filter::TaffyCuckooFilter table = filter::TaffyCuckooFilter::CreateWithBytes(0);
  SimpleMixSplit hash;

  void insert(const std::uint64_t* keys, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) table.InsertHash(hash(keys[i]));
  }

  std::size_t count(const std::uint64_t* keys, std::size_t count) override {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += table.FindHash(hash(keys[i]));
    return found;
  }

  void answer(const std::uint64_t* keys, std::size_t count, bool* out) override {
    for (std::size_t i = 0; i < count; ++i) out[i] = table.FindHash(hash(keys[i]));
  }

  std::size_t bytes() const override { return table.SizeInBytes(); }
};

struct Kind {
  const char* name;
  bool deletes;
  std::unique_ptr<Contender> (*make)(std::size_t keys);
};

template <typename Table, bool deletes, bool batch>
std::unique_ptr<Contender> sized(std::size_t keys) {
  return std::make_unique<Field<Table, deletes, batch>>(keys);
}

std::unique_ptr<Contender> taffy(std::size_t) { return std::make_unique<Taffy>(); }

using Cuckoo = CuckooFilter<std::uint64_t, 12, SingleTable, SimpleMixSplit>;
using Quotient = GQFilter<std::uint64_t, 8, SimpleMixSplit>;
using VectorQuotient = VQFilter<std::uint64_t, SimpleMixSplit>;
using Prefix = Prefix_Filter<CuckooFilterStable<std::uint64_t, 12, SingleTable, SimpleMixSplit>>;

const Kind kinds[] = {
    {"cuckoo, 12 bits (C++)", true, sized<Cuckoo, true, false>},
    {"Morton 3/8 (C++)", false, sized<MortonFilter, false, true>},
    {"CQF, 8 bits (C++)", true, sized<Quotient, true, false>},
    {"VQF (C++)", false, sized<VectorQuotient, false, true>},
    {"prefix + cuckoo (C++)", false, sized<Prefix, false, false>},
    {"Taffy cuckoo, growing (C++)", false, taffy},
};

}  // namespace

extern "C" {

std::size_t field_shim_kinds() { return sizeof kinds / sizeof *kinds; }

const char* field_shim_name(std::size_t kind) { return kinds[kind].name; }

// Null if the filter cannot be made for so many keys.
void* field_shim_new(std::size_t kind, std::size_t keys) {
  try {
    return kinds[kind].make(keys).release();
  } catch (...) {
    return nullptr;
  }
}

void field_shim_free(void* filter) { delete static_cast<Contender*>(filter); }

// False if the filter is full.
bool field_shim_insert(void* filter, const std::uint64_t* keys, std::size_t count) {
  try {
    static_cast<Contender*>(filter)->insert(keys, count);
    return true;
  } catch (...) {
    return false;
  }
}

std::size_t field_shim_count(void* filter, const std::uint64_t* keys, std::size_t count) {
  return static_cast<Contender*>(filter)->count(keys, count);
}

void field_shim_answer(void* filter, const std::uint64_t* keys, std::size_t count, bool* out) {
  static_cast<Contender*>(filter)->answer(keys, count, out);
}

bool field_shim_deletes(std::size_t kind) { return kinds[kind].deletes; }

void field_shim_remove(void* filter, const std::uint64_t* keys, std::size_t count) {
  static_cast<Contender*>(filter)->remove(keys, count);
}

std::size_t field_shim_bytes(const void* filter) { return static_cast<const Contender*>(filter)->bytes(); }
}
