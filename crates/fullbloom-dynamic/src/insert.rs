//! Many keys into a set.

use super::batch::{Ahead, Bits, group};
use super::shard::Shard;
use super::shards::Shards;
use crate::slots::{self, GROUP, Select, Slots};
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::Task;
use fullbloom_core::kernel::lines::Line;

/// Where a key belongs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spot {
    /// The number of the fingerprint in the line.
    pub(crate) number: u64,
    /// The number of the line in the pool.
    pub(crate) at: u32,
    pub(crate) shard: u32,
}

/// What an insertion into a line changes.
pub(crate) struct Part<'a> {
    /// Keys of the shard, and how many it should have at most.
    pub(crate) keys: &'a mut u64,
    pub(crate) limit: u64,
    pub(crate) line: &'a mut Line,
    pub(crate) slots: &'a Slots,
}

/// Where the keys of a set are: any shards, or shards whose lines are one grid.
pub(crate) trait Places {
    /// Where the key of this hash belongs. Prefetches its line.
    fn spot(&self, hash: u64) -> Spot;

    fn part(&mut self, spot: &Spot) -> Part<'_>;

    fn shard(&mut self, number: u32) -> &mut Shard;

    /// The bits of a hash that are its fingerprint.
    fn mask(&self) -> u64;
}

/// A fingerprint that belongs in the overflow of a shard.
#[derive(Debug, Clone, Copy, Default)]
struct Late {
    shard: u32,
    /// Which key of the group it is; none if it had to leave its line for that key.
    key: Option<u8>,
    x: u64,
}

/// Fingerprints of a group that belong in the overflow: they wait until their lines are there.
#[derive(Default)]
struct LateKeys {
    keys: [Late; GROUP],
    len: usize,
}

impl LateKeys {
    #[inline(always)]
    fn push(&mut self, late: Late) {
        self.keys[self.len % GROUP] = late;
        self.len += 1;
    }

    /// Inserts them. Returns which keys of the group were new.
    #[inline(always)]
    fn insert(&mut self, places: &mut impl Places) -> u64 {
        let mut new = 0;
        for Late { shard, key, x } in &self.keys[..self.len] {
            let shard = places.shard(*shard);
            let is_new = shard.insert_beyond(*x, 0).is_none();
            if let Some(key) = key {
                shard.keys += u64::from(is_new);
                new |= u64::from(is_new) << key;
            }
        }
        self.len = 0;
        new
    }
}

/// Inserts a chunk of keys.
pub(crate) struct Insert<'a> {
    pub(crate) shards: &'a mut Shards,
    pub(crate) hashes: &'a Ahead,
    pub(crate) len: usize,
    pub(crate) bits: &'a mut Bits,
}

impl<B: Select> Task<B> for Insert<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run(self, kernel: B) -> Self::Output {
        let Insert { shards, hashes, len, bits } = self;
        let mut two = [[Spot::default(); GROUP]; 2];
        let mut late = LateKeys::default();
        spots(shards, group(hashes, 0), &mut two[0]);
        for at in 0..len.div_ceil(GROUP) {
            let (now, next) = (at % 2, (at + 1) % 2);
            let count = GROUP.min(len - at * GROUP);
            let mut these = Group { hashes: group(hashes, at), first: 0, count, answers: 0 };
            let later = group(hashes, at + 1);
            loop {
                let [first, second] = &mut two;
                let (places, ahead) = if now == 0 { (first, second) } else { (second, first) };
                match shards.even_mut() {
                    Some(mut even) => these.insert(kernel, &mut even, places, later, ahead, &mut late),
                    None => these.insert(kernel, shards, places, later, ahead, &mut late),
                }
                if these.first == count {
                    break;
                }
                these.grow(kernel, shards, &two[now])?;
                // The places of all keys may have changed.
                spots(shards, these.hashes, &mut two[now]);
                spots(shards, later, &mut two[next]);
            }
            bits[at * GROUP / 64] |= these.answers << (at * GROUP % 64);
        }
        Ok(())
    }
}

/// The places of a group, whose lines are prefetched.
#[inline(always)]
fn spots(shards: &mut Shards, hashes: &[u64; GROUP], spots: &mut [Spot; GROUP]) {
    #[inline(always)]
    fn all(places: &impl Places, hashes: &[u64; GROUP], spots: &mut [Spot; GROUP]) {
        for (spot, hash) in spots.iter_mut().zip(hashes) {
            *spot = places.spot(*hash);
        }
    }
    match shards.even_mut() {
        Some(even) => all(&even, hashes, spots),
        None => all(shards, hashes, spots),
    }
}

/// Keys of a group, of which those before `first` have been inserted.
struct Group<'a> {
    hashes: &'a [u64; GROUP],
    first: usize,
    count: usize,
    /// Which of them were new.
    answers: u64,
}

impl Group<'_> {
    /// Inserts the next keys, up to one whose shard should grow before. Before each, the place of a key of
    /// the next group is found.
    #[inline(always)]
    fn insert(
        &mut self,
        kernel: impl Select,
        places: &mut impl Places,
        spots: &[Spot; GROUP],
        later: &[u64; GROUP],
        ahead: &mut [Spot; GROUP],
        late: &mut LateKeys,
    ) {
        let (first, mut answers) = (self.first, self.answers);
        self.first = self.count;
        for i in first..self.count {
            ahead[i % GROUP] = places.spot(later[i % GROUP]);
            let (hash, spot) = (self.hashes[i % GROUP], &spots[i % GROUP]);
            let Part { keys, limit, line, slots } = places.part(spot);
            if *keys >= limit {
                self.first = i;
                break;
            }
            let done = slots::insert(kernel, line, slots, spot.number);
            let is_done = matches!(done, slots::Insert::Done | slots::Insert::Evicted(_));
            *keys += u64::from(is_done);
            answers |= u64::from(is_done) << i;
            if matches!(done, slots::Insert::Beyond | slots::Insert::Evicted(_)) {
                let x = hash & places.mask();
                let shard = places.shard(spot.shard);
                let (x, _) = shard.leaving(done, x << shard.depth, spot.number, 0);
                shard.prefetch_beyond(x);
                late.push(Late { shard: spot.shard, key: (!is_done).then_some(i as u8), x });
            }
        }
        self.answers = answers | late.insert(places);
    }

    /// Inserts one key, after its shard has grown.
    #[cold]
    #[inline(never)]
    fn grow(
        &mut self,
        kernel: impl Select,
        shards: &mut Shards,
        spots: &[Spot; GROUP],
    ) -> Result<(), SizeError> {
        let hash = self.hashes[self.first];
        shards.grow(spots[self.first].shard, |_| true, 0)?;
        let aim = shards.aim(hash);
        let is_new = shards.insert(kernel, hash, &aim, 0).is_none();
        self.answers |= u64::from(is_new) << self.first;
        self.first += 1;
        Ok(())
    }
}
