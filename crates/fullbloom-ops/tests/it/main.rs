//! Places of every kind: inspected, verified, rebuilt and planned for.

mod databases;
mod files;
mod look;
mod openings;
mod operators;
mod plan;
mod sstables;
#[path = "../../../fullbloom-sstable/tests/support/mod.rs"]
mod support;
