//! Mistakes of a C program: every call returns a status, and none crashes.
#![allow(unsafe_code)]

use crate::common::*;
use fullbloom_c::dialect::{fullbloom_dialect_by_name, number};
use fullbloom_c::facts::{Facts, fullbloom_filter_facts, fullbloom_plan};
use fullbloom_c::filter::*;
use fullbloom_c::hash::*;
use fullbloom_c::key_type::*;
use fullbloom_c::sizing::Sizing;
use fullbloom_c::status::{Status, fullbloom_status_words};
use fullbloom_dialects::Name;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

const KEY: *const c_void = c"key".as_ptr().cast();

fn small() -> Filter {
    create(Name::LevelDb, &Sizing { bits_per_key: 10.0, ..sizing(100) }).unwrap()
}

#[test]
fn null_where_a_pointer_is_needed_gives_null() {
    let filter = small();
    let (f, asked) = (filter.0, Sizing { fpr: 0.01, ..sizing(100) });
    let (mut flag, mut len, mut facts, mut out, mut name) = (false, 0, empty_facts(), null_mut(), 0);
    let level = number(Name::LevelDb);
    let (starts, mut hash) = ([KEY], no_hash());
    // SAFETY: the library promises to refuse NULL and memory that is not a handle; every other pointer points
    // to a value that outlives the call.
    unsafe {
        let called = [
            fullbloom_dialect_by_name(null(), &mut name),
            fullbloom_dialect_by_name(c"native".as_ptr(), null_mut()),
            fullbloom_plan(level, null(), &mut facts),
            fullbloom_plan(level, &asked, null_mut()),
            fullbloom_filter_create(level, null(), &mut out),
            fullbloom_filter_create(level, &asked, null_mut()),
            fullbloom_filter_create_dynamic(null(), &SET, &mut out),
            fullbloom_filter_create_dynamic(&asked, &SET, null_mut()),
            fullbloom_filter_advance(null_mut(), 5),
            fullbloom_filter_remove(null_mut(), KEY, 3, &mut flag),
            fullbloom_filter_remove(f, null(), 3, &mut flag),
            fullbloom_filter_view(level, null(), 3, 0, 0, &mut out),
            fullbloom_filter_view(level, KEY, 3, 0, 0, null_mut()),
            fullbloom_filter_decode(level, null(), 3, 0, 0, &mut out),
            fullbloom_filter_decode(level, KEY, 3, 0, 0, null_mut()),
            fullbloom_filter_load(level, null(), 0, 0, &mut out),
            fullbloom_filter_load(level, c"x".as_ptr(), 0, 0, null_mut()),
            fullbloom_filter_open(level, null(), 0, 0, &mut out),
            fullbloom_filter_open(level, c"x".as_ptr(), 0, 0, null_mut()),
            fullbloom_filter_unlock(null_mut(), [0; 16].as_ptr()),
            fullbloom_filter_unlock(f, null()),
            fullbloom_filter_set_key_type(null_mut(), 1),
            fullbloom_filter_require_key_type(null(), 1),
            fullbloom_filter_insert(null_mut(), KEY, 3, &mut flag),
            fullbloom_filter_insert(f, null(), 3, &mut flag),
            fullbloom_filter_insert_batch(null_mut(), starts.as_ptr(), &3, 1),
            fullbloom_filter_insert_batch(f, null(), &3, 1),
            fullbloom_filter_insert_batch(f, starts.as_ptr(), null(), 1),
            fullbloom_filter_insert_batch(f, [KEY, null()].as_ptr(), [3, 3].as_ptr(), 2),
            fullbloom_filter_may_contain(null(), KEY, 3, &mut flag),
            fullbloom_filter_may_contain(f, null(), 3, &mut flag),
            fullbloom_filter_may_contain(f, KEY, 3, null_mut()),
            fullbloom_filter_may_contain_batch(null(), starts.as_ptr(), &3, 1, &mut flag),
            fullbloom_filter_may_contain_batch(f, null(), &3, 1, &mut flag),
            fullbloom_filter_may_contain_batch(f, starts.as_ptr(), null(), 1, &mut flag),
            fullbloom_filter_may_contain_batch(f, starts.as_ptr(), &3, 1, null_mut()),
            fullbloom_filter_hash(null(), KEY, 3, &mut hash),
            fullbloom_filter_hash(f, null(), 3, &mut hash),
            fullbloom_filter_hash(f, KEY, 3, null_mut()),
            fullbloom_filter_insert_hash(null_mut(), &hash, &mut flag),
            fullbloom_filter_insert_hash(f, null(), &mut flag),
            fullbloom_filter_insert_hash_batch(null_mut(), &hash, 1),
            fullbloom_filter_insert_hash_batch(f, null(), 1),
            fullbloom_filter_may_contain_hash(null(), &hash, &mut flag),
            fullbloom_filter_may_contain_hash(f, null(), &mut flag),
            fullbloom_filter_may_contain_hash(f, &hash, null_mut()),
            fullbloom_filter_may_contain_hash_batch(null(), &hash, 1, &mut flag),
            fullbloom_filter_may_contain_hash_batch(f, null(), 1, &mut flag),
            fullbloom_filter_may_contain_hash_batch(f, &hash, 1, null_mut()),
            fullbloom_filter_finish(null_mut()),
            fullbloom_filter_clear(null_mut()),
            fullbloom_filter_merge(null_mut(), f),
            fullbloom_filter_merge(f, null()),
            fullbloom_filter_merge(null_mut(), null()),
            fullbloom_filter_facts(null(), &mut facts),
            fullbloom_filter_facts(f, null_mut()),
            fullbloom_filter_encode(null(), null_mut(), 0, &mut len),
            fullbloom_filter_encode(f, null_mut(), 0, null_mut()),
            fullbloom_filter_save(null(), c"x".as_ptr()),
            fullbloom_filter_save(f, null()),
        ];
        assert!(called.iter().all(|status| *status == Status::Null), "{called:?}");
        // NULL is allowed for a filter that was freed, and for the empty key.
        assert_eq!(fullbloom_filter_free(null_mut()), Status::Ok);
        assert_eq!(fullbloom_filter_free(&mut null_mut()), Status::Ok);
        assert_eq!(fullbloom_filter_insert(f, null(), 0, null_mut()), Status::Ok);
        assert_eq!(fullbloom_filter_may_contain(f, null(), 0, &mut flag), Status::Ok);
        assert!(flag);
        assert_eq!(fullbloom_filter_insert_batch(f, null(), null(), 0), Status::Ok);
        assert_eq!(fullbloom_filter_may_contain_batch(f, null(), null(), 0, null_mut()), Status::Ok);
        assert_eq!(fullbloom_filter_insert_hash_batch(f, null(), 0), Status::Ok);
        assert_eq!(fullbloom_filter_may_contain_hash_batch(f, null(), 0, null_mut()), Status::Ok);
    }
    assert_eq!(filter.may_contain(b"key"), Ok(false), "the batch with a bad key has added nothing");
}

