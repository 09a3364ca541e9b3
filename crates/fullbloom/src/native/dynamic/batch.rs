//! Many keys at once: the lines of later keys are prefetched while earlier keys are processed.

use super::bulk::{self, Buffers};
use super::filter::{DynamicFilter, NotDeletable, Store, cpu};
use super::lines::{EvenLines, Target};
use super::options::Mode;
use super::shards::{Aim, Early, Late, Shards};
use crate::bits::prefetch;
use crate::error::SizeError;
use crate::kernel::lines::Line;
use crate::kernel::pipeline::{Answers, eight_bools, hash_all};
use crate::kernel::slots::{self, Select};
use crate::kernel::{Body, Task};
use crate::keys::Keys;
use crate::native::Hasher;
use crate::native::stored::assert_unlocked;

/// Keys hashed at once; a multiple of 64.
const CHUNK: usize = 1024;

/// Keys whose lines are prefetched together, one group before they are processed.
const GROUP: usize = 32;

/// The hashes of a chunk, and after them hashes that mean nothing, so that there is always one more group.
type Ahead = [u64; CHUNK + GROUP];

/// The answers of a chunk.
type Bits = [u64; CHUNK / 64];

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// Looks up many keys, in any of the forms of [`Keys`]. Faster than single lookups.
    ///
    /// # Panics
    /// If the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch<'a, K: Keys<Hasher> + ?Sized>(&self, keys: &K, answers: impl Into<Answers<'a>>) {
        let mut answers = answers.into();
        answers.check_len(keys.count());
        if self.locked.is_some() {
            return answers.fill(keys.count(), true);
        }
        let done = chunks(keys, 0, &self.hasher, Some(answers), |hashes, len, bits| {
            match &self.store {
                Store::Shards(shards) => match shards.even() {
                    Some(even) => cpu().run(Look { filter: self, store: &even, hashes, len, bits }),
                    None => cpu().run(Look { filter: self, store: shards.as_ref(), hashes, len, bits }),
                },
                Store::Flat(flat) => {
                    // The bytes are asked for once, not for each key.
                    let store = &flat.as_ref().clone_with(flat.bytes.as_ref());
                    cpu().run(Look { filter: self, store, hashes, len, bits });
                }
            }
            Ok::<(), core::convert::Infallible>(())
        });
        let Ok(_) = done;
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> u64 {
        let mut words = alloc::vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch(keys, &mut words);
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Calls `work` with the hashes of chunks of keys, from this key on, and their number, stores the answers,
/// and counts those that are yes.
fn chunks<K: Keys<Hasher> + ?Sized, E>(
    keys: &K,
    first: usize,
    hasher: &Hasher,
    mut answers: Option<Answers<'_>>,
    mut work: impl FnMut(&Ahead, usize, &mut Bits) -> Result<(), E>,
) -> Result<u64, E> {
    let mut hashes = [0; CHUNK + GROUP];
    let mut count = 0;
    for start in (first..keys.count()).step_by(CHUNK) {
        let len = CHUNK.min(keys.count() - start);
        hash_all(cpu(), keys, hasher, start, &mut hashes[..len]);
        let mut bits = [0; CHUNK / 64];
        let done = work(&hashes, len, &mut bits);
        count += bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        match &mut answers {
            None => {}
            Some(Answers::Bools(bools)) => {
                for (bools, word) in bools[start..][..len].chunks_mut(64).zip(bits) {
                    for (eight, byte) in bools.chunks_mut(8).zip(word.to_le_bytes()) {
                        eight.copy_from_slice(&eight_bools(byte)[..eight.len()]);
                    }
                }
            }
            Some(Answers::Bits(words)) => {
                let words = &mut words[start / 64..][..len.div_ceil(64)];
                words.copy_from_slice(&bits[..words.len()]);
            }
        }
        done?;
    }
    Ok(count)
}

/// Inserts keys into a set as long as there are so many that it pays to sort them. Returns how many those
/// are, and how many were new.
fn insert_sorted<K: Keys<Hasher> + ?Sized>(
    shards: &mut Shards,
    keys: &K,
    hasher: &Hasher,
) -> Result<(usize, u64), SizeError> {
    let (mut start, mut new) = (0, 0);
    let mut buffers = None;
    loop {
        let len = bulk::MOST.min(keys.count() - start);
        if !shards.pays_to_sort(len) {
            return Ok((start, new));
        }
        let Some(buffers) = buffers.get_or_insert_with(|| Buffers::new(len)) else {
            return Ok((start, new)); // it can be done without
        };
        hash_all(cpu(), keys, hasher, start, &mut buffers.hashes[..len]);
        new += shards.insert_sorted(buffers, len)?;
        start += len;
    }
}

/// The hashes of a group.
#[inline(always)]
fn group(hashes: &Ahead, group: usize) -> &[u64; GROUP] {
    &hashes.as_chunks().0[group]
}

/// A store in which keys are looked up.
trait Lookup {
    /// What is kept of a key until its turn.
    type Target<'a>: Copy
    where
        Self: 'a;

    /// Prefetches the line of a key.
    fn aim<const TAGS: bool>(&self, hash: u64) -> Self::Target<'_>;

    /// As [`slots::test`].
    fn test(&self, kernel: impl Select, target: &Self::Target<'_>) -> (bool, bool);

    /// The overflow line of a key.
    fn beyond(&self, hash: u64) -> Target<'_>;

    /// The tag of the key, if it is there.
    fn find(&self, hash: u64) -> Option<u64>;
}

impl Lookup for Shards {
    type Target<'a> = Target<'a>;

    #[inline(always)]
    fn aim<const TAGS: bool>(&self, hash: u64) -> Target<'_> {
        let target = self.target::<TAGS>(hash);
        prefetch::address(target.line.as_ptr());
        target
    }

    #[inline(always)]
    fn test(&self, kernel: impl Select, target: &Target<'_>) -> (bool, bool) {
        slots::test(kernel, target.line, target.slots, target.entry)
    }

    #[inline(always)]
    fn beyond(&self, hash: u64) -> Target<'_> {
        Shards::beyond(self, hash)
    }

    fn find(&self, hash: u64) -> Option<u64> {
        Shards::find(self, hash)
    }
}

