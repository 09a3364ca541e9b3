//! Other projects' filters: each as its own users would use it, with the fastest hash that it is commonly given.

use crate::contender::{Contender, Contenders, Entry};
use crate::ffi::libbloom::Library;
use crate::harness::Size;
use crate::keys::Key;
use crate::ours;
use ::parquet::bloom_filter::Sbbf;
use dsi_progress_logger::no_logging;
use foldhash::fast::FixedState;
use std::collections::BTreeSet;
use std::hash::DefaultHasher;
use std::path::Path;
use sux::dict::VFilter;
use sux::func::VBuilder;
use sux::utils::FromSlice;
use xorf::Filter as _;
use xxhash_rust::xxh3::xxh3_64;
use xxhash_rust::xxh64::xxh64;

/// Bloom filters whose bits can be chosen. Why others are missing goes to `notes`.
pub fn bloom<K: Key>(size: Size, notes: &mut BTreeSet<String>) -> Contenders<K> {
    let mut all = boost(size, notes);
    all.extend([fastbloom(size), fastbloom_atomic(size), sbbf_rs(size, "xxh3", xxh3_64), sbbf(size)]);
    all.extend(rocksdb(size, notes));
    all.extend(libbloom(size, notes));
    all
}

fn fastbloom<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    let start = move || {
        let bits = fastbloom::BloomFilter::with_num_bits(size.bytes as usize * 8);
        bits.hasher(FixedState::with_seed(1)).expected_items(size.members as usize)
    };
    type Filter = fastbloom::BloomFilter<FixedState>;
    let insert = |filter: &mut Filter, keys: &[K]| keys.iter().for_each(|key| _ = filter.insert(key));
    Entry::new("fastbloom", start, insert, |filter| filter, |filter: &Filter, key| filter.contains(key))
        .slow()
        .boxed()
}

fn fastbloom_atomic<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    let start = move || {
        let bits = fastbloom::AtomicBloomFilter::with_num_bits(size.bytes as usize * 8);
        bits.hasher(FixedState::with_seed(1)).expected_items(size.members as usize)
    };
    type Filter = fastbloom::AtomicBloomFilter<FixedState>;
    let insert = |filter: &mut Filter, keys: &[K]| keys.iter().for_each(|key| _ = filter.insert(key));
    Entry::new(
        "fastbloom, atomic",
        start,
        insert,
        |filter| filter,
        |filter: &Filter, key| filter.contains(key),
    )
    .slow()
    .boxed()
}

/// Split blocks of 256 bits, with a hash.
pub fn sbbf_rs<K: Key>(
    size: Size,
    hash: &str,
    of: impl Fn(&[u8]) -> u64 + Copy + 'static,
) -> Box<dyn Contender<K>> {
    let start = move || sbbf_rs_safe::Filter::new(8, size.bytes as usize);
    let insert = move |filter: &mut sbbf_rs_safe::Filter, keys: &[K]| {
        keys.iter().for_each(|key| _ = filter.insert_hash(key.bytes(of)));
    };
    let contains = move |filter: &sbbf_rs_safe::Filter, key: &K| filter.contains_hash(key.bytes(of));
    Entry::new(format!("sbbf-rs-safe + {hash}"), start, insert, |filter| filter, contains).boxed()
}

/// The hash of Parquet files.
pub fn xxh64_of_parquet(key: &[u8]) -> u64 {
    xxh64(key, 0)
}

/// The split blocks of the parquet crate, with the hash of Parquet files.
pub fn sbbf<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    // The sizes that it can be asked for end at 128 MiB; a filter that is read may be larger.
    let start = move || Sbbf::new(&vec![0; size.bytes as usize]);
    let insert =
        |filter: &mut Sbbf, keys: &[K]| keys.iter().for_each(|key| key.bytes(|key| filter.insert(key)));
    Entry::new(
        "parquet Sbbf",
        start,
        insert,
        |filter| filter,
        |filter: &Sbbf, key: &K| key.bytes(|key| filter.check(key)),
    )
    .boxed()
}

