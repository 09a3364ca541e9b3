//! fullbloom's filters, and the limit that a filter of its layout cannot beat.

use crate::contender::{Contender, Entry};
use crate::harness::Size;
use crate::keys::Key;
use crate::limit;
use crate::memory::Region;
use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::sizing::{Request, Sizing, Target};
use fullbloom::{Hashing, SharedFilter};
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_core::hash::Fold64;
use fullbloom_dialects::filter::{Insert, Size as SizedDialect};
use fullbloom_dialects::rocksdb::{self, FullFilter, Policy};
use fullbloom_dialects::{Filter, Libbloom1, Parquet};
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};
use std::error::Error;

/// The rows of the kind fast begin with this.
pub const FAST: &str = "fullbloom fast";
pub const COMPACT: &str = "fullbloom compact";
pub const DYNAMIC: &str = "fullbloom dynamic";
/// The row of the limit.
pub const LIMIT: &str = "LIMIT";

/// Whether a row is one of ours.
pub fn is_ours(name: &str) -> bool {
    name.starts_with("fullbloom")
}

/// A type of ours that takes many keys of type `K` at once.
pub trait Fill<K> {
    fn fill(&mut self, keys: &[K]);
}

/// A filter of ours that answers for many keys of type `K` at once.
pub trait Answer<K> {
    fn answer(&self, keys: &[K], out: &mut [bool]);
}

/// Numbers are given as a column, byte keys as a slice of arrays: the fastest form of each.
macro_rules! fill {
    ($($method:ident: $($type:ty),+;)*) => {$($(
        impl Fill<u64> for $type {
            fn fill(&mut self, keys: &[u64]) {
                _ = self.$method(&Column(keys)).expect("the keys fit");
            }
        }

        impl<const N: usize> Fill<[u8; N]> for $type {
            fn fill(&mut self, keys: &[[u8; N]]) {
                _ = self.$method(keys).expect("the keys fit");
            }
        }
    )+)*};
}

macro_rules! answer {
    ($($type:ty),+) => {$(
        impl Answer<u64> for $type {
            fn answer(&self, keys: &[u64], out: &mut [bool]) {
                self.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
            }
        }

        impl<const N: usize> Answer<[u8; N]> for $type {
            fn answer(&self, keys: &[[u8; N]], out: &mut [bool]) {
                self.may_contain_batch_into(keys, out).expect("the keys fit");
            }
        }
    )+};
}

fill! {
    add_batch: Builder, CompactBuilder, rocksdb::Builder;
    insert_batch: SharedFilter, DynamicFilter, Filter<Parquet>, Filter<Libbloom1>;
}
answer! {
    fullbloom::Filter, SharedFilter, CompactFilter, DynamicFilter, FullFilter, Filter<Parquet>, Filter<Libbloom1>
}

/// Keys that all our types take in batches.
pub trait OurKey: Key {
    fn fast(size: Size, threads: usize) -> Result<Box<dyn Contender<Self>>, Box<dyn Error>>;
    fn shared(size: Size) -> Result<Box<dyn Contender<Self>>, Box<dyn Error>>;
    fn compact(size: Size, threads: usize, memory: Option<u64>) -> Box<dyn Contender<Self>>;
    fn dynamic(size: Size, mode: Mode, grows: bool) -> Box<dyn Contender<Self>>;
    fn policy(name: &str, policy: Policy) -> Box<dyn Contender<Self>>;
    fn parquet(size: Size) -> Box<dyn Contender<Self>>;
    fn libbloom1(size: Size) -> Box<dyn Contender<Self>>;
}

