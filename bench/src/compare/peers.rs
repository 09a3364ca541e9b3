//! The peers: each as its own users would use it, with the fastest hash that it is commonly given.

use super::contender::{Contender, Contenders, NativeKeys, Size};
use crate::keys::Key;
use crate::libbloom::Original;
use crate::memory;
use ::parquet::bloom_filter::Sbbf;
use foldhash::fast::FixedState;
use fullbloom_dialects::rocksdb;
use std::error::Error;
use xorf::Filter as _;
use xxhash_rust::xxh3::xxh3_64;

/// All peers that this machine has, and why others are missing.
pub fn all<K: NativeKeys>(size: Size) -> (Contenders<K>, Vec<String>) {
    let (mut peers, mut missing): (Contenders<K>, _) = (Vec::new(), Vec::new());
    #[cfg(boost_bloom)]
    peers.extend(super::boost::all(size));
    #[cfg(not(boost_bloom))]
    missing
        .push("Boost.Bloom: BOOST_INCLUDE named no headers of Boost 1.90 when this was compiled".to_owned());
    peers.push(Box::new(Fastbloom { size, filter: None }));
    peers.push(Box::new(FastbloomAtomic { size, filter: None }));
    peers.push(Box::new(SbbfRs { size, filter: None }));
    peers.push(Box::new(Parquet { size, filter: None }));
    match Fuse::refused(size) {
        None => peers.push(Box::new(Fuse { size, hashes: Vec::new(), filter: None })),
        Some(why) => missing.push(format!("{}: {why}", Fuse::NAME)),
    }
    peers.push(Box::new(Quotient { size, filter: None }));
    match memory::refused(size.members * 24) {
        None => peers.push(Box::new(Ribbon { size, builder: None, filter: None })),
        Some(why) => missing.push(format!("{}: {why}", Ribbon::NAME)),
    }
    #[cfg(fast_local)]
    match super::rocksdb::all(size, &mut missing) {
        Ok(found) => peers.extend(found),
        Err(error) => missing.push(format!("RocksDB: {error}")),
    }
    #[cfg(not(fast_local))]
    missing.push("RocksDB AVX2: no C++ compiler for a CPU with AVX2 (g++)".to_owned());
    match Libbloom::new(size) {
        Ok(found) => peers.push(Box::new(found)),
        Err(error) => missing.push(format!("libbloom 1.6: {error} (Debian: libbloom1)")),
    }
    (peers, missing)
}

/// The two questions for filters that have no batch: a loop over the keys.
macro_rules! key_by_key {
    (|$self:ident, $key:ident| $contains:expr) => {
        fn count(&$self, keys: &[K]) -> usize {
            keys.iter().filter(|&$key| $contains).count()
        }

        fn answer(&$self, keys: &[K], out: &mut [bool]) {
            for (out, $key) in out.iter_mut().zip(keys) {
                *out = $contains;
            }
        }
    };
}

/// The filter of a contender that was started.
fn started<T>(filter: &Option<T>) -> &T {
    filter.as_ref().expect("started")
}

struct Fastbloom {
    size: Size,
    filter: Option<fastbloom::BloomFilter<FixedState>>,
}

impl<K: Key> Contender<K> for Fastbloom {
    fn name(&self) -> String {
        "fastbloom".to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        let bits = fastbloom::BloomFilter::with_num_bits(self.size.bytes as usize * 8);
        self.filter = Some(bits.hasher(FixedState::with_seed(1)).expected_items(self.size.members as usize));
    }

    fn insert(&mut self, keys: &[K]) {
        let filter = self.filter.as_mut().expect("started");
        for key in keys {
            filter.insert(key);
        }
    }

    key_by_key!(|self, key| started(&self.filter).contains(key));
}

struct FastbloomAtomic {
    size: Size,
    filter: Option<fastbloom::AtomicBloomFilter<FixedState>>,
}

impl<K: Key> Contender<K> for FastbloomAtomic {
    fn name(&self) -> String {
        "fastbloom, atomic".to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        let bits = fastbloom::AtomicBloomFilter::with_num_bits(self.size.bytes as usize * 8);
        self.filter = Some(bits.hasher(FixedState::with_seed(1)).expected_items(self.size.members as usize));
    }

    fn insert(&mut self, keys: &[K]) {
        let filter = started(&self.filter);
        for key in keys {
            filter.insert(key);
        }
    }

    fn is_slow_to_build(&self) -> bool {
        true
    }

    key_by_key!(|self, key| started(&self.filter).contains(key));
}

struct SbbfRs {
    size: Size,
    filter: Option<sbbf_rs_safe::Filter>,
}

impl<K: Key> Contender<K> for SbbfRs {
    fn name(&self) -> String {
        "sbbf-rs-safe + xxh3".to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        self.filter = Some(sbbf_rs_safe::Filter::new(8, self.size.bytes as usize));
    }

    fn insert(&mut self, keys: &[K]) {
        let filter = self.filter.as_mut().expect("started");
        for key in keys {
            filter.insert_hash(key.bytes(xxh3_64));
        }
    }

    key_by_key!(|self, key| started(&self.filter).contains_hash(key.bytes(xxh3_64)));
}

struct Parquet {
    size: Size,
    filter: Option<Sbbf>,
}

