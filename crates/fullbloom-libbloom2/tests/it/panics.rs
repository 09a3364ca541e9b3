//! The functions that only this library has, with planted panics. The others are in `both::panics`.
#![cfg(feature = "planted-panic")]
#![allow(unsafe_code)]

use crate::both::panics;
use crate::library::LIBRARY;

#[test]
#[ignore = "not a test by itself; `both::panics` runs it: cargo test -p fullbloom-libbloom2 --features planted-panic --test it panics::"]
fn child() {
    panics::check(|bloom| {
        let (b, file, l) = (&raw mut *bloom, c"/dev/null".as_ptr(), &LIBRARY);
        // SAFETY: the struct holds a filter, and the text is a constant.
        unsafe {
            vec![
                ("bloom_init2", (l.init2)(b, 1000, 0.1) == 1),
                ("bloom_save", (l.save)(b, file) == 1),
                ("bloom_load", (l.load)(b, file) == 11),
                ("bloom_merge", (l.merge)(b, b) == -1),
            ]
        }
    });
}
