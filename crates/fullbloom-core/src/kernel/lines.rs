#![allow(unsafe_code)]
//! Lines of the native layout: one key's bits in one line, and the lines of 64 keys at once.
//!
//! A batch is a pipeline of two groups of 64 keys. While the lines of the first group are tested, the lines
//! of the keys 32 places further on are prefetched. The last of those are in the second group, whose hashes
//! are ready:
//!
//! ```text
//!   now    |.........test.........|.........test.........|
//!   next                          |..prefetch..|
//!          prefetch ──────────────►
//! ```

use super::Cpu;
use super::pipeline::eight_bools;
use super::scalar::Scalar;
use crate::bits::prefetch;
use crate::hash::{finish, fold};
use crate::probe::lines::{self, Mark};
use core::sync::atomic::AtomicU64;

/// 512 bits.
pub type Line = [u8; lines::LINE];

/// Shift from a line's number to its byte offset.
pub const LINE_SHIFT: u32 = lines::LINE.ilog2();

/// Keys in a group.
pub const GROUP: usize = 64;

/// How many keys ahead of its test a key's line is prefetched, when the array is small enough to be near.
pub const AHEAD: usize = 32;

/// How the lines of an array are prefetched, by the cache level they are expected in. A parameter of the
/// kernels' loops.
#[cfg(target_arch = "x86_64")]
pub mod distance {
    use super::{AHEAD, Group, Line};
    use crate::kernel::pipeline::is_near;

    /// In the second-level cache: no prefetch. Out-of-order execution already hides the
    /// latency of these lines.
    pub(in crate::kernel) const NEAR: u8 = 0;
    /// In between, with AVX-512: [`AHEAD`] keys ahead.
    pub(in crate::kernel) const MIDDLE: u8 = 1;
    /// Larger: a whole group ahead, and only into the second-level cache, which supports more outstanding
    /// misses than the first. With AVX-512 from 32 MiB on, which no cache is expected to hold: 15 % faster at
    /// 256 MiB, 10 % slower at 8 MiB. With AVX2 it is faster from the start, by 20 % at 8 MiB.
    pub(in crate::kernel) const FAR: u8 = 2;

    /// The distance for this array with AVX-512.
    #[inline(always)]
    pub(in crate::kernel) fn of(lines: &[Line]) -> u8 {
        match size_of_val(lines) {
            near if is_near(near) => NEAR,
            0x200_0000.. => FAR,
            _ => MIDDLE,
        }
    }

    /// The distance for this array with AVX2.
    #[inline(always)]
    pub(in crate::kernel) fn of_two(lines: &[Line]) -> u8 {
        if is_near(size_of_val(lines)) { NEAR } else { FAR }
    }

    /// The offsets to prefetch while half 0 or 1 of a group is processed.
    #[inline(always)]
    pub(in crate::kernel) fn ahead<'a, const DISTANCE: u8>(
        now: &'a Group,
        next: &'a Group,
        half: usize,
    ) -> &'a [u64; AHEAD] {
        let (now, next) = (now.offsets.as_chunks().0, next.offsets.as_chunks().0);
        match (DISTANCE, half) {
            (FAR, _) => &next[half],
            (_, 0) => &now[1],
            (_, _) => &next[0],
        }
    }
}

/// The number of lanes of a line that a key uses, with precomputed masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    /// Byte `i` is the mask of the lanes of the run that begins at lane `i`.
    pub runs: &'static [u8; 8],
    /// The same as vectors: the top bit of each lane that is used.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
    pub rows: &'static Rows,
    /// The run that begins at lane 0, in all four bytes: rotated left by `i` it is the run that begins at
    /// lane `i`, whatever the upper bits of `i` are.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub run: u32,
    pub count: u32,
}

/// The runs of one number of lanes, by first lane.
#[derive(Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Rows(pub [[u32; 8]; 8]);

