//! The fingerprints with one prefix: what one pause of the growth rewrites.

use super::filter::run;
use super::lines::{self, Lines, Location};
use super::pool::Pool;
use super::shape::{GROUP, PAGE, Place, Shape};
use crate::slots::Select;
use crate::slots::{self, Insert, Remove, Slots};
use alloc::sync::Arc;
use alloc::vec::Vec;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::Task;
use fullbloom_core::kernel::lines::Line;

/// The most pages of a shard.
const PAGES: usize = 16;

/// A shard: the fingerprints that begin with a prefix. What every operation needs comes first: two cache
/// lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Shard {
    /// Copies of `shape`'s fields, so that the hot path touches one cache line.
    pub(crate) place: Place,
    pub(crate) limit: u64,
    /// Fingerprints in it, expired ones included.
    pub(crate) keys: u64,
    pub(crate) shape: Arc<Shape>,
    /// The first line of each page of [`PAGE`] lines, by its number in the pool.
    pages: [u32; PAGES],
    /// The length of the prefix in bits.
    pub(crate) depth: u32,
    /// The first bits of all its hashes.
    pub(crate) prefix: u64,
    overflow: Owned,
    list: Vec<u64>,
    /// The generation in which its expired fingerprints were last dropped.
    pub(crate) swept: u64,
}

/// What happened to a fingerprint that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    Absent,
    Done,
    /// It is here and has a tag; nothing was changed.
    Tagged(Location),
}

/// A shard with the pool that holds its lines.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) pool: &'a Pool,
}

impl Lines for Reader<'_> {
    #[inline(always)]
    fn main(&self, line: u64) -> &Line {
        self.pool.line(self.shard.number(line))
    }

    #[inline(always)]
    fn overflow(&self, line: u64) -> &Line {
        self.shard.overflow_line(line)
    }

    #[inline(always)]
    fn list_len(&self) -> usize {
        self.shard.list.len()
    }

    #[inline(always)]
    fn listed(&self, i: usize) -> u64 {
        self.shard.list[i]
    }
}

/// The number in the pool of a line of a shard with these pages.
#[inline(always)]
fn number(pages: &[u32; PAGES], line: u64) -> u32 {
    pages[(line / PAGE) as usize % PAGES] + (line % PAGE) as u32
}

/// [`slots::insert`], compiled for this CPU; for what is not inlined into a loop over keys.
fn insert(line: &mut Line, slots: &Slots, entry: u64) -> Insert {
    struct One<'a>(&'a mut Line, &'a Slots, u64);
    impl<B: Select> Task<B> for One<'_> {
        type Output = Insert;

        #[inline(always)]
        fn run(self, kernel: B) -> Insert {
            slots::insert(kernel, self.0, self.1, self.2)
        }
    }
    run(One(line, slots, entry))
}

/// [`slots::remove`] of any tag, compiled for this CPU.
fn remove(line: &mut Line, slots: &Slots, entry: u64) -> Remove {
    struct One<'a>(&'a mut Line, &'a Slots, u64);
    impl<B: Select> Task<B> for One<'_> {
        type Output = Remove;

        #[inline(always)]
        fn run(self, kernel: B) -> Remove {
            slots::remove::<false>(kernel, self.0, self.1, self.2)
        }
    }
    run(One(line, slots, entry))
}

/// [`slots::at_least`], compiled for this CPU.
fn at_least(line: &Line, slots: &Slots, entry: u64) -> Option<u64> {
    struct One<'a>(&'a Line, &'a Slots, u64);
    impl<B: Select> Task<B> for One<'_> {
        type Output = Option<u64>;

        #[inline(always)]
        fn run(self, kernel: B) -> Option<u64> {
            slots::at_least(kernel, self.0, self.1, self.2)
        }
    }
    run(One(line, slots, entry))
}

impl Shard {
    /// A shard whose lines are in order in the pool, from this number on. They are all zeros, or will be
    /// overwritten.
    pub(crate) fn in_order(
        shape: Arc<Shape>,
        first: u64,
        prefix: u64,
        depth: u32,
    ) -> Result<Shard, SizeError> {
        let pages = core::array::from_fn(|i| (first + i as u64 * PAGE) as u32);
        let overflow = Owned::zeroed(shape.overflow.lines * 64)?;
        Ok(Shard {
            place: shape.main.place,
            limit: shape.limit,
            keys: 0,
            shape,
            pages,
            depth,
            prefix,
            overflow,
            list: Vec::new(),
            swept: 0,
        })
    }

