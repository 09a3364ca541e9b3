//! The pipeline of batches: while the cache lines of some keys are being fetched, keys whose lines have
//! arrived are processed, and further keys are hashed.
//!
//! ```text
//!   one turn of blocked filters:   hash chunk i+4    prepare chunk i+3    prefetch chunk i+2    finish chunk i
//! ```
//!
//! There is one driver, [`run`], for all filters of bits; the work on a chunk of keys is a [`Pipe`]. The kind
//! `dynamic` has its own, because an insert may move its lines (the crate `fullbloom-dynamic`). A pipe sets
//! the number of keys in a chunk and the number of turns between the steps:
//!
//! | pipe | chunk | steps | why |
//! |---|---|---|---|
//! | blocks (RocksDB, Parquet) | 16 | 4 turns | performing all steps in every turn spreads the memory requests: hashing 64 keys and then fetching 64 blocks left memory idle while hashing, which cost 20 % at 256 MiB. A value that was just stored cannot be loaded in another width without a stall, so each step runs one turn after the previous one |
//! | any other dialect | 16 | 1 turn | a key has several lines: more keys ahead would evict each other's lines |
//! | native lines | 64 | 1 turn | the kernels answer 64 keys at once and prefetch the next chunk between them |
//! | native, kind compact | 64 | 1 turn | the same; keys that moved on are finished one turn later |

use super::{Body, Cpu, Task};
use crate::error::KeysError;
use crate::keys::{KeyHasher, Keys};
use alloc::vec::Vec;
use core::mem;

/// Whether an array of this many bytes is expected in the second-level cache: prefetching it would cost more
/// than it saves. The one threshold of all batches.
#[inline(always)]
pub const fn is_near(bytes: usize) -> bool {
    bytes <= 512 << 10
}

/// Keys in a chunk of most pipes.
pub const CHUNK: usize = 16;

/// Slots of most pipes.
pub const RING: usize = 8;

/// The work on chunks of `N` keys, bound to one filter. The pipeline holds `SLOTS` chunks, a power of two
/// above [`FINISH`](Pipe::FINISH).
pub trait Pipe<const N: usize, const SLOTS: usize> {
    /// The hash of a key.
    type Hash: Copy;

    /// The hashes of a chunk and what has been computed from them.
    type Slot: Copy;

    /// Turns from hashing a chunk to preparing it.
    const PREPARE: usize;
    /// Turns from hashing a chunk to prefetching it.
    const PREFETCH: usize;
    /// Turns from hashing a chunk to finishing it.
    const FINISH: usize;
    /// Whether the keys themselves are prefetched.
    const PREFETCH_KEYS: bool = false;

    /// A slot without keys.
    fn empty(&self) -> Self::Slot;

    /// Where the hashes of a chunk go.
    fn hashes(slot: &mut Self::Slot) -> &mut [Self::Hash; N];

    /// Finds the blocks, and computes everything else that follows from the hashes alone.
    fn prepare(&self, slot: &mut Self::Slot);

    /// Prefetches the blocks; `next` is the following chunk.
    fn prefetch(&mut self, slot: &Self::Slot, next: &Self::Slot);

    /// Processes the first `count` keys; `next` is the following chunk. Bit `i` of the result is the answer
    /// for key `i`; bits from `count` on are undefined.
    fn finish(&mut self, slot: &Self::Slot, next: &Self::Slot, count: usize) -> u64;

    /// The bits as bools.
    #[inline(always)]
    fn bools(&self, bits: u64) -> [bool; 64] {
        super::scalar::Scalar.bools(bits)
    }
}

/// The task of turning bits into bools: see [`Body::bools`].
pub struct Bools(pub u64);

impl<B: Body> Task<B> for Bools {
    type Output = [bool; 64];

    #[inline(always)]
    fn run(self, body: B) -> [bool; 64] {
        body.bools(self.0)
    }
}

/// The indices of the set bits.
#[inline(always)]
pub fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let next = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (next < 64).then_some(next as usize)
    })
}

/// A few operations on one word; LLVM would emit eight shifts.
#[inline(always)]
pub fn eight_bools(bits: u8) -> [bool; 8] {
    let bits = u64::from(bits);
    // Bit i of the lower seven times 2^7i: at the bottom of byte i. Bit 7 would collide with bit 0.
    let lower = (bits & 0x7f).wrapping_mul(0x0002_0408_1020_4081) & 0x0001_0101_0101_0101;
    let at_the_bottom = lower | (bits & 0x80) << 49;
    at_the_bottom.to_le_bytes().map(|byte| byte != 0)
}

