//! A fast filter without a header: its lines and four bytes. For engines that keep the other parameters
//! themselves.
//!
//! ```text
//!   | the lines | 0xb1 | log2 L + 16 · log2 G | k | check |     L, G, k: as in the header of a file
//! ```

use super::hashing::Hashing;
use super::head::{Head, lines};
use super::shape::Shape;
use crate::error::{DecodeError, SizeError};
use crate::probe::lines::LINE;
use crate::sizing::Layout;
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes after the lines.
pub const TRAILER: usize = 4;

/// The first byte of the trailer. Another arrangement of the bits would have another number.
const MARKER: u8 = 0xb1;

/// Bytes that the check covers: the number of blocks, and two of the trailer.
const CHECKED: usize = 10;

/// The last byte of the CRC-32C of ten bytes, when compiled.
const fn last_byte_of_crc(bytes: [u8; CHECKED]) -> u8 {
    let (mut remainder, mut bit) = (!0u32, 0);
    while bit < 8 * CHECKED {
        let input = (bytes[bit / 8] >> (bit % 8)) as u32 & 1;
        let carry = (remainder ^ input) & 1;
        remainder = remainder >> 1 ^ if carry == 1 { 0x82f6_3b78 } else { 0 };
        bit += 1;
    }
    !remainder as u8
}

/// The check of zeros.
const OF_ZEROS: u8 = last_byte_of_crc([0; CHECKED]);

/// What each value of each byte changes in the check: a CRC is linear. A lookup in bare bytes computes the check
/// each time: it takes 10 ns with this table, and took 26 ns with a call of [`crc32c`](crate::checksum::crc32c).
const CHANGES: [[u8; 256]; CHECKED] = {
    let mut changes = [[0; 256]; CHECKED];
    let (mut at, mut value) = (0, 0);
    while at < CHECKED {
        let mut bytes = [0; CHECKED];
        bytes[at] = value as u8;
        changes[at][value] = last_byte_of_crc(bytes) ^ OF_ZEROS;
        (at, value) = if value == 255 { (at + 1, 0) } else { (at, value + 1) };
    }
    changes
};

/// Of the number of blocks and the parameters, so that most damage to the trailer or the length is noticed: the
/// last byte of their CRC-32C. The lines have no checksum: an engine has one for each block of a table.
#[inline(always)]
fn check(blocks: u64, parameters: [u8; 2]) -> u8 {
    let [a, b, c, d, e, f, g, h] = blocks.to_le_bytes();
    let bytes: [u8; CHECKED] = [a, b, c, d, e, f, g, h, parameters[0], parameters[1]];
    CHANGES.iter().zip(bytes).fold(OF_ZEROS, |check, (changes, byte)| check ^ changes[usize::from(byte)])
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

/// The shape and the lines of a filter.
#[inline(always)]
fn parse(bytes: &[u8]) -> Result<(Shape, &[u8]), DecodeError> {
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
    // A block is a power of two of lines: a division would take as long as the lookup.
    let block_len = (LINE as u64) << (logs >> 4);
    if at == 0 || at & (block_len - 1) != 0 {
        let expected = at.next_multiple_of(block_len).max(block_len);
        return Err(DecodeError::Mismatch { field: "length of the lines", at: 0, got: at, expected });
    }
    let blocks = at >> block_len.trailing_zeros();
    if check(blocks, [logs, probes]) != found {
        return Err(DecodeError::Checksum { field: "trailer", at, len: TRAILER as u64 });
    }
    Ok((Shape::new(layout, blocks), bits))
}

/// The header, shape and lines of a filter whose keys were hashed with this seed or secret.
pub fn decode(bytes: &[u8], hashing: &Hashing) -> Result<(Head, Shape, Range<usize>), DecodeError> {
    let (shape, bits) = parse(bytes)?;
    Ok((Head::new(hashing.clone(), 0), shape, 0..bits.len()))
}

/// Whether the key with this hash may be in the filter. Bytes that are no filter match every key.
#[inline]
pub fn may_contain(bytes: &[u8], hash: u64) -> bool {
    match parse(bytes) {
        Ok((shape, bits)) => shape.test(lines(bits), hash),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::crc32c;

    #[test]
    fn the_check_is_the_last_byte_of_the_crc() {
        for i in 0..10_000u64 {
            let blocks = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64);
            let parameters = [(i >> 3) as u8, i as u8];
            let bytes = [&blocks.to_le_bytes()[..], &parameters].concat();
            assert_eq!(check(blocks, parameters), crc32c(&bytes) as u8, "{blocks} {parameters:?}");
        }
    }
}
