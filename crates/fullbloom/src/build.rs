//! Building large filters: keys are sorted by part of the array, and parts are filled one by one, on several threads.
//!
//! ```text
//!   keys ─► hash ─► lane of each thread: a bucket for every part
//!                                          │ when a lane is full
//!                                          ▼
//!                   threads take parts in turn, and fill each from its buckets in all lanes
//! ```
//!
//! A key inserted directly needs a page and a line that no cache has. If keys are sorted into parts of a few huge pages,
//! the pages of a part are looked up once, and its lines are prefetched from near. The price is a buffer: one word per
//! waiting key.

use crate::Filter;
use fullbloom_core::bits::Words;
use fullbloom_core::error::InsertError;
use fullbloom_core::kernel::lines::CHUNK;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::keys::{Hashes, Keys, each_valid};
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::probe::lines::{LINE, block_of};
use fullbloom_core::threads::on_threads;
use std::sync::Mutex;

/// Bytes of the array that one part covers, unless the array has [`MOST_PARTS`] of them: a huge page, near enough to a
/// core's private cache that the lines of the next keys are prefetched in time. Between 1 and 8 MiB, speed is the same.
const PART_BYTES: u64 = 2 << 20;

/// The most parts. With more, sorting the keys into them would miss the caches.
const MOST_PARTS: u64 = 1 << 11;

/// Smaller arrays are filled directly: they are in the cache anyway.
const PARTED_FROM: u64 = 8 << 20;

/// With one thread, arrays smaller than this are also filled directly: with prefetching, direct insertion is as fast up
/// to here (128 MiB: 5.3 against 6.5 ns a key; 256 MiB: 5.9 against 5.2).
const PARTED_ALONE_FROM: u64 = 512 << 20;

/// The maximum number of waiting keys in all lanes: 256 MiB of them, plus some room in the buckets. Arrays above 8 GiB
/// have a waiting key for every fourth line: with fewer, most lines would be fetched for one key.
const AT_A_TIME: u64 = 32 << 20;

/// Waiting keys per line of the array. More would cost memory, and time to allocate it, and gain little.
const KEYS_PER_LINE: u64 = 4;

/// Keys whose lines are prefetched while as many keys before them are inserted.
const AHEAD: usize = 256;

/// A thread is not worth starting for fewer keys per lane than this.
const WORTH_A_THREAD: usize = 1 << 14;

/// Collects keys for a large filter and inserts them in parts, in parallel.
///
/// The filter is the same as if the keys had been inserted one by one. Small filters are filled directly.
///
/// ```
/// use fullbloom::Filter;
/// use fullbloom::keys::Column;
/// use fullbloom::bulk::Builder;
///
/// let filter = Filter::with_fpr(8_000_000, 0.01)?;
/// let mut builder = Builder::new(filter, 0); // one thread per core
/// for start in (0..3_000_000u64).step_by(10_000) {
///     let some: Vec<u64> = (start..start + 10_000).collect();
///     builder.add_batch(&Column(&some))?;
/// }
/// let filter = builder.build();
/// assert!(filter.may_contain(&17u64.to_le_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    filter: Filter,
    lanes: Option<Lanes>,
}

impl Builder {
    /// Builds into this filter, on `threads` threads; 0 means one per core.
    pub fn new(filter: Filter, threads: usize) -> Builder {
        let keys = filter.expected_keys().max(filter.native.shape.byte_len() / LINE as u64);
        Builder { lanes: Lanes::new(&filter.native.shape, threads, keys), filter }
    }

    /// Adds many keys. Null keys are left out.
    ///
    /// # Errors
    /// If the keys do not fit the filter. None is inserted.
    pub fn add_batch<K: Keys<Hasher> + Sync + ?Sized>(&mut self, keys: &K) -> Result<(), InsertError> {
        let Builder { filter, lanes: Some(lanes) } = self else { return self.filter.insert_batch(keys) };
        let hasher = filter.native.hasher.clone();
        keys.require(&hasher, filter.key_type())?;
        match keys.validity() {
            None => lanes.insert(filter, keys),
            Some(validity) => each_valid(keys, validity, &hasher, |hashes| {
                lanes.insert(filter, hashes);
                Ok::<(), InsertError>(())
            })?,
        }
        Ok(())
    }

