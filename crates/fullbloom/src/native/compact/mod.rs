//! compact
#[cfg(feature = "std")]
mod construct;
#[cfg(feature = "std")]
mod layer;
#[cfg(feature = "std")]
mod scatter;
mod shape;
#[cfg(feature = "std")]
mod solve;
#[cfg(feature = "std")]
mod sort;
mod lookup;
