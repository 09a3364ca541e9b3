//! Tests that are the same for both shared libraries. Each crate includes this file beside its own `library`.

#[cfg(feature = "planted-panic")]
pub mod panics;

use crate::library::dynamic::{Cliff, Elf, printed};
use crate::library::{ABI, FILE, LIBRARY, Struct};
use fullbloom_testkit::vectors::{self, Record};
use std::ptr::null;

#[test]
fn null_instead_of_a_key_gives_error_codes_and_sets_nothing() {
    let mut bloom = Struct::made(1000, 0.1);
    // SAFETY: a filter of the library; a null key is what the test is about.
    let codes = unsafe {
        (
            (LIBRARY.check)(&mut bloom, null(), 3),
            (LIBRARY.add)(&mut bloom, null(), 3),
            (LIBRARY.murmurhash2)(null(), 3, 1),
        )
    };
    assert_eq!(codes, (-1, -1, 0));
    assert!(bloom.bits_bytes().iter().all(|&byte| byte == 0));
    bloom.free();
}

#[test]
fn adds_of_several_threads_lose_no_bit() {
    struct Shared(*mut Struct);
    // SAFETY: the library allows adds of several threads to one struct.
    unsafe impl Sync for Shared {}
    for round in 0..50u32 {
        let mut bloom = Struct::made(1000, 0.1);
        let shared = Shared(&raw mut bloom);
        let keys = |thread: u32| (0..2000u32).map(move |i| [round, thread, i].map(u32::to_le_bytes).concat());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let shared = &shared;
                scope.spawn(move || {
                    for key in keys(thread) {
                        // SAFETY: a live struct, and a key of twelve bytes.
                        let added = unsafe { (LIBRARY.add)(shared.0, key.as_ptr().cast(), 12) };
                        assert!(added == 0 || added == 1);
                    }
                });
            }
        });
        let mut alone = Struct::made(1000, 0.1);
        for key in (0..4).flat_map(keys) {
            assert_eq!(bloom.check(&key), 1);
            alone.add(&key);
        }
        assert_eq!(bloom.bits_bytes(), alone.bits_bytes());
        bloom.free();
        alone.free();
    }
}

#[test]
fn no_byte_after_the_bits_or_the_key_is_read_or_written() {
    let (mut bits, mut text) = (Cliff::new(4096), Cliff::new(4096));
    for entries in 1000..1016 {
        let mut bloom = Struct::made(entries, 0.1);
        let own = bloom.bf();
        let at = bits.put(bloom.bits_bytes());
        bloom.set_bf(at);
        for hashes in [1u8, 7, 8, 9, 40] {
            bloom.set_hashes(hashes);
            for len in 0..70 {
                let key: Vec<u8> =
                    (0..len).map(|i| (i * 7 + entries as usize + usize::from(hashes)) as u8).collect();
                let key = text.put(&key).cast_const().cast();
                // SAFETY: the struct's bits and the key have the lengths that are given.
                unsafe {
                    assert!((0..=1).contains(&(LIBRARY.add)(&mut bloom, key, len as i32)));
                    assert_eq!((LIBRARY.check)(&mut bloom, key, len as i32), 1);
                }
            }
        }
        bloom.set_bf(own);
        bloom.free();
    }
}

#[test]
fn murmurhash2_gives_every_recorded_hash() {
    for row in vectors::json("libbloom/murmur2.json").as_array().unwrap() {
        let data = row.hex("data");
        let (len, seed) = (row.int("len") as i32, row.count("seed") as u32);
        assert!(len <= 0 || data.len() == len as usize);
        // SAFETY: `data` has `len` bytes.
        let hash = unsafe { (LIBRARY.murmurhash2)(data.as_ptr().cast(), len, seed) };
        assert_eq!(u64::from(hash), row.count("hash"), "{row}");
    }
}

#[test]
fn print_writes_the_recorded_text() {
    // SAFETY: structs that are zeroed, ready, or freed.
    let text = printed(|| unsafe {
        let mut zeroed = Struct::filled(0);
        (LIBRARY.print)(&mut zeroed);
        let mut bloom = Struct::made(5002, 0.001);
        (LIBRARY.print)(&mut bloom);
        bloom.free();
        (LIBRARY.print)(&mut bloom);
        bloom.add(b"hello");
    });
    let recorded = format!("libbloom/print_v{ABI}.txt");
    assert_eq!(text, String::from_utf8(vectors::bytes(&recorded)).unwrap());
}

/// The names of the exported functions, in alphabetic order.
const SYMBOLS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/abi/symbols"));

#[test]
fn soname_and_symbols_are_those_of_the_original_no_more_and_no_fewer() {
    let elf = Elf::read(FILE);
    assert_eq!(elf.soname, format!("libbloom.so.{ABI}"));
    assert!(elf.exports.iter().map(String::as_str).eq(SYMBOLS.lines()), "{:?}", elf.exports);
}