#[test]
fn a_pointer_to_something_else_than_a_live_handle_is_refused() {
    let mut zeroed = [0u64; 16];
    let mut flag = false;
    // SAFETY: the library promises to refuse NULL and memory that is not a handle; every other pointer points
    // to a value that outlives the call.
    unsafe {
        let it = zeroed.as_mut_ptr().cast();
        assert_eq!(fullbloom_filter_insert(it, KEY, 3, null_mut()), Status::Handle);
        assert_eq!(fullbloom_filter_may_contain(it, KEY, 3, &mut flag), Status::Handle);
        assert!(flag);
        let mut hash = no_hash();
        assert_eq!(fullbloom_filter_hash(it, KEY, 3, &mut hash), Status::Handle);
        assert_eq!(fullbloom_filter_insert_hash(it, &hash, null_mut()), Status::Handle);
        assert_eq!(fullbloom_filter_may_contain_hash(it, &hash, &mut flag), Status::Handle);
        assert_eq!(fullbloom_filter_free(&mut it.clone()), Status::Handle);
    }
    let mut policy = null_mut();
    let level = number(Name::LevelDb);
    // SAFETY: the library promises to refuse NULL and memory that is not a handle; every other pointer points
    // to a value that outlives the call.
    unsafe {
        assert_eq!(fullbloom_c::policy::fullbloom_policy_create(level, 10.0, &mut policy), Status::Ok);
        assert_eq!(fullbloom_filter_finish(policy.cast()), Status::Handle);
        fullbloom_c::policy::fullbloom_policy_destroy(policy.cast());
    }
}

#[test]
fn structs_of_another_size_are_refused() {
    for size in [0, size_of::<Sizing>() - 8, size_of::<Sizing>() + 8, usize::MAX] {
        let asked = Sizing { struct_size: size, fpr: 0.01, ..sizing(100) };
        assert_eq!(create(Name::Native, &asked).err(), Some(Status::Argument));
        assert!(message().contains("struct_size"), "{}", message());
    }
    let filter = small();
    for size in [0, size_of::<Facts>() - 8, size_of::<Facts>() + 8] {
        let mut facts = Facts { struct_size: size, ..empty_facts() };
        // SAFETY: the handle is live, and the struct is as large as the library may write, whatever its size
        // field says.
        assert_eq!(unsafe { fullbloom_filter_facts(filter.0, &mut facts) }, Status::Argument);
        assert_eq!(facts.bits, 0, "nothing is written");
    }
}

