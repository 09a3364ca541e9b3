#![allow(unsafe_code)]
//! The kind `compact` with AVX2: the four slots of a key that are in a quarter of the line each come from
//! shuffles, 16 bytes of the line and a number below 16 for each. With VBMI one shuffle takes all slots from
//! the line.

use crate::kernel::{Found, GROUP, Keys, Systems, line_at, prefetch_line};
use crate::probe::{LIMIT, MAX_PRIORITY, Place, coefficients, column_bits, picks, u_of};
use core::arch::x86_64::*;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::kernel::scalar::Scalar;
use fullbloom_core::kernel::x86_64::{Avx2, Avx512};

impl Systems for Avx2 {
    #[inline(always)]
    fn find<const W: usize>(self, lines: &[Line], keys: Keys<'_>, next: &[Place; GROUP]) -> Found {
        match W {
            // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
            1 => unsafe { find(lines, keys, next) },
            _ => Scalar.find::<W>(lines, keys, next),
        }
    }

    #[inline(always)]
    fn unpack(self, bits: u64, chosen: u64) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw BMI2 on this CPU.
        unsafe { _pdep_u64(bits, chosen) }
    }
}

impl Systems for Avx512 {
    #[inline(always)]
    fn find<const W: usize>(self, lines: &[Line], keys: Keys<'_>, next: &[Place; GROUP]) -> Found {
        if W > 2 {
            return Scalar.find::<W>(lines, keys, next);
        }
        let mut found = Found { agree: 0, bumped: 0 };
        for (i, next) in next.as_chunks::<8>().0.iter().enumerate() {
            next.iter().for_each(|place| prefetch_line(lines, place.line()));
            find_eight::<W>(self, lines, keys, i, &mut found);
        }
        found
    }

    #[inline(always)]
    fn find_first<const W: usize>(self, lines: &[Line], keys: Keys<'_>, count: usize) -> Found {
        if W > 2 {
            return Scalar.find_first::<W>(lines, keys, count);
        }
        let mut found = Found { agree: 0, bumped: 0 };
        for i in 0..count.div_ceil(8).min(GROUP / 8) {
            find_eight::<W>(self, lines, keys, i, &mut found);
        }
        found
    }

    /// Eight columns at once. Their number, which differs from key to key, decides no branch up to eight of
    /// them.
    #[inline(always)]
    fn further_agree<const W: usize>(self, bytes: &[u8], t: u64, columns: usize) -> bool {
        if W > 1 {
            return Scalar.further_agree::<W>(bytes, t, columns);
        }
        let v = self;
        let chosen = v.all_8(coefficients::<1>(picks::<1>(t))[0] as i64);
        let (words, _) = bytes.as_chunks();
        let (mut fingerprint, mut wrong) = (u_of(t) >> 8, 0);
        for words in words[..columns.min(words.len())].chunks(8) {
            let (column, lanes) = v.load_first(words);
            let odd = self.common_8(self.ones_8(v.and(column, chosen)), v.all_8(1));
            wrong |= (odd ^ fingerprint as u8) & lanes;
            fingerprint >>= 8;
        }
        wrong == 0
    }

    #[inline(always)]
    fn pack(self, numbers: &[u64; GROUP], chosen: u64, packed: &mut [u64; GROUP]) {
        let mut count = 0;
        for (eight, chosen) in numbers.as_chunks().0.iter().zip(chosen.to_le_bytes()) {
            // At most 56 were chosen before the last eight.
            if let Some(to) = packed[count..].first_chunk_mut() {
                self.store_8(to, self.packed_8(chosen, self.load_8(eight)));
            }
            count += chosen.count_ones() as usize;
        }
    }

    #[inline(always)]
    fn unpack(self, bits: u64, chosen: u64) -> u64 {
        Avx2::from(self).unpack(bits, chosen)
    }
}

