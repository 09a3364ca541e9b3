#![allow(unsafe_code)]
//! Lines of fingerprints: bits are counted, and slots moved, many at once.

use crate::slots::{self, GROUP, Runs, Select, Slots};
use core::arch::aarch64::*;
use fullbloom_core::kernel::aarch64::Neon;
use fullbloom_core::kernel::lines::Line;

impl Select for Neon {
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU; also below.
        unsafe { pair(word, rank) }
    }

    #[inline(always)]
    fn first(self, tops: u64, width: u32, count: u64) -> u64 {
        // A shift by 64 and more would be one by less; the slots of a word have fewer bits.
        let bits = count.trailing_ones().wrapping_mul(width);
        if bits < 64 { tops & !(u64::MAX << bits) } else { tops }
    }

    #[inline(always)]
    fn matches(self, slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
        // SAFETY: see above.
        unsafe { matches(slots, runs, entries) }
    }

    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
        // SAFETY: see above.
        unsafe { open(line, at, width, value, used, metadata) }
    }

    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
        // SAFETY: see above.
        unsafe { close(line, at, width, used, metadata) }
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn pair(word: u64, rank: u32) -> u64 {
    let ones = vcnt_u8(vcreate_u8(word));
    slots::select_pair(word, vget_lane_u64::<0>(vreinterpret_u64_u8(ones)), rank)
}

/// As the definition, two keys at a time.
#[target_feature(enable = "neon")]
#[inline]
fn matches(slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
    let (ones, remainder) = (slots.lanes.ones, vdupq_n_u64(slots.lanes.remainder));
    let (lower, upper) = (vdup_n_u32(ones as u32), vdup_n_u32((ones >> 32) as u32));
    let (ones, remainders) = (vdupq_n_u64(ones), vdupq_n_u64(slots.lanes.remainders));
    let full = vdupq_n_u64(slots.full);
    let two = |words: &[u64; GROUP], i: usize| {
        // SAFETY: a chunk has two words.
        unsafe { vld1q_u64(words.as_chunks::<2>().0[i].as_ptr()) }
    };
    let (mut found, mut sure) = (vdupq_n_u64(0), vdupq_n_u64(0));
    // The bits of the two keys in the answers.
    let mut bits = both(1, 2);
    for i in 0..GROUP / 2 {
        let entry = vandq_u64(two(entries, i), remainder);
        // The lower half of the product with `ones`.
        let low = vmovn_u64(entry);
        let crossed = vmlal_u32(vmull_u32(low, upper), vshrn_n_u64::<32>(entry), lower);
        let pattern = vaddq_u64(vmull_u32(low, lower), vshlq_n_u64::<32>(crossed));
        let differ = veorq_u64(vandq_u64(two(&runs.windows, i), remainders), pattern);
        let zero = vbicq_u64(vsubq_u64(differ, ones), differ);
        found = vorrq_u64(found, vandq_u64(vtstq_u64(zero, two(&runs.tops, i)), bits));
        sure = vorrq_u64(sure, vandq_u64(vcltq_u64(two(&runs.pairs, i), full), bits));
        bits = vshlq_n_u64::<2>(bits);
    }
    (vaddvq_u64(found) as u32, vaddvq_u64(sure) as u32)
}

/// Two words of a line.
type Two = uint64x2_t;

#[target_feature(enable = "neon")]
#[inline]
fn load(words: &[u64; 8]) -> [Two; 4] {
    // SAFETY: each reads two of the eight words.
    [0, 2, 4, 6].map(|i| unsafe { vld1q_u64(words.as_ptr().add(i)) })
}

#[target_feature(enable = "neon")]
#[inline]
fn load_line(line: &Line) -> [Two; 4] {
    // SAFETY: each reads 16 of the 64 bytes.
    [0, 16, 32, 48].map(|i| unsafe { vreinterpretq_u64_u8(vld1q_u8(line.as_ptr().add(i))) })
}

/// Writes the words, with the bits of `metadata` in the last two.
#[target_feature(enable = "neon")]
#[inline]
fn store(line: &mut Line, mut words: [Two; 4], metadata: [u64; 2]) {
    words[3] = vorrq_u64(words[3], both(metadata[0], metadata[1]));
    for (i, two) in words.into_iter().enumerate() {
        // SAFETY: each writes 16 of the 64 bytes.
        unsafe { vst1q_u8(line.as_mut_ptr().add(16 * i), vreinterpretq_u8_u64(two)) };
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn both(first: u64, second: u64) -> Two {
    vcombine_u64(vcreate_u64(first), vcreate_u64(second))
}

/// All bits of the line from position `at` on.
#[target_feature(enable = "neon")]
#[inline]
fn from(at: u32) -> [Two; 4] {
    let at = vreinterpretq_u16_u64(vdupq_n_u64(at.into()));
    let most = vreinterpretq_u16_u64(vdupq_n_u64(64));
    [0u64, 128, 256, 384].map(|first| {
        // How many bits of each word are below: 0 to 64. A shift by 64 leaves none.
        let below = vqsubq_u16(at, vreinterpretq_u16_u64(both(first, first + 64)));
        vshlq_u64(vdupq_n_u64(u64::MAX), vreinterpretq_s64_u16(vminq_u16(below, most)))
    })
}

#[target_feature(enable = "neon")]
#[inline]
fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
    let (words, from, used) = (load_line(line), from(at), load(used));
    let (left, right) = (vdupq_n_s64(width.into()), vdupq_n_s64(i64::from(width) - 64));
    let mut before = vdupq_n_u64(0);
    let mut joined = words;
    for i in 0..4 {
        let moving = vandq_u64(words[i], from[i]);
        // Each word's predecessor.
        let carried = vextq_u64::<1>(before, moving);
        let moved = vorrq_u64(vshlq_u64(moving, left), vshlq_u64(carried, right));
        joined[i] = vandq_u64(vorrq_u64(vbicq_u64(words[i], from[i]), moved), used[i]);
        before = moving;
    }
    store(line, joined, metadata);
    let byte = (at >> 3).min(56) as usize;
    if let Some(bytes) = line[byte..].first_chunk_mut() {
        *bytes = (u64::from_le_bytes(*bytes) | value << (at & 7)).to_le_bytes();
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn close(line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
    let (words, from, used) = (load_line(line), from(at), load(used));
    let (right, left) = (vdupq_n_s64(-i64::from(width)), vdupq_n_s64(64 - i64::from(width)));
    let mut after = vdupq_n_u64(0);
    let mut joined = words;
    for i in (0..4).rev() {
        let word = vandq_u64(words[i], used[i]);
        // Each word's successor.
        let carried = vextq_u64::<1>(word, after);
        let moved = vorrq_u64(vshlq_u64(word, right), vshlq_u64(carried, left));
        joined[i] = vbslq_u64(from[i], moved, word);
        after = word;
    }
    store(line, joined, metadata);
}
