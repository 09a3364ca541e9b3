//! The walks: how two hashes become `probes` positions, each in its system's integers.

use super::reduce::{Mod32, Mod63};
use fullbloom_core::bits;

/// Cassandra 0.7.1 and later: `|(base + i * step) rem bit_len|` in wrapping 64-bit arithmetic: first the
/// truncating remainder, then the absolute value. This equals `|base + i * step| mod bit_len`.
#[inline(always)]
pub fn long64(base: u64, step: u64, probes: u32, bit_len: Mod63) -> impl Iterator<Item = u64> {
    let mut at = base as i64;
    (0..probes).map(move |_| {
        let position = bit_len.reduce(at.unsigned_abs());
        at = at.wrapping_add(step as i64);
        position
    })
}

/// Cassandra 0.x and java-lsm-tree: the same rule in wrapping 32-bit signed arithmetic.
#[inline(always)]
pub fn int32(base: i32, step: i32, probes: u32, bit_len: Mod32) -> impl Iterator<Item = u64> {
    let mut at = base;
    (0..probes).map(move |_| {
        let position = u64::from(bit_len.reduce(at.unsigned_abs()));
        at = at.wrapping_add(step);
        position
    })
}

/// LevelDB and libbloom 1.6: `((base + i * step) mod 2^32) mod bit_len`.
#[inline(always)]
pub fn wrapping32(base: u32, step: u32, probes: u32, bit_len: Mod32) -> impl Iterator<Item = u64> {
    wrapping32_by(base, step, probes, move |sum| u64::from(bit_len.reduce(sum)))
}

/// As [`wrapping32`], with any reduction function: a [`Mod32`] does not pay off for a length that is used for
/// one key only.
#[inline(always)]
pub fn wrapping32_by(
    base: u32,
    step: u32,
    probes: u32,
    reduce: impl Fn(u32) -> u64,
) -> impl Iterator<Item = u64> {
    let mut at = base;
    (0..probes).map(move |_| {
        let position = reduce(at);
        at = at.wrapping_add(step);
        position
    })
}

/// libbloom 2.0: `(base + i * step) mod bit_len` without a 32-bit wrap. Since nothing wraps, each remainder
/// follows from the previous one by one conditional subtraction.
///
/// `narrow` reduces by the same `bit_len`. It is `None` exactly when `bit_len` exceeds 32 bits, where 32-bit
/// hashes need no reduction.
#[inline(always)]
pub fn stepping64(
    base: u32,
    step: u32,
    probes: u32,
    bit_len: u64,
    narrow: Option<Mod32>,
) -> impl Iterator<Item = u64> {
    debug_assert_eq!(narrow.map(|by| u64::from(by.divisor())), u32::try_from(bit_len).ok().map(u64::from));
    let reduce = |n: u32| u64::from(narrow.map_or(n, |by| by.reduce(n)));
    stepping_reduced(reduce(base), reduce(step), probes, bit_len)
}

/// As [`stepping64`], for a base and a step that are already below `bit_len`.
#[inline(always)]
pub fn stepping_reduced(base: u64, step: u64, probes: u32, bit_len: u64) -> impl Iterator<Item = u64> {
    let mut at = base;
    (0..probes).map(move |_| {
        let position = at;
        at += step; // both are below bit_len
        at = at.min(at.wrapping_sub(bit_len)); // one conditional subtraction, without a branch to mispredict
        position
    })
}

/// Guava's first strategy, Spark V1 and ORC: `base + i * step` for `i = 1..=probes` in wrapping 32-bit
/// arithmetic, negative sums complemented (`!sum`), then modulo `bit_len`.
///
/// `narrow` reduces by `bit_len`. It is `None` when `bit_len` exceeds 32 bits, where no reduction is needed.
#[inline(always)]
pub fn complement32(base: u32, step: u32, probes: u32, narrow: Option<Mod32>) -> impl Iterator<Item = u64> {
    let mut at = base as i32;
    (0..probes).map(move |_| {
        at = at.wrapping_add(step as i32);
        let folded = (at ^ (at >> 31)) as u32;
        u64::from(narrow.map_or(folded, |by| by.reduce(folded)))
    })
}

/// Guava's second strategy: `base + i * step` from `i = 0` in wrapping 64-bit arithmetic, the sign bit
/// dropped, then modulo `bit_len`.
#[inline(always)]
pub fn masked64(base: u64, step: u64, probes: u32, bit_len: Mod63) -> impl Iterator<Item = u64> {
    let mut at = base;
    (0..probes).map(move |_| {
        let position = bit_len.reduce(at & (u64::MAX >> 1));
        at = at.wrapping_add(step);
        position
    })
}

/// Spark V2: `base + i * step` for `i = 1..=probes` in wrapping 64-bit arithmetic, negative sums complemented
/// (`!sum`), then modulo `bit_len`.
#[inline(always)]
pub fn complement64(base: i64, step: i64, probes: u32, bit_len: Mod63) -> impl Iterator<Item = u64> {
    let mut at = base;
    (0..probes).map(move |_| {
        at = at.wrapping_add(step);
        bit_len.reduce((at ^ (at >> 63)) as u64)
    })
}

