#![allow(unsafe_code)]
//! Bits that many threads set at once.

use super::Owned;
use core::sync::atomic::{AtomicU64, Ordering};

/// An array of 64-bit words, each changed as a whole. In memory it is the same array as before.
#[derive(Debug)]
pub(crate) struct AtomicBits {
    bits: Owned,
}

impl AtomicBits {
    /// Takes an array of whole words; a rest of fewer than eight bytes would be out of reach.
    ///
    /// Panics unless it begins where a word may: [`Owned`] memory does, and so does a part of it that a native file
    /// gives out, whose sections are at multiples of 64.
    pub(crate) fn new(bits: Owned) -> AtomicBits {
        debug_assert_eq!(bits.len() % 8, 0);
        assert!(bits.len() == 0 || bits.as_ptr().cast::<AtomicU64>().is_aligned(), "an array of words");
        AtomicBits { bits }
    }

    /// The words, least significant byte first whatever the machine: see [`Mask`].
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        if self.bits.len() == 0 {
            return &[]; // nothing is allocated, and the pointer not aligned
        }
        // SAFETY: `Owned` memory is valid for `len` initialised bytes, and `new` saw that it is aligned. While it is in here, it is
        // reached through these atomics only: `into_inner` and `as_mut` need it exclusively. An `AtomicU64` has the
        // size and the valid values of a `u64`.
        unsafe { core::slice::from_raw_parts(self.bits.as_ptr().as_ptr().cast(), self.bits.len() / 8) }
    }

    /// The array, when no other thread can reach it any more.
    pub(crate) fn into_inner(self) -> Owned {
        self.bits
    }

    /// The array, while no other thread can reach it.
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        self.bits.as_mut()
    }
}

/// One bit of one word, in the byte order of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mask(u64);

impl Mask {
    #[inline(always)]
    pub(crate) fn of_bit(bit: u32) -> Mask {
        Mask((1u64 << bit).to_le())
    }
}

/// What is asked of a word; a trait, so that a model checker can put its own in the place of the real one.
pub(crate) trait Word {
    /// Whether the bit is set; whoever sees it set sees what its setter did before.
    fn sees(&self, mask: Mask) -> bool;

    /// Sets the bit; true if this call did.
    fn set(&self, mask: Mask) -> bool;
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn sees(&self, mask: Mask) -> bool {
        self.load(Ordering::Acquire) & mask.0 != 0
    }

    #[inline(always)]
    fn set(&self, mask: Mask) -> bool {
        self.fetch_or(mask.0, Ordering::AcqRel) & mask.0 == 0
    }
}

/// Sets all bits of one key, given as (word, bit) in an order that is the same for every insertion of that key. True
/// for at most one of any number of insertions of the key, concurrent or not.
///
/// One bit decides: the last one, in the order, that was still clear. Bits are read from the last to the first, which
/// finds the decider; they are set from the first to the last, so the decider is set after all others; who sets the
/// decider is told "new".
///
/// **At most one.** Two insertions with the same decider cannot both set it. Suppose insertions `S` and `T` had
/// deciders `s < t` and both set theirs. `S` read bit `t` as set, because its decider is the last clear bit it saw;
/// it was `T` who set it, so this read comes after that, and `T` had by then set, or seen set, every bit before `t`.
/// `S` reads bit `s` after bit `t`, and so sees it set (acquire and release on `t`): it cannot be its decider.
///
/// **At least one**, if the key was not there, unless the decider was set between reading and setting by the insertion
/// of a *different* key that shares that bit: then that key took part in making this one look known, which is what a
/// false positive is. Otherwise take the last clear bit `d` in the order: only insertions of this key that
/// have `d` as decider set it, and the first to do so is told "new".
///
/// Every step is one atomic instruction, or on CPUs without a fetching "or" a loop that fails only when the word has
/// changed; bits are never cleared while others can see the array, so a word changes at most 64 times and no
/// loop is longer: the insertion is wait-free.
#[inline(always)]
pub(crate) fn insert<W: Word>(words: &[W], bits: &[(usize, Mask)]) -> bool {
    let Some(decider) = bits.iter().rposition(|&(word, mask)| !words[word].sees(mask)) else { return false };
    for &(word, mask) in &bits[..decider] {
        if !words[word].sees(mask) {
            words[word].set(mask);
        }
    }
    let (word, mask) = bits[decider];
    words[word].set(mask)
}