/// All lines have one shape: it needs not be kept for each key.
impl<E: EvenLines> Lookup for E {
    type Target<'a>
        = (&'a Line, u64)
    where
        Self: 'a;

    #[inline(always)]
    fn aim<const TAGS: bool>(&self, hash: u64) -> (&Line, u64) {
        let (line, number) = self.grid().place.of(hash & self.mask());
        let line = self.line(line);
        prefetch::address(line.as_ptr());
        (line, if TAGS { number << self.tag_bits() } else { number })
    }

    #[inline(always)]
    fn test(&self, kernel: impl Select, (line, entry): &(&Line, u64)) -> (bool, bool) {
        slots::test(kernel, line, &self.grid().slots, *entry)
    }

    #[inline(always)]
    fn beyond(&self, hash: u64) -> Target<'_> {
        EvenLines::beyond(self, hash)
    }

    fn find(&self, hash: u64) -> Option<u64> {
        EvenLines::find(self, hash)
    }
}

/// Looks up a chunk of keys.
struct Look<'a, S, L> {
    filter: &'a DynamicFilter<S>,
    store: &'a L,
    hashes: &'a Ahead,
    len: usize,
    bits: &'a mut Bits,
}

impl<S: AsRef<[u8]>, L: Lookup> Task for Look<'_, S, L> {
    type Output = ();

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) {
        let Look { filter, store, hashes, len, bits } = self;
        match filter.plan.mode {
            Mode::Expiring(_) => {
                look::<_, _, true, true>(kernel, store, hashes, len, bits, |tag| filter.is_live(tag));
            }
            Mode::Counting => look::<_, _, true, false>(kernel, store, hashes, len, bits, |_| true),
            Mode::Set => look::<_, _, false, false>(kernel, store, hashes, len, bits, |_| true),
        }
        if len % 64 > 0 {
            bits[len / 64] &= (1 << (len % 64)) - 1;
        }
    }
}

