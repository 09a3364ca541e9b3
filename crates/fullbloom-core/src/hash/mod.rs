//! The hash functions of native filters: a fast one with a public seed, and one with a secret. And the one of
//! files, which Parquet hashes keys with.

mod fold64;
mod siphash;
mod xxh64;

pub use fold64::{Fold64, finish, fold, fold_halves, fold64};
pub use siphash::siphash13;
pub use xxh64::{xxh64, xxh64_chunk, xxh64_word};