/// Whether all bits of one key are set.
#[inline(always)]
pub(crate) fn contains<W: Word>(words: &[W], bits: impl IntoIterator<Item = (usize, Mask)>) -> bool {
    bits.into_iter().all(|(word, mask)| words[word].sees(mask))
}

/// The model: every order of a few insertions.
#[cfg(all(test, target_pointer_width = "64"))] // loom has no 64-bit words elsewhere
mod model {
    use super::tests::key;
    use super::*;
    use loom::sync::atomic::{AtomicU64 as LoomWord, Ordering as LoomOrdering};

    impl Word for LoomWord {
        fn sees(&self, mask: Mask) -> bool {
            self.load(LoomOrdering::Acquire) & mask.0 != 0
        }

        fn set(&self, mask: Mask) -> bool {
            self.fetch_or(mask.0, LoomOrdering::AcqRel) & mask.0 == 0
        }
    }

    /// Runs these insertions, one thread each, in every order the memory model allows; with at most `preemptions`
    /// involuntary switches where every order would be too many.
    fn interleaved(
        preemptions: Option<usize>,
        preset: Vec<(usize, Mask)>,
        keys: Vec<Vec<(usize, Mask)>>,
        judge: fn(&[bool]),
    ) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
        model.check(move || {
            let array: loom::sync::Arc<Vec<LoomWord>> =
                loom::sync::Arc::new((0..3).map(|_| LoomWord::new(0)).collect());
            for &(word, mask) in &preset {
                array[word].set(mask);
            }
            let spawn = |key: &Vec<(usize, Mask)>| {
                let (array, key) = (array.clone(), key.clone());
                loom::thread::spawn(move || insert(&array, &key))
            };
            let (here, elsewhere) = keys.split_first().unwrap();
            let threads: Vec<_> = elsewhere.iter().map(spawn).collect();
            let mut new = vec![insert(&array, here)];
            assert!(contains(&array, here.iter().copied()), "a key is not found by who inserted it");
            new.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
            for key in &keys {
                assert!(contains(&array, key.iter().copied()), "a bit was lost");
            }
            judge(&new);
        });
    }

    fn exactly_one(new: &[bool]) {
        assert_eq!(new.iter().filter(|&&new| new).count(), 1, "{new:?}");
    }

    #[test]
    fn exactly_one_of_two_insertions_of_a_key_is_new() {
        let apple = key(&[(0, 3), (1, 9)]);
        for preset in [&[][..], &[(1, 9)], &[(0, 3)]] {
            interleaved(None, key(preset), vec![apple.clone(); 2], exactly_one);
        }
        let apple = key(&[(0, 3), (1, 9), (2, 60)]);
        for preset in [&[][..], &[(2, 60)], &[(1, 9)], &[(0, 3), (2, 60)]] {
            interleaved(Some(3), key(preset), vec![apple.clone(); 2], exactly_one);
        }
    }

    #[test]
    fn exactly_one_of_three_insertions_of_a_key_is_new() {
        interleaved(Some(2), vec![], vec![key(&[(0, 1), (1, 1)]); 3], exactly_one);
    }

    #[test]
    fn another_key_may_make_a_key_look_known_but_never_new_twice() {
        // The pear shares the apple's last bit.
        let (apple, pear) = (key(&[(0, 1), (1, 1)]), key(&[(0, 2), (1, 1)]));
        interleaved(Some(2), vec![], vec![apple.clone(), apple, pear], |new| {
            assert!(!(new[0] && new[1]), "new twice: {new:?}");
            assert!(new.contains(&true), "nobody is new: {new:?}");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn key(bits: &[(usize, u32)]) -> Vec<(usize, Mask)> {
        bits.iter().map(|&(word, bit)| (word, Mask::of_bit(bit))).collect()
    }

    #[test]
    fn words_are_the_array_in_its_own_byte_order() {
        let mut atomic = AtomicBits::new(Owned::zeroed(64).unwrap());
        assert!(insert(atomic.words(), &key(&[(0, 0), (0, 9), (7, 63)])));
        assert!(!insert(atomic.words(), &key(&[(0, 9)])));
        assert_eq!(atomic.as_mut()[..2], [1, 2]);
        let bits = atomic.into_inner();
        assert_eq!((bits.as_ref()[0], bits.as_ref()[1], bits.as_ref()[63]), (1, 2, 0x80));
    }
}
