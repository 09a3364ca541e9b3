//! All shards of a filter and the directory that finds them.
//!
//! ```text
//!   hash  | prefix | rest …      directory[prefix] ─► shard      a shard with a shorter prefix has several entries
//! ```
//!
//! A shard that is full is read and written again with more lines; one that has the most lines is split into
//! two. Nothing else is touched, so a pause is the time for one shard, and so is the additional memory.

use super::filter::run;
use super::lines::{self, Even, Lines, Location, Rest, Target};
use super::merge::working;
use super::pool::Pool;
use super::shape::{Grid, Shape};
use super::shard::{Reader, Removed, Shard};
use crate::slots::{self, Insert, Remove, Select};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::bits::prefetch;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::Task;
use fullbloom_core::memory;

/// The fingerprints of a filter in memory.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The bits of a hash that are its fingerprint.
    pub(crate) mask: u64,
    pub(crate) tag: u32,
    pub(crate) depth: u32,
    pub(crate) directory: Vec<u32>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) pool: Pool,
    /// All lines as one grid, as long as the shards have one shape and their lines are in order in the pool.
    pub(crate) even: Option<Grid>,
    /// Shapes in use, so that shards share them.
    pub(crate) shapes: Vec<Arc<Shape>>,
    /// Scratch buffer for the entries of one shard.
    pub(crate) buffer: Vec<u64>,
}

/// Where a key belongs. Valid until a shard grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    /// The fingerprint's number in its line: its quotient, and below it its remainder.
    pub(crate) number: u64,
    /// The number of the line in the pool.
    pub(crate) line: u32,
    pub(crate) shard: u32,
}

impl Shards {
    /// Without keys, with lines for this many.
    pub(crate) fn new(bits: u32, tag: u32, keys: u64) -> Result<Shards, SizeError> {
        let (depth, lines) = Shape::for_keys(bits, tag, keys);
        Shards::even_shards(bits, tag, depth, lines)
    }

    /// `2^depth` empty shards of this many lines.
    fn even_shards(bits: u32, tag: u32, depth: u32, lines: u64) -> Result<Shards, SizeError> {
        let memory = |_| SizeError::Memory { bytes: (size_of::<Shard>() as u64) << depth };
        let (mut shards, mut directory) = (Vec::new(), Vec::new());
        shards.try_reserve_exact(1 << depth).map_err(memory)?;
        directory.try_reserve_exact(1 << depth).map_err(memory)?;
        directory.extend(0..1u32 << depth);
        let shape = Arc::new(Shape::new(bits - depth, tag, lines));
        for prefix in 0..1u64 << depth {
            shards.push(Shard::in_order(Arc::clone(&shape), prefix * lines, prefix, depth)?);
        }
        Ok(Shards {
            mask: !(u64::MAX >> bits),
            tag,
            depth,
            directory,
            shards,
            pool: Pool::exact(lines << depth)?,
            even: Some(Grid::new(bits, lines << depth, tag)),
            shapes: vec![shape],
            buffer: Vec::new(),
        })
    }

    /// Takes over the lines of a file: `2^depth` shards one after the other.
    pub(crate) fn from_lines(
        bits: u32,
        tag: u32,
        depth: u32,
        from: &impl Lines,
        whole: &Shape,
        now: u64,
    ) -> Result<Shards, SizeError> {
        let lines = whole.main.lines >> depth;
        let mut all = Shards::even_shards(bits, tag, depth, lines)?;
        memory::require(working(whole.limit))?;
        let Shards { shards, pool, buffer, .. } = &mut all;
        let mut at = 0;
        for shard in shards {
            let base = shard.prefix << shard.shape.bits << tag;
            let end = (shard.prefix + 1) << shard.shape.bits << tag;
            let mut list = Vec::new();
            while at < from.list_len() && from.listed(at) < end {
                memory::push(&mut list, from.listed(at) - base)?;
                at += 1;
            }
            shard.copy(pool, from, shard.prefix * lines, list);
            buffer.clear();
            let groups = 0..shard.shape.overflow.lines;
            lines::read(&Reader { shard, pool }, &shard.shape, groups, buffer);
            (shard.keys, shard.swept) = (buffer.len() as u64, now);
        }
        Ok(all)
    }

    /// Fills shards that were made for them with sorted items; `now` is the generation in which all of them
    /// are alive.
    pub(crate) fn fill_sorted(
        &mut self,
        items: &mut impl Iterator<Item = u64>,
        now: u64,
    ) -> Result<(), SizeError> {
        let mut items = items.peekable();
        for shard in &mut self.shards {
            // The shards are those of all prefixes of one length, in order.
            let end = (shard.prefix + 1) << shard.shape.bits << self.tag;
            let base = shard.prefix << shard.shape.bits << self.tag;
            self.buffer.clear();
            while let Some(item) = items.next_if(|item| *item < end) {
                memory::push(&mut self.buffer, item - base)?;
            }
            shard.fill(&mut self.pool, &self.buffer);
            shard.swept = now;
        }
        Ok(())
    }

