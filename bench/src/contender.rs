//! One filter in a race: how it is built, queried and emptied. Every filter, ours or not, is an [`Entry`].

/// A filter of any type, for keys of one type.
pub trait Contender<K> {
    fn name(&self) -> &str;

    /// Threads that build it.
    fn threads(&self) -> usize;

    /// Begins with an empty filter.
    fn start(&mut self);

    fn insert(&mut self, keys: &[K]);

    /// All keys are inserted; queries follow.
    fn finish(&mut self);

    /// Untimed work between building and queries that the benchmark needs and the filter does not.
    fn settle(&mut self);

    /// The number of keys that may be present, looked up one by one.
    fn count(&self, keys: &[K]) -> usize;

    /// One answer for each key, by the filter's own batch function if it has one.
    fn answer(&self, keys: &[K], out: &mut [bool]);

    /// Removes keys and returns how many were found; `None` if the filter cannot remove.
    fn remove(&mut self, keys: &[K]) -> Option<usize>;

    /// Bytes of the filter; `None` if it has the size that was asked for, or does not say.
    fn bytes(&self) -> Option<u64>;

    /// Whether the filter does not say its size: the memory that it takes is counted.
    fn is_counted(&self) -> bool;

    /// Bytes of memory for each key that building needs beside the filter, about.
    fn scratch(&self) -> u64;

    /// Whether building it is so slow that `--quick` leaves out a large one.
    fn is_slow(&self) -> bool;

    /// Whether its answers are answers: those of LIMIT are not.
    fn is_filter(&self) -> bool;
}

/// The filters of a race in the order of the table.
pub type Contenders<K> = Vec<Box<dyn Contender<K>>>;

/// A filter as a set of functions: `B` is filled, `F` is queried. The functions take slices of keys, so calling
/// them through a pointer costs nothing per key.
#[expect(clippy::type_complexity, reason = "each is the type of one function and has no other use")]
pub struct Entry<K, B, F> {
    name: String,
    threads: usize,
    scratch: u64,
    is_slow: bool,
    is_filter: bool,
    is_counted: bool,
    start: Box<dyn Fn() -> B>,
    insert: Box<dyn Fn(&mut B, &[K])>,
    finish: Box<dyn Fn(B) -> F>,
    settle: Option<Box<dyn Fn(&mut F)>>,
    count: Box<dyn Fn(&F, &[K]) -> usize>,
    answer: Box<dyn Fn(&F, &[K], &mut [bool])>,
    remove: Option<Box<dyn Fn(&mut F, &[K]) -> usize>>,
    bytes: Option<Box<dyn Fn(&F) -> u64>>,
    builder: Option<B>,
    filter: Option<F>,
}

impl<K: 'static, B: 'static, F: 'static> Entry<K, B, F> {
    /// A filter without a batch function: a batch is a loop over its lookups.
    pub fn new(
        name: impl Into<String>,
        start: impl Fn() -> B + 'static,
        insert: impl Fn(&mut B, &[K]) + 'static,
        finish: impl Fn(B) -> F + 'static,
        contains: impl Fn(&F, &K) -> bool + Copy + 'static,
    ) -> Self {
        Entry {
            name: name.into(),
            threads: 1,
            scratch: 0,
            is_slow: false,
            is_filter: true,
            is_counted: false,
            start: Box::new(start),
            insert: Box::new(insert),
            finish: Box::new(finish),
            settle: None,
            count: Box::new(move |filter, keys| keys.iter().filter(|key| contains(filter, key)).count()),
            answer: Box::new(move |filter, keys, out| {
                out.iter_mut().zip(keys).for_each(|(out, key)| *out = contains(filter, key));
            }),
            remove: None,
            bytes: None,
            builder: None,
            filter: None,
        }
    }

    /// Replaces the loop over lookups by a function for many keys.
    pub fn batch(mut self, answer: impl Fn(&F, &[K], &mut [bool]) + 'static) -> Self {
        self.answer = Box::new(answer);
        self
    }

    /// Replaces both kinds of lookups, for filters of other languages, whose loops are theirs.
    pub fn lookups(
        mut self,
        count: impl Fn(&F, &[K]) -> usize + 'static,
        answer: impl Fn(&F, &[K], &mut [bool]) + 'static,
    ) -> Self {
        self.count = Box::new(count);
        self.batch(answer)
    }

    #[cfg_attr(not(librocksdb), expect(dead_code, reason = "only RocksDB's library needs it"))]
    pub fn settle(mut self, settle: impl Fn(&mut F) + 'static) -> Self {
        self.settle = Some(Box::new(settle));
        self
    }

    pub fn remove(mut self, remove: impl Fn(&mut F, &[K]) -> usize + 'static) -> Self {
        self.remove = Some(Box::new(remove));
        self
    }

    pub fn bytes(mut self, bytes: impl Fn(&F) -> u64 + 'static) -> Self {
        self.bytes = Some(Box::new(bytes));
        self
    }

    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub fn scratch(mut self, bytes_per_key: u64) -> Self {
        self.scratch = bytes_per_key;
        self
    }

    pub fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    pub fn counted(mut self) -> Self {
        self.is_counted = true;
        self
    }

    pub fn no_filter(mut self) -> Self {
        self.is_filter = false;
        self
    }

    pub fn boxed(self) -> Box<dyn Contender<K>> {
        Box::new(self)
    }

    fn filter(&self) -> &F {
        self.filter.as_ref().expect("finished")
    }
}

impl<K: 'static, B: 'static, F: 'static> Contender<K> for Entry<K, B, F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn start(&mut self) {
        self.filter = None;
        self.builder = Some((self.start)());
    }

    fn insert(&mut self, keys: &[K]) {
        (self.insert)(self.builder.as_mut().expect("started"), keys);
    }

    fn finish(&mut self) {
        self.filter = self.builder.take().map(&self.finish);
    }

    fn settle(&mut self) {
        if let (Some(settle), Some(filter)) = (&self.settle, &mut self.filter) {
            settle(filter);
        }
    }

    fn count(&self, keys: &[K]) -> usize {
        (self.count)(self.filter(), keys)
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        (self.answer)(self.filter(), keys, out);
    }

    fn remove(&mut self, keys: &[K]) -> Option<usize> {
        let remove = self.remove.as_ref()?;
        Some(remove(self.filter.as_mut().expect("finished"), keys))
    }

    fn bytes(&self) -> Option<u64> {
        self.bytes.as_ref().map(|bytes| bytes(self.filter()))
    }

    fn is_counted(&self) -> bool {
        self.is_counted
    }

    fn scratch(&self) -> u64 {
        self.scratch
    }

    fn is_slow(&self) -> bool {
        self.is_slow
    }

    fn is_filter(&self) -> bool {
        self.is_filter
    }
}
