//! A panic in any function comes out as that function's error code: `cargo test --features planted-panic`.
//! Panics are planted by an environment variable, so the calls are made in a process of their own.

use super::SYMBOLS;
use crate::library::{LIBRARY, Struct};
use fullbloom_testkit::process::alone;

#[test]
fn no_exported_function_lets_a_panic_out() {
    alone("panics::child", |_| {});
}

/// Calls the functions of both libraries and those that `others` calls, each with a planted panic, and checks
/// that no function is left out. `others` returns the name of each function, and whether its result is the
/// documented one.
///
/// To be called by the only test of a process.
pub fn check(others: impl FnOnce(&mut Struct) -> Vec<(&'static str, bool)>) {
    let mut bloom = Struct::made(1000, 0.1);
    // SAFETY: the only test in this process; no other thread reads the environment.
    unsafe { std::env::set_var("FULLBLOOM_PLANTED_PANIC", "1") };
    let mut called = others(&mut bloom);
    let (key, b, l) = (c"key".as_ptr().cast(), &raw mut bloom, &LIBRARY);
    // SAFETY: the struct holds a filter, and the texts are constants.
    unsafe {
        (l.print)(b);
        (l.free)(b);
        called.extend([
            ("bloom_init", (l.init)(b, 1000, 0.1) == 1),
            ("bloom_check", (l.check)(b, key, 3) == -1),
            ("bloom_add", (l.add)(b, key, 3) == -1),
            ("bloom_print", true),
            ("bloom_free", true),
            ("bloom_reset", (l.reset)(b) == 1),
            ("bloom_version", !(l.version)().is_null()),
            ("murmurhash2", (l.murmurhash2)(key, 3, 1) == 0),
        ]);
    }
    // SAFETY: as for `set_var`.
    unsafe { std::env::remove_var("FULLBLOOM_PLANTED_PANIC") };
    called.sort_unstable();
    assert!(called.iter().map(|(name, _)| *name).eq(SYMBOLS.lines()), "{called:?}");
    assert!(called.iter().all(|(_, as_documented)| *as_documented), "{called:?}");
    assert_eq!(bloom.ready(), 1, "nothing was done");
    bloom.free();
}
