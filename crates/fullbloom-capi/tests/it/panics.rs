//! A panic in any function comes out as a status: `cargo test --features planted-panic`. Panics are planted
//! by an environment variable, so the calls are made in a process of their own.
#![cfg(feature = "planted-panic")]
#![allow(unsafe_code)]

use crate::common::*;
use fullbloom_c::dialect::fullbloom_dialect_by_name;
use fullbloom_c::facts::{fullbloom_filter_facts, fullbloom_plan};
use fullbloom_c::filter::*;
use fullbloom_c::hash::*;
use fullbloom_c::key_type::*;
use fullbloom_c::policy::*;
use fullbloom_c::sizing::Sizing;
use fullbloom_c::status::Status;
use fullbloom_dialects::Name;
use fullbloom_testkit::process::alone;
use std::ptr::{null, null_mut};

/// Functions that return no status and do nothing that could panic.
const CONSTANT: [&str; 4] =
    ["fullbloom_dialect_name", "fullbloom_message", "fullbloom_status_words", "fullbloom_version"];

#[test]
fn no_exported_function_lets_a_panic_out() {
    alone("panics::child", |_| {});
}

#[test]
#[ignore = "not a test by itself; the other here runs it: cargo test -p fullbloom-capi --features planted-panic --test it panics::"]
fn child() {
    let asked = Sizing { bits_per_key: 10.0, ..sizing(100) };
    let mut filter = create(Name::LevelDb, &asked).unwrap();
    let (mut policy, mut out, mut name, mut len, mut size) = (null_mut(), null_mut(), 0, 0, 0);
    let (mut facts, mut flag, mut hash) = (empty_facts(), false, no_hash());
    // SAFETY: live handles, and pointers to as many bytes as the lengths say.
    assert_eq!(unsafe { fullbloom_policy_create(10, 10.0, &mut policy) }, Status::Ok);
    let (f, p, path) = (filter.0, policy.cast(), c"/dev/null".as_ptr());
    let (key, internal) = (path.cast(), Status::Internal);
    // SAFETY: the only test in this process; no other thread reads the environment.
    unsafe { std::env::set_var("FULLBLOOM_PLANTED_PANIC", "1") };
    // SAFETY: handles and outputs are live, and NULL pointers come with a length of zero.
    let mut called: Vec<(&str, bool)> = unsafe {
        let made = fullbloom_policy_create_filter(p, null(), null(), 0, &mut size);
        let stands_in = std::slice::from_raw_parts(made.cast::<u8>(), size) == [0, 0xff];
        libc::free(made.cast());
        vec![
            ("fullbloom_dialect_by_name", fullbloom_dialect_by_name(path, &mut name) == internal),
            ("fullbloom_plan", fullbloom_plan(1, &asked, &mut facts) == internal),
            ("fullbloom_filter_create", fullbloom_filter_create(1, &asked, &mut out) == internal),
            (
                "fullbloom_filter_create_dynamic",
                fullbloom_filter_create_dynamic(&asked, null(), &mut out) == internal,
            ),
            ("fullbloom_filter_advance", fullbloom_filter_advance(f, 5) == internal),
            ("fullbloom_filter_remove", fullbloom_filter_remove(f, key, 3, &mut flag) == internal),
            ("fullbloom_filter_view", fullbloom_filter_view(1, key, 3, 0, 0, &mut out) == internal),
            ("fullbloom_filter_decode", fullbloom_filter_decode(1, key, 3, 0, 0, &mut out) == internal),
            ("fullbloom_filter_load", fullbloom_filter_load(1, path, 0, 0, &mut out) == internal),
            ("fullbloom_filter_open", fullbloom_filter_open(1, path, 0, 0, &mut out) == internal),
            ("fullbloom_filter_unlock", fullbloom_filter_unlock(f, key.cast()) == internal),
            ("fullbloom_filter_set_key_type", fullbloom_filter_set_key_type(f, 1) == internal),
            ("fullbloom_filter_require_key_type", fullbloom_filter_require_key_type(f, 1) == internal),
            ("fullbloom_filter_insert", fullbloom_filter_insert(f, key, 3, &mut flag) == internal),
            (
                "fullbloom_filter_insert_batch",
                fullbloom_filter_insert_batch(f, null(), null(), 0) == internal,
            ),
            ("fullbloom_filter_may_contain", fullbloom_filter_may_contain(f, key, 3, &mut flag) == internal),
            (
                "fullbloom_filter_may_contain_batch",
                fullbloom_filter_may_contain_batch(f, null(), null(), 0, null_mut()) == internal,
            ),
            ("fullbloom_filter_hash", fullbloom_filter_hash(f, key, 3, &mut hash) == internal),
            ("fullbloom_filter_insert_hash", fullbloom_filter_insert_hash(f, &hash, &mut flag) == internal),
            (
                "fullbloom_filter_insert_hash_batch",
                fullbloom_filter_insert_hash_batch(f, &hash, 1) == internal,
            ),
            (
                "fullbloom_filter_may_contain_hash",
                fullbloom_filter_may_contain_hash(f, &hash, &mut flag) == internal,
            ),
            (
                "fullbloom_filter_may_contain_hash_batch",
                fullbloom_filter_may_contain_hash_batch(f, &hash, 1, &mut flag) == internal,
            ),
            ("fullbloom_filter_finish", fullbloom_filter_finish(f) == internal),
            ("fullbloom_filter_clear", fullbloom_filter_clear(f) == internal),
            ("fullbloom_filter_merge", fullbloom_filter_merge(f, f) == internal),
            ("fullbloom_filter_facts", fullbloom_filter_facts(f, &mut facts) == internal),
            ("fullbloom_filter_encode", fullbloom_filter_encode(f, null_mut(), 0, &mut len) == internal),
            ("fullbloom_filter_save", fullbloom_filter_save(f, path) == internal),
            ("fullbloom_filter_free", fullbloom_filter_free(&mut filter.0) == internal),
            ("fullbloom_policy_create", fullbloom_policy_create(10, 10.0, &mut out.cast()) == internal),
            ("fullbloom_policy_create_filter", stands_in),
            ("fullbloom_policy_key_may_match", fullbloom_policy_key_may_match(p, null(), 0, null(), 0) == 1),
            ("fullbloom_policy_name", !fullbloom_policy_name(p).is_null()),
            ("fullbloom_policy_destroy", {
                fullbloom_policy_destroy(p);
                true
            }),
        ]
    };
    // SAFETY: the only test in this process; no other thread reads the environment.
    unsafe { std::env::remove_var("FULLBLOOM_PLANTED_PANIC") };
    assert!(message().contains("planted"), "{}", message());
    assert!(called.iter().all(|(_, as_documented)| *as_documented), "{called:?}");
    called.extend(CONSTANT.map(|name| (name, true)));
    called.sort_unstable();
    assert!(called.iter().map(|(name, _)| *name).eq(include_str!("../../abi/symbols").lines()));
    // SAFETY: it was made by `fullbloom_policy_create`, and is not used again.
    unsafe { fullbloom_policy_destroy(p) };
}