    /// The filter of all keys. A builder that has built accepts no more keys, and a half-filled filter cannot
    /// be queried:
    ///
    /// ```compile_fail,E0382
    /// # use fullbloom::Filter;
    /// # use fullbloom::keys::Column;
    /// # use fullbloom::bulk::Builder;
    /// let mut builder = Builder::new(Filter::with_fpr(1000, 0.01).unwrap(), 1);
    /// let filter = builder.build();
    /// builder.add_batch(&Column(&[1u64])); // moved
    /// ```
    pub fn build(mut self) -> Filter {
        if let Some(lanes) = &mut self.lanes {
            lanes.flush(&mut self.filter);
        }
        self.filter
    }
}

impl Filter {
    /// Adds many keys, sorted by parts of the array, on `threads` threads (0: one per core).
    ///
    /// The result equals that of [`insert_batch`](Self::insert_batch). A buffer of up to 270 MiB, or a thirty-second of the
    /// array, is used meanwhile. If it cannot be allocated, or the filter or the batch is small, the keys are
    /// inserted directly.
    ///
    /// # Errors
    /// As of [`insert_batch`](Self::insert_batch).
    pub fn insert_parallel<K>(&mut self, keys: &K, threads: usize) -> Result<(), InsertError>
    where
        K: Keys<Hasher> + Sync + ?Sized,
    {
        // With fewer than one key per four lines, most lines are touched at most once in any order.
        let few = (keys.count() as u64) < self.native.shape.byte_len() / LINE as u64 / 4;
        let lanes = if few { None } else { Lanes::new(&self.native.shape, threads, keys.count() as u64) };
        match lanes {
            Some(mut lanes) if keys.validity().is_none() => {
                keys.require(&self.native.hasher, self.key_type())?;
                lanes.insert(self, keys);
                lanes.flush(self);
                Ok(())
            }
            _ => self.insert_batch(keys),
        }
    }
}

/// Waiting hashes, and the division of the array.
#[derive(Debug)]
struct Lanes {
    parts: Parts,
    lanes: Vec<Lane>,
}

/// The division of an array: a part is a run of blocks, and their number is a power of two.
#[derive(Debug, Clone, Copy)]
struct Parts {
    count: usize,
    /// Blocks in a part, as a power of two.
    blocks_shift: u32,
    /// Lines in a part.
    lines: usize,
}

impl Parts {
    fn new(shape: &Shape) -> Parts {
        let bytes = shape.byte_len().div_ceil(MOST_PARTS).next_power_of_two().max(PART_BYTES);
        let lines = bytes / LINE as u64;
        let count = shape.byte_len().div_ceil(bytes) as usize;
        Parts { count, blocks_shift: (lines / shape.layout.block_lines()).ilog2(), lines: lines as usize }
    }
}

/// The buckets that one thread fills.
struct Lane {
    /// Bucket after bucket, each with room for `room` hashes.
    hashes: Words,
    room: usize,
    /// How many hashes each bucket holds.
    filled: Vec<usize>,
    /// Hashes of full buckets: few, unless the same keys repeat often.
    overflow: Vec<u64>,
    /// Total number of hashes.
    len: usize,
    capacity: usize,
}

