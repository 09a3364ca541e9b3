//! The limit: touch one cache line for each key and do nothing else but hash the key, where it is not a hash
//! already.

use std::hint::black_box;

/// How many keys ahead lines are asked for.
const AHEAD: usize = 64;

/// Below this many lines (512 KiB) they are not: the second-level cache needs no asking.
const NEAR: usize = 1 << 13;

/// From this many lines (32 MiB) on they are asked into the second-level cache, which waits for more lines at
/// once.
const FAR: usize = 1 << 19;

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

/// Reads one word of the line of each key: as many lines at once as the CPU manages by itself.
pub fn single<K>(lines: &[[u8; 64]], keys: &[K], hash: impl Fn(&K) -> u64) {
    assert!(!lines.is_empty());
    black_box(keys.iter().fold(0, |sum, key| sum ^ touch(line(lines, hash(key)))));
}

/// Reads one word of the line of each key, prefetched.
pub fn batch<K>(lines: &[[u8; 64]], keys: &[K], hash: impl Fn(&K) -> u64) {
    assert!(!lines.is_empty());
    match lines.len() {
        ..NEAR => single(lines, keys, hash),
        NEAR..FAR => read_ahead::<K, false>(lines, keys, hash),
        FAR.. => read_ahead::<K, true>(lines, keys, hash),
    }
}

fn read_ahead<K, const FAR: bool>(lines: &[[u8; 64]], keys: &[K], hash: impl Fn(&K) -> u64) {
    let (mut ahead, mut sum) = ([0; AHEAD], 0);
    for (i, key) in keys.iter().enumerate() {
        let later = hash(key);
        prefetch::<FAR>(line(lines, later));
        // The first keys read line 0 in place of a key before them.
        sum ^= touch(line(lines, std::mem::replace(&mut ahead[i % AHEAD], later)));
    }
    black_box(ahead.iter().fold(sum, |sum, &hash| sum ^ touch(line(lines, hash))));
}

/// Changes one word of the line of each key, prefetched.
pub fn build<K>(lines: &mut [[u8; 64]], keys: &[K], hash: impl Fn(&K) -> u64) {
    assert!(!lines.is_empty());
    match lines.len() {
        ..NEAR => keys.iter().for_each(|key| change(lines, hash(key))),
        NEAR..FAR => change_ahead::<K, false>(lines, keys, hash),
        FAR.. => change_ahead::<K, true>(lines, keys, hash),
    }
    black_box(lines);
}

fn change_ahead<K, const FAR: bool>(lines: &mut [[u8; 64]], keys: &[K], hash: impl Fn(&K) -> u64) {
    let mut ahead = [0; AHEAD];
    for (i, key) in keys.iter().enumerate() {
        let later = hash(key);
        prefetch::<FAR>(line(lines, later));
        change(lines, std::mem::replace(&mut ahead[i % AHEAD], later));
    }
    ahead.iter().for_each(|&hash| change(lines, hash));
}

#[inline(always)]
fn change(lines: &mut [[u8; 64]], hash: u64) {
    let number = (u64::from(hash as u32) * lines.len() as u64) >> 32;
    lines[number as usize][0] |= hash as u8;
}

#[inline(always)]
fn prefetch<const FAR: bool>(line: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetch never faults, and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match FAR {
            true => _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()),
            false => _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
