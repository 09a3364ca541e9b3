//! What every filter of fullbloom is made of: bits, CPU kernels and the pipeline of batches, keys, sizing
//! arithmetic, reading and writing bytes, errors, and the file that all native kinds share.
//!
//! Other crates of fullbloom pin the exact version of this one. It promises nothing to programs: they use
//! the crate `fullbloom`, which re-exports what is stable.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(missing_docs)] // many items are plain data between our crates

extern crate alloc;

#[cfg(not(any(feature = "std", feature = "libm")))]
compile_error!("without the feature `std`, the feature `libm` is needed");

pub mod bits;
pub mod checksum;
pub mod error;
pub mod hash;
pub mod kernel;
pub mod keys;
pub mod memory;
pub mod native;
pub mod part;
pub mod partition;
pub mod probe;
pub mod sealed;
pub mod sizing;
pub mod sort;
#[cfg(feature = "std")]
pub mod threads;
pub mod typed;
pub mod wire;