    /// A shard of whole pages from a pool, which will be overwritten.
    pub(crate) fn of_pages(
        shape: Arc<Shape>,
        pool: &mut Pool,
        prefix: u64,
        depth: u32,
    ) -> Result<Shard, SizeError> {
        let mut shard = Shard::in_order(shape, 0, prefix, depth)?;
        let count = (shard.shape.main.lines / PAGE) as usize;
        for i in 0..count {
            match pool.take() {
                Ok(first) => shard.pages[i] = first,
                Err(refused) => {
                    shard.pages[..i].iter().for_each(|first| pool.give(*first));
                    return Err(refused);
                }
            }
        }
        Ok(shard)
    }

    /// Returns its pages to the pool. Lines that are not a whole page stay unused.
    pub(crate) fn free(self, pool: &mut Pool) {
        let count = (self.shape.main.lines / PAGE) as usize;
        self.pages[..count].iter().for_each(|first| pool.give(*first));
    }

    #[inline(always)]
    pub(crate) fn overflow_line(&self, line: u64) -> &Line {
        &self.overflow.as_ref().as_chunks().0[line as usize]
    }

    /// The number of a line in the pool.
    #[inline(always)]
    pub(crate) fn number(&self, line: u64) -> u32 {
        number(&self.pages, line)
    }

    /// Appends all its items to `out`.
    pub(crate) fn read(&self, pool: &Pool, out: &mut Vec<u64>) -> Result<(), SizeError> {
        let memory = |_| SizeError::Memory { bytes: self.keys * 8 };
        out.try_reserve(self.keys as usize + lines::MORE).map_err(memory)?;
        lines::read(&Reader { shard: self, pool }, &self.shape, 0..self.shape.overflow.lines, out);
        Ok(())
    }

    /// Writes all its lines: it holds these items.
    pub(crate) fn fill(&mut self, pool: &mut Pool, items: &[u64]) {
        let shape = Arc::clone(&self.shape);
        let pages = self.pages;
        let overflow = self.overflow.as_mut().as_chunks_mut().0;
        self.list = lines::fill(
            &shape,
            0..shape.overflow.lines,
            items,
            |at, line| *pool.line_mut(number(&pages, at)) = line,
            |at, line| overflow[at as usize] = line,
        );
        self.keys = items.len() as u64;
    }

    /// Takes over the lines of another place with the same shape, from its line and overflow line `at` on.
    pub(crate) fn copy(&mut self, pool: &mut Pool, from: &impl Lines, at: u64, list: Vec<u64>) {
        for line in 0..self.shape.main.lines {
            *pool.line_mut(self.number(line)) = *from.main(at + line);
        }
        let overflow = self.overflow.as_mut().as_chunks_mut().0;
        for (line, to) in overflow.iter_mut().enumerate() {
            *to = *from.overflow(at / GROUP + line as u64);
        }
        self.list = list;
    }

    /// Changes the tag of a fingerprint that was found there; `line` is its line.
    pub(crate) fn set_tag(&mut self, line: &mut Line, location: Location, tag: u64) {
        match location {
            Location::Main(slot) => slots::set_tag(line, &self.shape.main.slots, slot, tag),
            Location::Overflow(line, slot) => {
                let line = &mut self.overflow.as_mut().as_chunks_mut().0[line as usize];
                slots::set_tag(line, &self.shape.overflow.slots, slot, tag);
            }
            Location::List(i) => self.list[i] = self.list[i] >> self.shape.tag << self.shape.tag | tag,
        }
    }

    /// What an insertion into a full line leaves for the overflow: of fingerprint `x`, whose number in the
    /// line is `number`. It and its tag.
    fn leaving(&self, done: Insert, x: u64, number: u64, tag: u64) -> (u64, u64) {
        let tags = self.shape.tag;
        match done {
            Insert::Evicted(evicted) => {
                let distance = (evicted >> tags).wrapping_sub(number);
                (x.wrapping_add(distance << (64 - self.shape.bits)), evicted & ((1 << tags) - 1))
            }
            _ => (x, tag),
        }
    }

    /// Completes an insertion into a line that was full.
    #[inline(never)]
    pub(crate) fn insert_full(&mut self, done: Insert, x: u64, number: u64, tag: u64) -> Option<Location> {
        let (x, tag) = self.leaving(done, x, number, tag);
        let known = self.insert_in_overflow(x, tag);
        if done == Insert::Overflow { known } else { None }
    }

