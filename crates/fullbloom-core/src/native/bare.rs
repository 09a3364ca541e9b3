//! A fast filter without a header: its lines and four bytes. For engines that keep the other parameters
//! themselves.
//!
//! ```text
//!   | the lines | 0xb1 | log2 L + 16 · log2 G | k | check |     L, G, k: as in the header of a file
//! ```

use super::hashing::Hashing;
use super::head::Head;
use super::shape::Shape;
use crate::checksum::crc32c;
use crate::error::{DecodeError, SizeError};
use crate::probe::lines::LINE;
use crate::sizing::Layout;
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes after the lines.
pub const TRAILER: usize = 4;

/// The first byte of the trailer. Another arrangement of the bits would have another number.
const MARKER: u8 = 0xb1;

/// Of the number of blocks and the parameters, so that most damage to the trailer or the length is noticed.
/// The lines have no checksum: an engine has one for each block of a table.
fn check(blocks: u64, parameters: [u8; 2]) -> u8 {
    let mut checked = [0; 10];
    checked[..8].copy_from_slice(&blocks.to_le_bytes());
    checked[8..].copy_from_slice(&parameters);
    crc32c(&checked) as u8
}

/// The filter with this header and these lines. The seed or secret, the key type, the label and the number of
/// keys are left out.
///
/// # Errors
/// If the filter was made from the fingerprints of a dynamic filter: its hash is shortened, which four bytes
/// do not say.
pub fn encode(head: &Head, shape: &Shape, bits: &[u8]) -> Result<Vec<u8>, SizeError> {
    if head.hash_bits != 64 {
        let what = "a filter of fingerprints has no bare form: encode it with its header";
        return Err(SizeError::Unsupported { dialect: "native", what });
    }
    let mut bytes = Vec::new();
    let len = bits.len() + TRAILER;
    bytes.try_reserve_exact(len).map_err(|_| SizeError::Memory { bytes: len as u64 })?;
    bytes.extend_from_slice(bits);
    let layout = shape.layout;
    let logs = (layout.lines().ilog2() | layout.block_lines().ilog2() << 4) as u8;
    let parameters = [logs, layout.line_probes() as u8];
    bytes.extend_from_slice(&[MARKER, parameters[0], parameters[1], check(shape.blocks, parameters)]);
    Ok(bytes)
}

/// The header, shape and lines of a filter whose keys were hashed with this seed or secret.
pub fn decode(bytes: &[u8], hashing: &Hashing) -> Result<(Head, Shape, Range<usize>), DecodeError> {
    let Some((bits, &[marker, logs, probes, found])) = bytes.split_last_chunk::<TRAILER>() else {
        let (need, have) = (TRAILER as u64, bytes.len() as u64);
        return Err(DecodeError::Truncated { field: "trailer", at: 0, need, have });
    };
    let at = bits.len() as u64;
    if marker != MARKER {
        return Err(DecodeError::Magic { field: "trailer", at });
    }
    let power = |log: u8| 1u32.checked_shl(log.into()).unwrap_or(0);
    let Some(layout) = Layout::new(power(logs & 15), power(logs >> 4), probes.into()) else {
        let got = i128::from(u16::from_le_bytes([logs, probes]));
        let allowed = "1, 2 or 4 lines for a key, in blocks of up to 64, and 1 to 8 probes in each";
        return Err(DecodeError::Value { field: "layout", at: at + 1, got, allowed });
    };
    let block_len = layout.block_lines() * LINE as u64;
    if at == 0 || !at.is_multiple_of(block_len) {
        let expected = at.next_multiple_of(block_len).max(block_len);
        return Err(DecodeError::Mismatch { field: "length of the lines", at: 0, got: at, expected });
    }
    let blocks = at / block_len;
    if check(blocks, [logs, probes]) != found {
        return Err(DecodeError::Checksum { field: "trailer", at, len: TRAILER as u64 });
    }
    Ok((Head::new(hashing.clone(), 0), Shape::new(layout, blocks), 0..bits.len()))
}
