//! Sstables of every version: found, inspected, verified and rebuilt.

#[path = "../support/mod.rs"]
mod support;

mod bti;
mod engines;
mod fetched;
mod golden;
mod rebuild;
mod sstables;