/// The keys of a batch and how they are hashed.
pub struct Source<'a, K: ?Sized, H> {
    pub keys: &'a K,
    pub hasher: &'a H,
    /// Whether the code is compiled for a CPU that multiplies 64-bit words in vectors.
    pub wide: bool,
}

impl<K: ?Sized, H> Clone for Source<'_, K, H> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, H> Copy for Source<'_, K, H> {}

impl<'a, K: Keys<H> + ?Sized, H: KeyHasher> Source<'a, K, H> {
    /// For code compiled for any CPU.
    #[inline(always)]
    pub fn new(keys: &'a K, hasher: &'a H) -> Self {
        Source { keys, hasher, wide: false }
    }

    /// For code compiled for a CPU with (`true`) or without wide multiplication.
    #[inline(always)]
    pub fn wide(self, wide: bool) -> Self {
        Source { wide, ..self }
    }

    #[inline(always)]
    fn hash_into(&self, start: usize, out: &mut [H::Hash]) {
        self.keys.hash_into(self.hasher, start, out, self.wide);
    }
}

/// Hashes the keys from index `start` on, compiled for this CPU.
#[inline(always)]
pub fn hash_all<K, H>(cpu: Cpu, keys: &K, hasher: &H, start: usize, out: &mut [H::Hash])
where
    K: Keys<H> + ?Sized,
    H: KeyHasher,
{
    struct Hash<'a, K: ?Sized, H: KeyHasher>(Source<'a, K, H>, usize, &'a mut [H::Hash]);
    impl<K: Keys<H> + ?Sized, H: KeyHasher, B: Body> Task<B> for Hash<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run(self, _: B) {
            let Hash(source, start, out) = self;
            let source = source.wide(B::WIDE);
            for (i, chunk) in out.chunks_mut(CHUNK).enumerate() {
                match <&mut [_; CHUNK]>::try_from(&mut *chunk) {
                    Ok(whole) => source.hash_into(start + i * CHUNK, whole),
                    Err(_) => source.hash_into(start + i * CHUNK, chunk),
                }
            }
        }
    }
    cpu.run(Hash(Source::new(keys, hasher), start, out));
}

/// Passes all keys through the pipe. `put` receives the index of the first key, the answers of 64 keys at a
/// time (fewer at the end, padded with zeros), and their number.
#[inline(always)]
pub fn run<P, K, H, const N: usize, const SLOTS: usize>(
    pipe: &mut P,
    source: Source<'_, K, H>,
    mut put: impl FnMut(&P, usize, u64, usize),
) where
    P: Pipe<N, SLOTS, Hash = H::Hash>,
    K: Keys<H> + ?Sized,
    H: KeyHasher,
{
    const {
        assert!(SLOTS.is_power_of_two() && P::FINISH < SLOTS && 64usize.is_multiple_of(N));
        assert!(P::PREPARE <= P::PREFETCH && P::PREFETCH <= P::FINISH && P::FINISH > 0);
    }
    let count = source.keys.count();
    let (chunks, rest) = (count / N, count % N);
    // The last, short chunk is hashed before the loop and finished after it. Code for a variable number of
    // keys, and calls, would make the loop keep its constants in memory.
    let mut last = pipe.empty();
    source.hash_into(chunks * N, &mut P::hashes(&mut last)[..rest]);
    let mut slots = [pipe.empty(); SLOTS];
    let (mut word, mut filled, mut done) = (0, 0, 0);
    for turn in 0..chunks + P::FINISH {
        let slot = &mut slots[turn % SLOTS];
        if turn < chunks {
            if P::PREFETCH_KEYS {
                source.keys.prefetch((turn + 1) * N, N);
            }
            source.hash_into(turn * N, P::hashes(slot));
        } else {
            *slot = last; // harmless: the slots after it are never finished
        }
        if let Some(i) = turn.checked_sub(P::PREPARE) {
            pipe.prepare(&mut slots[i % SLOTS]);
        }
        if let Some(i) = turn.checked_sub(P::PREFETCH) {
            pipe.prefetch(&slots[i % SLOTS], &slots[(i + 1) % SLOTS]);
        }
        if let Some(i) = turn.checked_sub(P::FINISH) {
            let bits = pipe.finish(&slots[i % SLOTS], &slots[(i + 1) % SLOTS], N);
            word |= (bits & (u64::MAX >> (64 - N))) << filled;
            filled += N;
            if filled == 64 {
                put(pipe, done, mem::take(&mut word), 64);
                (filled, done) = (0, done + 64);
            }
        }
    }
    if rest > 0 {
        let bits = pipe.finish(&slots[chunks % SLOTS], &slots[(chunks + 1) % SLOTS], rest);
        word |= (bits & (u64::MAX >> (64 - rest))) << filled;
        filled += rest;
    }
    if filled > 0 {
        put(pipe, done, word, filled);
    }
}