/// The runs of 1 to 8 lanes.
static RUNS: [[u8; 8]; 8] = {
    let mut all = [[0; 8]; 8];
    let mut i = 0;
    while i < 64 {
        let (lanes, first) = (i / 8 + 1, i % 8);
        all[i / 8][first] = (((1u16 << lanes) - 1) as u8).rotate_left(first as u32);
        i += 1;
    }
    all
};

static ROWS: [Rows; 8] = {
    let mut all = [const { Rows([[0; 8]; 8]) }; 8];
    let mut i = 0;
    while i < 512 {
        let (lanes, first, lane) = (i / 64 + 1, i / 8 % 8, i % 8);
        if (lane + 8 - first) % 8 < lanes {
            all[i / 64].0[first][lane] = 1 << 31;
        }
        i += 1;
    }
    all
};

impl Probes {
    /// For 1 to 8 probes.
    pub fn new(count: u32) -> Probes {
        let i = count as usize - 1;
        Probes { runs: &RUNS[i], rows: &ROWS[i], run: u32::from(RUNS[i][0]) * 0x0101_0101, count }
    }

    /// The lanes that a key uses, as bits of a byte.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn lanes(self, mark: Mark) -> u8 {
        self.run.rotate_left(mark.first) as u8
    }

    /// The lanes that a key uses, as a vector.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub fn row(self, mark: Mark) -> &'static [u32; 8] {
        &self.rows.0[mark.first as usize & 7]
    }
}

/// The lines of up to 64 keys, and their bits in them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Group {
    /// The hash of each key, in the groups that are located by it.
    pub hashes: [u64; GROUP],
    /// The fields of each key's mark.
    pub fields: [u64; GROUP],
    /// The byte offset of each key's line: a multiple of the line size, among the first `bound` lines. Only
    /// this module and the kernels write these.
    pub offsets: [u64; GROUP],
    /// The first lane of each key, 0 to 7.
    pub first: [u8; GROUP],
    pub bound: u64,
    len: usize,
}

impl Group {
    /// No keys; all lines are line 0, which every array has.
    pub const EMPTY: Group = Group {
        hashes: [0; GROUP],
        fields: [0; GROUP],
        offsets: [0; GROUP],
        first: [0; GROUP],
        bound: 1,
        len: 0,
    };

    /// 64 keys of hash 0, to be overwritten.
    pub const WHOLE: Group = Group { len: GROUP, ..Group::EMPTY };

    /// The first `len` keys.
    pub fn shortened(&self, len: usize) -> Group {
        Group { len: len.min(GROUP), ..*self }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The byte offset of each key's line.
    #[cfg(feature = "std")]
    pub fn offsets(&self) -> &[u64; GROUP] {
        &self.offsets
    }

    /// Adds a key.
    #[inline(always)]
    pub fn push(&mut self, line: u64, mark: Mark) {
        self.put(self.len, line, mark);
        self.len += 1;
    }

    #[inline(always)]
    fn put(&mut self, key: usize, line: u64, mark: Mark) {
        (self.fields[key], self.first[key]) = (mark.fields, mark.first as u8 & 7);
        self.offsets[key] = line << LINE_SHIFT;
        self.bound = self.bound.max(line + 1);
    }

    /// Locates every key by its hash.
    pub fn locate_with(&mut self, line: impl Fn(u64) -> (u64, Mark)) {
        for key in 0..GROUP {
            let (line, mark) = line(self.hashes[key]);
            self.put(key, line, mark);
        }
    }

    /// Panics unless all lines are inside this array.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn check(&self, lines: &[Line]) {
        assert!(self.bound <= lines.len() as u64, "line {} of {}", self.bound - 1, lines.len());
    }

    /// The number of a key's line.
    #[inline(always)]
    pub fn line(&self, key: usize) -> usize {
        (self.offsets[key] >> LINE_SHIFT) as usize
    }

    /// A key's bits in its line.
    #[inline(always)]
    pub fn mark(&self, key: usize) -> Mark {
        Mark { fields: self.fields[key], first: self.first[key].into() }
    }
}

