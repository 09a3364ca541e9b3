#![allow(unsafe_code)]
//! Bits that many threads set at once.

use super::Owned;
use core::sync::atomic::{AtomicU64, Ordering};

/// An array of 64-bit words, each updated atomically. The memory layout is that of the plain array.
#[derive(Debug)]
pub struct AtomicBits {
    bits: Owned,
}

impl AtomicBits {
    /// Takes an array of whole 64-bit words. A remainder of fewer than eight bytes could not be accessed.
    ///
    /// Panics unless the array is aligned to a word. [`Owned`] memory is aligned, and so is a section of it
    /// from a native file, because sections begin at multiples of 64.
    pub fn new(bits: Owned) -> AtomicBits {
        debug_assert_eq!(bits.len() % 8, 0);
        assert!(
            bits.is_empty() || bits.as_ptr().cast::<AtomicU64>().is_aligned(),
            "the array is not aligned to words"
        );
        AtomicBits { bits }
    }

    /// The words, least significant byte first on every machine: see [`Mask`].
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        if self.bits.is_empty() {
            return &[]; // nothing is allocated, and the pointer is not aligned
        }
        // SAFETY: `Owned` memory is valid for `len` initialised bytes, and `new` checked its alignment. While
        // it is held here, it is accessed through these atomics only: `into_inner` and `exclusive` need it
        // exclusively. An `AtomicU64` has the size and the valid values of a `u64`.
        unsafe { core::slice::from_raw_parts(self.bits.as_ptr().as_ptr().cast(), self.bits.len() / 8) }
    }

    /// The array, once no other thread can access it.
    pub fn into_inner(self) -> Owned {
        self.bits
    }

    /// The array, while no other thread can access it.
    pub fn exclusive(&mut self) -> &mut [u8] {
        self.bits.as_mut()
    }
}

/// One bit of one word, in the byte order of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask(u64);

impl Mask {
    #[inline(always)]
    pub fn of_bit(bit: u32) -> Mask {
        Mask((1u64 << bit).to_le())
    }
}

/// The operations on a word. This is a trait so that a model checker can substitute its own word type.
pub trait Word {
    /// Whether the bit is set. A thread that sees it set also sees everything its setter wrote before.
    fn sees(&self, mask: Mask) -> bool;

    /// Sets the bit. Returns true if this call changed it.
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

/// Sets all bits of one key, given as (word, bit) pairs in an order that is the same for every insertion of
/// that key. Returns true for at most one of any number of insertions of the key, concurrent or not.
///
/// One bit decides: the last bit, in this order, that was still clear. Bits are read from the last to the
/// first to find the deciding bit. They are set from the first to the last, so the deciding bit is set after
/// all earlier ones. The insertion that sets the deciding bit returns "new".
///
/// **At most one.** Two insertions with the same decider cannot both set it. Suppose insertions `S` and `T`
/// had deciders `s < t` and both set theirs. `S` read bit `t` as set, because its decider is the last clear
/// bit it saw. `T` set that bit, so this read comes after that write, and `T` had by then set, or seen set,
/// every bit before `t`. `S` reads bit `s` after bit `t`, and so sees it set (acquire and release on `t`):
/// `s` cannot be its decider.
///
/// **At least one**, if the key was not there, unless the insertion of a *different* key that shares the
/// deciding bit set it between the read and the write. In that case the other key contributed to this key's
/// bits, which is an ordinary false positive. Otherwise take the last clear bit `d` in the order: only
/// insertions of this key that have `d` as decider set it, and the first of them returns "new".
///
/// Every step is one atomic instruction, or a compare-and-swap loop on CPUs without an atomic fetch-or. The
/// loop retries only when the word has changed. Bits are never cleared while other threads can see the array,
/// so a word changes at most 64 times and bounds the loop: the insertion is wait-free.
#[inline(always)]
pub fn insert<W: Word>(words: &[W], bits: &[(usize, Mask)]) -> bool {
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
pub fn contains<W: Word>(words: &[W], bits: impl IntoIterator<Item = (usize, Mask)>) -> bool {
    bits.into_iter().all(|(word, mask)| words[word].sees(mask))
}

/// Model checking: every interleaving of a few insertions.
#[cfg(all(test, loom))]
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

    /// Runs these insertions, one thread each, in every order the memory model allows. `preemptions` limits
    /// the involuntary switches where every order would be too many.
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
            assert!(contains(&array, here.iter().copied()), "a thread does not find the key it inserted");
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
        // The key "pear" shares the last bit of "apple".
        let (apple, pear) = (key(&[(0, 1), (1, 1)]), key(&[(0, 2), (1, 1)]));
        interleaved(Some(2), vec![], vec![apple.clone(), apple, pear], |new| {
            assert!(!(new[0] && new[1]), "new twice: {new:?}");
            assert!(new.contains(&true), "no insertion is new: {new:?}");
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
        assert_eq!(atomic.exclusive()[..2], [1, 2]);
        let bits = atomic.into_inner();
        assert_eq!((bits.as_ref()[0], bits.as_ref()[1], bits.as_ref()[63]), (1, 2, 0x80));
    }
}
