//! All shards of a filter and the directory that finds them.
//!
//! ```text
//!   hash  | prefix | rest …      directory[prefix] ─► shard      a shard with a shorter prefix has several entries
//! ```
//!
//! A shard that is full is read and written again with more lines; one that has the most lines is split into
//! two. Nothing else is touched, so a pause is the time for one shard, and so is the additional memory.

use super::filter::cpu;
use super::lines::{self, EvenLines, Lines, Location, Target};
use super::pool::Pool;
use super::shape::{GROUP, Grid, MAX_LINES, MIN_BITS, MIN_LINES, Shape, grown};
use super::shard::{Reader, Removed, Shard};
use crate::bits::prefetch;
use crate::error::SizeError;
use crate::kernel::lines::Line;
use crate::kernel::slots::{self, Insert, Remove, Select};
use crate::kernel::{Body, Task};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The fingerprints of a filter in memory.
#[derive(Debug)]
pub(super) struct Shards {
    /// The bits of a hash that are its fingerprint.
    mask: u64,
    tag: u32,
    depth: u32,
    directory: Vec<u32>,
    shards: Vec<Shard>,
    pool: Pool,
    /// All lines as one grid, as long as the shards have one shape and their lines are in order in the pool.
    even: Option<Grid>,
    /// Shapes in use, so that shards share them.
    shapes: Vec<Arc<Shape>>,
    /// For reading a shard.
    buffer: Vec<u64>,
}

/// Shards whose lines are one grid.
pub(super) struct Even<'a> {
    shards: &'a Shards,
    grid: &'a Grid,
    lines: &'a [Line],
}

impl Even<'_> {
    /// As [`Shards::aim`].
    #[inline(always)]
    pub(super) fn aim(&self, hash: u64) -> Aim {
        let (at, number) = self.grid.place.of(hash & self.shards.mask);
        let shard = self.shards.entry_of(hash) as u32;
        let first = shard * (self.grid.lines >> self.shards.depth) as u32;
        prefetch::read(self.lines, at as usize);
        Aim { shard, line: at as u32 - first, at: at as u32, number }
    }
}

impl EvenLines for Even<'_> {
    #[inline(always)]
    fn grid(&self) -> &Grid {
        self.grid
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        self.shards.mask
    }

    #[inline(always)]
    fn tag_bits(&self) -> u32 {
        self.shards.tag
    }

    #[inline(always)]
    fn line(&self, line: u64) -> &Line {
        &self.lines[line as usize]
    }

    fn beyond(&self, hash: u64) -> Target<'_> {
        self.shards.beyond(hash)
    }

    fn find(&self, hash: u64) -> Option<u64> {
        self.shards.find(hash)
    }
}

/// Where a key belongs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aim {
    shard: u32,
    /// The line in the shard, and its number in the pool.
    line: u32,
    at: u32,
    /// The number of the fingerprint in the line.
    number: u64,
}

/// The result of the first part of an insertion.
pub(super) enum Early {
    /// That was all; and whether the key was new.
    Done(bool),
    /// The key was new, and another one had to leave its line for the overflow.
    Evicted(Late),
    /// It is or belongs in the overflow.
    Beyond(Late),
    /// Nothing was done: the shard should grow before.
    Full,
}

/// A fingerprint that belongs in the overflow of a shard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Late {
    shard: u32,
    x: u64,
}