/// The operations on lines.
pub trait Lines: Copy {
    /// Whether all bits of this key are set.
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool;

    /// As [`test`](Lines::test), in a line that other threads may be changing. `None` if the kernel has no
    /// inline assembly for it: loads that the compiler knows must not race with stores.
    ///
    /// # Safety
    /// The 64 bytes at `line` must be readable.
    #[inline(always)]
    unsafe fn test_shared(self, line: *const Line, mark: Mark, probes: Probes) -> Option<bool> {
        let _ = (line, mark, probes);
        None
    }

    /// Sets all bits of this key. Returns true if at least one was clear.
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool;

    /// As [`test`](Lines::test), in the line of a hash, for layouts whose blocks are one line. The number of
    /// blocks is that of the lines.
    ///
    /// # Safety
    /// There is at least one line.
    #[inline(always)]
    unsafe fn test_hash(self, lines: &[Line], hash: u64, probes: Probes) -> bool {
        // SAFETY: as above.
        unsafe { test_hash(self, lines, hash, probes) }
    }

    /// As [`set`](Lines::set), in the line of a hash.
    ///
    /// # Safety
    /// As for [`test_hash`](Lines::test_hash).
    #[inline(always)]
    unsafe fn set_hash(self, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
        // SAFETY: as above.
        unsafe { set_hash(self, lines, hash, probes) }
    }

    /// The hash of eight-byte keys: `finish(fold(k ^ x, y))` for each key `k`. The slices have the same
    /// length; [`Cpu`] shortens the longer one.
    fn hash_words(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]);

    /// Locates every key of a group by its hash, for layouts whose blocks are one line.
    fn locate(self, blocks: u64, group: &mut Group);

    /// Bit `i` of the result: whether all bits of key `i` are set.
    ///
    /// # Panics
    /// If a line of `now` is outside the array.
    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64;

    /// One bool per bit.
    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        for (eight, byte) in out.as_chunks_mut().0.iter_mut().zip(bits.to_le_bytes()) {
            *eight = eight_bools(byte);
        }
    }

    /// Sets the bits of all keys in order. Bit `i` of the result: whether key `i` changed any.
    ///
    /// # Panics
    /// If a line of `now` is outside the array.
    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64;

    /// Whether hashes are inserted into this array faster one by one than in groups, where only the number of
    /// those that changed a bit is wanted.
    #[inline(always)]
    fn inserts_one_by_one(self, _lines: &[Line]) -> bool {
        false
    }

    /// Sets the bits of all these hashes, for layouts whose blocks are one line. The array has `blocks`
    /// blocks; `lines` is the part of it that begins with block `first`. Returns how many hashes changed a
    /// bit.
    ///
    /// # Panics
    /// If a hash belongs to another part of the array.
    #[inline(always)]
    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        let mut changed = 0;
        for &hash in hashes {
            let line = lines::block_of(hash, blocks).wrapping_sub(first) as usize;
            changed += u64::from(self.set(&mut lines[line], Mark::of(hash), probes));
        }
        changed
    }
}

/// [`Lines::test_hash`] of a kernel that has no other.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn test_hash<K: Lines>(kernel: K, lines: &[Line], hash: u64, probes: Probes) -> bool {
    let line = lines::block_of(hash, lines.len() as u64) as usize;
    debug_assert!(line < lines.len());
    // SAFETY: the high half of a product with the number of lines is below that number, which is not 0.
    kernel.test(unsafe { lines.get_unchecked(line) }, Mark::of(hash), probes)
}

/// [`Lines::set_hash`] of a kernel that has no other.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn set_hash<K: Lines>(kernel: K, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
    let line = lines::block_of(hash, lines.len() as u64) as usize;
    debug_assert!(line < lines.len());
    // SAFETY: as in `test_hash`.
    kernel.set(unsafe { lines.get_unchecked_mut(line) }, Mark::of(hash), probes)
}