/// `TAGS`: fingerprints have tags; `DIE`: which decide whether they count.
#[inline(always)]
fn look<K: Body, L: Lookup, const TAGS: bool, const DIE: bool>(
    kernel: K,
    store: &L,
    hashes: &Ahead,
    len: usize,
    bits: &mut Bits,
    is_live: impl Fn(u64) -> bool,
) {
    // This group and the next, in turn.
    let mut two = [[store.aim::<TAGS>(hashes[0]); GROUP]; 2];
    aim_all::<L, TAGS>(store, group(hashes, 0), &mut two[0]);
    let groups = len.div_ceil(GROUP);
    // The answers of the group before, and the few keys of it that need more than their line.
    let (mut answers, mut unsure) = (0u32, 0u32);
    for at in 0..=groups {
        let (mut answers_now, mut unsure_now) = (0u32, 0u32);
        if at < groups {
            aim_all::<L, TAGS>(store, group(hashes, at + 1), &mut two[(at + 1) % 2]);
            for target in &two[at % 2] {
                let (yes, is_unsure) = store.test(kernel, target);
                answers_now = answers_now << 1 | u32::from(yes);
                unsure_now = unsure_now << 1 | u32::from(is_unsure | (DIE & yes));
            }
            (answers_now, unsure_now) = (answers_now.reverse_bits(), unsure_now.reverse_bits());
            for i in ones(unsure_now) {
                prefetch::address(store.beyond(group(hashes, at)[i]).line.as_ptr());
            }
        }
        if at > 0 {
            for i in ones(unsure) {
                let hash = group(hashes, at - 1)[i];
                let beyond = store.beyond(hash);
                let yes = match slots::test(kernel, beyond.line, beyond.slots, beyond.entry) {
                    (yes, false) if !DIE => yes | (answers >> i & 1 == 1),
                    _ => store.find(hash).is_some_and(&is_live),
                };
                answers = answers & !(1 << i) | u32::from(yes) << i;
            }
            bits[(at - 1) * GROUP / 64] |= u64::from(answers) << ((at - 1) * GROUP % 64);
        }
        (answers, unsure) = (answers_now, unsure_now);
    }
}

/// The positions of the set bits.
#[inline(always)]
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let next = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        next
    })
}

/// The targets of a group.
#[inline(always)]
fn aim_all<'a, L: Lookup, const TAGS: bool>(
    store: &'a L,
    hashes: &[u64; GROUP],
    targets: &mut [L::Target<'a>; GROUP],
) {
    for (target, hash) in targets.iter_mut().zip(hashes) {
        *target = store.aim::<TAGS>(*hash);
    }
}

impl DynamicFilter {
    /// Adds many keys. Returns how many were new.
    ///
    /// If a set must grow for them, and there are many compared with the keys that it has, they are sorted
    /// first. This takes 16 bytes for each of up to two million keys while it lasts; without that memory they are
    /// inserted one by one.
    ///
    /// # Errors
    /// When the memory to grow cannot be allocated; some of the keys have then been inserted.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<u64, SizeError> {
        self.insert_chunks(keys, None)
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not
    /// new. Returns how many were new.
    ///
    /// # Errors
    /// As [`insert_batch`](Self::insert_batch). The keys after the failure are reported as not new.
    ///
    /// # Panics
    /// If the number of places in `new` is not the number of keys, or if the filter is
    /// [locked](Self::is_locked).
    pub fn insert_batch_new<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: impl Into<Answers<'a>>,
    ) -> Result<u64, SizeError> {
        let mut new = new.into();
        new.check_len(keys.count());
        new.fill(keys.count(), false);
        self.insert_chunks(keys, Some(new))
    }

    fn insert_chunks<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: Option<Answers<'_>>,
    ) -> Result<u64, SizeError> {
        assert_unlocked(self.locked);
        self.make_shards()?;
        let hasher = self.hasher.clone();
        let (mut start, mut count) = (0, 0);
        if let (None, Mode::Set, Store::Shards(shards)) = (&new, self.plan.mode, &mut self.store) {
            (start, count) = insert_sorted(shards, keys, &hasher)?;
        }
        let rest =
            chunks(keys, start, &hasher, new, |hashes, len, bits| match (self.plan.mode, &mut self.store) {
                (Mode::Set, Store::Shards(shards)) => cpu().run(Insert { shards, hashes, len, bits }),
                _ => cpu().run(Change { filter: self, hashes, len, bits, insert: true }),
            })?;
        Ok(count + rest)
    }

    /// Removes many keys, and reports for each whether it was removed; see [`remove`](Self::remove). Returns
    /// how many were.
    ///
    /// # Errors
    /// If the filter does not count its keys.
    ///
    /// # Panics
    /// If the number of places in `removed` is not the number of keys; and as [`remove`](Self::remove).
    pub fn remove_batch<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        removed: impl Into<Answers<'a>>,
    ) -> Result<u64, NotDeletable> {
        assert_unlocked(self.locked);
        let removed = removed.into();
        removed.check_len(keys.count());
        if self.plan.mode != Mode::Counting {
            return Err(NotDeletable);
        }
        self.make_shards().expect("memory for the filter's lines");
        let hasher = self.hasher.clone();
        chunks(keys, 0, &hasher, Some(removed), |hashes, len, bits| {
            cpu().run(Change { filter: self, hashes, len, bits, insert: false }).map_err(|_| NotDeletable)
        })
    }
}