impl Shards {
    /// Without keys, with lines for this many.
    pub(super) fn new(bits: u32, tag: u32, keys: u64) -> Result<Shards, SizeError> {
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
    pub(super) fn from_lines(
        bits: u32,
        tag: u32,
        depth: u32,
        from: &impl Lines,
        whole: &Shape,
        now: u64,
    ) -> Result<Shards, SizeError> {
        let lines = whole.main.lines >> depth;
        let mut all = Shards::even_shards(bits, tag, depth, lines)?;
        let Shards { shards, pool, buffer, .. } = &mut all;
        let mut at = 0;
        for shard in shards {
            let base = shard.prefix << shard.shape.bits << tag;
            let end = (shard.prefix + 1) << shard.shape.bits << tag;
            let mut list = Vec::new();
            while at < from.list_len() && from.listed(at) < end {
                list.push(from.listed(at) - base);
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
    pub(super) fn fill_sorted(
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
                if self.buffer.len() == self.buffer.capacity() {
                    let more = self.buffer.len().max(1024);
                    let memory = |_| SizeError::Memory { bytes: more as u64 * 16 };
                    self.buffer.try_reserve(more).map_err(memory)?;
                }
                self.buffer.push(item - base);
            }
            shard.fill(&mut self.pool, &self.buffer);
            shard.swept = now;
        }
        Ok(())
    }

    fn shape(&mut self, bits: u32, lines: u64) -> Arc<Shape> {
        let known = self.shapes.iter().find(|shape| shape.bits == bits && shape.main.lines == lines);
        if let Some(shape) = known {
            return Arc::clone(shape);
        }
        self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
        let shape = Arc::new(Shape::new(bits, self.tag, lines));
        self.shapes.push(Arc::clone(&shape));
        shape
    }

    /// The entry of the directory for a hash.
    #[inline(always)]
    fn entry_of(&self, hash: u64) -> usize {
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
    pub(super) fn even(&self) -> Option<Even<'_>> {
        self.even.as_ref().map(|grid| Even { shards: self, grid, lines: self.pool.first() })
    }

    /// Where the key of this hash belongs. Prefetches its line.
    #[inline(always)]
    pub(super) fn aim(&self, hash: u64) -> Aim {
        let number = self.shard_of(hash);
        let shard = &self.shards[number as usize];
        let (line, offset) = shard.place.of(self.local(shard, hash));
        let at = shard.number(line);
        prefetch::address(self.pool.line(at).as_ptr());
        Aim { shard: number, line: line as u32, at, number: offset }
    }

    /// The line of a key, how it is divided, and what is looked for in it.
    #[inline(always)]
    pub(super) fn target<const TAGS: bool>(&self, hash: u64) -> Target<'_> {
        let shard = &self.shards[self.shard_of(hash) as usize];
        let (line, number) = shard.place.of(self.local(shard, hash));
        let line = self.pool.line(shard.number(line));
        Target { line, slots: &shard.shape.main.slots, entry: if TAGS { number << self.tag } else { number } }
    }

    /// The overflow line of a key.
    #[inline(always)]
    pub(super) fn beyond(&self, hash: u64) -> Target<'_> {
        let shard = &self.shards[self.shard_of(hash) as usize];
        let Grid { place, slots, .. } = &shard.shape.overflow;
        let (line, number) = place.of(self.local(shard, hash));
        Target { line: shard.overflow_line(line), slots, entry: number << self.tag }
    }

    /// Finds a fingerprint.
    #[inline(always)]
    pub(super) fn locate(&self, kernel: impl Select, hash: u64, aim: &Aim) -> Option<Location> {
        let reader = Reader { shard: &self.shards[aim.shard as usize], pool: &self.pool };
        let x = self.local(reader.shard, hash);
        lines::locate(kernel, &reader, &reader.shard.shape, x, aim.line.into(), aim.number)
    }

    /// The tag of the key of this hash, if it is there; for what a line alone does not answer.
    #[inline(never)]
    pub(super) fn find(&self, hash: u64) -> Option<u64> {
        struct Look<'a>(&'a Shards, u64);
        impl Task for Look<'_> {
            type Output = Option<u64>;

