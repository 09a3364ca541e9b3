use super::super::local::{Blocks, Group};
use std::arch::x86_64::*;

const fn multipliers(qwords: usize) -> [[u32; 16]; 4] {
    let mut out = [[0; 16]; 4];
    let mut r = 0;
    while r < 4 {
        let mut d = 0;
        while d < 16 {
            let probe = r * 2 * qwords + (d / 2) % qwords * 2 + d % 2;
            let mut p = 1u32;
            let mut i = 0;
            while i < probe { p = p.wrapping_mul(0x9e37_79b9); i += 1; }
            out[r][d] = p;
            d += 1;
        }
        r += 1;
    }
    out
}

const fn spread(qwords: usize) -> [[u32; 16]; 4] {
    // sub-register s holds keys s*8/qwords ..; dword d belongs to key d/2/qwords
    let mut out = [[0; 16]; 4];
    let mut s = 0;
    while s < 4 {
        let mut d = 0;
        while d < 16 {
            out[s][d] = (((s * 8 / qwords + d / 2 / qwords) * 2 + 1) % 16) as u32;
            d += 1;
        }
        s += 1;
    }
    out
}

struct Tables<const Q: usize>;
impl<const Q: usize> Tables<Q> {
    const MUL: [[u32; 16]; 4] = multipliers(Q);
    const SPREAD: [[u32; 16]; 4] = spread(Q);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
pub(super) fn prepare(blocks: Blocks<'_>, probes: u32, next: &mut Group) {
    match probes {
        0..=2 => prep_all::<1, 1>(blocks, next),
        3..=4 => prep_all::<1, 2>(blocks, next),
        5..=6 => prep_all::<1, 3>(blocks, next),
        7..=8 => prep_all::<1, 4>(blocks, next),
        9..=12 => prep_all::<2, 3>(blocks, next),
        _ => prep_all::<2, 4>(blocks, next),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
pub(super) fn step(blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 {
    match probes {
        0..=2 => go::<1, 1>(blocks, probes, now, next),
        3..=4 => go::<1, 2>(blocks, probes, now, next),
        5..=6 => go::<1, 3>(blocks, probes, now, next),
        7..=8 => go::<1, 4>(blocks, probes, now, next),
        9..=12 => go::<2, 3>(blocks, probes, now, next),
        _ => go::<2, 4>(blocks, probes, now, next),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
fn prep_all<const Q: usize, const R: usize>(blocks: Blocks<'_>, next: &mut Group) {
    for c in 0..4 { prep::<Q, R>(blocks, next, c); }
    for c in 0..4 { prefetch(blocks, next, c); }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
fn prefetch(blocks: Blocks<'_>, next: &Group, c: usize) {
    let base = blocks.blocks.as_ptr().cast::<i8>();
    for i in 0..8 {
        let pair = unsafe { std::ptr::read_volatile(next.pairs.as_ptr().add(c * 8 + i)) };
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add((pair as u32 as usize) * 8)) };
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add((pair >> 32) as usize * 8)) };
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
fn prep<const Q: usize, const R: usize>(blocks: Blocks<'_>, next: &mut Group, c: usize) {
    let mut mul = [_mm512_setzero_si512(); R];
    for r in 0..R { mul[r] = unsafe { _mm512_loadu_si512(Tables::<Q>::MUL[r].as_ptr().cast()) }; }
    let fields: i64 = if R <= 3 { 0x3212_2909_2000 } else { 0x2909_2000_2909_2000 };
    let bit_at = _mm512_set1_epi64(fields);
    let index_at = _mm512_set1_epi64(fields + 0x0303_0303_0303_0303);
    let low3 = _mm512_set1_epi8(7);
    let lanes = _mm512_set1_epi64(0x3830_2820_1810_0800);
    let lines = _mm512_set1_epi64(blocks.lines.into());
    let h0 = unsafe { _mm512_loadu_si512(next.hashes.as_ptr().add(c * 16).cast()) };
    let h1 = unsafe { _mm512_loadu_si512(next.hashes.as_ptr().add(c * 16 + 8).cast()) };
    let a = _mm512_srli_epi64::<29>(_mm512_mul_epu32(h0, lines));
    let b = _mm512_slli_epi64::<3>(_mm512_mul_epu32(h1, lines));
    let pairs = _mm512_ternarylogic_epi64::<0xCA>(_mm512_set1_epi64(0xffff_ffff), a, b);
    let pairs = _mm512_and_si512(pairs, _mm512_set1_epi32(!7));
    unsafe { _mm512_store_si512(next.pairs.as_mut_ptr().add(c * 8).cast(), pairs) };
    for half in 0..2 {
        let h = if half == 0 { h0 } else { h1 };
        for s in 0..Q {
            let h = if Q == 1 { _mm512_shuffle_epi32::<0xF5>(h) } else {
                _mm512_permutexvar_epi32(unsafe { _mm512_loadu_si512(Tables::<Q>::SPREAD[s].as_ptr().cast()) }, h) };
            let (index, bit) = if R <= 3 {
                let mut acc = _mm512_srli_epi32::<23>(_mm512_mullo_epi32(h, mul[R - 1]));
                for r in (0..R - 1).rev() {
                    acc = _mm512_shldi_epi32::<9>(acc, _mm512_mullo_epi32(h, mul[r]));
                }
                (_mm512_multishift_epi64_epi8(index_at, acc), _mm512_multishift_epi64_epi8(bit_at, acc))
            } else {
                let a = _mm512_shldi_epi32::<9>(_mm512_srli_epi32::<23>(_mm512_mullo_epi32(h, mul[1])), _mm512_mullo_epi32(h, mul[0]));
                let b = _mm512_shldi_epi32::<9>(_mm512_srli_epi32::<23>(_mm512_mullo_epi32(h, mul[3])), _mm512_mullo_epi32(h, mul[2]));
                (_mm512_mask_multishift_epi64_epi8(_mm512_multishift_epi64_epi8(index_at, a), 0xf0f0f0f0f0f0f0f0, index_at, b),
                _mm512_mask_multishift_epi64_epi8(_mm512_multishift_epi64_epi8(bit_at, a), 0xf0f0f0f0f0f0f0f0, bit_at, b))
            };
            let bit = _mm512_ternarylogic_epi64::<0xEA>(bit, low3, lanes);
            unsafe { _mm512_store_si512(next.index.as_mut_ptr().add((c * 2 + half) * Q + s).cast(), index) };
            unsafe { _mm512_store_si512(next.bits.as_mut_ptr().add((c * 2 + half) * Q + s).cast(), bit) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
fn go<const Q: usize, const R: usize>(blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 {
    let mut inactive = 0u32;
    for q in 0..Q { for r in 0..4 { for d in 0..2 {
        let probe = r * 2 * Q + q * 2 + d;
        if probe >= probes as usize || r >= R { inactive |= 1 << (q * 8 + r * 2 + d); }
    }}}
    let inactive = match Q { 1 => inactive * 0x0101_0101, 2 => inactive * 0x1_0001, _ => inactive };
    let inactive = u64::from(inactive) << 32 | u64::from(inactive);
    let top: u64 = match Q { 1 => 0x8080_8080_8080_8080, 2 => 0x8000_8000_8000_8000, _ => 0x8000_0000_8000_0000 };
    let mut out = 0u64;
    let base = blocks.blocks.as_ptr().cast::<u8>();
    let merge = std::hint::black_box::<[u64; 8]>(std::array::from_fn(|i| (!0u64 >> (64 - 8 * Q as u32)) << ((i as u32 * 8 * Q as u32) & 63)));
    for c in 0..4 {
        prep::<Q, R>(blocks, next, c);
        if c > 0 { prefetch(blocks, next, c - 1); }
        // a set is what one index register covers: 8 / Q keys; sets of the low half, then of the high half
        let index = |half: usize, s: usize| unsafe { _mm512_load_si512(now.index.as_ptr().add((c * 2 + half) * Q + s).cast()) };
        let bit = |half: usize, s: usize| unsafe { _mm512_load_si512(now.bits.as_ptr().add((c * 2 + half) * Q + s).cast()) };
        let pair = |i: usize| unsafe { std::ptr::read_volatile(now.pairs.as_ptr().add(c * 8 + i)) };
        let block = |at: u32| unsafe { _mm512_loadu_si512(base.add(at as usize * 8).cast()) };
        let mut bytes = [[_mm512_setzero_si512(); 2]; 2];
        for quad in 0..2 {
            for i in 0..4 {
                let pair = pair(quad * 4 + i);
                for half in 0..2 {
                    let at = if half == 0 { pair as u32 } else { (pair >> 32) as u32 };
                    let index = index(half, if Q == 1 { 0 } else { quad });
                    bytes[half][quad] = if i == 0 { _mm512_permutexvar_epi8(index, block(at)) }
                        else { _mm512_mask_permutexvar_epi8(bytes[half][quad], merge[if Q == 1 { quad * 4 + i } else { i }], index, block(at)) };
                }
            }
        }
        let mut answer = |bytes, bit, at: usize| {
            let clear = !(_mm512_bitshuffle_epi64_mask(bytes, bit) | inactive);
            let any = ((clear & !top).wrapping_add(!top)) | clear;
            out |= _pext_u64(!any, top) << at;
        };
        for half in 0..2 {
            if Q == 1 {
                answer(_mm512_mask_mov_epi64(bytes[half][0], 0xf0, bytes[half][1]), bit(half, 0), c * 16 + half * 8);
            } else {
                for s in 0..2 { answer(bytes[half][s], bit(half, s), c * 16 + half * 8 + s * 4); }
            }
        }
    }
    prefetch(blocks, next, 3);
    out
}
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
pub(super) fn batch<K, F: Fn(&K) -> u64>(kernel: super::Avx512Bitalg, job: super::super::local::Batch<'_, K, F>) {
    match job.probes {
        0..=2 => batch_of::<1, 1, K, F>(kernel, job),
        3..=4 => batch_of::<1, 2, K, F>(kernel, job),
        5..=6 => batch_of::<1, 3, K, F>(kernel, job),
        7..=8 => batch_of::<1, 4, K, F>(kernel, job),
        9..=12 => batch_of::<2, 3, K, F>(kernel, job),
        _ => batch_of::<2, 4, K, F>(kernel, job),
    }
}
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2")]
fn batch_of<const Q: usize, const R: usize, K, F: Fn(&K) -> u64>(kernel: super::Avx512Bitalg, job: super::super::local::Batch<'_, K, F>) {
    job.drive(kernel, |b, _, g| prep_all::<Q, R>(b, g), |b, p, n, x| go::<Q, R>(b, p, n, x));
}
