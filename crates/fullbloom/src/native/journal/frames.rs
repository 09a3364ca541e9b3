//! The bytes of a journal. All numbers are little-endian.
//!
//! ```text
//!   header   magic 8 | version u32 | checksum u32 of the rest | hash of the front u64 | length of the file u64
//!   frame    length of the body u64 | checksum of the body u32 | checksum u32 of both, the base and the position
//!            body: groups of  time u64 | number of hashes u64 | hashes u64 ...
//! ```
//!
//! One save writes one frame. A frame is valid in one place of one journal only, so nothing that an earlier
//! journal left on the disk is taken for a frame.

use super::Base;
use crate::checksum::{crc32c, crc32c_append};
use crate::claim::JOURNAL_MAGIC;
use crate::error::DecodeError;
use alloc::vec::Vec;
use core::ops::Range;

const VERSION: u32 = 1;
pub(super) const HEADER_LEN: usize = 32;
const FRAME_LEN: usize = 16;

/// The header of a journal.
pub(super) fn header(base: Base) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(JOURNAL_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&base.front.to_le_bytes());
    header[24..].copy_from_slice(&base.len.to_le_bytes());
    let sum = header_sum(&header);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    header
}

fn header_sum(header: &[u8]) -> u32 {
    crc32c_append(crc32c(&header[..12]), &header[16..HEADER_LEN])
}

/// What the journal extends.
pub(super) fn read_header(bytes: &[u8]) -> Result<Base, DecodeError> {
    let Some(header) = bytes.get(..HEADER_LEN) else {
        let (need, have) = (HEADER_LEN as u64, bytes.len() as u64);
        return Err(DecodeError::Truncated { field: "journal header", at: 0, need, have });
    };
    if !header.starts_with(JOURNAL_MAGIC) || header_sum(header) != number(header, 12, 4) as u32 {
        return Err(DecodeError::Checksum { field: "journal header", at: 0, len: HEADER_LEN as u64 });
    }
    match number(header, 8, 4) {
        version if version == u64::from(VERSION) => {
            Ok(Base { front: number(header, 16, 8), len: number(header, 24, 8) })
        }
        got => Err(DecodeError::Newer { field: "journal version", at: 8, got }),
    }
}

/// A frame with this body, for this place.
pub(super) fn frame(base: Base, at: u64, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_LEN + body.len());
    frame.extend_from_slice(&(body.len() as u64).to_le_bytes());
    frame.extend_from_slice(&crc32c(body).to_le_bytes());
    frame.extend_from_slice(&frame_sum(base, at, &frame).to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

fn frame_sum(base: Base, at: u64, first: &[u8]) -> u32 {
    [base.front, base.len, at]
        .iter()
        .fold(crc32c(first), |sum, number| crc32c_append(sum, &number.to_le_bytes()))
}

/// The bodies of all frames, and where the last one ends: what follows was not completely written.
///
/// An incomplete frame is the last one, as the next is written only when it is on the disk. If another
/// follows, the bytes between them are damaged.
pub(super) fn bodies(base: Base, bytes: &[u8]) -> Result<(Vec<Range<usize>>, usize), DecodeError> {
    let (mut bodies, mut end) = (Vec::new(), HEADER_LEN);
    while let Some(body) = head_at(base, bytes, end)
        .filter(|(body, sum)| bytes.get(body.clone()).is_some_and(|bytes| crc32c(bytes) == *sum))
    {
        end = body.0.end;
        bodies.push(body.0);
    }
    // Frames begin at multiples of eight.
    if (end + 8..bytes.len()).step_by(8).any(|at| head_at(base, bytes, at).is_some()) {
        let len = bytes.len() as u64 - end as u64;
        return Err(DecodeError::Checksum { field: "journal frame", at: end as u64, len });
    }
    Ok((bodies, end))
}

/// The place and the checksum of the body of the frame that begins here.
fn head_at(base: Base, bytes: &[u8], at: usize) -> Option<(Range<usize>, u32)> {
    let head = bytes.get(at..at.checked_add(FRAME_LEN)?)?;
    if number(head, 12, 4) as u32 != frame_sum(base, at as u64, &head[..12]) {
        return None;
    }
    let begin = at + FRAME_LEN;
    let end = begin.checked_add(usize::try_from(number(head, 0, 8)).ok()?)?;
    (end % 8 == 0).then_some((begin..end, number(head, 8, 4) as u32))
}

/// Adds hashes that were inserted at this time to a body.
pub(super) fn push(body: &mut Vec<u8>, time: u64, hashes: impl Iterator<Item = u64>) {
    let at = body.len();
    body.extend_from_slice(&time.to_le_bytes());
    body.extend_from_slice(&[0; 8]);
    hashes.for_each(|hash| body.extend_from_slice(&hash.to_le_bytes()));
    match (body.len() - at - 16) / 8 {
        0 => body.truncate(at),
        count => body[at + 8..at + 16].copy_from_slice(&(count as u64).to_le_bytes()),
    }
}

/// The groups of a body: the time, and the hashes.
pub(super) fn groups(
    body: &[u8],
    mut group: impl FnMut(u64, &[u64]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let (mut rest, mut hashes) = (body, Vec::new());
    while let Some((head, after)) = rest.split_at_checked(16) {
        let count = usize::try_from(number(head, 8, 8)).ok().and_then(|count| count.checked_mul(8));
        let Some((numbers, after)) = count.and_then(|len| after.split_at_checked(len)) else { break };
        hashes.clear();
        hashes.extend(numbers.chunks_exact(8).map(|hash| number(hash, 0, 8)));
        group(number(head, 0, 8), &hashes)?;
        rest = after;
    }
    match rest.len() {
        0 => Ok(()),
        have => Err(DecodeError::Truncated { field: "journal group", at: 0, need: 16, have: have as u64 }),
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
