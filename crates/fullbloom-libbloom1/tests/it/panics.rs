//! A panic in any function comes out as that function's error code: `cargo test --features planted-panic`.
//! Panics are planted by an environment variable, so the calls are made in a process of their own.
#![cfg(feature = "planted-panic")]
#![allow(unsafe_code)]

use crate::library::{LIBRARY, Struct};
use fullbloom_testkit::process::alone;

#[test]
fn no_exported_function_lets_a_panic_out() {
    alone("panics::child", |_| {});
}

#[test]
#[ignore = "not a test by itself; the other here runs it: cargo test -p fullbloom-libbloom1 --features planted-panic --test it panics::"]
fn child() {
    let mut bloom = Struct::made(1000, 0.1);
    let b = &raw mut bloom;
    let (key, l) = (c"key".as_ptr().cast(), &LIBRARY);
    // SAFETY: the only test in this process; no other thread reads the environment.
    unsafe { std::env::set_var("FULLBLOOM_PLANTED_PANIC", "1") };
    // SAFETY: the struct holds a filter, and the texts are constants.
    let mut called = unsafe {
        let version = (l.version)();
        [
            ("bloom_init", (l.init)(b, 1000, 0.1) == 1),
            ("bloom_init_size", (l.init_size)(b, 1000, 0.1, 0) == 1),
            ("bloom_check", (l.check)(b, key, 3) == -1),
            ("bloom_add", (l.add)(b, key, 3) == -1),
            ("bloom_print", {
                (l.print)(b);
                true
            }),
            ("bloom_free", {
                (l.free)(b);
                true
            }),
            ("bloom_reset", (l.reset)(b) == 1),
            ("bloom_version", !version.is_null()),
            ("murmurhash2", (l.murmurhash2)(key, 3, 1) == 0),
        ]
    };
    // SAFETY: as for `set_var`.
    unsafe { std::env::remove_var("FULLBLOOM_PLANTED_PANIC") };
    called.sort_unstable();
    assert!(called.iter().map(|(name, _)| *name).eq(include_str!("../../abi/symbols").lines()));
    assert!(called.iter().all(|(_, as_documented)| *as_documented), "{called:?}");
    assert_eq!(bloom.ready(), 1, "nothing was done");
    bloom.free();
}
