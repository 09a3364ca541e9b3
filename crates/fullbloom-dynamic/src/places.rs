//! The places of keys in shards: any, or all lines as one grid.

use super::insert::{Part, Places, Spot};
use super::lines::Even;
use super::shape::Grid;
use super::shard::Shard;
use super::shards::{Aim, Shards};
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::lines::Line;

impl Shards {
    /// The lines as one grid, if they are one, to insert keys into a set.
    #[inline(always)]
    pub(crate) fn even_mut(&mut self) -> Option<EvenMut<'_>> {
        let grid = self.even.as_ref()?;
        let lines = self.pool.first_mut();
        Some(EvenMut { grid, mask: self.mask, depth: self.depth, shards: &mut self.shards, lines })
    }
}

impl Even<'_, &Shards> {
    /// As [`Shards::aim`].
    #[inline(always)]
    pub(crate) fn aim(&self, hash: u64) -> Aim {
        let (at, number) = self.grid.place.of(hash & self.mask);
        let depth = self.rest.depth;
        let shard = self.rest.entry_of(hash) as u32;
        let first = shard * (self.grid.lines >> depth) as u32;
        prefetch::read(self.lines, at as usize);
        Aim { shard, line: at as u32 - first, at: at as u32, number }
    }
}

impl Places for Shards {
    #[inline(always)]
    fn spot(&self, hash: u64) -> Spot {
        let Aim { shard, at, number, .. } = self.aim(hash);
        Spot { number, at, shard }
    }

    #[inline(always)]
    fn part(&mut self, spot: &Spot) -> Part<'_> {
        let Shard { keys, limit, shape, .. } = &mut self.shards[spot.shard as usize];
        Part { keys, limit: *limit, line: self.pool.line_mut(spot.at), slots: &shape.main.slots }
    }

    #[inline(always)]
    fn shard(&mut self, number: u32) -> &mut Shard {
        &mut self.shards[number as usize]
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        self.mask
    }
}

/// Shards whose lines are one grid.
pub(crate) struct EvenMut<'a> {
    grid: &'a Grid,
    mask: u64,
    depth: u32,
    shards: &'a mut [Shard],
    lines: &'a mut [Line],
}

impl Places for EvenMut<'_> {
    #[inline(always)]
    fn spot(&self, hash: u64) -> Spot {
        let (at, number) = self.grid.place.of(hash & self.mask);
        prefetch::read(self.lines, at as usize);
        Spot { number, at: at as u32, shard: (hash >> 1 >> (63 - self.depth)) as u32 }
    }

    #[inline(always)]
    fn part(&mut self, spot: &Spot) -> Part<'_> {
        // One after the other in the directory.
        let Shard { keys, limit, .. } = &mut self.shards[spot.shard as usize];
        let line = &mut self.lines[spot.at as usize];
        Part { keys, limit: *limit, line, slots: &self.grid.slots }
    }

    #[inline(always)]
    fn shard(&mut self, number: u32) -> &mut Shard {
        &mut self.shards[number as usize]
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        self.mask
    }
}
