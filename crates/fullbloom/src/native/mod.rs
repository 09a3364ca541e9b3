//! The filter of our own.
mod build;
mod exceptions;
mod filter;
mod format;
mod guard;
mod hashing;
mod keys;
mod pipeline;
mod plan;
mod shape;
mod shared;
mod stored;

pub use build::Builder;
pub use filter::NativeFilter;
pub(crate) use format::MAGIC;
pub use guard::{ExceptionFacts, GoodKeys, GuardError, GuardedFilter, Members};
pub use hashing::{Hashing, Secret};
pub use keys::{ByteKeys, Column, Hashes, Keys, Number, Offset, OffsetError, Offsets};
pub use plan::{Candidate, Plan};
pub use shared::SharedFilter;
pub use stored::verify;
