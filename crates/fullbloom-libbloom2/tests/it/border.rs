//! Mistakes of a C program: every call returns its error code, and none crashes.
#![allow(unsafe_code)]

use crate::library::{self, LIBRARY, Struct};
use fullbloom_testkit::vectors;
use std::ffi::c_void;
use std::fs;
use std::ptr::null_mut;

const KEY: *const c_void = c"key".as_ptr().cast();

#[test]
fn null_instead_of_a_struct_gives_error_codes() {
    let l = &LIBRARY;
    let mut bloom = Struct::made(1000, 0.1);
    // SAFETY: the library must test its pointers; the others are ours.
    unsafe {
        assert_eq!(((l.init)(null_mut(), 1000, 0.1), (l.init2)(null_mut(), 1000, 0.1)), (1, 1));
        assert_eq!(((l.check)(null_mut(), KEY, 3), (l.add)(null_mut(), KEY, 3)), (-1, -1));
        assert_eq!((l.reset)(null_mut()), 1);
        assert_eq!(((l.merge)(null_mut(), &mut bloom), (l.merge)(&mut bloom, null_mut())), (-1, -1));
        assert_eq!((l.save)(null_mut(), c"/dev/null".as_ptr()), 1);
        assert_eq!((l.load)(null_mut(), c"/dev/null".as_ptr()), 2);
        (l.print)(null_mut());
        (l.free)(null_mut());
    }
    bloom.free();
}

#[test]
fn structs_without_a_filter_give_error_codes() {
    let directory = tempfile::tempdir().unwrap();
    let mut refused = Struct::filled(0xaa);
    assert_eq!(refused.init2(999, 0.1), 1);
    let mut no_memory = Struct::filled(0xaa);
    assert_eq!(no_memory.init2(1000, f64::NAN), 1);
    let mut freed = Struct::made(1000, 0.1);
    freed.free();
    let mut good = Struct::made(1000, 0.1);
    for (i, bloom) in [Struct::filled(0), refused, no_memory, freed].iter_mut().enumerate() {
        assert_eq!((bloom.check(b"key"), bloom.add(b"key"), bloom.reset()), (-1, -1, 1));
        assert_eq!((bloom.merge(&mut good), good.merge(bloom)), (-1, -1));
        // Structs of zeros are saved, as by the original; of the freed one it would read bits that are gone.
        let path = directory.path().join("file");
        assert_eq!(bloom.save(&path), i32::from(i > 1), "{i}");
        assert_eq!(path.exists(), i <= 1);
        let _ = fs::remove_file(path);
        bloom.free();
        bloom.free();
        assert_eq!(bloom.ready(), 0);
    }
    good.free();
}

#[test]
fn numbers_that_reach_outside_the_bits_give_error_codes() {
    let (bits, bytes) = (8, 16);
    for (at, value) in [(bits, 0), (bits, 4793), (bits, u64::MAX), (bytes, 0), (bytes, 1)] {
        let mut bloom = Struct::made(1000, 0.1);
        bloom.0[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        assert_eq!((bloom.check(b"key"), bloom.add(b"key")), (-1, -1), "{value} at {at}");
        bloom.free();
    }
}

#[test]
fn a_file_with_any_byte_of_its_front_changed_loads_or_not_and_never_reaches_outside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = vectors::bytes("libbloom/v2_a.bloom");
    for at in 0..75 {
        for byte in [0, 1, 0x7f, 0x80, 0xff, file[at] ^ 1] {
            let mut changed = file.clone();
            changed[at] = byte;
            fs::write(&path, &changed).unwrap();
            let mut bloom = Struct::filled(0xaa);
            let code = bloom.load(&path);
            assert!((0..=11).contains(&code), "{code}");
            if code == 0 && bloom.ready() != 0 {
                assert!(bloom.bits().div_ceil(8) <= bloom.bytes());
                assert!((0..=1).contains(&bloom.check(b"key")) && (0..=1).contains(&bloom.add(b"key")));
            } else {
                assert_eq!((bloom.check(b"key"), bloom.add(b"key")), (-1, -1));
            }
            bloom.free();
        }
    }
}

#[test]
fn every_prefix_of_a_file_gives_the_code_of_the_field_it_ends_in() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = vectors::bytes("libbloom/v2_a.bloom");
    for len in 0..=file.len() {
        fs::write(&path, &file[..len]).unwrap();
        let mut bloom = Struct::filled(0xaa);
        let expected = match len {
            0..9 => 4,
            9..11 => 6,
            11..75 => 8,
            _ if len < file.len() => 11,
            _ => 0,
        };
        assert_eq!(bloom.load(&path), expected, "{len}");
        bloom.free();
    }
}

#[test]
fn pipes_and_devices_load_as_far_as_they_go() {
    let directory = tempfile::tempdir().unwrap();
    let mut bloom = Struct::filled(0xaa);
    assert_eq!(bloom.load("/dev/null".as_ref()), 4);
    assert_eq!(bloom.load("/dev/zero".as_ref()), 5);
    // A pipe whose writer announces 2^46 bytes and sends a few: memory is allocated as bytes arrive.
    let pipe = directory.path().join("pipe");
    // SAFETY: the path ends with a zero byte and lives until the call returns.
    assert_eq!(unsafe { libc::mkfifo(library::c_path(&pipe).as_ptr(), 0o600) }, 0);
    let mut file = vectors::bytes("libbloom/v2_a.bloom");
    file[27..35].copy_from_slice(&(1u64 << 46).to_le_bytes());
    std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, &file).unwrap());
        assert_eq!(bloom.load(&pipe), 11);
    });
    // And one that sends them all.
    std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, vectors::bytes("libbloom/v2_a.bloom")).unwrap());
        assert_eq!(bloom.load(&pipe), 0);
    });
    bloom.free();
}

#[test]
fn a_save_that_fails_leaves_the_old_file_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut bloom = Struct::made(1000, 0.1);
    assert_eq!(bloom.save(directory.path()), 1);
    assert_eq!(bloom.save("/dev/full".as_ref()), 1);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    bloom.free();
}