    /// The entry of the directory for a hash.
    #[inline(always)]
    pub(crate) fn entry_of(&self, hash: u64) -> usize {
        // A shift of 64 is not possible; at depth 0 there is one entry.
        (hash >> 1 >> (63 - self.depth)) as usize
    }

    #[inline(always)]
    fn shard_of(&self, hash: u64) -> u32 {
        self.directory[self.entry_of(hash)]
    }

    /// The fingerprint of a hash in a shard, at the top of a word.
    #[inline(always)]
    fn local(&self, shard: &Shard, hash: u64) -> u64 {
        (hash & self.mask) << shard.depth
    }

    /// The lines as one grid, if they are one.
    pub(crate) fn even(&self) -> Option<Even<'_, &Self>> {
        let grid = self.even.as_ref()?;
        Some(Even { grid, mask: self.mask, tag: self.tag, lines: self.pool.first(), rest: self })
    }

    /// Where the key of this hash belongs. Prefetches its line.
    #[inline(always)]
    pub(crate) fn position(&self, hash: u64) -> Position {
        let mut position = [Position::default()];
        self.positions(&[hash], &mut position);
        position[0]
    }

    /// The positions of several keys, whose lines are prefetched.
    #[inline(always)]
    pub(crate) fn positions<const N: usize>(&self, hashes: &[u64; N], positions: &mut [Position; N]) {
        match &self.even {
            // One grid spares the way over the directory and the shard: a sixth of the time of an insertion.
            Some(grid) => {
                let lines = self.pool.first();
                for (position, hash) in positions.iter_mut().zip(hashes) {
                    let (line, number) = grid.place.of(hash & self.mask);
                    prefetch::read(lines, line as usize);
                    let shard = self.entry_of(*hash) as u32;
                    *position = Position { number, line: line as u32, shard };
                }
            }
            None => {
                for (position, hash) in positions.iter_mut().zip(hashes) {
                    let number = self.shard_of(*hash);
                    let shard = &self.shards[number as usize];
                    let (line, offset) = shard.place.of(self.local(shard, *hash));
                    let line = shard.number(line);
                    prefetch::address(self.pool.line(line).as_ptr());
                    *position = Position { number: offset, line, shard: number };
                }
            }
        }
    }

    /// The line of a key, how it is divided, and what is looked for in it.
    #[inline(always)]
    pub(crate) fn target<const TAGS: bool>(&self, hash: u64) -> Target<'_> {
        let shard = &self.shards[self.shard_of(hash) as usize];
        let (line, number) = shard.place.of(self.local(shard, hash));
        let line = self.pool.line(shard.number(line));
        Target { line, slots: &shard.shape.main.slots, entry: if TAGS { number << self.tag } else { number } }
    }

    /// Finds a fingerprint.
    #[inline(always)]
    fn locate(&self, kernel: impl Select, hash: u64, position: &Position) -> Option<Location> {
        let reader = Reader { shard: &self.shards[position.shard as usize], pool: &self.pool };
        let (x, line) = (self.local(reader.shard, hash), self.pool.line(position.line));
        lines::locate(kernel, &reader, &reader.shard.shape, x, line, position.number)
    }

    /// The tag of the key of this hash, if it is there; for what a line alone does not answer.
    #[inline(never)]
    pub(crate) fn find(&self, hash: u64) -> Option<u64> {
        struct Look<'a>(&'a Shards, u64);
        impl<B: Select> Task<B> for Look<'_> {
            type Output = Option<u64>;

            #[inline(always)]
            fn run(self, kernel: B) -> Option<u64> {
                let position = self.0.position(self.1);
                self.0.locate(kernel, self.1, &position).map(|location| self.0.tag(&position, location))
            }
        }
        run(Look(self, hash))
    }

    /// The tag of a fingerprint at this place of its shard.
    #[inline(always)]
    pub(crate) fn tag(&self, position: &Position, location: Location) -> u64 {
        let reader = Reader { shard: &self.shards[position.shard as usize], pool: &self.pool };
        lines::tag(&reader, &reader.shard.shape, self.pool.line(position.line), location)
    }

    /// Changes the tag.
    pub(crate) fn set_tag(&mut self, position: &Position, location: Location, tag: u64) {
        let line = self.pool.line_mut(position.line);
        self.shards[position.shard as usize].set_tag(line, location, tag);
    }

    /// Whether the shard of this key should grow before it takes another one.
    #[inline(always)]
    pub(crate) fn is_full(&self, position: &Position) -> bool {
        let shard = &self.shards[position.shard as usize];
        shard.keys >= shard.limit
    }

    /// Inserts the fingerprint of a hash with a tag, and returns where it is if it was there.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        kernel: impl Select,
        hash: u64,
        position: &Position,
        tag: u64,
    ) -> Option<Location> {
        let shard = &mut self.shards[position.shard as usize];
        let entry = position.number << self.tag | tag;
        let line = self.pool.line_mut(position.line);
        let slots = match &self.even {
            Some(grid) => &grid.slots,
            None => &shard.shape.main.slots,
        };
        let known = match slots::insert(kernel, line, slots, entry) {
            Insert::Done => None,
            Insert::Known(slot) => Some(Location::Main(slot)),
            full => {
                let x = (hash & self.mask) << shard.depth;
                shard.insert_full(full, x, position.number, tag)
            }
        };
        shard.keys += u64::from(known.is_none());
        known
    }

    /// Removes the fingerprint of a hash, unless it has a tag.
    #[inline(always)]
    pub(crate) fn remove(&mut self, kernel: impl Select, hash: u64, position: &Position) -> Removed {
        let shard = &mut self.shards[position.shard as usize];
        let (x, entry) = ((hash & self.mask) << shard.depth, position.number << self.tag);
        let line = self.pool.line_mut(position.line);
        let removed = match slots::remove::<true>(kernel, line, &shard.shape.main.slots, entry) {
            Remove::Absent => Removed::Absent,
            Remove::Done => Removed::Done,
            Remove::Tagged(slot) => Removed::Tagged(Location::Main(slot)),
            Remove::Overflow => shard.remove_untagged_from_overflow(&self.pool, x, position.line),
            Remove::DoneFull => {
                shard.pull(&mut self.pool, x, position.line);
                Removed::Done
            }
        };
        shard.keys -= u64::from(removed == Removed::Done);
        removed
    }

    /// The keys of the shard that has most.
    pub(crate) fn most_keys(&self) -> usize {
        self.shards.iter().map(|shard| shard.keys as usize).max().unwrap_or(0)
    }

    /// The items of the shard at this entry of the directory; returns the entry of the next shard.
    pub(crate) fn read_at(&self, entry: usize, items: &mut Vec<u64>) -> Result<usize, SizeError> {
        let shard = &self.shards[self.directory[entry] as usize];
        items.clear();
        shard.read(&self.pool, items)?;
        let base = shard.prefix << shard.shape.bits << self.tag;
        items.iter_mut().for_each(|item| *item += base);
        Ok(entry + (1 << (self.depth - shard.depth)))
    }

    /// Gives a shard these items, which it has room for.
    pub(crate) fn refill(&mut self, number: usize, items: &[u64]) {
        self.shards[number].fill(&mut self.pool, items);
    }

    /// The bits of a hash that are its fingerprint.
    pub(crate) fn mask(&self) -> u64 {
        self.mask
    }

    /// The number of the shard at this entry of the directory, and how many entries it has.
    pub(crate) fn number_at(&self, entry: usize) -> (usize, usize) {
        let number = self.directory[entry] as usize;
        (number, 1 << (self.depth - self.shards[number].depth))
    }

    /// The buffer that [`items_of`](Self::items_of) uses, for later calls.
    pub(crate) fn give_buffer(&mut self, buffer: Vec<u64>) {
        self.buffer = buffer;
    }

    /// Entries of the directory.
    pub(crate) fn entries(&self) -> usize {
        self.directory.len()
    }

    pub(crate) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Bytes of memory.
    pub(crate) fn byte_len(&self) -> u64 {
        let shards: u64 = self.shards.iter().map(Shard::byte_len).sum();
        self.pool.byte_len() + shards + self.directory.len() as u64 * 4
    }

    /// Fingerprints, expired ones included.
    pub(crate) fn keys(&self) -> u64 {
        self.shards.iter().map(|shard| shard.keys).sum()
    }
}

impl Rest for &Shards {
    #[inline(always)]
    fn overflow_target(&self, hash: u64) -> Target<'_> {
        let shard = &self.shards[self.shard_of(hash) as usize];
        let Grid { place, slots, .. } = &shard.shape.overflow;
        let (line, number) = place.of(self.local(shard, hash));
        Target { line: shard.overflow_line(line), slots, entry: number << self.tag }
    }

    fn find(&self, hash: u64) -> Option<u64> {
        Shards::find(self, hash)
    }
}
