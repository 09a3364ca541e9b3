#![allow(unsafe_code)]
//! Bits that many threads set at once.

use super::Owned;
use alloc::boxed::Box;
#[cfg(not(all(test, loom)))]
use core::sync::atomic::AtomicBool;
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::AtomicBool;

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
    fn load(&self) -> u64;
    fn store(&self, value: u64);
}

/// Relaxed: a reader that has to see a key synchronises with its insertion by other means, and one that has not
/// may see any of its bits. Writers have a lock.
impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    #[inline(always)]
    fn store(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Relaxed);
    }
}

/// Sets all bits of one key. Returns true if at least one was clear. The caller holds the lock of their words, so
/// that no other thread writes there.
#[inline(always)]
pub fn set<W: Word>(words: &[W], bits: impl IntoIterator<Item = (usize, Mask)>) -> bool {
    let mut changed = false;
    for (word, mask) in bits {
        let old = words[word].load();
        if old & mask.0 == 0 {
            words[word].store(old | mask.0);
            changed = true;
        }
    }
    changed
}

/// Whether all bits of one key are set.
#[inline(always)]
pub fn contains<W: Word>(words: &[W], bits: impl IntoIterator<Item = (usize, Mask)>) -> bool {
    bits.into_iter().all(|(word, mask)| words[word].load() & mask.0 != 0)
}

/// Locks for writing to an array, one for each stripe of its blocks: an insertion takes one locked instruction,
/// where a locked instruction for each bit took four to six times as long. Nobody locks for reading.
///
/// A thread holds a lock for a few dozen instructions. Another one that needs it waits for that long, and longer
/// only if the first is not running; it then gives its time away.
#[derive(Debug)]
pub struct Locks(Box<[Lock]>);

/// In a cache line of its own: threads that take neighbouring locks do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Lock(AtomicBool);

/// The most locks of an array, in 64 KiB. Of two threads that insert, one waits for the other less than once in
/// a thousand times.
const MOST_LOCKS: u64 = 1 << 10;

/// How often a waiting thread looks at a lock before it gives its time away.
const SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 100 };

impl Locks {
    /// For an array of this many blocks.
    pub fn new(blocks: u64) -> Locks {
        Locks((0..blocks.clamp(1, MOST_LOCKS).next_power_of_two()).map(|_| Lock::default()).collect())
    }

    /// Does this work on a block while no other thread works on it.
    #[inline(always)]
    pub fn hold<R>(&self, block: u64, work: impl FnOnce() -> R) -> R {
        // A panic in `work` frees the lock, too: what was written is a part of a key's bits, which does no harm.
        struct Held<'a>(&'a AtomicBool);
        impl Drop for Held<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        let Lock(lock) = &self.0[block as usize & (self.0.len() - 1)];
        if !taken(lock) {
            wait(lock);
        }
        let _held = Held(lock);
        work()
    }
}

/// Whether the lock was free, and is ours now.
#[inline(always)]
fn taken(lock: &AtomicBool) -> bool {
    lock.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Until the lock is ours. It is worth taking its cache line from the thread that holds it only when it is free.
#[cold]
fn wait(lock: &AtomicBool) {
    let mut spins = 0u32;
    while lock.load(Ordering::Relaxed) || !taken(lock) {
        spins = spins.wrapping_add(1);
        if spins.is_multiple_of(SPINS) {
            yield_now();
        }
        core::hint::spin_loop();
    }
}

/// Gives this thread's time away, where that is possible.
fn yield_now() {
    #[cfg(all(test, loom))]
    loom::thread::yield_now();
    #[cfg(all(feature = "std", not(all(test, loom))))]
    std::thread::yield_now();
}

/// Model checking: every interleaving of two insertions. (Of three threads, the model follows two that wait for the
/// third for ever.)
#[cfg(all(test, loom))]
mod model {
    use super::tests::key;
    use super::*;
    use loom::sync::atomic::{AtomicU64 as LoomWord, Ordering as LoomOrdering};

    impl Word for LoomWord {
        fn load(&self) -> u64 {
            LoomWord::load(self, LoomOrdering::Relaxed)
        }

        fn store(&self, value: u64) {
            LoomWord::store(self, value, LoomOrdering::Relaxed);
        }
    }

    /// Runs these insertions, one thread each, in every order the memory model allows. `preemptions` limits
    /// the involuntary switches where every order would be too many.
    fn interleaved(preemptions: Option<usize>, keys: Vec<Vec<(usize, Mask)>>, judge: fn(&[bool])) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
        model.check(move || {
            let array: loom::sync::Arc<Vec<LoomWord>> =
                loom::sync::Arc::new((0..3).map(|_| LoomWord::new(0)).collect());
            let locks = loom::sync::Arc::new(Locks::new(1));
            let insert = |array: &[LoomWord], locks: &Locks, key: &[(usize, Mask)]| {
                locks.hold(0, || set(array, key.iter().copied()))
            };
            let (here, elsewhere) = keys.split_first().unwrap();
            let spawn = |key: &Vec<(usize, Mask)>| {
                let (array, locks, key) = (array.clone(), locks.clone(), key.clone());
                loom::thread::spawn(move || insert(&array, &locks, &key))
            };
            let threads: Vec<_> = elsewhere.iter().map(spawn).collect();
            let mut new = vec![insert(&array, &locks, here)];
            assert!(contains(&**array, here.iter().copied()), "a thread does not find the key it inserted");
            new.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
            for key in &keys {
                assert!(contains(&**array, key.iter().copied()), "a bit was lost");
            }
            judge(&new);
        });
    }

    fn exactly_one(new: &[bool]) {
        assert_eq!(new.iter().filter(|&&new| new).count(), 1, "{new:?}");
    }

    #[test]
    fn exactly_one_of_two_insertions_of_a_key_is_new() {
        interleaved(None, vec![key(&[(0, 3), (1, 9)]); 2], exactly_one);
    }

    #[test]
    fn keys_that_share_words_lose_no_bit() {
        interleaved(Some(3), vec![key(&[(0, 1), (1, 1)]), key(&[(0, 2), (1, 1)])], |new| {
            assert!(new.contains(&true), "no insertion is new: {new:?}");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod exclusion {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_lock_is_held_by_one_thread_and_is_free_after_a_panic() {
        let locks = Locks::new(3);
        assert_eq!(locks.0.len(), 4);
        let panicked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| locks.hold(7, || panic!("planted"))));
        assert!(panicked.is_err());
        let (inside, sum) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        locks.hold(3, || {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 8_000);
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
        assert!(set(atomic.words(), key(&[(0, 0), (0, 9), (7, 63)])));
        assert!(!set(atomic.words(), key(&[(0, 9)])));
        assert_eq!(atomic.exclusive()[..2], [1, 2]);
        let bits = atomic.into_inner();
        assert_eq!((bits.as_ref()[0], bits.as_ref()[1], bits.as_ref()[63]), (1, 2, 0x80));
    }
}