/// Where the answers of a batch are written: one answer per key.
///
/// Converts from `&mut [bool]`, `&mut Vec<bool>`, arrays of bools, and `&mut [u64]`.
#[derive(Debug)]
pub enum Answers<'a> {
    /// One bool per key.
    Bools(&'a mut [bool]),
    /// Bit `i % 64` of word `i / 64` for key `i`. There is one word for every 64 keys, rounded up; bits after
    /// the last key become zero.
    Bits(&'a mut [u64]),
}

impl Answers<'_> {
    /// Checks that there is one place for each key.
    pub fn require_places(&self, keys: usize) -> Result<(), KeysError> {
        let places = match self {
            Answers::Bools(bools) => bools.len(),
            Answers::Bits(words) if words.len() == keys.div_ceil(64) => return Ok(()),
            Answers::Bits(words) => words.len().saturating_mul(64),
        };
        if places == keys { Ok(()) } else { Err(KeysError::Answers { keys, places }) }
    }

    /// The same places, for a call that takes them.
    pub fn reborrow(&mut self) -> Answers<'_> {
        match self {
            Answers::Bools(bools) => Answers::Bools(bools),
            Answers::Bits(words) => Answers::Bits(words),
        }
    }

    /// Stores the answers for up to 64 keys, of which the first has an index that is a multiple of 64.
    pub fn put(&mut self, start: usize, bits: u64, count: usize) {
        match self {
            Answers::Bits(words) => words[start / 64] = bits,
            Answers::Bools(bools) => {
                bools[start..][..count].iter_mut().enumerate().for_each(|(i, yes)| *yes = bits >> i & 1 == 1);
            }
        }
    }

    /// The same answer for every key.
    pub fn fill(&mut self, keys: usize, yes: bool) {
        match self {
            Answers::Bools(bools) => bools.fill(yes),
            Answers::Bits(words) => {
                words.fill(if yes { u64::MAX } else { 0 });
                if let (Some(last), 1..) = (words.last_mut(), keys % 64) {
                    *last &= u64::MAX >> (64 - keys % 64);
                }
            }
        }
    }
}

impl<'a> From<&'a mut [bool]> for Answers<'a> {
    fn from(bools: &'a mut [bool]) -> Self {
        Answers::Bools(bools)
    }
}

impl<'a> From<&'a mut Vec<bool>> for Answers<'a> {
    fn from(bools: &'a mut Vec<bool>) -> Self {
        Answers::Bools(bools)
    }
}

impl<'a, const N: usize> From<&'a mut [bool; N]> for Answers<'a> {
    fn from(bools: &'a mut [bool; N]) -> Self {
        Answers::Bools(bools)
    }
}

impl<'a> From<&'a mut [u64]> for Answers<'a> {
    fn from(words: &'a mut [u64]) -> Self {
        Answers::Bits(words)
    }
}

impl<'a> From<&'a mut Vec<u64>> for Answers<'a> {
    fn from(words: &'a mut Vec<u64>) -> Self {
        Answers::Bits(words)
    }
}

/// Passes all keys through the pipe and stores the answers, one per key.
#[inline(always)]
pub fn collect<P, K, H, const N: usize, const SLOTS: usize>(
    mut pipe: P,
    source: Source<'_, K, H>,
    mut answers: Answers<'_>,
) where
    P: Pipe<N, SLOTS, Hash = H::Hash>,
    K: Keys<H> + ?Sized,
    H: KeyHasher,
{
    // The form is tested here, once for 64 keys: with a loop for each form, the machine code is twice as
    // large.
    run(&mut pipe, source, |pipe, start, bits, count| match &mut answers {
        Answers::Bools(bools) => put_bools(pipe, bits, &mut bools[start..], count),
        Answers::Bits(words) => words[start / 64] = bits,
    });
}

/// The answers of `count` keys as bools.
#[inline(always)]
pub fn put_bools<P: Pipe<N, SLOTS>, const N: usize, const SLOTS: usize>(
    pipe: &P,
    bits: u64,
    out: &mut [bool],
    count: usize,
) {
    match out.first_chunk_mut() {
        Some(whole) if count == 64 => *whole = pipe.bools(bits),
        _ => {
            for (i, slot) in out.iter_mut().enumerate().take(count) {
                *slot = bits >> i & 1 == 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_becomes_its_eight_bools() {
        for byte in 0..=u8::MAX {
            let expected: Vec<bool> = (0..8).map(|i| byte >> i & 1 == 1).collect();
            assert_eq!(eight_bools(byte).to_vec(), expected);
        }
    }
}