/// The kernels whose `test` and `set` of one line are few enough instructions to be inlined everywhere.
///
/// A build that requires AVX2 or AVX-512, and every other architecture, has one variant: no decision is left
/// at run time.
#[derive(Debug, Clone, Copy)]
pub enum Inlined {
    #[cfg(all(target_arch = "x86_64", any(target_feature = "avx512bw", not(target_feature = "avx2"))))]
    Avx512(super::x86_64::Avx512),
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512bw")))]
    Avx2(super::x86_64::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(super::aarch64::Neon),
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Scalar(Scalar),
}

/// Runs the same expression on the inlined kernel.
macro_rules! on_inlined {
    ($inlined:expr, $kernel:ident => $body:expr) => {
        match $inlined {
            #[cfg(all(
                target_arch = "x86_64",
                any(target_feature = "avx512bw", not(target_feature = "avx2"))
            ))]
            Inlined::Avx512($kernel) => $body,
            #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512bw")))]
            Inlined::Avx2($kernel) => $body,
            #[cfg(target_arch = "aarch64")]
            Inlined::Neon($kernel) => $body,
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            Inlined::Scalar($kernel) => $body,
        }
    };
}

impl Inlined {
    #[inline(always)]
    pub fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        on_inlined!(self, kernel => kernel.test(line, mark, probes))
    }

    /// As [`Lines::test_hash`]. False if there are no lines.
    #[inline(always)]
    pub fn test_hash(self, lines: &[Line], hash: u64, probes: Probes) -> bool {
        // SAFETY: there is a line.
        !lines.is_empty() && on_inlined!(self, kernel => unsafe { kernel.test_hash(lines, hash, probes) })
    }

    /// As [`test_hash`](Self::test_hash), in lines that other threads may be changing, given as their words.
    /// `None` if the kernel cannot.
    #[inline(always)]
    pub fn test_shared(self, words: &[AtomicU64], hash: u64, probes: Probes) -> Option<bool> {
        let count = words.len() / (lines::LINE / 8);
        let line = words.as_ptr().cast::<Line>().wrapping_add(lines::block_of(hash, count as u64) as usize);
        if count == 0 {
            return None;
        }
        // SAFETY: the number of the line is the high half of a product with the number of lines, and so below
        // it.
        on_inlined!(self, kernel => unsafe { kernel.test_shared(line, Mark::of(hash), probes) })
    }

    /// As [`Lines::set_hash`].
    ///
    /// # Panics
    /// If there are no lines.
    #[inline(always)]
    pub fn set_hash(self, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
        assert!(!lines.is_empty(), "an array without lines");
        // SAFETY: there is a line.
        on_inlined!(self, kernel => unsafe { kernel.set_hash(lines, hash, probes) })
    }
}

impl Cpu {
    /// This CPU's kernel, if it is one of those.
    pub fn inlined(self) -> Option<Inlined> {
        match self {
            #[cfg(all(
                target_arch = "x86_64",
                any(target_feature = "avx512bw", not(target_feature = "avx2"))
            ))]
            Cpu::Avx512(kernel) => Some(Inlined::Avx512(kernel)),
            #[cfg(all(
                target_arch = "x86_64",
                any(target_feature = "avx512bw", not(target_feature = "avx2"))
            ))]
            Cpu::Avx512Bitalg(kernel) => Some(Inlined::Avx512(kernel.avx512())),
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(target_feature = "avx512bw")))]
            Cpu::Avx512(kernel) => Some(Inlined::Avx2(kernel.into())),
            #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(target_feature = "avx512bw")))]
            Cpu::Avx512Bitalg(kernel) => Some(Inlined::Avx2(kernel.into())),
            #[cfg(all(target_arch = "x86_64", not(target_feature = "avx512bw")))]
            Cpu::Avx2(kernel) => Some(Inlined::Avx2(kernel)),
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(kernel) => Some(Inlined::Neon(kernel)),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            Cpu::Scalar(kernel) => Some(Inlined::Scalar(kernel)),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => None,
        }
    }
}

