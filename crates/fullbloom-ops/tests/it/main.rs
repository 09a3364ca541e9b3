//! Places of every kind: inspected, verified, rebuilt and planned for.

mod conformance;
mod databases;
mod files;
mod look;
mod openings;
mod operators;
mod plan;
#[path = "../conformance/reader.rs"]
mod reader;
mod sstables;
#[path = "../../../fullbloom-sstable/tests/support/mod.rs"]
mod support;

/// The corpus limits the memory of a lookup.
#[global_allocator]
static ALLOCATOR: fullbloom_testkit::alloc::Counting = fullbloom_testkit::alloc::Counting;
