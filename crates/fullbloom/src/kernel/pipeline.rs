//! The ring that batches pass through: while the blocks of some keys are on their way from memory, keys whose
//! blocks have arrived are answered, and further keys are hashed.
//!
//! ```text
//!   chunk i+3: hash, prepare      chunk i+2: prefetch      chunk i: finish      (a chunk is 16 keys)
//! ```
//!
//! All three happen in one turn of the loop, so requests to memory are spread evenly: hashing 64 keys, then
//! fetching 64 blocks, left memory idle while hashing and cost 20 % at 256 MiB. A chunk is prefetched one turn
//! after it was prepared, because reading back what was stored a moment ago waits for the store.

/// Keys that are worked on together.
pub(crate) const CHUNK: usize = 16;

/// Chunks in flight.
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
    fn bools(&self, bits: u16) -> [bool; CHUNK] {
        let mut bools = [false; CHUNK];
        for (eight, byte) in bools.as_chunks_mut().0.iter_mut().zip(bits.to_le_bytes()) {
            *eight = eight_bools(byte);
        }
        bools
    }
}

/// A few instructions on one word, where LLVM would make eight shifts.
#[inline(always)]
fn eight_bools(bits: u8) -> [bool; 8] {
    let copies = u64::from(bits).wrapping_mul(0x0101_0101_0101_0101);
    let one_each = copies & 0x8040_2010_0804_0201; // byte i keeps bit i
    let at_the_bottom = one_each.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
    at_the_bottom.to_le_bytes().map(|byte| byte != 0)
}

/// Keys by the chunk.
struct Chunks<'a, K> {
    whole: &'a [[K; CHUNK]],
    /// Keys after the last whole chunk.
    rest: usize,
    /// Their hashes, and zeros. They are made before the loop: the code for a number of keys that is not known
    /// would be in the way of everything else in it.
    rest_hashes: [u64; CHUNK],
}

impl<'a, K> Chunks<'a, K> {
    #[inline(always)]
    fn new(keys: &'a [K], hash: &impl Fn(&K) -> u64) -> Self {
        let (whole, rest) = keys.as_chunks();
        let mut rest_hashes = [0; CHUNK];
        for (slot, key) in rest_hashes.iter_mut().zip(rest) {
            *slot = hash(key);
        }
        Chunks { whole, rest: rest.len(), rest_hashes }
    }

    /// Stores the hashes of chunk `i`; anything if there is no such chunk.
    #[inline(always)]
    fn hash(&self, i: usize, hash: &impl Fn(&K) -> u64, hashes: &mut [u64; CHUNK]) {
        if let Some(chunk) = self.whole.get(i) {
            for (slot, key) in hashes.iter_mut().zip(chunk) {
                *slot = hash(key);
            }
        } else {
            *hashes = self.rest_hashes;
        }
    }
}

/// Passes all keys through the pipe; `put` gets the answers of each chunk, and how many they are, in order.
#[inline(always)]
pub(crate) fn run<P: Pipe, K>(
    mut pipe: P,
    keys: &[K],
    hash: impl Fn(&K) -> u64,
    mut put: impl FnMut(&P, u16, usize),
) {
    let chunks = Chunks::new(keys, &hash);
    let mut hashes = [[0; CHUNK]; 2];
    let mut ring = [pipe.empty(); RING];
    for turn in 0..chunks.whole.len() + RING {
        chunks.hash(turn, &hash, &mut hashes[turn % 2]);
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
    if chunks.rest > 0 {
        let bits = pipe.finish(&ring[chunks.whole.len() % RING], chunks.rest);
        put(&pipe, bits, chunks.rest);
    }
}

/// As [`run`], with one bool for each key.
#[inline(always)]
pub(crate) fn run_bools<P: Pipe, K>(pipe: P, keys: &[K], hash: impl Fn(&K) -> u64, answers: &mut [bool]) {
    let mut left = answers;
    run(pipe, keys, hash, |pipe, bits, count| {
        let bools = pipe.bools(bits);
        let (now, later) = std::mem::take(&mut left).split_at_mut(count);
        match <&mut [bool; CHUNK]>::try_from(&mut *now) {
            Ok(chunk) => *chunk = bools,
            Err(_) => {
                for (answer, bit) in now.iter_mut().zip(bools) {
                    *answer = bit;
                }
            }
        }
        left = later;
    });
}

/// As [`run`], with one bit for each key: bit `i % 64` of word `i / 64` for key `i`. Bits past the last key
/// are zero.
#[inline(always)]
pub(crate) fn run_bitmap<P: Pipe, K>(pipe: P, keys: &[K], hash: impl Fn(&K) -> u64, answers: &mut [u64]) {
    let mut words = answers.iter_mut();
    let (mut word, mut filled) = (0, 0);
    run(pipe, keys, hash, |_, bits, count| {
        let used = u64::from(bits) & ((1 << count) - 1);
        word |= used << filled;
        filled += CHUNK;
        if filled == 64 || count < CHUNK {
            if let Some(slot) = words.next() {
                *slot = word;
            }
            (word, filled) = (0, 0);
        }
    });
    for slot in words {
        *slot = std::mem::take(&mut word);
    }
}