#[test]
fn impossible_sizes_are_refused_for_every_dialect() {
    for &dialect in Name::ALL {
        let rates = [f64::NAN, -1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY];
        for fpr in rates {
            let status = create(dialect, &Sizing { fpr, ..sizing(1000) }).err();
            assert_eq!(status, Some(Status::Size), "{dialect} {fpr}");
        }
        for both in [
            sizing(1000),
            Sizing { fpr: 0.01, bits_per_key: 10.0, ..sizing(1000) },
            Sizing { fpr: 0.01, bits: 1000, probes: 3, ..sizing(1000) },
        ] {
            assert_eq!(create(dialect, &both).err(), Some(Status::Argument), "{dialect}");
        }
        // The largest number of keys: refused, or sized by the keys that are inserted; never an abort.
        let huge = Sizing { bits_per_key: 10.0, ..sizing(u64::MAX) };
        let by_keys = matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon);
        assert_eq!(create(dialect, &huge).is_ok(), by_keys, "{dialect}");
    }
    assert_eq!(create_number(0), Status::Argument);
    assert_eq!(create_number(99), Status::Argument);
    assert_eq!(create_number(-1), Status::Argument);
}

fn create_number(dialect: i32) -> Status {
    let mut out = null_mut();
    // SAFETY: the struct and the place for the handle outlive the call.
    unsafe { fullbloom_filter_create(dialect, &Sizing { fpr: 0.01, ..sizing(1000) }, &mut out) }
}

#[test]
fn damaged_bytes_of_every_dialect_are_refused_or_answered_and_never_crash() {
    for &dialect in Name::ALL {
        let filter = create(dialect, &Sizing { bits_per_key: 10.0, ..sizing(1000) }).unwrap();
        let keys: Vec<String> = (0..40).map(|i| format!("key-{i}")).collect();
        filter.insert_batch(&keys.iter().map(|key| key.as_bytes()).collect::<Vec<_>>());
        filter.finish();
        let (bytes, facts) = (filter.encode().unwrap(), filter.facts().unwrap());
        let geometry = match dialect {
            Name::Libbloom1 | Name::JavaLsm => (facts.bits, facts.probes),
            _ => (0, 0),
        };
        // The facts of a filter can cost as much as a thousand lookups: few are requested.
        let try_all = |bytes: &[u8], and_facts: bool| {
            for filter in [view(number(dialect), bytes, geometry), decode(number(dialect), bytes, geometry)] {
                match filter {
                    Ok(filter) => {
                        filter.may_contain(b"key-1").unwrap();
                        assert!(!and_facts || filter.facts().is_ok());
                        filter.encode().unwrap();
                    }
                    Err(status) => assert!(
                        matches!(status, Status::Decode | Status::Size | Status::Memory),
                        "{dialect} {status:?}"
                    ),
                }
            }
        };
        for len in 0..bytes.len().min(200) {
            try_all(&bytes[..len], len % 16 == 0);
        }
        let ends = (0..bytes.len().min(128)).chain(bytes.len().saturating_sub(64)..bytes.len());
        for at in ends {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                try_all(&changed, at % 16 == 0 && byte == 0xff);
            }
        }
    }
}

#[test]
fn unreadable_files_give_file_and_a_message_with_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    for status in [
        load(0, &missing, (0, 0)).err(),
        open(0, &missing, (0, 0)).err(),
        load(0, directory.path(), (0, 0)).err(),
        open(0, "/dev/null".as_ref(), (0, 0)).err(),
    ] {
        assert_eq!(status, Some(Status::File));
    }
    assert_eq!(small().save(&directory.path().join("no").join("such")), Status::File);
    assert!(message().contains("no/such: cannot save"), "{}", message());
}

#[test]
fn every_status_has_words_and_a_message_is_never_null() {
    // SAFETY: the words are a static C string.
    let words = |status| unsafe { CStr::from_ptr(fullbloom_status_words(status)) }.to_str().unwrap();
    for status in Status::ALL {
        assert!(!words(status as i32).is_empty() && words(status as i32) != words(99));
    }
    assert_eq!((words(-1), words(16)), ("unknown status", "unknown status"));
    std::thread::spawn(|| assert_eq!(message(), "")).join().unwrap();
}

#[test]
fn a_buffer_that_is_too_small_is_filled_and_the_length_is_returned() {
    let filter = small();
    filter.insert(b"key").unwrap();
    let bytes = filter.encode().unwrap();
    let mut buffer = vec![0xaau8; bytes.len()];
    let mut len = 0;
    let room = bytes.len() - 1;
    // SAFETY: the handle is live, and the buffer has room for all of the filter, whatever `room` says.
    let status = unsafe { fullbloom_filter_encode(filter.0, buffer.as_mut_ptr().cast(), room, &mut len) };
    assert_eq!((status, len), (Status::Buffer, bytes.len() as u64));
    assert_eq!((&buffer[..room], buffer[room]), (&bytes[..room], 0xaa), "nothing is written past the end");
}
