//! Mistakes of a C program: every call returns its error code, and none crashes.
#![allow(unsafe_code)]

use crate::library::{LIBRARY, Struct};
use std::ffi::c_void;
use std::ptr::null_mut;

const KEY: *const c_void = c"key".as_ptr().cast();

#[test]
fn null_instead_of_a_struct_gives_error_codes() {
    let l = &LIBRARY;
    // SAFETY: the library must test its pointers; the others are ours.
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
