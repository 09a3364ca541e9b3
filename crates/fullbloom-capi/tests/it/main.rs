//! The C library's tests, in one program.

mod border;
mod common;
mod filters;
mod header;
mod panics;
mod policy;
