//! Mistakes of a C program: every call returns its error code, and none crashes.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use crate::library::{LIBRARY, Struct};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const KEY: *const c_void = c"key".as_ptr().cast();

#[test]
fn null_instead_of_a_struct_gives_error_codes() {
    let l = &LIBRARY;
    unsafe {
        assert_eq!((l.init)(null_mut(), 1000, 0.1), 1);
        assert_eq!((l.init_size)(null_mut(), 1000, 0.1, 0), 1);
        assert_eq!(((l.check)(null_mut(), KEY, 3), (l.add)(null_mut(), KEY, 3)), (-1, -1));
        assert_eq!((l.reset)(null_mut()), 1);
        (l.print)(null_mut());
        (l.free)(null_mut());
    }
}

#[test]
fn null_instead_of_a_key_gives_error_codes_and_sets_nothing() {
    let mut bloom = Struct::made(1000, 0.1);
    unsafe {
        assert_eq!(((LIBRARY.check)(&mut bloom, null(), 3), (LIBRARY.add)(&mut bloom, null(), 3)), (-1, -1));
        assert_eq!((LIBRARY.murmurhash2)(null(), 3, 1), 0);
    }
    assert!(bloom.bits_bytes().iter().all(|&byte| byte == 0));
    bloom.free();
}

#[test]
fn structs_without_a_filter_give_error_codes() {
    let mut refused = Struct::filled(0xaa);
    assert_eq!(refused.init(999, 0.1), 1);
    let mut too_large = Struct::filled(0xaa);
    assert_eq!(too_large.init(100_000_000, 1e-7), 1);
    let mut freed = Struct::made(1000, 0.1);
    freed.free();
    for bloom in &mut [Struct::filled(0), refused, too_large, freed] {
        assert_eq!((bloom.check(b"key"), bloom.add(b"key"), bloom.reset()), (-1, -1, 1));
        bloom.free();
        bloom.free();
        assert_eq!(bloom.ready(), 0);
    }
}

/// Writes one of the struct's 32-bit fields.
fn put(bloom: &mut Struct, at: usize, value: i32) {
    bloom.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn numbers_that_reach_outside_the_bits_give_error_codes() {
    let (bits, bytes, hashes) = (16, 20, 24);
    for (at, value) in
        [(bits, 0), (bits, -1), (bits, 4793), (bits, i32::MAX), (bytes, 0), (bytes, -5), (hashes, -1)]
    {
        let mut bloom = Struct::made(1000, 0.1);
        put(&mut bloom, at, value);
        assert_eq!((bloom.check(b"key"), bloom.add(b"key")), (-1, -1), "{value} at {at}");
        bloom.free();
    }
}

#[test]
fn no_probes_means_every_key() {
    let mut everything = Struct::made(1000, 1.0);
    assert_eq!((everything.bits(), everything.hashes()), (0, 0));
    let got = (everything.check(b"key"), everything.add(b"key"), everything.reset());
    assert_eq!(got, (1, 1, 0));
    everything.free();
}

#[test]
fn adds_of_several_threads_lose_no_bit() {
    struct Shared(*mut Struct);
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
    use crate::library::dynamic::Cliff;
    let (mut bits, mut text) = (Cliff::new(4096), Cliff::new(4096));
    for entries in 1000..1016 {
        let mut bloom = Struct::made(entries, 0.1);
        let own = bloom.bf();
        let at = bits.put(bloom.bits_bytes());
        bloom.0[40..48].copy_from_slice(&(at as u64).to_le_bytes());
        for hashes in [1i32, 7, 8, 9, 40] {
            bloom.0[24..28].copy_from_slice(&hashes.to_le_bytes());
            for len in 0..70 {
                let key: Vec<u8> =
                    (0..len).map(|i| (i * 7 + entries as usize + hashes as usize) as u8).collect();
                let key = text.put(&key).cast_const().cast();
                unsafe {
                    assert!((0..=1).contains(&(LIBRARY.add)(&mut bloom, key, len as i32)));
                    assert_eq!((LIBRARY.check)(&mut bloom, key, len as i32), 1);
                }
            }
        }
        bloom.0[40..48].copy_from_slice(&(own as u64).to_le_bytes());
        bloom.free();
    }
}
