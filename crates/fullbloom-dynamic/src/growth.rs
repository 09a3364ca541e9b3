//! Shards that get more lines, are split, or lose expired keys.

use super::pool::Pool;
use super::shape::{GROUP, Grid, MAX_LINES, MIN_BITS, MIN_LINES, Shape, grown};
use super::shard::Shard;
use super::shards::Shards;
use alloc::sync::Arc;
use alloc::vec::Vec;
use fullbloom_core::error::SizeError;

impl Shards {
    /// Gives this shard more lines, or splits it. Items for which `keep` is false are dropped; if
    /// that makes enough room, the shard keeps its size. All positions become invalid.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, shard: u32, keep: impl Fn(u64) -> bool, now: u64) -> Result<(), SizeError> {
        let (number, before) = (shard as usize, self.shards.len());
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
    pub(crate) fn sweep(
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
    pub(crate) fn items_of(
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
    pub(crate) fn replace(&mut self, number: usize, lines: u64, items: &[u64]) -> Result<(), SizeError> {
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
    pub(crate) fn split(&mut self, number: usize, items: &mut [u64]) -> Result<(), SizeError> {
        let (bits, prefix, depth) = {
            let old = &self.shards[number];
            (old.shape.bits - 1, old.prefix << 1, old.depth + 1)
        };
        let memory = |_| SizeError::Memory { bytes: (size_of::<Shard>() * 2) as u64 };
        self.shards.try_reserve(1).map_err(memory)?;
        let mut wider = Vec::new();
        if depth > self.depth {
            let memory = |_| SizeError::Memory { bytes: 8 << self.depth };
            wider.try_reserve_exact(self.directory.len() * 2).map_err(memory)?;
            wider.extend(self.directory.iter().flat_map(|shard| [*shard, *shard]));
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
        // Nothing fails from here on: directory, depth and grid agree with the shards at any time.
        if depth > self.depth {
            (self.directory, self.depth) = (wider, depth);
        }
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
}

const _: () = assert!(MIN_LINES.is_multiple_of(GROUP) && MAX_LINES.is_multiple_of(GROUP));