/// Static filters with the nearest rate that is not above the requested one.
pub fn fixed<K: Key>(size: Size) -> Contenders<K> {
    let mut all = vec![match size.fpr {
        rate if rate >= 1.0 / 256.0 => {
            fuse::<K, xorf::BinaryFuse8>("xorf BinaryFuse8", |filter| filter.len() as u64)
        }
        rate if rate >= 1.0 / 65536.0 => {
            fuse::<K, xorf::BinaryFuse16>("xorf BinaryFuse16", |filter| filter.len() as u64 * 2)
        }
        _ => fuse::<K, xorf::BinaryFuse32>("xorf BinaryFuse32", |filter| filter.len() as u64 * 4),
    }];
    all.push(match size.fpr {
        rate if rate >= 1.0 / 256.0 => vfilter8(),
        rate if rate >= 1.0 / 65536.0 => vfilter16(),
        _ => vfilter32(),
    });
    all
}

/// The key itself if it is one word, else its hash.
#[inline(always)]
fn word<K: Key>(key: &K) -> u64 {
    key.bytes(|bytes| match bytes.try_into() {
        Ok(eight) => u64::from_le_bytes(eight),
        Err(_) => xxh3_64(bytes),
    })
}

fn collect<K: Key>(words: &mut Vec<u64>, keys: &[K]) {
    words.extend(keys.iter().map(word));
}

fn fuse<K: Key, F>(name: &str, bytes: fn(&F) -> u64) -> Box<dyn Contender<K>>
where
    F: for<'a> TryFrom<&'a [u64], Error = &'static str> + xorf::Filter<u64> + 'static,
{
    let finish = |words: Vec<u64>| F::try_from(&words).expect("distinct keys");
    Entry::new(name, Vec::new, collect, finish, |filter: &F, key: &K| filter.contains(&word(key)))
        .bytes(bytes)
        .scratch(36)
        .slow()
        .boxed()
}

/// The static filters of sux, built on one thread.
macro_rules! vfilter {
    ($($name:ident $word:ty),*) => {$(
        fn $name<K: Key>() -> Box<dyn Contender<K>> {
            let finish = |words: Vec<u64>| {
                let builder =
                    VBuilder::<Box<[$word]>>::default().max_num_threads(1).expected_num_keys(words.len());
                VFilter::<u64, Box<[$word]>>::try_new_with_builder(FromSlice::new(&words), builder, no_logging![])
                    .expect("distinct keys")
            };
            let contains = |filter: &VFilter<u64, Box<[$word]>>, key: &K| filter.contains(word(key));
            Entry::new(concat!("sux VFilter ", stringify!($word)), Vec::new, collect, finish, contains)
                .counted()
                .scratch(48)
                .slow()
                .boxed()
        }
    )*};
}

vfilter!(vfilter8 u8, vfilter16 u16, vfilter32 u32);

/// Filters that grow, or from which keys can be removed.
pub fn dynamic<K: Key>(size: Size) -> Contenders<K> {
    let sized = move || qfilter::Filter::new(size.members, size.fpr).expect("a size it takes");
    let growing =
        move || qfilter::Filter::new_resizeable(1_000, 1_000_000_000, size.fpr).expect("a size it takes");
    let mut all =
        vec![quotient("qfilter, sized", sized), quotient("qfilter, growing", growing), fastbloom(size)];
    // Its fingerprints have eight bits: a rate of 3 %, so it has no place beside much lower ones.
    if size.fpr > 1e-3 {
        all.push(cuckoo(size));
    }
    all
}

fn quotient<K: Key>(name: &str, start: impl Fn() -> qfilter::Filter + 'static) -> Box<dyn Contender<K>> {
    let insert = |filter: &mut qfilter::Filter, keys: &[K]| {
        for key in keys {
            filter.insert_fingerprint(false, key.bytes(xxh3_64)).expect("room for the expected keys");
        }
    };
    let contains = |filter: &qfilter::Filter, key: &K| filter.contains_fingerprint(key.bytes(xxh3_64));
    Entry::new(name, start, insert, |filter| filter, contains)
        .bytes(|filter| filter.memory_usage() as u64)
        .remove(|filter, keys| {
            keys.iter().filter(|key| filter.remove_fingerprint(key.bytes(xxh3_64))).count()
        })
        .slow()
        .boxed()
}

