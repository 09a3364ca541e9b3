//! RocksDB itself, and its AVX2 algorithm, from C++.

use super::{Members, TRAILER};
use crate::harness::Contestant;
use crate::keys::{Key, Questions};
use fullbloom::{Dialect, RocksDb};
use std::error::Error;
use std::ffi::{CStr, c_char, c_int};
use std::hint::black_box;
use std::ptr::NonNull;

const ROCKSDB: &str = "RocksDB";
const AVX2: &str = super::OPPONENT;

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
    fn fast_local_hashes(
        data: *const u8,
        lines: usize,
        probes: c_int,
        hashes: *const u64,
        count: usize,
        out: *mut bool,
    );
    fn fast_local_collect(entries: *mut ShimEntries, keys: *const u8, width: usize, count: usize);
    fn fast_local_entries() -> *mut ShimEntries;
    fn fast_local_build(entries: *mut ShimEntries, lines: usize, probes: c_int) -> *mut u8;
    fn fast_local_free(filter: *mut u8);
}

#[repr(C)]
struct ShimEntries {
    _private: [u8; 0],
}

const WIDTH: usize = size_of::<Key>();

/// The library's version.
pub fn version() -> String {
    // SAFETY: a static string that ends in zero.
    unsafe { CStr::from_ptr(rocksdb_shim_version()) }.to_string_lossy().into_owned()
}

/// RocksDB's reader over bytes that stay where they are.
struct Reader<'a> {
    handle: NonNull<ShimReader>,
    _content: &'a [u8],
}

impl<'a> Reader<'a> {
    fn open(content: &'a [u8]) -> Option<Reader<'a>> {
        // SAFETY: pointer and length are those of a slice that the reader borrows.
        let handle = NonNull::new(unsafe { rocksdb_shim_open(content.as_ptr(), content.len()) })?;
        Some(Reader { handle, _content: content })
    }

    fn count(&self, keys: &[Key]) -> usize {
        // SAFETY: the reader is open; pointer and count are those of the slice.
        unsafe { rocksdb_shim_single(self.handle.as_ptr(), keys.as_ptr().cast(), WIDTH, keys.len()) }
    }

    fn answer(&self, keys: &[Key], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        // SAFETY: the reader is open; pointers and count are those of slices of equal length.
        unsafe {
            rocksdb_shim_batch(
                self.handle.as_ptr(),
                keys.as_ptr().cast(),
                WIDTH,
                keys.len(),
                out.as_mut_ptr(),
            );
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, closed once.
        unsafe { rocksdb_shim_close(self.handle.as_ptr()) }
    }
}

/// The AVX2 algorithm over the same bytes.
#[derive(Clone, Copy)]
struct Avx2<'a> {
    blocks: &'a [[u8; 64]],
    probes: c_int,
}

impl<'a> Avx2<'a> {
    fn new(content: &'a [u8], dialect: RocksDb) -> Avx2<'a> {
        let (blocks, _) = content[..content.len() - TRAILER].as_chunks();
        Avx2 { blocks, probes: dialect.geometry().probes as c_int }
    }

    fn data(&self) -> (*const u8, usize) {
        (self.blocks.as_ptr().cast(), self.blocks.len())
    }

    fn count(&self, keys: &[Key]) -> usize {
        let (data, lines) = self.data();
        // SAFETY: pointers and counts are those of slices.
        unsafe { fast_local_single(data, lines, self.probes, keys.as_ptr().cast(), WIDTH, keys.len()) }
    }

    fn answer(&self, keys: &[Key], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        let (data, lines) = self.data();
        let keys_at = keys.as_ptr().cast();
        // SAFETY: pointers and counts are those of slices.
        unsafe { fast_local_batch(data, lines, self.probes, keys_at, WIDTH, keys.len(), out.as_mut_ptr()) }
    }

    fn answer_hashes(&self, hashes: &[u64], out: &mut [bool]) {
        assert_eq!(hashes.len(), out.len());
        let (data, lines) = self.data();
        // SAFETY: pointers and counts are those of slices.
        unsafe {
            fast_local_hashes(data, lines, self.probes, hashes.as_ptr(), hashes.len(), out.as_mut_ptr());
        }
    }
}

/// What each opponent answers.
pub fn answers(
    content: &[u8],
    dialect: RocksDb,
    keys: &[Key],
) -> Result<Vec<(&'static str, Vec<bool>)>, Box<dyn Error>> {
    let mut theirs = vec![false; keys.len()];
    Reader::open(content).ok_or("RocksDB has no such filter policy")?.answer(keys, &mut theirs);
    let mut avx2 = vec![false; keys.len()];
    Avx2::new(content, dialect).answer(keys, &mut avx2);
    Ok(vec![(ROCKSDB, theirs), (AVX2, avx2)])
}

/// Key by key.
pub fn single<'a>(content: &'a [u8], dialect: RocksDb, questions: &'a Questions) -> Vec<Contestant<'a>> {
    let reader = Reader::open(content).expect("opened before");
    let avx2 = Avx2::new(content, dialect);
    vec![
        Contestant::new(ROCKSDB, move |turn| {
            black_box(reader.count(&questions.keys[questions.at(turn)]));
        }),
        Contestant::new(AVX2, move |turn| {
            black_box(avx2.count(&questions.keys[questions.at(turn)]));
        }),
    ]
}

/// In batches; RocksDB's own take at most 32 keys.
pub fn batch<'a>(
    content: &'a [u8],
    dialect: RocksDb,
    questions: &'a Questions,
    hashes: &'a [u64],
) -> Vec<Contestant<'a>> {
    let reader = Reader::open(content).expect("opened before");
    let avx2 = Avx2::new(content, dialect);
    let out = || vec![false; questions.window()];
    let (mut first, mut second, mut third) = (out(), out(), out());
    vec![
        Contestant::new(ROCKSDB, move |turn| {
            reader.answer(&questions.keys[questions.at(turn)], &mut first);
            black_box(&first);
        }),
        Contestant::new(AVX2, move |turn| {
            avx2.answer(&questions.keys[questions.at(turn)], &mut second);
            black_box(&second);
        }),
        Contestant::new("RocksDB AVX2, hashes", move |turn| {
            avx2.answer_hashes(&hashes[questions.at(turn)], &mut third);
            black_box(&third);
        }),
    ]
}

