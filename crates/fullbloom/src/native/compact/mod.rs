//! The kind `compact`: for sets that do not change, about a third smaller than a Bloom filter of the same rate.

#[cfg(feature = "std")]
mod builder;
#[cfg(feature = "std")]
mod collect;
#[cfg(feature = "std")]
mod construct;
mod dialect;
#[cfg(feature = "std")]
mod error;
mod filter;
#[cfg(feature = "std")]
mod layer;
mod lookup;
#[cfg(feature = "std")]
mod scatter;
mod shape;
#[cfg(feature = "std")]
mod solve;
#[cfg(feature = "std")]
mod sort;
#[cfg(feature = "std")]
mod spool;

#[cfg(feature = "std")]
pub use builder::CompactBuilder;
pub use dialect::Compact;
#[cfg(feature = "std")]
pub use error::BuildError;
pub use filter::{CompactFilter, CompactPlan};
pub(super) use shape::{MAX_LAYERS, Shape};