fn cuckoo<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    type Filter = cuckoofilter::CuckooFilter<DefaultHasher>;
    // It fails before its last slots are taken.
    let start = move || Filter::with_capacity(size.members as usize * 20 / 19);
    let insert = |filter: &mut Filter, keys: &[K]| {
        for key in keys {
            filter.add(key).expect("room for the expected keys");
        }
    };
    Entry::new("cuckoofilter", start, insert, |filter| filter, |filter: &Filter, key| filter.contains(key))
        .bytes(|filter| filter.memory_usage() as u64)
        .remove(|filter, keys| keys.iter().filter(|key| filter.delete(*key)).count())
        .slow()
        .boxed()
}

/// libbloom 1.6 as it is installed.
pub fn libbloom<K: Key>(size: Size, notes: &mut BTreeSet<String>) -> Option<Box<dyn Contender<K>>> {
    if size.bytes > 1 << 28 {
        notes.insert("libbloom: its sizes end at 2^31 bits".to_owned());
        return None;
    }
    match Library::open(Path::new("libbloom.so.1")) {
        Ok(library) => Some(shared_library(
            &format!("libbloom {}", library.version()),
            library,
            size,
            ours::libbloom_rate(size),
        )),
        Err(error) => {
            notes.insert(format!("libbloom: {error} (Debian: libbloom1)"));
            None
        }
    }
}

/// A library with libbloom's functions: one call for each key, as in a C program.
pub fn shared_library<K: Key>(name: &str, library: Library, size: Size, rate: f64) -> Box<dyn Contender<K>> {
    use crate::ffi::libbloom::Bloom;
    let start = move || library.filter(size.members, rate).expect("a size that libbloom takes");
    let insert = |filter: &mut Bloom, keys: &[K]| {
        keys.iter().for_each(|key| _ = key.bytes(|key| filter.add(key)));
    };
    Entry::new(
        name,
        start,
        insert,
        |filter| filter,
        |filter: &Bloom, key: &K| key.bytes(|key| filter.check(key)),
    )
    .slow()
    .boxed()
}

/// Boost.Bloom's fastest filters, each with the number of probes that has the lowest rate by its own formula.
#[cfg(boost_bloom)]
fn boost<K: Key>(size: Size, _: &mut BTreeSet<String>) -> Contenders<K> {
    use crate::ffi::boost::{Boost, Layout};
    let entry = |layout: Layout| {
        let bits = size.bytes as usize * 8;
        let probes = layout.probes(size.members as usize, bits);
        let start = move || Boost::new::<K>(layout, probes, bits);
        Entry::new(layout.name(probes), start, Boost::insert, |filter| filter, |_, _| true)
            .lookups(Boost::count, Boost::answer)
            .boxed()
    };
    [Layout::Multi32, Layout::Multi64, Layout::OneWord].map(entry).into()
}

#[cfg(not(boost_bloom))]
fn boost<K: Key>(_: Size, notes: &mut BTreeSet<String>) -> Contenders<K> {
    notes.insert(
        "Boost.Bloom: BOOST_INCLUDE named no headers of Boost 1.90 when this was compiled".to_owned(),
    );
    Vec::new()
}

/// Fingerprint filters written in C++.
#[cfg(cpp_field)]
pub fn field(size: Size, _: &mut BTreeSet<String>) -> Contenders<u64> {
    use crate::ffi::field::{Field, Kind};
    let entry = |kind: Kind| {
        let start = move || Field::new(kind, size.members as usize);
        let entry = Entry::new(kind.name(), start, Field::insert, |filter| filter, |_, _| true)
            .lookups(Field::count, Field::answer)
            .bytes(Field::bytes)
            .slow();
        if kind.deletes() { entry.remove(Field::remove).boxed() } else { entry.boxed() }
    };
    // Their fingerprints have a fixed length, for rates of 0.1 to 0.4 %.
    if size.fpr > 1e-3 { Kind::all().map(entry).collect() } else { Vec::new() }
}

