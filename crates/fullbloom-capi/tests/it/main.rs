//! The C library's tests, in one program.

#[cfg(target_os = "linux")]
mod adopting;
mod border;
mod common;
#[cfg(target_os = "linux")]
mod cpp;
mod filters;
mod hashes;
mod header;
#[cfg(target_os = "linux")]
mod installed;
#[cfg(target_os = "linux")]
mod integers;
#[cfg(target_os = "linux")]
mod memory;
mod panics;
mod policy;
