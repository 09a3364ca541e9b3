//! The ring that batches pass through: while the blocks of some keys are on their way from memory, keys whose
//! blocks have arrived are answered, and further keys are hashed.
//!
//! ```text
//!   one turn:   hash chunk i+4    prepare chunk i+3    prefetch chunk i+2    finish chunk i     (16 keys each)
//! ```
//!
//! All of it happens in every turn, so requests to memory are spread evenly: hashing 64 keys and then fetching
//! 64 blocks left memory idle while hashing, which cost 20 % at 256 MiB. And each step comes a turn after the one
//! it depends on, because what was stored a moment ago cannot be read in another width without waiting.

use super::{Body, Cpu, Task};
use std::mem;

/// Keys that are worked on together.
pub(crate) const CHUNK: usize = 16;

/// Prepared chunks in the ring.
const RING: usize = 4;

/// One way of working on a chunk, bound to one filter.
pub(crate) trait Pipe {
    /// What `prepare` leaves for the steps after it.
    type Slot: Copy;

    /// A slot for nothing yet.
    fn empty(&self) -> Self::Slot;

    /// Finds the blocks and whatever else follows from the hashes alone.
    fn prepare(&self, hashes: &[u64; CHUNK], slot: &mut Self::Slot);

    /// Asks for the blocks.
    fn prefetch(&self, slot: &Self::Slot);

    /// Does the work on the first `count` keys. Bit `i` is the answer of key `i`; those from `count` on mean
    /// nothing.
    fn finish(&mut self, slot: &Self::Slot, count: usize) -> u16;

    /// The bits as bools.
    #[inline(always)]
    fn bools(&self, bits: u64) -> [bool; 64] {
        let mut bools = [false; 64];
        for (eight, byte) in bools.as_chunks_mut().0.iter_mut().zip(bits.to_le_bytes()) {
            *eight = eight_bools(byte);
        }
        bools
    }
}

/// A few instructions on one word, where LLVM would make eight shifts.
#[inline(always)]
pub(super) fn eight_bools(bits: u8) -> [bool; 8] {
    let copies = u64::from(bits).wrapping_mul(0x0101_0101_0101_0101);
    let one_each = copies & 0x8040_2010_0804_0201; // byte i keeps bit i
    let at_the_bottom = one_each.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
    at_the_bottom.to_le_bytes().map(|byte| byte != 0)
}

/// What makes hashes of keys.
pub(crate) trait Hasher<K> {
    /// The hash of a key.
    fn hash(&self, key: &K) -> u64;

    /// The hashes of a chunk.
    #[inline(always)]
    fn hash_chunk(&self, keys: &[K; CHUNK], hashes: &mut [u64; CHUNK]) {
        for (slot, key) in hashes.iter_mut().zip(keys) {
            *slot = self.hash(key);
        }
    }

    /// The hashes of a chunk, on a kernel that is [`Body::WIDE`].
    #[inline(always)]
    fn hash_chunk_wide(&self, keys: &[K; CHUNK], hashes: &mut [u64; CHUNK]) {
        self.hash_chunk(keys, hashes);
    }
}

/// For keys that are hashes already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready;

impl Hasher<u64> for Ready {
    #[inline(always)]
    fn hash(&self, key: &u64) -> u64 {
        *key
    }
}

/// A hasher on a kernel that is [`Body::WIDE`].
#[cfg(target_arch = "x86_64")]
pub(crate) struct Wide<H>(pub(crate) H);

#[cfg(target_arch = "x86_64")]
impl<K, H: Hasher<K>> Hasher<K> for Wide<H> {
    #[inline(always)]
    fn hash(&self, key: &K) -> u64 {
        self.0.hash(key)
    }

    #[inline(always)]
    fn hash_chunk(&self, keys: &[K; CHUNK], hashes: &mut [u64; CHUNK]) {
        self.0.hash_chunk_wide(keys, hashes);
    }
}