#[cfg(not(cpp_field))]
pub fn field(_: Size, notes: &mut BTreeSet<String>) -> Contenders<u64> {
    let why = "FASTFILTER_DIR and LIBFILTER_DIR named no checkouts when this was compiled";
    notes.insert(format!("fingerprint filters in C++: {why}"));
    Vec::new()
}

/// RocksDB's FastLocalBloom: its algorithm compiled for this CPU, and the library where it is installed.
#[cfg(fast_local)]
pub fn rocksdb<K: Key>(size: Size, notes: &mut BTreeSet<String>) -> Contenders<K> {
    use crate::ffi::fast_local::{Entries, FastLocal};
    use crate::memory::Region;
    use fullbloom::sizing::{Request, Target};
    use fullbloom_dialects::RocksDb;
    use fullbloom_dialects::filter::{Dialect as _, Size as _};

    let request = Request { expected_keys: size.members, target: Target::BitsPerKey(size.bits_per_key) };
    let Ok(dialect) = RocksDb::size(&request) else {
        notes.insert(format!("RocksDB: it has no filter of {} bits per key", size.bits_per_key));
        return Vec::new();
    };
    let (bytes, probes) = (dialect.geometry().bit_len / 8, dialect.geometry().probes);
    let finish = move |entries: Entries| {
        let mut data = Region::new(bytes as usize).expect("memory for a filter");
        entries.build(&mut data, probes);
        data
    };
    let avx2 = Entry::new("RocksDB AVX2", Entries::new, Entries::collect, finish, |_, _| true)
        .lookups(
            move |data: &Region, keys: &[K]| FastLocal::new(data, probes).count(keys),
            move |data, keys, out| FastLocal::new(data, probes).answer(keys, out),
        )
        .bytes(|data| data.len() as u64)
        .scratch(9)
        .boxed();
    #[cfg(not(librocksdb))]
    notes.insert("RocksDB: the library is not installed (Debian: librocksdb-dev)".to_owned());
    vec![
        avx2,
        #[cfg(librocksdb)]
        library(size),
    ]
}

#[cfg(not(fast_local))]
pub fn rocksdb<K: Key>(_: Size, notes: &mut BTreeSet<String>) -> Contenders<K> {
    notes.insert("RocksDB: no C++ compiler for a CPU with AVX2 (g++)".to_owned());
    Vec::new()
}

/// RocksDB's library through its public policy.
#[cfg(librocksdb)]
fn library<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    use crate::ffi::librocksdb::{Builder, Built, Reader};
    use crate::memory::Region;

    /// A filter where RocksDB has put it, then in the same pages as the others'.
    enum Filter {
        Theirs(Built),
        Ours(Region),
    }

    impl Filter {
        fn reader(&self) -> Reader<'_> {
            let content = match self {
                Filter::Theirs(built) => built.bytes(),
                Filter::Ours(region) => region,
            };
            Reader::open(content).expect("RocksDB reads its filter")
        }
    }

    let start = move || Builder::new(size.bits_per_key).expect("RocksDB 7 has this policy");
    let finish = |builder: Builder| Filter::Theirs(builder.finish().expect("a filter"));
    Entry::new("RocksDB", start, Builder::add, finish, |_, _| true)
        .lookups(
            |filter: &Filter, keys: &[K]| filter.reader().count(keys),
            |filter, keys, out| filter.reader().answer(keys, out),
        )
        .settle(|filter| {
            if let Filter::Theirs(built) = filter {
                let mut content = Region::new(built.bytes().len()).expect("memory for a filter");
                content.copy_from_slice(built.bytes());
                *filter = Filter::Ours(content);
            }
        })
        .scratch(18)
        .slow()
        .boxed()
}
