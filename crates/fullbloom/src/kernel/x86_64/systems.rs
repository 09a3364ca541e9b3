//! The kind `compact` with AVX2: the four slots of a key that are in a quarter of the line each come from
//! shuffles, 16 bytes of the line and a number below 16 for each.

use super::{Avx2, Avx512, Avx512Bitalg};
use crate::kernel::lines::Line;
use crate::kernel::systems::{Found, GROUP, Keys, Systems, line_at, prefetch_line};
use crate::probe::systems::{LIMIT, MAX_PRIORITY};
use core::arch::x86_64::*;

impl Systems for Avx2 {
    #[inline(always)]
    fn find(self, lines: &[Line], keys: &Keys<'_>) -> Found {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
        unsafe { find(lines, keys) }
    }
}

impl Systems for Avx512 {
    #[inline(always)]
    fn find(self, lines: &[Line], keys: &Keys<'_>) -> Found {
        Avx2::from(self).find(lines, keys)
    }
}

impl Systems for Avx512Bitalg {
    #[inline(always)]
    fn find(self, lines: &[Line], keys: &Keys<'_>) -> Found {
        Avx2::from(self).find(lines, keys)
    }
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
fn find(lines: &[Line], keys: &Keys<'_>) -> Found {
    let quarters = keys.t.map(|t| t & 0x0f0f_0f0f | NONE);
    let mut found = Found { agree: 0, moved: 0 };
    for first in (0..GROUP).step_by(BLOCK) {
        let mut sums = _mm256_setzero_si256();
        // The two other slots and the fingerprint, the priority, the limit.
        let (mut rest, mut priorities, mut limits) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
        for (k, spread) in SPREAD.iter().enumerate() {
            let i = first + k;
            prefetch_line(lines, keys.next[i].line());
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
        let moved = _mm_cmpeq_epi8(_mm_max_epu8(priorities, load_block(&limits)), priorities);
        found.agree |= (_mm_movemask_epi8(agree) as u64) << first;
        found.moved |= (_mm_movemask_epi8(moved) as u64) << first;
    }
    found
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_block(bytes: &[u8; BLOCK]) -> __m128i {
    // SAFETY: the reference is valid for 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
