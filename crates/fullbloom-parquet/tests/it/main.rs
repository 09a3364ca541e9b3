//! The crate's tests on whole files.

mod common;
mod damaged;
mod files;
mod footers;
mod prune;
mod sections;
mod types;

use fullbloom_testkit::alloc::Counting;

/// Tests of hostile files limit the memory that a reader may ask for.
#[global_allocator]
static ALLOCATOR: Counting = Counting;
