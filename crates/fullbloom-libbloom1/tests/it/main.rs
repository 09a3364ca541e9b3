//! The tests of `libbloom.so.1`, in one program. They load the shared library, so they run where it is made.
#![cfg(target_os = "linux")]

mod border;
#[path = "../../../fullbloom-libbloom/tests/both/mod.rs"]
#[allow(unsafe_code)]
mod both;
mod library;
mod panics;
mod vectors;