/// What the keys from `8 * i` on find, in lines whose columns have one or two parts.
///
/// Each line is looked up once: its chosen slots and its limit become the word of its key.
#[inline(always)]
fn find_eight<const W: usize>(kernel: Avx512, lines: &[Line], keys: Keys<'_>, i: usize, found: &mut Found) {
    let (places, t): (&[Place; 8], &[u64; 8]) = (&keys.places.as_chunks().0[i], &keys.t.as_chunks().0[i]);
    let v = kernel;
    let numbers = v.load_8(&t.map(|t| picks::<W>(t) | (LIMIT as u64) << 48));
    let x = v.load_8(&places.map(Place::number));
    let mut slots = v.zero();
    for (k, place) in places.iter().enumerate() {
        let line = v.load(line_at(lines, place.line()));
        slots = kernel.look_up_in(slots, 0xff << (8 * k), numbers, line);
    }
    // Bytes 0 and 3: the sums of three slots each.
    let threes = v.xor_3(slots, v.right_8(slots), v.right_16(slots));
    let both = if W == 1 { v.right_24(threes) } else { v.right_25(threes) };
    let differ = v.xor_3(threes, both, v.right_16(x));
    let agree = kernel.zero_8(differ, v.all_8(column_bits(W).into()));
    let byte = v.all_8(0xff);
    let priority = v.lower_bytes(v.and(v.right_24(x), byte), v.all_8(MAX_PRIORITY.into()));
    let bumped = v.at_least_8(priority, v.and(v.right_48(slots), byte));
    found.agree |= u64::from(agree) << (8 * i);
    found.bumped |= u64::from(bumped) << (8 * i);
}

/// Keys whose sums are collected in one vector: a byte of each half for each of them.
const BLOCK: usize = 16;

/// Takes, from eight bytes that are repeated, the numbers of two quarters to the byte of key `k`, and the
/// last byte to all others: that of the first and second quarter, then of the third and fourth.
const SPREAD: [[[u8; 32]; 2]; BLOCK] = {
    let mut spread = [[[7; 32]; 2]; BLOCK];
    let mut k = 0;
    while k < BLOCK {
        spread[k][0][k] = 0;
        spread[k][0][BLOCK + k] = 1;
        spread[k][1][k] = 2;
        spread[k][1][BLOCK + k] = 3;
        k += 1;
    }
    spread
};

/// A shuffle gives zero for numbers from 128 on.
const NONE: u64 = 0x80 << 56;

#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference is valid for 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn find(lines: &[Line], keys: Keys<'_>, next: &[Place; GROUP]) -> Found {
    let quarters = keys.t.map(|t| t & 0x0f0f_0f0f | NONE);
    let mut found = Found { agree: 0, bumped: 0 };
    for first in (0..GROUP).step_by(BLOCK) {
        let mut sums = _mm256_setzero_si256();
        // The two other slots and the fingerprint, the priority, the limit.
        let (mut rest, mut priorities, mut limits) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
        for (k, spread) in SPREAD.iter().enumerate() {
            let i = first + k;
            prefetch_line(lines, next[i].line());
            let (place, t) = (keys.places[i], keys.t[i]);
            let line = line_at(lines, place.line());
            let picks = _mm256_set1_epi64x(quarters[i] as i64);
            for (half, spread) in line.as_chunks().0.iter().zip(spread) {
                let numbers = _mm256_shuffle_epi8(picks, load(spread));
                sums = _mm256_xor_si256(sums, _mm256_shuffle_epi8(load(half), numbers));
            }
            let slots = [t >> 32, t >> 40].map(|slot| line[slot as usize % line.len()]);
            rest[k] = slots[0] ^ slots[1] ^ place.fingerprint::<1>();
            priorities[k] = place.whole_priority();
            limits[k] = line[LIMIT];
        }
        let sums = _mm_xor_si128(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let agree = _mm_cmpeq_epi8(sums, load_block(&rest));
        let priorities = _mm_min_epu8(load_block(&priorities), _mm_set1_epi8(MAX_PRIORITY as i8));
        let bumped = _mm_cmpeq_epi8(_mm_max_epu8(priorities, load_block(&limits)), priorities);
        found.agree |= (_mm_movemask_epi8(agree) as u64) << first;
        found.bumped |= (_mm_movemask_epi8(bumped) as u64) << first;
    }
    found
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_block(bytes: &[u8; BLOCK]) -> __m128i {
    // SAFETY: the reference is valid for 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
