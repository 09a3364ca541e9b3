//! Memory that may not be there.

use crate::error::SizeError;
use alloc::vec::Vec;

/// Fails if this much memory, and some for everything else, cannot be allocated now.
///
/// An operation whose large allocations can fail also makes small ones, for which the standard library aborts
/// the program. Called before, this reports the lack of memory while there is still some left for them.
pub fn require(bytes: u64) -> Result<(), SizeError> {
    const REST: u64 = 4 << 20;
    let bytes = bytes.saturating_add(REST);
    let refused = SizeError::Memory { bytes };
    let len = usize::try_from(bytes).map_err(|_| refused.clone())?;
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| refused)
}

/// A vector with room for this many items.
pub fn vec_of<T>(items: usize) -> Result<Vec<T>, SizeError> {
    let mut vec = Vec::new();
    let bytes = (items as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve_exact(items).map_err(|_| SizeError::Memory { bytes })?;
    Ok(vec)
}

/// Makes room for this many more items at the end of a vector.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), SizeError> {
    let bytes = ((vec.len() + more) as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve(more).map_err(|_| SizeError::Memory { bytes })
}

/// Adds an item to a vector, which grows if it is full.
pub fn push<T>(vec: &mut Vec<T>, item: T) -> Result<(), SizeError> {
    if vec.len() == vec.capacity() {
        reserve(vec, vec.len().max(1024))?;
    }
    vec.push(item);
    Ok(())
}
