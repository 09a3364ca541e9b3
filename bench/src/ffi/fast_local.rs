//! RocksDB's FastLocalBloom with its AVX2 query and its builder, from C++ (`cpp/fast_local_avx2.cc`).

use crate::keys::Key;
use crate::memory::Region;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn fast_local_single(
        data: *const u8,
        lines: usize,
        probes: c_int,
        keys: *const u8,
        width: usize,
        count: usize,
    ) -> usize;
    fn fast_local_batch(
        data: *const u8,
        lines: usize,
        probes: c_int,
        keys: *const u8,
        width: usize,
        count: usize,
        out: *mut bool,
    );
    fn fast_local_entries() -> *mut c_void;
    fn fast_local_collect(entries: *mut c_void, keys: *const u8, width: usize, count: usize);
    fn fast_local_build(entries: *mut c_void, data: *mut u8, lines: usize, probes: c_int);
    fn fast_local_forget(entries: *mut c_void);
}

/// A reader over blocks that stay where they are.
#[derive(Clone, Copy)]
pub struct FastLocal<'a> {
    blocks: &'a [[u8; 64]],
    probes: c_int,
}

impl<'a> FastLocal<'a> {
    /// Over whole blocks; bytes after the last are not looked at.
    pub fn new(data: &'a [u8], probes: u32) -> FastLocal<'a> {
        FastLocal { blocks: data.as_chunks().0, probes: probes as c_int }
    }

    fn data(&self) -> (*const u8, usize) {
        assert!(!self.blocks.is_empty());
        (self.blocks.as_ptr().cast(), self.blocks.len())
    }

    /// How many of the keys may be present, asked one by one.
    pub fn count<K: Key>(&self, keys: &[K]) -> usize {
        let (data, lines) = self.data();
        // SAFETY: pointers and counts are those of slices, and a key is as wide as its type.
        unsafe {
            fast_local_single(data, lines, self.probes, keys.as_ptr().cast(), size_of::<K>(), keys.len())
        }
    }

    /// In batches of 32 keys.
    pub fn answer<K: Key>(&self, keys: &[K], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        let (data, lines) = self.data();
        let (first, width, out) = (keys.as_ptr().cast(), size_of::<K>(), out.as_mut_ptr());
        // SAFETY: as in `count`; there is room for an answer to each key.
        unsafe { fast_local_batch(data, lines, self.probes, first, width, keys.len(), out) }
    }
}

/// The builder: keeps hashes until all are known.
pub struct Entries(*mut c_void);

impl Entries {
    pub fn new() -> Entries {
        // SAFETY: makes an empty list.
        Entries(unsafe { fast_local_entries() })
    }

    pub fn collect<K: Key>(&mut self, keys: &[K]) {
        // SAFETY: the list is alive; pointer and count are those of the slice.
        unsafe { fast_local_collect(self.0, keys.as_ptr().cast(), size_of::<K>(), keys.len()) }
    }

    /// Sets the bits of all hashes in whole blocks.
    pub fn build(self, data: &mut Region, probes: u32) {
        let blocks = data.as_chunks_mut::<64>().0;
        assert!(!blocks.is_empty());
        // SAFETY: the list is alive; pointer and count are those of the blocks, which are ours alone.
        unsafe { fast_local_build(self.0, blocks.as_mut_ptr().cast(), blocks.len(), probes as c_int) }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { fast_local_forget(self.0) }
    }
}
