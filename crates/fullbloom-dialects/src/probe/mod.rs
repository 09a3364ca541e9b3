//! Hash to positions: each family's walk over a whole bit array, with its own integer widths.
//!
//! A walk never divides: [`Mod32`], [`Mod63`] and [`Mod64`] compute exact remainders by multiplying with a
//! constant computed once per filter.

mod reduce;
mod walk;

pub use reduce::{BitLen, Mod32, Mod63, Mod64};
pub(crate) use walk::{all_set, prefetch_all, set_all};
pub use walk::{
    complement32, complement64, int32, long64, masked64, stepping_reduced, stepping64, wrapping32,
    wrapping32_by,
};