impl<K: Key> Contender<K> for Parquet {
    fn name(&self) -> String {
        "parquet Sbbf".to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        // Its sizes by number end at 128 MiB; a filter that is read may be larger.
        self.filter = Some(Sbbf::new(&vec![0; self.size.bytes as usize]));
    }

    fn insert(&mut self, keys: &[K]) {
        let filter = self.filter.as_mut().expect("started");
        for key in keys {
            key.bytes(|key| filter.insert(key));
        }
    }

    key_by_key!(|self, key| key.bytes(|key| started(&self.filter).check(key)));
}

/// A static filter of the same keys: about 9 bits for each, whatever is asked. Byte keys are hashed by xxh3.
struct Fuse {
    size: Size,
    hashes: Vec<u64>,
    filter: Option<xorf::BinaryFuse8>,
}

impl Fuse {
    const NAME: &str = "xorf BinaryFuse8";

    fn refused(size: Size) -> Option<String> {
        if size.bits_per_key > 12.0 {
            return Some("its 9 bits per key cannot be chosen".to_owned());
        }
        // Keys, and its lists while it builds.
        memory::refused(size.members * 40)
    }
}

impl<K: Key> Contender<K> for Fuse {
    fn name(&self) -> String {
        Fuse::NAME.to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        self.hashes = Vec::with_capacity(self.size.members as usize);
    }

    fn insert(&mut self, keys: &[K]) {
        self.hashes.extend(keys.iter().map(word));
    }

    fn finish(&mut self) {
        self.filter = Some(xorf::BinaryFuse8::try_from(&self.hashes).expect("distinct keys"));
        self.hashes = Vec::new();
    }

    key_by_key!(|self, key| started(&self.filter).contains(&word(key)));
}

/// The key itself if it is one word, else its hash.
#[inline(always)]
fn word<K: Key>(key: &K) -> u64 {
    key.bytes(|bytes| match bytes.try_into() {
        Ok(eight) => u64::from_le_bytes(eight),
        Err(_) => xxh3_64(bytes),
    })
}

/// A quotient filter. Its table is a power of two, so its bits per key are not what was asked for.
struct Quotient {
    size: Size,
    filter: Option<qfilter::Filter>,
}

impl<K: Key> Contender<K> for Quotient {
    fn name(&self) -> String {
        "qfilter + xxh3".to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        // A slot is a remainder and 2.125 bits; nineteen of twenty slots can be used.
        let rate = (2.125 - self.size.bits_per_key * 0.95).exp2();
        self.filter = Some(qfilter::Filter::new(self.size.members, rate).expect("a size it takes"));
    }

    fn insert(&mut self, keys: &[K]) {
        let filter = self.filter.as_mut().expect("started");
        for key in keys {
            filter.insert_fingerprint(false, key.bytes(xxh3_64)).expect("room for the expected keys");
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(started(&self.filter).memory_usage() as u64)
    }

    fn is_slow_to_build(&self) -> bool {
        true
    }

    key_by_key!(|self, key| started(&self.filter).contains_fingerprint(key.bytes(xxh3_64)));
}

/// RocksDB's Ribbon filter as fullbloom writes and reads it: static.
struct Ribbon {
    size: Size,
    builder: Option<rocksdb::Builder>,
    filter: Option<rocksdb::FullFilter>,
}

impl Ribbon {
    const NAME: &str = "rocksdb-ribbon (ours)";
}

impl<K: NativeKeys> Contender<K> for Ribbon {
    fn name(&self) -> String {
        Ribbon::NAME.to_owned()
    }

    fn start(&mut self) {
        self.filter = None;
        let policy = rocksdb::Policy::new(rocksdb::FilterType::Ribbon, self.size.bits_per_key);
        self.builder = Some(rocksdb::Builder::new(policy.expect("bits per key of RocksDB")));
    }

    fn insert(&mut self, keys: &[K]) {
        let builder = self.builder.as_mut().expect("started");
        for key in keys {
            key.bytes(|key| builder.add(key));
        }
    }

    fn finish(&mut self) {
        let built = self.builder.take().map(|mut builder| builder.build().expect("memory for a filter"));
        self.filter = built;
    }

    fn bytes(&self) -> Option<u64> {
        Some(started(&self.filter).encoded_len())
    }

    fn is_slow_to_build(&self) -> bool {
        true
    }

    fn count(&self, keys: &[K]) -> usize {
        let filter = started(&self.filter);
        keys.iter().filter(|key| key.bytes(|key| filter.may_contain(key))).count()
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        K::answer_ribbon(started(&self.filter), keys, out);
    }
}

struct Libbloom {
    filter: Original,
}

impl Libbloom {
    fn new(size: Size) -> Result<Libbloom, Box<dyn Error>> {
        if size.bytes > 1 << 28 {
            return Err("its sizes end at 2^31 bits".into());
        }
        // The rate for which it takes this many bits for each key.
        let rate = (-size.bits_per_key * std::f64::consts::LN_2 * std::f64::consts::LN_2).exp();
        Ok(Libbloom { filter: Original::new(size.members, rate)? })
    }
}

impl<K: Key> Contender<K> for Libbloom {
    fn name(&self) -> String {
        format!("libbloom {}", self.filter.version())
    }

    fn start(&mut self) {
        self.filter.reset();
    }

    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            key.bytes(|key| self.filter.add(key));
        }
    }

    fn is_slow_to_build(&self) -> bool {
        true
    }

    key_by_key!(|self, key| key.bytes(|key| self.filter.check(key) != 0));
}