/// Whether the bits at all positions are set.
///
/// Branch-free over four probes, then over all others. In a half-full filter one absent key in sixteen passes
/// the first four probes, so a stream of absent keys predicts well and reads four lines per key. A stream of
/// present keys predicts well too and has all its loads in flight.
#[inline(always)]
pub(crate) fn all_set(bits: &[u8], mut positions: impl Iterator<Item = u64>) -> bool {
    let mut all = 1;
    for _ in 0..FIRST {
        match positions.next() {
            Some(position) => all &= bits::get(bits, position),
            None => return all != 0,
        }
    }
    if all == 0 {
        return false;
    }
    for position in positions {
        all &= bits::get(bits, position);
    }
    all != 0
}

const FIRST: usize = 4;

/// Sets the bits at all positions. Returns true if at least one was clear.
#[inline(always)]
pub(crate) fn set_all(bits: &mut [u8], positions: impl Iterator<Item = u64>) -> bool {
    positions.fold(0, |changed, position| changed | bits::set(bits, position)) != 0
}

/// Prefetches the cache lines of all positions.
#[inline(always)]
pub(crate) fn prefetch_all(bits: &[u8], positions: impl Iterator<Item = u64>) {
    for position in positions {
        bits::prefetch::read(bits, (position >> 3) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASHES: [u64; 8] =
        [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX, 0x9e37_79b9_7f4a_7c15];

    #[test]
    fn all_set_looks_at_every_position_across_groups() {
        let mut bits = [0xffu8; 8];
        for count in 0..64u64 {
            assert!(all_set(&bits, 0..count));
        }
        for missing in 0..64u64 {
            bits[(missing >> 3) as usize] &= !(1 << (missing & 7));
            assert!(!all_set(&bits, 0..64), "{missing}");
            assert!(all_set(&bits, 0..missing));
            assert!(set_all(&mut bits, 0..64));
            assert!(!set_all(&mut bits, 0..64));
        }
    }

    #[test]
    fn every_walk_equals_its_defining_formula() {
        for base in HASHES {
            for step in HASHES {
                for bit_len in [2u64, 64, 65, 9585, 0x8000_0000, 0xffff_ffff] {
                    let narrow = Mod32::new(bit_len as u32).unwrap();
                    let (b, s) = (base as u32, step as u32);
                    let long = |i: i64| {
                        let at = (base as i64).wrapping_add(i.wrapping_mul(step as i64));
                        (i128::from(at) % i128::from(bit_len)).unsigned_abs() as u64
                    };
                    let int = |i: i32| {
                        let at = (b as i32).wrapping_add(i.wrapping_mul(s as i32));
                        (i64::from(at) % bit_len as i64).unsigned_abs()
                    };
                    let wrap = |i: u32| u64::from(b.wrapping_add(i.wrapping_mul(s))) % bit_len;
                    let wide = |i: u64| (u64::from(b) + i * u64::from(s)) % bit_len;
                    assert!(long64(base, step, 20, Mod63::new(bit_len).unwrap()).eq((0..20).map(long)));
                    assert!(int32(b as i32, s as i32, 20, narrow).eq((0..20).map(int)));
                    assert!(wrapping32(b, s, 20, narrow).eq((0..20).map(wrap)));
                    assert!(stepping64(b, s, 255, bit_len, Some(narrow)).eq((0..255).map(wide)));
                    let folded = |i: i64, bits: u32| {
                        let (base, step) = if bits == 32 {
                            (i128::from(b as i32), i128::from(s as i32))
                        } else {
                            (i128::from(base as i64), i128::from(step as i64))
                        };
                        let sum = base + i128::from(i) * step;
                        let low = sum.rem_euclid(1 << bits);
                        let signed = if low < 1 << (bits - 1) { low } else { low - (1 << bits) };
                        let folded = if signed < 0 { -signed - 1 } else { signed };
                        (folded % i128::from(bit_len)) as u64
                    };
                    let by = Mod63::new(bit_len).unwrap();
                    assert!(complement32(b, s, 20, Some(narrow)).eq((1..=20).map(|i| folded(i, 32))));
                    assert!(
                        complement64(base as i64, step as i64, 20, by).eq((1..=20).map(|i| folded(i, 64)))
                    );
                    let masked = |i: u64| (base.wrapping_add(i.wrapping_mul(step)) % (1 << 63)) % bit_len;
                    assert!(masked64(base, step, 20, by).eq((0..20).map(masked)));
                    let huge = bit_len << 32 | 5;
                    let wide = |i: u64| (u64::from(b) + i * u64::from(s)) % huge;
                    assert!(stepping64(b, s, 255, huge, None).eq((0..255).map(wide)));
                }
            }
        }
    }
}
