//! The crate's tests on whole tables, in one program.

mod common;
mod corrupt_tables;
mod golden_rewrite;
mod golden_tables;
mod native_tables;
mod new_filters;

use fullbloom_testkit::alloc::Counting;

/// Tests of malformed tables hold readers to the memory they may ask for.
#[global_allocator]
static ALLOCATOR: Counting = Counting;
