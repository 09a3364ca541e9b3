//! What a filter must do to be compared, and fullbloom's own way of doing it.

use crate::keys::Key;
use crate::limit;
use crate::memory::Region;
use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, SharedFilter};
use fullbloom_core::hash::Fold64;
use fullbloom_dialects::rocksdb::FullFilter;
use std::error::Error;

/// A filter of one size.
pub trait Contender<K> {
    fn name(&self) -> String;

    /// Begins again with an empty filter.
    fn start(&mut self);

    /// Takes more keys.
    fn insert(&mut self, keys: &[K]);

    /// All keys were there: from now on it is asked.
    fn finish(&mut self) {}

    /// Not timed: makes the finished filter ready for questions, where that is the bench's need and not the
    /// filter's.
    fn settle(&mut self) {}

    /// How many of the keys may be present, asked one by one.
    fn count(&self, keys: &[K]) -> usize;

    /// An answer to each key, by the filter's own batch if it has one.
    fn answer(&self, keys: &[K], out: &mut [bool]);

    /// Its size in bytes, where that is not what was asked for.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// How many threads build it.
    fn threads(&self) -> usize {
        1
    }

    /// Whether a large one takes so long to build that a quick comparison must do without.
    fn is_slow_to_build(&self) -> bool {
        false
    }

    /// Whether it is a filter that answers: the limit is not.
    fn is_filter(&self) -> bool {
        true
    }
}

/// Contenders of all kinds, in the order of the table.
pub type Contenders<K> = Vec<Box<dyn Contender<K>>>;

/// What a filter is made for.
#[derive(Clone, Copy)]
pub struct Size {
    pub bytes: u64,
    pub members: u64,
    pub bits_per_key: f64,
}

/// Keys in the form in which the native filter takes many of them.
pub trait NativeKeys: Key {
    fn answer(filter: &fullbloom::Filter, keys: &[Self], out: &mut [bool]);
    fn insert(builder: &mut Builder, keys: &[Self]);
    fn answer_shared(filter: &SharedFilter, keys: &[Self], out: &mut [bool]);
    fn insert_shared(filter: &SharedFilter, keys: &[Self]);
    fn answer_ribbon(filter: &FullFilter, keys: &[Self], out: &mut [bool]);
}

impl NativeKeys for u64 {
    fn answer(filter: &fullbloom::Filter, keys: &[u64], out: &mut [bool]) {
        filter.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
    }

    fn insert(builder: &mut Builder, keys: &[u64]) {
        builder.add_batch(&Column(keys)).expect("the keys fit");
    }

    fn answer_shared(filter: &SharedFilter, keys: &[u64], out: &mut [bool]) {
        filter.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
    }

    fn insert_shared(filter: &SharedFilter, keys: &[u64]) {
        filter.insert_batch(&Column(keys)).expect("the keys fit");
    }

    fn answer_ribbon(filter: &FullFilter, keys: &[u64], out: &mut [bool]) {
        filter.may_contain_batch_into(&Column(keys), out).expect("the keys fit");
    }
}

impl<const N: usize> NativeKeys for [u8; N] {
    fn answer(filter: &fullbloom::Filter, keys: &[[u8; N]], out: &mut [bool]) {
        filter.may_contain_batch_into(keys, out).expect("the keys fit");
    }

    fn insert(builder: &mut Builder, keys: &[[u8; N]]) {
        builder.add_batch(keys).expect("the keys fit");
    }

    fn answer_shared(filter: &SharedFilter, keys: &[[u8; N]], out: &mut [bool]) {
        filter.may_contain_batch_into(keys, out).expect("the keys fit");
    }

    fn insert_shared(filter: &SharedFilter, keys: &[[u8; N]]) {
        filter.insert_batch(keys).expect("the keys fit");
    }

    fn answer_ribbon(filter: &FullFilter, keys: &[[u8; N]], out: &mut [bool]) {
        filter.may_contain_batch_into(keys, out).expect("the keys fit");
    }
}

/// The native filter, built on one thread or several.
pub struct Fullbloom {
    plan: Sizing,
    threads: usize,
    builder: Option<Builder>,
    filter: Option<fullbloom::Filter>,
}

