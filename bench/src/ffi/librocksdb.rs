//! The Bloom filter of an installed RocksDB 7, through `cpp/rocksdb_shim.cc`.

use crate::keys::Key;
use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

#[repr(C)]
struct ShimReader {
    _private: [u8; 0],
}

#[repr(C)]
struct ShimBuilder {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn rocksdb_shim_version() -> *const c_char;
    fn rocksdb_shim_builder(bits_per_key: f64) -> *mut ShimBuilder;
    fn rocksdb_shim_add(builder: *mut ShimBuilder, keys: *const u8, width: usize, count: usize);
    fn rocksdb_shim_finish(builder: *mut ShimBuilder, filter: *mut *const u8) -> usize;
    fn rocksdb_shim_forget(builder: *mut ShimBuilder);
    fn rocksdb_shim_free(filter: *const u8);
    fn rocksdb_shim_open(filter: *const u8, len: usize) -> *mut ShimReader;
    fn rocksdb_shim_close(reader: *mut ShimReader);
    fn rocksdb_shim_single(reader: *mut ShimReader, keys: *const u8, width: usize, count: usize) -> usize;
    fn rocksdb_shim_batch(
        reader: *mut ShimReader,
        keys: *const u8,
        width: usize,
        count: usize,
        out: *mut bool,
    );
}

/// The library's version.
pub fn version() -> String {
    // SAFETY: a static string that ends in zero.
    unsafe { CStr::from_ptr(rocksdb_shim_version()) }.to_string_lossy().into_owned()
}

/// RocksDB's reader over bytes that stay where they are.
pub struct Reader<'a> {
    handle: NonNull<ShimReader>,
    _content: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Over blocks and trailer.
    pub fn open(content: &'a [u8]) -> Option<Reader<'a>> {
        // SAFETY: pointer and length are those of a slice that the reader borrows.
        let handle = NonNull::new(unsafe { rocksdb_shim_open(content.as_ptr(), content.len()) })?;
        Some(Reader { handle, _content: content })
    }

    /// How many of the keys may be present, asked one by one.
    pub fn count<K: Key>(&self, keys: &[K]) -> usize {
        let (first, width) = (keys.as_ptr().cast(), size_of::<K>());
        // SAFETY: the reader is open; pointer and count are those of the slice.
        unsafe { rocksdb_shim_single(self.handle.as_ptr(), first, width, keys.len()) }
    }

    /// In batches of 32 keys, which is the most that RocksDB takes.
    pub fn answer<K: Key>(&self, keys: &[K], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        let (first, width) = (keys.as_ptr().cast(), size_of::<K>());
        // SAFETY: the reader is open; pointers and count are those of slices of equal length.
        unsafe { rocksdb_shim_batch(self.handle.as_ptr(), first, width, keys.len(), out.as_mut_ptr()) }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, closed once.
        unsafe { rocksdb_shim_close(self.handle.as_ptr()) }
    }
}

/// RocksDB's builder.
pub struct Builder(*mut ShimBuilder);

impl Builder {
    pub fn new(bits_per_key: f64) -> Option<Builder> {
        // SAFETY: makes a builder or returns null.
        let builder = unsafe { rocksdb_shim_builder(bits_per_key) };
        (!builder.is_null()).then_some(Builder(builder))
    }

    pub fn add<K: Key>(&mut self, keys: &[K]) {
        // SAFETY: the builder is alive; pointer and count are those of the slice.
        unsafe { rocksdb_shim_add(self.0, keys.as_ptr().cast(), size_of::<K>(), keys.len()) }
    }

    /// The filter of all keys; `None` if RocksDB made none.
    pub fn finish(self) -> Option<Built> {
        let builder = std::mem::ManuallyDrop::new(self);
        let mut filter = std::ptr::null();
        // SAFETY: the builder is alive, and ends here; `filter` is to be written.
        let len = unsafe { rocksdb_shim_finish(builder.0, &raw mut filter) };
        (len > 0).then_some(Built { filter, len })
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and not finished: that forgets it.
        unsafe { rocksdb_shim_forget(self.0) }
    }
}

/// A filter in RocksDB's memory: blocks and trailer.
pub struct Built {
    filter: *const u8,
    len: usize,
}

impl Built {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the shim said so.
        unsafe { std::slice::from_raw_parts(self.filter, self.len) }
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { rocksdb_shim_free(self.filter) }
    }
}