impl Lanes {
    /// Lanes for about this many keys; `None` when the array is small or the memory cannot be allocated.
    fn new(shape: &Shape, threads: usize, keys: u64) -> Option<Lanes> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        };
        if shape.byte_len() < if threads == 1 { PARTED_ALONE_FROM } else { PARTED_FROM } {
            return None;
        }
        let parts = Parts::new(shape);
        let lines = shape.byte_len() / LINE as u64;
        let capacity = keys.min(KEYS_PER_LINE * lines).min(AT_A_TIME.max(lines / 4)) as usize;
        let capacity = capacity.div_ceil(threads).max(1 << 12);
        let lanes = (0..threads).map(|_| Lane::new(&parts, capacity)).collect::<Option<_>>()?;
        Some(Lanes { parts, lanes })
    }

    /// Puts keys into the lanes, and the contents of full lanes into the filter.
    fn insert<K: Keys<Hasher> + Sync + ?Sized>(&mut self, filter: &mut Filter, keys: &K) {
        let mut start = 0;
        while start < keys.count() {
            let left = keys.count() - start;
            let each = left.div_ceil(self.lanes.len()).max(WORTH_A_THREAD);
            let (shape, hasher, parts) = (filter.native.shape, &filter.native.hasher, self.parts);
            // The emptiest lanes first: small batches for one thread then fill all lanes evenly.
            self.lanes.sort_by_key(|lane| lane.len);
            let mut work = Vec::new();
            for lane in &mut self.lanes {
                let count = each.min(keys.count() - start).min(lane.capacity - lane.len);
                if count > 0 {
                    work.push((lane, start));
                    work.last_mut().expect("just pushed").0.len += count;
                    start += count;
                }
            }
            match work.as_mut_slice() {
                [] => self.flush(filter),
                [(lane, at)] => lane.scatter(&shape, hasher, parts, keys, *at, start),
                several => {
                    let ends: Vec<usize> = several[1..].iter().map(|(_, at)| *at).chain([start]).collect();
                    let threads = several.len();
                    let todo = Mutex::new(several.iter_mut().zip(ends));
                    let next = || todo.lock().expect("no thread panics while it holds the lock").next();
                    on_threads(threads, |_| {
                        while let Some(((lane, at), end)) = next() {
                            lane.scatter(&shape, hasher, parts, keys, *at, end);
                        }
                    });
                }
            }
        }
    }

    /// Inserts all waiting keys.
    fn flush(&mut self, filter: &mut Filter) {
        let (shape, parts, lanes) = (filter.native.shape, self.parts, self.lanes.as_mut_slice());
        let threads = lanes.len().min(parts.count);
        let lines = filter.bits.as_mut().as_chunks_mut().0;
        let todo = Mutex::new(lines.chunks_mut(parts.lines).enumerate());
        let buckets: Vec<Buckets<'_>> = lanes.iter_mut().map(Lane::buckets).collect();
        on_threads(threads, |_| {
            loop {
                let next = todo.lock().expect("no thread panics while it holds the lock").next();
                let Some((part, lines)) = next else { return };
                fill(&shape, parts, part, lines, &buckets);
            }
        });
        for lane in lanes {
            let overflow = Hashes::new(&lane.overflow, &filter.native.hasher);
            filter.native.set_batch(filter.bits.as_mut(), &overflow);
            lane.overflow.clear();
            lane.filled.fill(0);
            lane.len = 0;
        }
    }
}

/// The contents of a lane, for reading by several threads.
struct Buckets<'a> {
    hashes: &'a [u64],
    room: usize,
    filled: &'a [usize],
}

/// Fills one part.
fn fill(shape: &Shape, parts: Parts, part: usize, lines: &mut [Line], buckets: &[Buckets<'_>]) {
    let first = (part as u64) << parts.blocks_shift;
    for lane in buckets {
        let mut chunks = lane.hashes[part * lane.room..][..lane.filled[part]].chunks(AHEAD).peekable();
        while let Some(now) = chunks.next() {
            shape.set_part(lines, first, now, chunks.peek().copied().unwrap_or_default());
        }
    }
}

impl Lane {
    fn new(parts: &Parts, capacity: usize) -> Option<Lane> {
        let even = capacity.div_ceil(parts.count);
        // Six standard deviations above the mean: with random keys a bucket hardly ever overflows.
        let room = even + 6 * even.isqrt() + 16;
        let hashes = Words::zeroed(room.checked_mul(parts.count)?).ok()?;
        let filled = vec![0; parts.count];
        Some(Lane { hashes, room, filled, overflow: Vec::new(), len: 0, capacity })
    }

    fn buckets(&mut self) -> Buckets<'_> {
        Buckets { hashes: self.hashes.as_mut(), room: self.room, filled: &self.filled }
    }

    /// Hashes the keys from index `start` to `end` and puts each into the bucket of its part.
    fn scatter<K: Keys<Hasher> + Sync + ?Sized>(
        &mut self,
        shape: &Shape,
        hasher: &Hasher,
        parts: Parts,
        keys: &K,
        start: usize,
        end: usize,
    ) {
        let hashes = self.hashes.as_mut();
        let mut chunk = [0; CHUNK];
        for at in (start..end).step_by(CHUNK) {
            let chunk = &mut chunk[..(end - at).min(CHUNK)];
            keys.hash_into(hasher, at, chunk, false);
            for &mut hash in chunk {
                let part = (block_of(hash, shape.blocks) >> parts.blocks_shift) as usize;
                let filled = &mut self.filled[part];
                if *filled < self.room {
                    hashes[part * self.room + *filled] = hash;
                    *filled += 1;
                } else {
                    self.overflow.push(hash);
                }
            }
        }
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lane({} of {} hashes)", self.len, self.capacity)
    }
}
