//! The kind `compact`: for sets that do not change, about 30 % smaller than a Bloom filter of the same rate.
//!
//! ```text
//!   build    keys ─► partition, sort ─► layer.rs, solve.rs: a linear system in each line ─► bumped keys ─┐
//!                        ▲   (collect.rs, spool.rs: on the disk when they are too many)                  │
//!                        └──────────────────────────── the next layer ◄──────────────────────────────────┘
//!   lookup   hash ─► probe.rs: line, priority, chosen slots ─► lookup.rs: their sum, compared with the fingerprint
//!            many keys: batch.rs, kernel.rs
//! ```
//!
//! A line has 63 slots and eight columns, and gets 71 keys on average: most lines are full. A full line keeps
//! the keys of low priority, the others are bumped to a smaller layer. A lookup reads seven bytes of a line: six
//! chosen slots and the limit. `docs/formats/native.md` describes every step.
//!
//! In the literature this is *retrieval* by small linear systems whose surplus keys are *bumped* to the next layer, as
//! in BuRR (Dillinger, Hübschle-Schneider, Sanders and Walzer, 2022), from the family of ribbon filters (Dillinger and
//! Walzer, 2021): a lookup adds up slots, and compares the sum with a fingerprint. Ours is the system of one cache
//! line, in place of a band along the whole array: a line is solved alone, in any order and on any thread, is never
//! unsolvable, and gives the same bytes everywhere. A line's limit is what BuRR calls its threshold.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod batch;
#[cfg(feature = "std")]
mod builder;
#[cfg(feature = "std")]
mod collect;
mod compact;
#[cfg(feature = "std")]
mod construct;
#[cfg(feature = "std")]
mod file;
mod filter;
mod format;
mod kernel;
#[cfg(feature = "std")]
mod layer;
mod lookup;
mod probe;
mod shape;
#[cfg(feature = "std")]
mod solve;
#[cfg(feature = "std")]
mod spool;

#[cfg(feature = "std")]
pub use builder::CompactBuilder;
pub use filter::{CompactFacts, CompactFilter, CompactPlan};
#[doc(inline)]
pub use fullbloom_core::{error, keys, native::hashing::KeyHash};
