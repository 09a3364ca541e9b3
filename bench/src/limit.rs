//! The limit: touch one cache line for each key and do nothing else. No filter with blocks can be faster.

use std::hint::black_box;

/// How many keys ahead lines are asked for.
const AHEAD: usize = 32;

/// Reads one word of the line of each hash, prefetched.
pub fn batch(lines: &[[u8; 64]], hashes: &[u64]) {
    let at = |hash: u64| (u64::from(hash as u32) * lines.len() as u64 >> 32) as usize;
    let mut sum = 0;
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(i + AHEAD) {
            prefetch(&lines[at(later)]);
        }
        sum ^= u64::from_le_bytes(*lines[at(hash)].first_chunk().expect("eight of 64 bytes"));
    }
    black_box(sum);
}

/// The same without prefetching: as many lines at once as the CPU manages by itself.
pub fn single(lines: &[[u8; 64]], hashes: &[u64]) {
    let mut sum = 0;
    for &hash in hashes {
        let at = (u64::from(hash as u32) * lines.len() as u64 >> 32) as usize;
        sum ^= u64::from_le_bytes(*lines[at].first_chunk().expect("eight of 64 bytes"));
    }
    black_box(sum);
}

/// Changes one word of the line of each hash, prefetched.
pub fn build(lines: &mut [[u8; 64]], hashes: &[u64]) {
    let count = lines.len() as u64;
    let at = |hash: u64| (u64::from(hash as u32) * count >> 32) as usize;
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(i + AHEAD) {
            prefetch(&lines[at(later)]);
        }
        lines[at(hash)][0] |= hash as u8;
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
