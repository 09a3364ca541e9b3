//! Helpers that several modules use.

use fullbloom::DecodeError;
use fullbloom::any::{AnyFilter, ReadOptions};
use fullbloom::dialect::Name;
use fullbloom::filter::Check;

/// Reads bytes in place, by dialect name.
pub fn view(name: Name, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<AnyFilter, DecodeError> {
    AnyFilter::over(bytes.to_vec(), &options(name, geometry), Check::All)
}

/// Options for reading bytes, with bits and probes if they are known.
pub fn options(name: Name, geometry: Option<(u64, u32)>) -> ReadOptions {
    match geometry {
        Some((bit_len, probes)) => ReadOptions::from(name).geometry(bit_len, probes),
        None => name.into(),
    }
}
