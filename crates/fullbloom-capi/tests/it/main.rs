//! The C library's tests, in one program.

#[cfg(target_os = "linux")]
mod adopting;
mod border;
mod common;
mod filters;
mod header;
mod panics;
mod policy;