    /// Inserts a fingerprint into the overflow.
    fn insert_in_overflow(&mut self, x: u64, tag: u64) -> Option<Location> {
        let (line, number) = self.shape.overflow.place.of(x);
        let to = &mut self.overflow.as_mut().as_chunks_mut().0[line as usize];
        let (unit, tags) = (64 - self.shape.bits, self.shape.tag);
        let (x, tag) = match insert(to, &self.shape.overflow.slots, number << tags | tag) {
            Insert::Done => return None,
            Insert::Known(slot) => return Some(Location::Overflow(line, slot)),
            Insert::Overflow => (x, tag),
            Insert::Evicted(evicted) => {
                let x = x.wrapping_add((evicted >> tags).wrapping_sub(number) << unit);
                (x, evicted & ((1 << tags) - 1))
            }
        };
        let fingerprint = x >> unit;
        match self.list.binary_search_by_key(&fingerprint, |item| item >> tags) {
            Ok(i) => Some(Location::List(i)),
            Err(i) => {
                self.list.insert(i, fingerprint << tags | tag);
                None
            }
        }
    }

    /// Removes a fingerprint without a tag from the overflow.
    #[inline(never)]
    pub(crate) fn remove_untagged_from_overflow(&mut self, pool: &Pool, x: u64, line: u32) -> Removed {
        let reader = Reader { shard: self, pool };
        match lines::locate_in_overflow(&reader, &self.shape, x) {
            None => Removed::Absent,
            Some(location) if lines::tag(&reader, &self.shape, pool.line(line), location) != 0 => {
                Removed::Tagged(location)
            }
            Some(_) => {
                self.remove_from_overflow(x);
                Removed::Done
            }
        }
    }

    fn remove_from_overflow(&mut self, x: u64) -> bool {
        let (line, number) = self.shape.overflow.place.of(x);
        let (unit, tags) = (64 - self.shape.bits, self.shape.tag);
        let grid = &self.shape.overflow;
        let from = &mut self.overflow.as_mut().as_chunks_mut().0[line as usize];
        let search = self.list.binary_search_by_key(&(x >> unit), |item| item >> tags);
        match (remove(from, &grid.slots, number << tags), search) {
            (Remove::Absent | Remove::Tagged(_), _) | (Remove::Overflow, Err(_)) => false,
            (Remove::Done, _) => true,
            (Remove::Overflow, Ok(i)) => {
                self.list.remove(i);
                true
            }
            (Remove::DoneFull, Ok(i) | Err(i)) => {
                // The least item of the list that belongs to this line moves into it.
                if let Some(&item) = self.list.get(i) {
                    let (home, number) = grid.place.of(item >> tags << unit);
                    if home == line {
                        self.list.remove(i);
                        let entry = number << tags | item & ((1 << tags) - 1);
                        insert(from, &grid.slots, entry);
                    }
                }
                true
            }
        }
    }

    /// A line was full and has lost an entry: the least entry of its overflow moves into it. All of them are
    /// above `x`, which was in the line; `line` is its number in the pool.
    #[inline(never)]
    pub(crate) fn pull(&mut self, pool: &mut Pool, x: u64, line: u32) {
        let (unit, tags) = (64 - self.shape.bits, self.shape.tag);
        let (over, number) = self.shape.overflow.place.of(x);
        let from = &self.overflow.as_ref().as_chunks().0[over as usize];
        let least = match at_least(from, &self.shape.overflow.slots, number << tags) {
            Some(entry) => Some((x >> unit << tags) + entry - (number << tags)),
            None => {
                let at = self.list.partition_point(|item| item >> tags < x >> unit);
                self.list.get(at).copied()
            }
        };
        let Some(item) = least else { return };
        let x = item >> tags << unit;
        let (home, number) = self.shape.main.place.of(x);
        if self.number(home) == line {
            self.remove_from_overflow(x);
            let entry = number << tags | item & ((1 << tags) - 1);
            insert(pool.line_mut(line), &self.shape.main.slots, entry);
        }
    }

    /// Bytes besides its pages.
    pub(crate) fn byte_len(&self) -> u64 {
        (self.overflow.as_ref().len() + self.list.capacity() * 8 + size_of::<Shard>()) as u64
    }

    /// The number of items in the list.
    #[cfg(test)]
    pub(crate) fn listed(&self) -> usize {
        self.list.len()
    }
}