/// The hashes of all keys, on this kernel.
#[inline(always)]
pub(crate) fn hash_all<K>(cpu: Cpu, keys: &[K], hasher: impl Hasher<K>, hashes: &mut [u64]) {
    struct Hash<'a, K, H>(&'a [K], H, &'a mut [u64]);
    impl<K, H: Hasher<K>> Task for Hash<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run<B: Body>(self, _: B) {
            let Hash(keys, hasher, hashes) = self;
            let ((chunks, rest), (slots, rest_slots)) = (keys.as_chunks(), hashes.as_chunks_mut());
            for (chunk, slots) in chunks.iter().zip(slots) {
                if B::WIDE {
                    hasher.hash_chunk_wide(chunk, slots);
                } else {
                    hasher.hash_chunk(chunk, slots);
                }
            }
            for (key, slot) in rest.iter().zip(rest_slots) {
                *slot = hasher.hash(key);
            }
        }
    }
    assert_eq!(keys.len(), hashes.len(), "one hash for each key");
    cpu.run(Hash(keys, hasher, hashes));
}

/// Passes all keys through the pipe; `put` gets the answers of each chunk, and how many they are, in order.
#[inline(always)]
pub(crate) fn run<P: Pipe, K>(
    mut pipe: P,
    keys: &[K],
    hasher: impl Hasher<K>,
    mut put: impl FnMut(&P, u16, usize),
) {
    let (chunks, rest) = keys.as_chunks();
    // The last, short chunk is hashed before the loop and finished after it: code for a number of keys that is
    // not known, and calls, would make the loop keep its constants in memory.
    let mut rest_hashes = [0; CHUNK];
    for (slot, key) in rest_hashes.iter_mut().zip(rest) {
        *slot = hasher.hash(key);
    }
    let mut hashes = [[0; CHUNK]; 2];
    let mut ring = [pipe.empty(); RING];
    for turn in 0..chunks.len() + RING {
        match chunks.get(turn) {
            Some(chunk) => hasher.hash_chunk(chunk, &mut hashes[turn % 2]),
            None => hashes[turn % 2] = rest_hashes, // harmless where there is no such chunk either
        }
        if let Some(i) = turn.checked_sub(1) {
            pipe.prepare(&hashes[i % 2], &mut ring[i % RING]);
        }
        if let Some(i) = turn.checked_sub(2) {
            pipe.prefetch(&ring[i % RING]);
        }
        if let Some(i) = turn.checked_sub(RING) {
            let bits = pipe.finish(&ring[i % RING], CHUNK);
            put(&pipe, bits, CHUNK);
        }
    }
    if !rest.is_empty() {
        let bits = pipe.finish(&ring[chunks.len() % RING], rest.len());
        put(&pipe, bits, rest.len());
    }
}

/// As [`run`]; `put` gets the answers of 64 keys at a time, the last time of fewer, and zeros after them.
#[inline(always)]
fn run_64<P: Pipe, K>(pipe: P, keys: &[K], hasher: impl Hasher<K>, mut put: impl FnMut(Option<&P>, u64)) {
    let (mut word, mut filled) = (0, 0);
    run(pipe, keys, hasher, |pipe, bits, count| {
        word |= (u64::from(bits) & ((1 << count) - 1)) << filled;
        filled += count;
        if filled == 64 {
            put(Some(pipe), mem::take(&mut word));
            filled = 0;
        }
    });
    if filled > 0 {
        put(None, word);
    }
}

/// Where answers go.
pub(crate) trait Sink {
    /// Passes the keys through the pipe and keeps the answers.
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hasher: impl Hasher<K>);
}

/// One bool for each key.
impl Sink for &mut [bool] {
    #[inline(always)]
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hasher: impl Hasher<K>) {
        let (words, rest) = self.as_chunks_mut();
        let mut words = words.iter_mut();
        run_64(pipe, keys, hasher, |pipe, bits| match (pipe, words.next()) {
            (Some(pipe), Some(word)) => *word = pipe.bools(bits),
            _ => {
                for (i, slot) in rest.iter_mut().enumerate() {
                    *slot = bits >> i & 1 == 1;
                }
            }
        });
    }
}

/// One bit for each key: bit `i % 64` of word `i / 64` for key `i`. Bits after the last key become zero.
#[derive(Debug)]
pub(crate) struct Bitmap<'a>(pub(crate) &'a mut [u64]);

impl Sink for Bitmap<'_> {
    #[inline(always)]
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hasher: impl Hasher<K>) {
        let mut words = self.0.iter_mut();
        run_64(pipe, keys, hasher, |_, bits| {
            if let Some(word) = words.next() {
                *word = bits;
            }
        });
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