            #[inline(always)]
            fn run<K: Body>(self, kernel: K) -> Option<u64> {
                let aim = self.0.aim(self.1);
                self.0.locate(kernel, self.1, &aim).map(|location| self.0.tag(&aim, location))
            }
        }
        cpu().run(Look(self, hash))
    }

    /// The tag of a fingerprint at this place of its shard.
    #[inline(always)]
    pub(super) fn tag(&self, aim: &Aim, location: Location) -> u64 {
        let reader = Reader { shard: &self.shards[aim.shard as usize], pool: &self.pool };
        lines::tag(&reader, &reader.shard.shape, location)
    }

    /// Changes the tag.
    pub(super) fn set_tag(&mut self, aim: &Aim, location: Location, tag: u64) {
        self.shards[aim.shard as usize].set_tag(&mut self.pool, location, tag);
    }

    /// Whether the shard of this key should grow before it takes another one.
    #[inline(always)]
    pub(super) fn is_full(&self, aim: &Aim) -> bool {
        let shard = &self.shards[aim.shard as usize];
        shard.keys >= shard.limit
    }

    /// Inserts the fingerprint of a hash with a tag, and returns its place if it was there. Aims are valid as
    /// long as no shard grows.
    #[inline(always)]
    pub(super) fn insert(&mut self, kernel: impl Select, hash: u64, aim: &Aim, tag: u64) -> Option<Location> {
        let shard = &mut self.shards[aim.shard as usize];
        let entry = aim.number << self.tag | tag;
        let known = match slots::insert(kernel, self.pool.line_mut(aim.at), &shard.shape.main.slots, entry) {
            Insert::Done => None,
            Insert::Known(slot) => Some(Location::Main(aim.line.into(), slot)),
            full => {
                let x = (hash & self.mask) << shard.depth;
                shard.insert_full(full, x, aim.number, tag)
            }
        };
        shard.keys += u64::from(known.is_none());
        known
    }

    /// The first part of [`insert`](Self::insert) for sets. The second, if there is one, must follow before
    /// anything else is done with the shard than such insertions; the overflow line that it needs is
    /// prefetched. `GROWN`: the shard has just grown.
    #[inline(always)]
    pub(super) fn insert_early<const GROWN: bool>(
        &mut self,
        kernel: impl Select,
        hash: u64,
        aim: &Aim,
    ) -> Early {
        let shard = &mut self.shards[aim.shard as usize];
        if !GROWN && shard.keys >= shard.limit {
            return Early::Full;
        }
        let line = self.pool.line_mut(aim.at);
        let done = slots::insert(kernel, line, &shard.shape.main.slots, aim.number);
        shard.keys += u64::from(matches!(done, Insert::Done | Insert::Evicted(_)));
        match done {
            Insert::Done => Early::Done(true),
            Insert::Known(_) => Early::Done(false),
            full => {
                let (x, _) = shard.leaving(full, (hash & self.mask) << shard.depth, aim.number, 0);
                shard.prefetch_beyond(x);
                let late = Late { shard: aim.shard, x };
                if full == Insert::Beyond { Early::Beyond(late) } else { Early::Evicted(late) }
            }
        }
    }

    /// The second part of the insertion of a key that was in the line: what had to leave it.
    pub(super) fn insert_evicted(&mut self, late: Late) {
        self.shards[late.shard as usize].insert_beyond(late.x, 0);
    }

    /// The second part of the insertion of a key that belongs into the overflow. Returns whether it was new.
    pub(super) fn insert_late(&mut self, late: Late) -> bool {
        let shard = &mut self.shards[late.shard as usize];
        let new = shard.insert_beyond(late.x, 0).is_none();
        shard.keys += u64::from(new);
        new
    }

    /// Removes the fingerprint of a hash, unless it has a tag.
    #[inline(always)]
    pub(super) fn remove(&mut self, kernel: impl Select, hash: u64, aim: &Aim) -> Removed {
        let shard = &mut self.shards[aim.shard as usize];
        let (x, entry) = ((hash & self.mask) << shard.depth, aim.number << self.tag);
        let line = self.pool.line_mut(aim.at);
        let removed = match slots::remove::<true>(kernel, line, &shard.shape.main.slots, entry) {
            Remove::Absent => Removed::Absent,
            Remove::Done => Removed::Done,
            Remove::Tagged(slot) => Removed::Tagged(Location::Main(aim.line.into(), slot)),
            Remove::Beyond => shard.remove_untagged_beyond(&self.pool, x),
            Remove::DoneFull => {
                shard.pull(&mut self.pool, x, aim.line.into());
                Removed::Done
            }
        };
        shard.keys -= u64::from(removed == Removed::Done);
        removed
    }

    /// Gives the shard of this key more lines, or splits it. Items for which `keep` is false are dropped; if
    /// that makes enough room, the shard keeps its size. All aims become invalid.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, aim: &Aim, keep: impl Fn(u64) -> bool, now: u64) -> Result<(), SizeError> {
        let (number, before) = (aim.shard as usize, self.shards.len());
        let mut items = self.items_of(number, keep)?;
        let shard = &self.shards[number];
        let (lines, bits) = (shard.shape.main.lines, shard.shape.bits);
        let done = if (items.len() as u64) < shard.shape.limit - shard.shape.limit / 8 {
            self.shards[number].fill(&mut self.pool, &items);
            Ok(())
        } else if let Some(lines) = grown(lines) {
            self.replace(number, lines, &items)
        } else if bits > MIN_BITS + 4 {
            self.split(number, &mut items)
        } else {
            self.replace(number, MAX_LINES, &items)
        };
        self.buffer = items;
        self.shards[number].swept = now;
        // The other half of a split.
        self.shards[before..].iter_mut().for_each(|shard| shard.swept = now);
        done
    }

    /// Drops the items of a shard for which `keep` is false.
    pub(super) fn sweep(
        &mut self,
        number: usize,
        keep: impl Fn(u64) -> bool,
        now: u64,
    ) -> Result<(), SizeError> {
        let items = self.items_of(number, keep)?;
        if items.len() as u64 != self.shards[number].keys {
            self.shards[number].fill(&mut self.pool, &items);
        }
        self.buffer = items;
        self.shards[number].swept = now;
        Ok(())
    }

    /// The items of a shard that are kept, in the buffer.
    pub(super) fn items_of(
        &mut self,
        number: usize,
        keep: impl Fn(u64) -> bool,
    ) -> Result<Vec<u64>, SizeError> {
        let mut items = core::mem::take(&mut self.buffer);
        items.clear();
        self.shards[number].read(&self.pool, &mut items)?;
        if self.tag > 0 {
            let tags = (1 << self.tag) - 1;
            items.retain(|item| keep(item & tags));
        }
        Ok(items)
    }

    /// Gives a shard another number of lines, and these items.
    pub(super) fn replace(&mut self, number: usize, lines: u64, items: &[u64]) -> Result<(), SizeError> {
        let (bits, prefix, depth) = {
            let old = &self.shards[number];
            (old.shape.bits, old.prefix, old.depth)
        };
        let shape = self.shape(bits, lines);
        if depth == 0 {
            // The only shard has a pool of its own size.
            let mut pool = Pool::exact(lines)?;
            let mut new = Shard::in_order(shape, 0, prefix, depth)?;
            new.fill(&mut pool, items);
            (self.shards[number], self.pool) = (new, pool);
            self.even = Some(Grid::new(bits, lines, self.tag));
        } else {
            let mut new = Shard::of_pages(shape, &mut self.pool, prefix, depth)?;
            new.fill(&mut self.pool, items);
            core::mem::replace(&mut self.shards[number], new).free(&mut self.pool);
            self.even = None;
        }
        Ok(())
    }

    /// Splits a shard, whose items are now these. The upper half becomes the last shard.
    pub(super) fn split(&mut self, number: usize, items: &mut [u64]) -> Result<(), SizeError> {
        let (bits, prefix, depth) = {
            let old = &self.shards[number];
            (old.shape.bits - 1, old.prefix << 1, old.depth + 1)
        };
        let memory = |_| SizeError::Memory { bytes: (size_of::<Shard>() * 2) as u64 };
        self.shards.try_reserve(1).map_err(memory)?;
        if depth > self.depth {
            let memory = |_| SizeError::Memory { bytes: 8 << self.depth };
            let mut wider = Vec::new();
            wider.try_reserve_exact(self.directory.len() * 2).map_err(memory)?;
            wider.extend(self.directory.iter().flat_map(|shard| [*shard, *shard]));
            (self.directory, self.depth) = (wider, depth);
        }
        let shape = self.shape(bits, MIN_LINES);
        // The only shard had a pool of its own size.
        let mut fresh = Pool::exact(0)?;
        let pool = if depth == 1 { &mut fresh } else { &mut self.pool };
        let mut low = Shard::of_pages(Arc::clone(&shape), pool, prefix, depth)?;
        let mut high = match Shard::of_pages(shape, pool, prefix | 1, depth) {
            Ok(high) => high,
            Err(refused) => {
                low.free(pool);
                return Err(refused);
            }
        };
        let half = 1u64 << bits << self.tag;
        let (below, above) = items.split_at_mut(items.partition_point(|item| *item < half));
        low.fill(pool, below);
        above.iter_mut().for_each(|item| *item -= half);
        high.fill(pool, above);
        let old = core::mem::replace(&mut self.shards[number], low);
        if depth == 1 {
            self.pool = fresh;
        } else {
            old.free(&mut self.pool);
        }
        self.even = None;
        let width = self.depth - depth;
        let first = ((prefix | 1) << width) as usize;
        self.directory[first..first + (1 << width)].fill(self.shards.len() as u32);
        self.shards.push(high);
        Ok(())
    }

    /// The items of the shard at this entry of the directory; returns the entry of the next shard.
    pub(super) fn read_at(&self, entry: usize, items: &mut Vec<u64>) -> Result<usize, SizeError> {
        let shard = &self.shards[self.directory[entry] as usize];
        items.clear();
        shard.read(&self.pool, items)?;
        let base = shard.prefix << shard.shape.bits << self.tag;
        items.iter_mut().for_each(|item| *item += base);
        Ok(entry + (1 << (self.depth - shard.depth)))
    }

    /// Gives a shard these items, which it has room for.
    pub(super) fn refill(&mut self, number: usize, items: &[u64]) {
        self.shards[number].fill(&mut self.pool, items);
    }

    /// The bits of a hash that are its fingerprint.
    pub(super) fn mask(&self) -> u64 {
        self.mask
    }

    /// The number of the shard at this entry of the directory, and how many entries it has.
    pub(super) fn number_at(&self, entry: usize) -> (usize, usize) {
        let number = self.directory[entry] as usize;
        (number, 1 << (self.depth - self.shards[number].depth))
    }

    /// The buffer that [`items_of`](Self::items_of) uses, for later calls.
    pub(super) fn give_buffer(&mut self, buffer: Vec<u64>) {
        self.buffer = buffer;
    }

    /// Entries of the directory.
    pub(super) fn entries(&self) -> usize {
        self.directory.len()
    }

    pub(super) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Bytes of memory.
    pub(super) fn byte_len(&self) -> u64 {
        let shards: u64 = self.shards.iter().map(Shard::byte_len).sum();
        self.pool.byte_len() + shards + self.directory.len() as u64 * 4
    }

    /// Fingerprints, expired ones included.
    pub(super) fn keys(&self) -> u64 {
        self.shards.iter().map(|shard| shard.keys).sum()
    }
}

const _: () = assert!(MIN_LINES.is_multiple_of(GROUP) && MAX_LINES.is_multiple_of(GROUP));