/// Inserts a chunk of keys into a set.
struct Insert<'a> {
    shards: &'a mut Shards,
    hashes: &'a Ahead,
    len: usize,
    bits: &'a mut Bits,
}

impl Task for Insert<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) -> Self::Output {
        let Insert { shards, hashes, len, bits } = self;
        let mut two = [[Aim::default(); GROUP]; 2];
        let mut late = LateKeys::default();
        aims(shards, group(hashes, 0), &mut two[0]);
        for at in 0..len.div_ceil(GROUP) {
            let (now, next) = (at % 2, (at + 1) % 2);
            aims(shards, group(hashes, at + 1), &mut two[next]);
            let hashes_now = group(hashes, at);
            let mut answers = 0;
            for i in 0..GROUP.min(len - at * GROUP) {
                let mut early = shards.insert_early::<false>(kernel, hashes_now[i], &two[now][i]);
                if let Early::Full = early {
                    answers |= late.insert(shards);
                    shards.grow(&two[now][i], |_| true, 0)?;
                    // The places of all keys may have changed.
                    aims(shards, hashes_now, &mut two[now]);
                    aims(shards, group(hashes, at + 1), &mut two[next]);
                    early = shards.insert_early::<true>(kernel, hashes_now[i], &two[now][i]);
                }
                match early {
                    Early::Done(new) => answers |= u64::from(new) << i,
                    Early::Evicted(other) => {
                        answers |= 1 << i;
                        late.push(other, None);
                    }
                    Early::Beyond(key) => late.push(key, Some(i as u8)),
                    Early::Full => unreachable!("it has grown"),
                }
            }
            answers |= late.insert(shards);
            bits[at * GROUP / 64] |= answers << (at * GROUP % 64);
        }
        Ok(())
    }
}

/// Fingerprints of a group that belong in the overflow, and which keys of the group they are: they wait until
/// their lines are there.
#[derive(Default)]
struct LateKeys {
    keys: [(Late, Option<u8>); GROUP],
    len: usize,
}

impl LateKeys {
    #[inline(always)]
    fn push(&mut self, late: Late, key: Option<u8>) {
        self.keys[self.len % GROUP] = (late, key);
        self.len += 1;
    }

    /// Inserts them. Returns which keys of the group were new.
    #[inline(always)]
    fn insert(&mut self, shards: &mut Shards) -> u64 {
        let mut new = 0;
        for (late, key) in &self.keys[..self.len] {
            match key {
                None => shards.insert_evicted(*late),
                Some(key) => new |= u64::from(shards.insert_late(*late)) << key,
            }
        }
        self.len = 0;
        new
    }
}

/// The places of a group, whose lines are prefetched.
#[inline(always)]
fn aims(shards: &Shards, hashes: &[u64; GROUP], aims: &mut [Aim; GROUP]) {
    match shards.even() {
        Some(even) => {
            for (aim, hash) in aims.iter_mut().zip(hashes) {
                *aim = even.aim(*hash);
            }
        }
        None => {
            for (aim, hash) in aims.iter_mut().zip(hashes) {
                *aim = shards.aim(*hash);
            }
        }
    }
}

/// Inserts a chunk of keys into a filter with tags, or removes them.
struct Change<'a> {
    filter: &'a mut DynamicFilter,
    hashes: &'a Ahead,
    len: usize,
    bits: &'a mut Bits,
    insert: bool,
}

impl Task for Change<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) -> Self::Output {
        let Change { filter, hashes, len, bits, insert } = self;
        if insert {
            filter.sweep_some(len)?;
        }
        let mut two = [[Aim::default(); GROUP]; 2];
        aims(filter.shards(), group(hashes, 0), &mut two[0]);
        for at in 0..len.div_ceil(GROUP) {
            let (now, next) = (at % 2, (at + 1) % 2);
            aims(filter.shards(), group(hashes, at + 1), &mut two[next]);
            let hashes_now = group(hashes, at);
            for i in 0..GROUP.min(len - at * GROUP) {
                let (yes, has_grown) = match insert {
                    true => filter.insert_at(kernel, hashes_now[i], two[now][i])?,
                    false => (filter.remove_at(kernel, hashes_now[i], two[now][i]), false),
                };
                bits[at * GROUP / 64] |= u64::from(yes) << (at * GROUP % 64 + i);
                if has_grown {
                    // The places of all keys may have changed.
                    aims(filter.shards(), hashes_now, &mut two[now]);
                    aims(filter.shards(), group(hashes, at + 1), &mut two[next]);
                }
            }
        }
        Ok(())
    }
}
