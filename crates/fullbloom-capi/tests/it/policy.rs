//! The callbacks, called as LevelDB calls them.
#![allow(unsafe_code)]

use fullbloom_c::dialect::number;
use fullbloom_c::policy::*;
use fullbloom_c::status::Status;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{LevelDb, Name};
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

struct Made(*mut Policy);

impl Made {
    fn new(dialect: Name) -> Made {
        let mut policy = null_mut();
        // SAFETY: live handles, and pointers to as many bytes as the lengths say.
        assert_eq!(unsafe { fullbloom_policy_create(number(dialect), 10.0, &mut policy) }, Status::Ok);
        Made(policy)
    }

    fn filter(&self, keys: &[String]) -> Vec<u8> {
        let starts: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lens: Vec<usize> = keys.iter().map(String::len).collect();
        let mut len = 0;
        // SAFETY: live handles, and pointers to as many bytes as the lengths say.
        unsafe {
            let made = fullbloom_policy_create_filter(
                self.0.cast(),
                starts.as_ptr(),
                lens.as_ptr(),
                keys.len() as i32,
                &mut len,
            );
            let bytes = std::slice::from_raw_parts(made.cast::<u8>(), len).to_vec();
            libc::free(made.cast());
            bytes
        }
    }

    fn may_match(&self, key: &str, filter: &[u8]) -> u8 {
        // SAFETY: live handles, and pointers to as many bytes as the lengths say.
        unsafe {
            fullbloom_policy_key_may_match(
                self.0.cast(),
                key.as_ptr().cast(),
                key.len(),
                filter.as_ptr().cast(),
                filter.len(),
            )
        }
    }

    fn name(&self) -> &str {
        // SAFETY: a static C string.
        unsafe { CStr::from_ptr(fullbloom_policy_name(self.0.cast())) }.to_str().unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: it was made by `fullbloom_policy_create`, and is not used again.
        unsafe { fullbloom_policy_destroy(self.0.cast()) };
    }
}

fn keys(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|i| format!("{:08x}", i.wrapping_mul(0x9e37_79b9))).collect()
}

#[test]
fn leveldb_filters_are_leveldb_s_bytes_under_leveldb_s_name() {
    let policy = Made::new(Name::LevelDb);
    assert_eq!(policy.name(), "leveldb.BuiltinBloomFilter2");
    for count in [0, 1, 7, 1000] {
        let keys = keys(0..count);
        let mut expected = Filter::<LevelDb>::with_bits_per_key(count.into(), 10.0).unwrap();
        expected.extend(&keys);
        assert_eq!(policy.filter(&keys), expected.encode());
    }
}

#[test]
fn both_policies_find_every_key_and_few_others() {
    for dialect in [Name::LevelDb, Name::Native] {
        let policy = Made::new(dialect);
        let filter = policy.filter(&keys(0..1000));
        assert!(keys(0..1000).iter().all(|key| policy.may_match(key, &filter) == 1));
        let wrong = keys(1000..11_000).iter().filter(|key| policy.may_match(key, &filter) == 1).count();
        assert!(wrong < 300, "{dialect}: {wrong}");
    }
    assert_eq!(Made::new(Name::Native).name(), "fullbloom.native");
}

#[test]
fn filters_that_cannot_be_made_or_read_match_every_key() {
    for dialect in [Name::LevelDb, Name::Native] {
        let policy = Made::new(dialect);
        let mut len = 0;
        // An invalid key: the filter that is returned matches every key, in LevelDB's own reader too.
        // SAFETY: the function promises to accept NULL.
        let made = unsafe {
            fullbloom_policy_create_filter(policy.0.cast(), [null()].as_ptr(), [3].as_ptr(), 1, &mut len)
        };
        // SAFETY: the function made `len` bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(made.cast::<u8>(), len) }.to_vec();
        // SAFETY: memory from malloc, freed once.
        unsafe { libc::free(made.cast()) };
        assert_eq!(bytes, [0, 0xff]);
        assert_eq!(policy.may_match("key", &bytes), 1);
        let mut damaged = policy.filter(&keys(0..100));
        damaged.truncate(damaged.len() / 2);
        *damaged.last_mut().unwrap() = 0xff; // LevelDB: a reserved count of probes
        assert_eq!(policy.may_match("key", &damaged), 1);
        // SAFETY: the function promises to accept NULL.
        assert_eq!(unsafe { fullbloom_policy_key_may_match(policy.0.cast(), null(), 3, null(), 9) }, 1);
    }
    // Not a policy at all.
    // SAFETY: the function promises to accept NULL.
    assert_eq!(unsafe { fullbloom_policy_key_may_match(null_mut(), null(), 0, null(), 0) }, 1);
    // SAFETY: the function promises to accept NULL.
    assert!(!unsafe { fullbloom_policy_name(null_mut()) }.is_null());
    // SAFETY: the function promises to accept NULL.
    unsafe { fullbloom_policy_destroy(null_mut()) };
}

#[test]
fn other_dialects_and_impossible_sizes_make_no_policy() {
    let create = |dialect, bits| {
        let mut policy = std::ptr::without_provenance_mut(8);
        // SAFETY: live handles, and pointers to as many bytes as the lengths say.
        let status = unsafe { fullbloom_policy_create(dialect, bits, &mut policy) };
        assert!(policy.is_null());
        status
    };
    assert_eq!(create(number(Name::Cassandra), 10.0), Status::Argument);
    assert_eq!(create(0, 10.0), Status::Argument);
    assert_eq!(create(number(Name::Native), f64::NAN), Status::Size);
    assert_eq!(create(number(Name::LevelDb), f64::NAN), Status::Size);
    // SAFETY: the function promises to accept NULL.
    assert_eq!(unsafe { fullbloom_policy_create(number(Name::LevelDb), 10.0, null_mut()) }, Status::Null);
}