/// RocksDB's filter of these keys.
struct Built {
    filter: *const u8,
    len: usize,
}

impl Built {
    fn new(members: Members<'_>, bits_per_key: f64) -> Option<Built> {
        // SAFETY: makes a builder or returns null.
        let builder = unsafe { rocksdb_shim_builder(bits_per_key) };
        if builder.is_null() {
            return None;
        }
        for keys in members.parts() {
            // SAFETY: the builder is alive; pointer and count are those of the slice.
            unsafe { rocksdb_shim_add(builder, keys.as_ptr().cast(), WIDTH, keys.len()) };
        }
        let mut filter = std::ptr::null();
        // SAFETY: the builder is alive, and ends here; `filter` is to be written.
        let len = unsafe { rocksdb_shim_finish(builder, &raw mut filter) };
        (len > 0).then_some(Built { filter, len })
    }

    fn bytes(&self) -> &[u8] {
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

/// RocksDB must build the same bytes.
pub fn check_build(members: Members<'_>, bits_per_key: f64, ours: &[u8]) -> Result<(), Box<dyn Error>> {
    let built = Built::new(members, bits_per_key).ok_or("RocksDB has no such filter policy")?;
    if built.bytes() == ours { Ok(()) } else { Err("RocksDB builds other bytes".into()) }
}

/// From keys to a filter.
pub fn build<'a>(members: Members<'a>, bits_per_key: f64, len: usize, probes: u32) -> Vec<Contestant<'a>> {
    vec![
        Contestant::new(ROCKSDB, move |_| {
            black_box(Built::new(members, bits_per_key));
        }),
        Contestant::new(AVX2, move |_| {
            // SAFETY: makes an empty list.
            let entries = unsafe { fast_local_entries() };
            for keys in members.parts() {
                // SAFETY: the list is alive; pointer and count are those of the slice.
                unsafe { fast_local_collect(entries, keys.as_ptr().cast(), WIDTH, keys.len()) };
            }
            // SAFETY: the list is alive, and ends here.
            let filter = unsafe { fast_local_build(entries, len / 64, probes as c_int) };
            black_box(filter);
            // SAFETY: made a moment ago, freed once.
            unsafe { fast_local_free(filter) };
        }),
    ]
}
