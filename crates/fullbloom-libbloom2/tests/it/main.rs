//! The tests of `libbloom.so.2`, in one program. They load the shared library, so they run where it is made.
#![cfg(target_os = "linux")]

mod border;
mod library;
mod panics;
mod symbols;
mod vectors;