/// Its row in tables.
pub const OURS: &str = "fullbloom";

fn plan(size: Size) -> Result<Sizing, Box<dyn Error>> {
    let target = Target::BitsPerKey(size.bits_per_key);
    Ok(Sizing::new(&Request { expected_keys: size.members, target })?)
}

impl Fullbloom {
    pub fn new(size: Size, threads: usize) -> Result<Fullbloom, Box<dyn Error>> {
        Ok(Fullbloom { plan: plan(size)?, threads, builder: None, filter: None })
    }

    fn filter(&self) -> &fullbloom::Filter {
        self.filter.as_ref().expect("finished")
    }
}

impl<K: NativeKeys> Contender<K> for Fullbloom {
    fn name(&self) -> String {
        match self.threads {
            1 => OURS.to_owned(),
            several => format!("{OURS}, {several} threads"),
        }
    }

    fn start(&mut self) {
        self.filter = None;
        let filter =
            fullbloom::Filter::with_sizing(&self.plan, Hashing::default()).expect("memory for a filter");
        self.builder = Some(Builder::new(filter, self.threads));
    }

    fn insert(&mut self, keys: &[K]) {
        K::insert(self.builder.as_mut().expect("started"), keys);
    }

    fn finish(&mut self) {
        self.filter = self.builder.take().map(Builder::build);
    }

    fn count(&self, keys: &[K]) -> usize {
        let filter = self.filter();
        keys.iter().filter(|key| key.bytes(|key| filter.may_contain(key))).count()
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        K::answer(self.filter(), keys, out);
    }

    fn threads(&self) -> usize {
        self.threads
    }
}

/// The native filter that threads share: bits are set atomically. Here on one thread.
pub struct Shared {
    plan: Sizing,
    filter: Option<SharedFilter>,
}

impl Shared {
    pub fn new(size: Size) -> Result<Shared, Box<dyn Error>> {
        Ok(Shared { plan: plan(size)?, filter: None })
    }

    fn filter(&self) -> &SharedFilter {
        self.filter.as_ref().expect("started")
    }
}

impl<K: NativeKeys> Contender<K> for Shared {
    fn name(&self) -> String {
        format!("{OURS}, atomic")
    }

    fn start(&mut self) {
        self.filter = None;
        let filter = SharedFilter::with_sizing(&self.plan, Hashing::default()).expect("memory for a filter");
        self.filter = Some(filter);
    }

    fn insert(&mut self, keys: &[K]) {
        K::insert_shared(self.filter(), keys);
    }

    fn count(&self, keys: &[K]) -> usize {
        let filter = self.filter();
        keys.iter().filter(|key| key.bytes(|key| filter.may_contain(key))).count()
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        K::answer_shared(self.filter(), keys, out);
    }
}

/// One line touched for each key, hashed as the native filter does.
pub struct Limit {
    bytes: usize,
    lines: Option<Region>,
    hash: Fold64,
}

impl Limit {
    pub fn new(size: Size) -> Limit {
        Limit { bytes: size.bytes as usize, lines: None, hash: Fold64::new(0) }
    }

    fn lines(&self) -> &[[u8; 64]] {
        self.lines.as_ref().expect("started").as_chunks().0
    }
}

/// Its row in tables.
pub const LIMIT: &str = "LIMIT";

impl<K: Key> Contender<K> for Limit {
    fn name(&self) -> String {
        LIMIT.to_owned()
    }

    fn start(&mut self) {
        self.lines = None;
        self.lines = Some(Region::new(self.bytes).expect("memory for the limit"));
    }

    fn insert(&mut self, keys: &[K]) {
        let hash = self.hash;
        let lines = self.lines.as_mut().expect("started").as_chunks_mut().0;
        limit::build(lines, keys, |key| key.bytes(|key| hash.hash(key)));
    }

    fn count(&self, keys: &[K]) -> usize {
        limit::single(self.lines(), keys, |key| key.bytes(|key| self.hash.hash(key)));
        0
    }

    fn answer(&self, keys: &[K], _: &mut [bool]) {
        limit::batch(self.lines(), keys, |key| key.bytes(|key| self.hash.hash(key)));
    }

    fn is_filter(&self) -> bool {
        false
    }
}
