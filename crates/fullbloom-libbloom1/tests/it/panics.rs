//! The functions that only this library has, with planted panics. The others are in `both::panics`.
#![cfg(feature = "planted-panic")]
#![allow(unsafe_code)]

use crate::both::panics;
use crate::library::LIBRARY;

#[test]
#[ignore = "not a test by itself; `both::panics` runs it: cargo test -p fullbloom-libbloom1 --features planted-panic --test it panics::"]
fn child() {
    panics::check(|bloom| {
        // SAFETY: the struct holds a filter.
        let refused = unsafe { (LIBRARY.init_size)(bloom, 1000, 0.1, 0) } == 1;
        vec![("bloom_init_size", refused)]
    });
}
