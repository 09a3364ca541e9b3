//! The limit: touch one cache line for each key and do nothing else. Hashes are ready.

use std::hint::black_box;

/// How many keys ahead lines are asked for.
const AHEAD: usize = 32;

/// Up to this many lines (256 KiB) they are not: the second-level cache needs no asking.
const NEAR: usize = 1 << 12;

/// The line of a hash.
#[inline(always)]
fn line(lines: &[[u8; 64]], hash: u64) -> &[u8; 64] {
    let number = (u64::from(hash as u32) * lines.len() as u64) >> 32;
    // SAFETY: the number is below the number of lines, of which there is at least one: `single`, `batch` and
    // `build` check that.
    unsafe { lines.get_unchecked(number as usize) }
}

/// One word of the line.
#[inline(always)]
fn touch(line: &[u8; 64]) -> u64 {
    u64::from_le_bytes(*line.first_chunk().expect("eight of 64 bytes"))
}

/// Reads one word of the line of each hash: as many lines at once as the CPU manages by itself.
pub fn single(lines: &[[u8; 64]], hashes: &[u64]) {
    assert!(!lines.is_empty());
    black_box(hashes.iter().fold(0, |sum, &hash| sum ^ touch(line(lines, hash))));
}

/// Reads one word of the line of each hash, prefetched.
pub fn batch(lines: &[[u8; 64]], hashes: &[u64]) {
    if lines.len() <= NEAR || hashes.len() < AHEAD {
        return single(lines, hashes);
    }
    let mut sum = 0;
    for (&hash, &later) in hashes.iter().zip(&hashes[AHEAD..]) {
        prefetch(line(lines, later));
        sum ^= touch(line(lines, hash));
    }
    black_box(sum);
    single(lines, &hashes[hashes.len() - AHEAD..]);
}

/// Changes one word of the line of each hash, prefetched.
pub fn build(lines: &mut [[u8; 64]], hashes: &[u64]) {
    assert!(!lines.is_empty());
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(i + AHEAD) {
            prefetch(line(lines, later));
        }
        let number = (u64::from(hash as u32) * lines.len() as u64) >> 32;
        lines[number as usize][0] |= hash as u8;
    }
    black_box(lines);
}

#[inline(always)]
fn prefetch(line: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetch never faults, and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
