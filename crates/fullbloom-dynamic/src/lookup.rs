//! Lookups of many keys.

use super::batch::{Ahead, Bits, group};
use super::expiry::Clock;
use super::lines::{Even, Rest, Target};
use super::options::Mode;
use super::shards::Shards;
use crate::slots::{self, GROUP, Select};
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::Task;
use fullbloom_core::kernel::lines::Line;

/// A store in which keys are looked up.
pub(crate) trait Lookup: Copy {
    /// What is kept of the keys of a group until their turn.
    type Group: Copy;
    type Rest: Rest;

    fn no_group(self) -> Self::Group;

    /// Prefetches the line of a key of a group.
    fn aim<const TAGS: bool>(self, hashes: &[u64; GROUP], group: &mut Self::Group, i: usize);

    /// As [`slots::test_all`].
    fn test(self, kernel: impl Select, group: &Self::Group, ahead: impl FnMut(usize)) -> (u32, u32);

    fn rest(self) -> Self::Rest;
}

impl<'a> Lookup for &'a Shards {
    type Group = [Target<'a>; GROUP];
    type Rest = &'a Shards;

    fn no_group(self) -> Self::Group {
        [self.target::<false>(0); GROUP]
    }

    #[inline(always)]
    fn aim<const TAGS: bool>(self, hashes: &[u64; GROUP], group: &mut Self::Group, i: usize) {
        group[i] = self.target::<TAGS>(hashes[i]);
        prefetch::address(group[i].line.as_ptr());
    }

    #[inline(always)]
    fn test(self, kernel: impl Select, group: &Self::Group, mut ahead: impl FnMut(usize)) -> (u32, u32) {
        let (mut found, mut unsure) = (0, 0u64);
        for (i, target) in group.iter().enumerate() {
            ahead(i);
            let (yes, is_unsure) = slots::test(kernel, target.line, target.slots, target.entry);
            found |= u32::from(yes) << i;
            unsure |= u64::from(is_unsure) << i;
        }
        (found, unsure as u32)
    }

    #[inline(always)]
    fn rest(self) -> &'a Shards {
        self
    }
}

/// All lines have one division: it needs not be kept for each key.
impl<'a, R: Rest> Lookup for Even<'a, R> {
    type Group = ([&'a Line; GROUP], [u64; GROUP]);
    type Rest = R;

    fn no_group(self) -> Self::Group {
        ([self.line(0); GROUP], [0; GROUP])
    }

    #[inline(always)]
    fn aim<const TAGS: bool>(self, hashes: &[u64; GROUP], (lines, entries): &mut Self::Group, i: usize) {
        let (line, number) = self.grid.place.of(hashes[i] & self.mask);
        let line = self.line(line);
        prefetch::address(line.as_ptr());
        (lines[i], entries[i]) = (line, if TAGS { number << self.tag } else { number });
    }

    #[inline(always)]
    fn test(
        self,
        kernel: impl Select,
        (lines, entries): &Self::Group,
        ahead: impl FnMut(usize),
    ) -> (u32, u32) {
        slots::test_all(kernel, lines, &self.grid.slots, entries, ahead)
    }

    #[inline(always)]
    fn rest(self) -> R {
        self.rest
    }
}

/// Looks up a chunk of keys.
pub(crate) struct Look<'a, L> {
    pub(crate) mode: Mode,
    /// Of a filter with expiry.
    pub(crate) clock: Option<&'a Clock>,
    pub(crate) store: L,
    pub(crate) hashes: &'a Ahead,
    pub(crate) len: usize,
    pub(crate) bits: &'a mut Bits,
}

impl<L: Lookup, B: Select> Task<B> for Look<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, kernel: B) {
        let Look { mode, clock, store, hashes, len, bits } = self;
        match mode {
            Mode::Expiring(_) => {
                look::<_, _, true, true>(kernel, store, hashes, len, bits, |tag| {
                    clock.is_none_or(|clock| clock.is_live(tag))
                });
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
fn look<K: Select, L: Lookup, const TAGS: bool, const DIE: bool>(
    kernel: K,
    store: L,
    hashes: &Ahead,
    len: usize,
    bits: &mut Bits,
    is_live: impl Fn(u64) -> bool,
) {
    let mut two = [store.no_group(); 2];
    let [this, next] = &mut two;
    let (mut this, mut next) = (this, next);
    (0..GROUP).for_each(|i| store.aim::<TAGS>(group(hashes, 0), this, i));
    let groups = len.div_ceil(GROUP);
    // The answers of the group before, and the few keys of it that need more than their line.
    let (mut answers, mut unsure) = (0u32, 0u32);
    for at in 0..=groups {
        let (mut answers_now, mut unsure_now) = (0u32, 0u32);
        if at < groups {
            let ahead = |i: usize| store.aim::<TAGS>(group(hashes, at + 1), next, i);
            (answers_now, unsure_now) = store.test(kernel, this, ahead);
            core::mem::swap(&mut this, &mut next);
            if DIE {
                unsure_now |= answers_now;
            }
            for i in ones(unsure_now) {
                prefetch::address(store.rest().overflow_target(group(hashes, at)[i]).line.as_ptr());
            }
        }
        if at > 0 {
            for i in ones(unsure) {
                let hash = group(hashes, at - 1)[i];
                let rest = store.rest();
                let target = rest.overflow_target(hash);
                let yes = match slots::test(kernel, target.line, target.slots, target.entry) {
                    (yes, false) if !DIE => yes | (answers >> i & 1 == 1),
                    _ => rest.find(hash).is_some_and(&is_live),
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