/// Runs the same expression on the kernel of this CPU.
macro_rules! on_kernel {
    ($cpu:expr, $kernel:ident => $body:expr) => {
        match $cpu {
            Cpu::Scalar($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => {
                let $kernel = kernel.avx512();
                $body
            }
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon($kernel) => $body,
        }
    };
}

impl Lines for Cpu {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        on_kernel!(self, kernel => kernel.test(line, mark, probes))
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        on_kernel!(self, kernel => kernel.set(line, mark, probes))
    }

    fn hash_words(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        let count = keys.len().min(hashes.len());
        let (keys, hashes) = (&keys[..count], &mut hashes[..count]);
        on_kernel!(self, kernel => kernel.hash_words(keys, x, y, hashes));
    }

    fn locate(self, blocks: u64, group: &mut Group) {
        on_kernel!(self, kernel => kernel.locate(blocks, group));
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.test_group(lines, now, next, probes))
    }

    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        on_kernel!(self, kernel => kernel.spread(bits, out));
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.set_group(lines, now, next, probes))
    }

    fn inserts_one_by_one(self, lines: &[Line]) -> bool {
        on_kernel!(self, kernel => kernel.inserts_one_by_one(lines))
    }

    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.set_part(lines, first, blocks, hashes, probes))
    }
}

/// The address of the line at this offset, inside the array or not.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn line_at(lines: &[Line], offset: u64) -> *const Line {
    lines.as_flattened().as_ptr().wrapping_add(offset as usize).cast()
}

/// Prefetches the line `AHEAD` keys after key `i`.
#[inline(always)]
pub fn prefetch_after(lines: &[Line], now: &Group, next: &Group, i: usize) {
    let offset = if i + AHEAD < GROUP { now.offsets[i + AHEAD] } else { next.offsets[i + AHEAD - GROUP] };
    prefetch::read(lines.as_flattened(), offset as usize);
}

/// Prefetches the first lines of a pipeline.
pub fn prefetch_first(lines: &[Line], group: &Group) {
    for &offset in &group.offsets[..AHEAD] {
        prefetch::read(lines.as_flattened(), offset as usize);
    }
}

impl Lines for Scalar {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        mark.bits(probes.count).fold(1, |all, bit| all & line[bit as usize >> 3] >> (bit & 7)) & 1 != 0
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        let mut changed = false;
        for bit in mark.bits(probes.count) {
            let byte = &mut line[bit as usize >> 3];
            let mask = 1 << (bit & 7);
            changed |= *byte & mask == 0;
            *byte |= mask;
        }
        changed
    }

    #[inline(always)]
    fn hash_words(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        for (hash, &key) in hashes.iter_mut().zip(keys) {
            *hash = finish(fold(key ^ x, y));
        }
    }

    #[inline(always)]
    fn locate(self, blocks: u64, group: &mut Group) {
        for (i, &hash) in group.hashes.iter().enumerate() {
            let (spread, mark) = (lines::spread(hash), Mark::of(hash));
            (group.fields[i], group.first[i]) = (mark.fields, mark.first as u8 & 7);
            group.offsets[i] = lines::block_at(spread, blocks) << LINE_SHIFT;
        }
        group.bound = blocks.max(1); // no blocks: `block_at` gives 0
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        let mut answers = 0;
        for i in 0..GROUP {
            prefetch_after(lines, now, next, i);
            answers |= u64::from(self.test(&lines[now.line(i)], now.mark(i), probes)) << i;
        }
        answers
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        let mut changed = 0;
        for i in 0..now.len() {
            prefetch_after(lines, now, next, i);
            changed |= u64::from(self.set(&mut lines[now.line(i)], now.mark(i), probes)) << i;
        }
        changed
    }
}

#[cfg(test)]
mod tests;
