//! The library's tests, in one program: `cargo test -p fullbloom-any --test it golden_` runs the modules whose
//! names contain `golden_`.

mod alloc_rocksdb;
mod batch;
mod builder_rocksdb;
mod common;
mod corrupt_any;
mod corrupt_cassandra;
mod corrupt_cassandra_0x;
mod corrupt_formats;
mod corrupt_javalsm;
mod corrupt_leveldb;
mod corrupt_libbloom;
mod corrupt_native;
mod corrupt_rocksdb;
mod every_dialect;
mod forging;
mod front_door;
mod golden_cassandra;
mod golden_cassandra_0x;
mod golden_dcso;
mod golden_hash;
mod golden_javalsm;
mod golden_jvm;
mod golden_leveldb;
mod golden_libbloom;
mod golden_native;
mod golden_native_dynamic;
mod golden_rocksdb;
mod kernel;
mod native_compact;
mod native_dynamic;
mod native_dynamic_expiry;
mod native_exceptions;
mod native_slices;
mod native_threads;
mod patterned_keys;
mod prop_classic;
mod prop_formats;
mod prop_native;
mod prop_rocksdb;
mod rates;
mod rates_formats;
mod rates_native;
mod rates_rocksdb;

use fullbloom_testkit::alloc::Counting;

/// Tests of malformed files limit the memory that decoders may request, and builders are run with failing
/// allocations.
#[global_allocator]
static ALLOCATOR: Counting = Counting;
