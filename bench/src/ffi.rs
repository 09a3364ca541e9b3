//! Filters of other languages: the C++ that `build.rs` compiles, and C libraries that are loaded at run time.

#[cfg(boost_bloom)]
pub mod boost;
#[cfg(fast_local)]
pub mod fast_local;
#[cfg(cpp_field)]
pub mod field;
pub mod libbloom;
#[cfg(librocksdb)]
pub mod librocksdb;
