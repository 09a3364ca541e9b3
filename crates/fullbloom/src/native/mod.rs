//! The filter of our own.
mod filter;
mod hashing;
mod keys;
mod pipeline;
mod plan;
mod shape;

pub use filter::NativeFilter;
pub use hashing::{Hashing, Secret};
pub use keys::{Column, Hashes, Keys, Number, Offset, OffsetError, Offsets};
pub use plan::{Candidate, Plan};
