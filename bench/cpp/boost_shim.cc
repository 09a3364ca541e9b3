// Boost.Bloom as its users compile it: one type for each number of probes, for this CPU.
//
// A filter is made with the number of probes for which Boost.Bloom's own formula gives the lowest rate.

#include <boost/bloom.hpp>
#include <boost/version.hpp>

#if BOOST_VERSION < 109000
#error Boost 1.90 or later is needed: earlier ones have no bulk lookups
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace {

// Memory in 2 MiB pages where it is large, as all filters of the comparison get it.
template <typename T>
struct Pages {
  using value_type = T;
  static constexpr std::size_t page = std::size_t{2} << 20;

  Pages() = default;
  template <typename U>
  Pages(const Pages<U>&) {}

  T* allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    bool large = bytes >= 2 * page;
    std::size_t align = large ? page : 64;
    void* block = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (!block) throw std::bad_alloc{};
    if (large) madvise(block, (bytes + align - 1) / align * align, MADV_HUGEPAGE);
    return static_cast<T*>(block);
  }

  void deallocate(T* block, std::size_t) { std::free(block); }

  template <typename U>
  bool operator==(const Pages<U>&) const { return true; }
  template <typename U>
  bool operator!=(const Pages<U>&) const { return false; }
};

struct Contender {
  virtual ~Contender() = default;
  virtual void insert(const void* keys, std::size_t count) = 0;
  virtual std::size_t count(const void* keys, std::size_t count) const = 0;
  virtual void answer(const void* keys, std::size_t count, bool* out) const = 0;
};

template <typename Key, typename Subfilter>
struct Filter final : Contender {
  using Bloom = boost::bloom::filter<Key, 1, Subfilter, 0, boost::hash<Key>, Pages<unsigned char>>;
  Bloom filter;

  explicit Filter(std::size_t bits) : filter(bits) {}

  static double rate(std::size_t keys, std::size_t bits) { return Bloom::fpr_for(keys, bits); }

  void insert(const void* keys, std::size_t count) override {
    auto first = static_cast<const Key*>(keys);
    filter.insert(first, first + count);
  }

  std::size_t count(const void* keys, std::size_t count) const override {
    auto first = static_cast<const Key*>(keys);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += filter.may_contain(first[i]);
    return found;
  }

  void answer(const void* keys, std::size_t count, bool* out) const override {
    auto first = static_cast<const Key*>(keys);
    filter.may_contain(first, first + count, [&out](const Key&, bool found) { *out++ = found; });
  }
};

constexpr std::size_t fewest = 3, most = 16;

constexpr auto all = std::make_index_sequence<most - fewest + 1>{};

template <template <std::size_t> class Subfilter, std::size_t... I>
std::size_t best(std::size_t keys, std::size_t bits, std::index_sequence<I...>) {
  double rates[] = {Filter<std::uint64_t, Subfilter<fewest + I>>::rate(keys, bits)...};
  std::size_t lowest = 0;
  for (std::size_t i = 1; i < sizeof...(I); ++i)
    if (rates[i] < rates[lowest]) lowest = i;
  return fewest + lowest;
}

template <typename Key, template <std::size_t> class Subfilter, std::size_t... I>
Contender* make(std::size_t probes, std::size_t bits, std::index_sequence<I...>) {
  Contender* made = nullptr;
  (void)((fewest + I == probes && (made = new Filter<Key, Subfilter<fewest + I>>(bits))) || ...);
  return made;
}

// All bits of a key in one word.
template <std::size_t Probes>
using block64 = boost::bloom::block<std::uint64_t, Probes>;

template <typename Key>
Contender* make(int words, std::size_t probes, std::size_t bits) {
  return words == 32   ? make<Key, boost::bloom::fast_multiblock32>(probes, bits, all)
         : words == 64 ? make<Key, boost::bloom::fast_multiblock64>(probes, bits, all)
                       : make<Key, block64>(probes, bits, all);
}

}  // namespace

extern "C" {

// BOOST_VERSION of the headers.
unsigned boost_shim_version() { return BOOST_VERSION; }

// The number of probes with the lowest rate; `words` is 32 or 64 for a multiblock, else all bits are in one word.
std::size_t boost_shim_probes(int words, std::size_t keys, std::size_t bits) {
  return words == 32   ? best<boost::bloom::fast_multiblock32>(keys, bits, all)
         : words == 64 ? best<boost::bloom::fast_multiblock64>(keys, bits, all)
                       : best<block64>(keys, bits, all);
}

// `key_len` is 8, 16 or 32. Null if there is not enough memory.
Contender* boost_shim_new(int words, std::size_t key_len, std::size_t probes, std::size_t bits) try {
  switch (key_len) {
    case 8: return make<std::uint64_t>(words, probes, bits);
    case 16: return make<std::array<unsigned char, 16>>(words, probes, bits);
    case 32: return make<std::array<unsigned char, 32>>(words, probes, bits);
    default: return nullptr;
  }
} catch (const std::bad_alloc&) {
  return nullptr;
}

void boost_shim_free(Contender* filter) { delete filter; }
void boost_shim_insert(Contender* filter, const void* keys, std::size_t count) { filter->insert(keys, count); }
std::size_t boost_shim_count(const Contender* filter, const void* keys, std::size_t count) {
  return filter->count(keys, count);
}
void boost_shim_answer(const Contender* filter, const void* keys, std::size_t count, bool* out) {
  filter->answer(keys, count, out);
}
}
