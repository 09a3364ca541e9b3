// RocksDB's FastLocalBloom with its AVX2 lookup, written from its documented format and compiled for this CPU.
//
// Packages of RocksDB are built for every x86-64 CPU and test one probe at a time. A RocksDB compiled with
// -march=native tests eight probes at once. This file is that second variant, with the same structure. A
// lookup hashes all keys of a batch of at most 32, prefetches their lines, then tests each key; it tests a
// second group of eight probes only if all bits of the first are set. Building keeps hashes in a deque and
// sets bits with eight lines in flight. The code is our own.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>

namespace {

constexpr uint32_t kGolden = 0x9e3779b9u;
constexpr size_t kBatch = 32;

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ull;

alignas(64) const uint8_t kSecret[64] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c};

template <typename T>
T Read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint64_t Fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Avalanche(uint64_t h) {
  h ^= h >> 37;
  h *= kPrime3;
  return h ^ (h >> 32);
}

uint64_t Mix16(const char* key, const uint8_t* secret) {
  return Fold(Read<uint64_t>(key) ^ Read<uint64_t>(secret), Read<uint64_t>(key + 8) ^ Read<uint64_t>(secret + 8));
}

// The preview XXH3 for the key lengths of the benchmark: 4 to 32 bytes. Not inlined: RocksDB's is a call
// into another object file.
__attribute__((noinline)) uint64_t Hash(const char* key, size_t len) {
  if (len <= 8) {
    uint64_t x = Read<uint32_t>(key) | static_cast<uint64_t>(Read<uint32_t>(key + len - 4)) << 32;
    uint64_t k = x ^ Read<uint64_t>(kSecret);
    uint64_t mixed = len + (k ^ (k >> 51)) * 0x9E3779B1u;
    return Avalanche((mixed ^ (mixed >> 47)) * kPrime2);
  }
  if (len <= 16) {
    uint64_t lo = Read<uint64_t>(key) ^ Read<uint64_t>(kSecret);
    uint64_t hi = Read<uint64_t>(key + len - 8) ^ Read<uint64_t>(kSecret + 8);
    return Avalanche(len + lo + hi + Fold(lo, hi));
  }
  return Avalanche(len * kPrime1 + Mix16(key, kSecret) + Mix16(key + len - 16, kSecret + 16));
}

const char* Line(const char* data, uint32_t lines, uint64_t hash) {
  return data + ((static_cast<uint64_t>(static_cast<uint32_t>(hash)) * lines) >> 32) * 64;
}

void Prefetch(const char* line) {
  __builtin_prefetch(line, 0, 1);
  __builtin_prefetch(line + 63, 0, 1);
}

bool Test(const char* line, uint32_t hash, int probes) {
  const __m256i powers = _mm256_setr_epi32(1, 0x9e3779b9, 0xe35e67b1, 0x734297e9, 0x35fbe861, 0xdeb7c719,
                                           0x0448b211, 0x3459b749);
  for (int left = probes;; left -= 8, hash *= 0xab25f4c1u) {
    __m256i hashes = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(hash)), powers);
    __m256i lower = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line));
    __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line) + 1);
    __m256i index = _mm256_srli_epi32(hashes, 28);
    __m256 words = _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lower, index)),
                                    _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(upper, index)),
                                    _mm256_castsi256_ps(hashes));
    // Lanes past the last probe get an empty mask: left - 1 - lane is negative there.
    __m256i active = _mm256_srli_epi32(
        _mm256_sub_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(left)), 31);
    __m256i bit = _mm256_srli_epi32(_mm256_slli_epi32(hashes, 4), 27);
    __m256i mask = _mm256_sllv_epi32(active, bit);
    bool all = _mm256_testc_si256(_mm256_castps_si256(words), mask) != 0;
    if (left <= 8) return all;
    if (!all) return false;
  }
}

void Set(char* line, uint32_t hash, int probes) {
  for (int i = 0; i < probes; i++, hash *= kGolden) {
    uint32_t bit = hash >> 23;
    line[bit >> 3] |= static_cast<char>(1u << (bit & 7));
  }
}

}  // namespace

extern "C" {

size_t fast_local_single(const char* data, size_t lines, int probes, const char* keys, size_t width, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t hash = Hash(keys + i * width, width);
    const char* line = Line(data, static_cast<uint32_t>(lines), hash);
    Prefetch(line);
    found += Test(line, static_cast<uint32_t>(hash >> 32), probes);
  }
  return found;
}

void fast_local_batch(const char* data, size_t lines, int probes, const char* keys, size_t width, size_t count,
                      bool* answers) {
  const char* line[kBatch];
  uint32_t upper[kBatch];
  for (size_t start = 0; start < count; start += kBatch) {
    size_t n = count - start < kBatch ? count - start : kBatch;
    for (size_t i = 0; i < n; i++) {
      uint64_t hash = Hash(keys + (start + i) * width, width);
      line[i] = Line(data, static_cast<uint32_t>(lines), hash);
      Prefetch(line[i]);
      upper[i] = static_cast<uint32_t>(hash >> 32);
    }
    for (size_t i = 0; i < n; i++) answers[start + i] = Test(line[i], upper[i], probes);
  }
}

// An empty list of hashes.
std::deque<uint64_t>* fast_local_entries() { return new std::deque<uint64_t>; }

// Adds the hashes of keys; drops a hash that equals the previous one.
void fast_local_collect(std::deque<uint64_t>* entries, const char* keys, size_t width, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t hash = Hash(keys + i * width, width);
    if (entries->empty() || entries->back() != hash) entries->push_back(hash);
  }
}

// Sets the bits of all hashes in zeroed lines, eight of them in flight; empties the list.
void fast_local_build(std::deque<uint64_t>* entries, char* data, size_t lines, int probes) {
  constexpr size_t kAhead = 8;
  char* line[kAhead];
  uint32_t upper[kAhead];
  auto take = [&](size_t slot) {
    uint64_t hash = entries->front();
    entries->pop_front();
    line[slot] = const_cast<char*>(Line(data, static_cast<uint32_t>(lines), hash));
    Prefetch(line[slot]);
    upper[slot] = static_cast<uint32_t>(hash >> 32);
  };
  size_t inside = 0;
  for (; inside < kAhead && !entries->empty(); inside++) take(inside);
  size_t slot = 0;
  for (; !entries->empty(); slot = (slot + 1) % kAhead) {
    Set(line[slot], upper[slot], probes);
    take(slot);
  }
  for (size_t i = 0; i < inside; i++) Set(line[(slot + i) % kAhead], upper[(slot + i) % kAhead], probes);
}

void fast_local_forget(std::deque<uint64_t>* entries) { delete entries; }

}  // extern "C"