impl<K: Key> OurKey for K
where
    Builder: Fill<K>,
    CompactBuilder: Fill<K>,
    rocksdb::Builder: Fill<K>,
    SharedFilter: Fill<K> + Answer<K>,
    DynamicFilter: Fill<K> + Answer<K>,
    fullbloom::Filter: Answer<K>,
    CompactFilter: Answer<K>,
    FullFilter: Answer<K>,
    Filter<Parquet>: Fill<K> + Answer<K>,
    Filter<Libbloom1>: Fill<K> + Answer<K>,
{
    fn fast(size: Size, threads: usize) -> Result<Box<dyn Contender<K>>, Box<dyn Error>> {
        let plan = plan(size)?;
        let name = if threads == 1 { FAST.to_owned() } else { format!("{FAST}, {threads} threads") };
        let start = move || {
            let filter =
                fullbloom::Filter::with_sizing(&plan, Hashing::default()).expect("memory for a filter");
            Builder::new(filter, threads)
        };
        Ok(Entry::new(name, start, Fill::fill, Builder::build, |filter: &fullbloom::Filter, key: &K| {
            key.bytes(|key| filter.may_contain(key))
        })
        .batch(Answer::answer)
        .bytes(|filter| filter.bits().len() as u64)
        .scratch(4)
        .threads(threads)
        .boxed())
    }

    /// The filter that threads share, whose bits are set atomically; on one thread.
    fn shared(size: Size) -> Result<Box<dyn Contender<K>>, Box<dyn Error>> {
        let plan = plan(size)?;
        let start =
            move || SharedFilter::with_sizing(&plan, Hashing::default()).expect("memory for a filter");
        let contains = |filter: &SharedFilter, key: &K| key.bytes(|key| filter.may_contain(key));
        let name = format!("{FAST}, atomic");
        Ok(Entry::new(name, start, Fill::fill, |filter| filter, contains).batch(Answer::answer).boxed())
    }

    /// The kind compact, in all memory or in this much.
    fn compact(size: Size, threads: usize, memory: Option<u64>) -> Box<dyn Contender<K>> {
        let name = match (threads, memory) {
            (1, None) => COMPACT.to_owned(),
            (1, Some(bytes)) => format!("{COMPACT}, {} MiB of memory", bytes >> 20),
            _ => format!("{COMPACT}, {threads} threads"),
        };
        let start = move || {
            let builder = CompactBuilder::new(size.fpr).expect("a rate below 1");
            builder.threads(threads).memory(memory.unwrap_or(u64::MAX)).expected_keys(size.members)
        };
        let finish = |builder: CompactBuilder| builder.build().expect("memory for a filter");
        Entry::new(name, start, Fill::fill, finish, |filter: &CompactFilter, key: &K| {
            key.bytes(|key| filter.may_contain(key))
        })
        .batch(Answer::answer)
        .bytes(|filter| filter.bits().len() as u64)
        .scratch(12)
        .threads(threads)
        .boxed()
    }

    /// The kind dynamic, made for the number of keys, or growing from 1,000 keys and promising its rate up to 10^9.
    fn dynamic(size: Size, mode: Mode, grows: bool) -> Box<dyn Contender<K>> {
        let mut name = DYNAMIC.to_owned();
        if mode == Mode::Counting {
            name += ", counting";
        }
        name += if grows { ", growing" } else { ", sized" };
        let options = if grows {
            DynamicOptions::new(1_000, size.fpr).up_to(1_000_000_000)
        } else {
            DynamicOptions::new(size.members, size.fpr)
        };
        let options = options.mode(mode);
        let start = move || DynamicFilter::new(options.clone()).expect("memory for a filter");
        let contains = |filter: &DynamicFilter, key: &K| key.bytes(|key| filter.may_contain(key));
        let entry = Entry::new(name, start, Fill::fill, |filter| filter, contains)
            .batch(Answer::answer)
            .bytes(|filter: &DynamicFilter| filter.memory())
            .scratch(8);
        if mode == Mode::Set {
            return entry.boxed();
        }
        let remove = |filter: &mut DynamicFilter, keys: &[K]| {
            let each = |key: &&K| key.bytes(|key| filter.remove(key).expect("a filter that deletes"));
            keys.iter().filter(each).count()
        };
        entry.remove(remove).boxed()
    }

    /// A filter of RocksDB, as its builder makes it: all hashes are kept until their number is known.
    fn policy(name: &str, policy: Policy) -> Box<dyn Contender<K>> {
        let finish = |mut builder: rocksdb::Builder| builder.build().expect("memory for a filter");
        Entry::new(
            name,
            move || rocksdb::Builder::new(policy),
            Fill::fill,
            finish,
            |filter: &FullFilter, key: &K| key.bytes(|key| filter.may_contain(key)),
        )
        .batch(Answer::answer)
        .bytes(FullFilter::encoded_len)
        .scratch(24)
        .boxed()
    }

    fn parquet(size: Size) -> Box<dyn Contender<K>> {
        let exact = Target::Exact { bit_len: 8 * size.bytes, probes: 8 };
        dialect::<K, Parquet>("fullbloom parquet", Request { expected_keys: size.members, target: exact })
    }

    fn libbloom1(size: Size) -> Box<dyn Contender<K>> {
        let target = Target::Fpr(libbloom_rate(size));
        dialect::<K, Libbloom1>("fullbloom libbloom-1", Request { expected_keys: size.members, target })
    }
}

/// The rate for which libbloom takes this many bits for each key.
pub fn libbloom_rate(size: Size) -> f64 {
    (-size.bits_per_key * std::f64::consts::LN_2 * std::f64::consts::LN_2).exp()
}

fn plan(size: Size) -> Result<Sizing, Box<dyn Error>> {
    let target = if size.by_rate { Target::Fpr(size.fpr) } else { Target::BitsPerKey(size.bits_per_key) };
    Ok(Sizing::new(&Request { expected_keys: size.members, target })?)
}

fn dialect<K: Key, D>(name: &str, request: Request) -> Box<dyn Contender<K>>
where
    D: Insert + SizedDialect + 'static,
    Filter<D>: Fill<K> + Answer<K>,
{
    let start = move || Filter::<D>::new(&request).expect("memory for a filter");
    let contains = |filter: &Filter<D>, key: &K| key.bytes(|key| filter.may_contain(key));
    Entry::new(name, start, Fill::fill, |filter| filter, contains).batch(Answer::answer).boxed()
}

/// Hashes each key as the kind fast does, touches one cache line for it, and does nothing else.
pub fn limit<K: Key>(size: Size) -> Box<dyn Contender<K>> {
    let hash = Fold64::new(0);
    let of = move |key: &K| key.bytes(|key| hash.hash(key));
    let start = move || Region::new(size.bytes as usize).expect("memory for the limit");
    Entry::new(
        LIMIT,
        start,
        move |lines: &mut Region, keys| limit::build(lines.as_chunks_mut().0, keys, of),
        |lines| lines,
        |_, _| true,
    )
    .lookups(
        move |lines: &Region, keys| {
            limit::single(lines.as_chunks().0, keys, of);
            0
        },
        move |lines, keys, _| limit::batch(lines.as_chunks().0, keys, of),
    )
    .no_filter()
    .boxed()
}
