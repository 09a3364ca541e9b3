//! The bytes of a journal. All numbers are little-endian.
//!
//! ```text
//!   header   magic 8 | version u32 | checksum u32 of the rest | hash of the file's header u64 | length of the file u64
//!            seal 0 | seal 1
//!   seal     end of the last frame u64 | number of frames u64 | checksum u32 of both and the base | zero u32
//!   frame    length of the body u64 | checksum of the body u32 | checksum u32 of both, the base and the position
//!            body: groups of  time u64 | number of hashes u64 | hashes u64 ...
//! ```
//!
//! One save writes one frame. A frame is valid in one place of one journal only, so nothing that an earlier
//! journal left on the disk is taken for a frame.
//!
//! A save writes its frame, waits for the disk, writes the seal, waits again, and only then reports success.
//! So a sealed frame was acknowledged: if it is damaged or missing, keys are lost, and readers refuse the
//! journal. A frame without a seal was not acknowledged: a reader uses it if it is whole, and drops it if it
//! is not. Saves write the two seals in turn, so a save that is interrupted leaves the seal before its own.

use super::Base;
use alloc::vec::Vec;
use core::ops::Range;
use fullbloom_core::checksum::{crc32c, crc32c_append};
use fullbloom_core::error::DecodeError;
use fullbloom_files::file_lock::JOURNAL_MAGIC;

const VERSION: u32 = 1;
/// Where the seals begin.
const SEALS_AT: usize = 32;
const SEAL_LEN: usize = 24;
pub(crate) const HEADER_LEN: usize = SEALS_AT + 2 * SEAL_LEN;
const FRAME_LEN: usize = 16;

/// A journal has at most this share of its file's length.
const SHARE: u64 = 4;

/// The longest body that may be added to a journal of this length; 0 for a journal that is yet to be made.
pub(crate) fn longest_body(base: Base, journal_len: u64) -> u64 {
    (base.len / SHARE).saturating_sub(journal_len)
}

/// The longest journal of a file: longer ones were not written by [`longest_body`].
pub(crate) fn longest_journal(base: Base) -> u64 {
    (HEADER_LEN + FRAME_LEN) as u64 + base.len / SHARE
}

/// The header of a journal with one frame that ends here.
pub(crate) fn header(base: Base, end: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(JOURNAL_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&base.header.to_le_bytes());
    header[24..32].copy_from_slice(&base.len.to_le_bytes());
    let sum = header_sum(&header);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    let seal = Seal { end, frames: 1 };
    header[seal.at()..][..SEAL_LEN].copy_from_slice(&seal.bytes(base));
    header
}

fn header_sum(header: &[u8]) -> u32 {
    crc32c_append(crc32c(&header[..12]), &header[16..SEALS_AT])
}

/// What the journal extends.
pub(crate) fn read_header(bytes: &[u8]) -> Result<Base, DecodeError> {
    let Some(header) = bytes.get(..HEADER_LEN) else {
        let (need, have) = (HEADER_LEN as u64, bytes.len() as u64);
        return Err(DecodeError::Truncated { field: "journal header", at: 0, need, have });
    };
    if !header.starts_with(JOURNAL_MAGIC) || header_sum(header) != number(header, 12, 4) as u32 {
        return Err(DecodeError::Checksum { field: "journal header", at: 0, len: SEALS_AT as u64 });
    }
    match number(header, 8, 4) {
        version if version == u64::from(VERSION) => {
            Ok(Base { header: number(header, 16, 8), len: number(header, 24, 8) })
        }
        got => Err(DecodeError::Newer { field: "journal version", at: 8, got }),
    }
}

/// What was acknowledged: this many frames, the last of which ends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) end: u64,
    pub(crate) frames: u64,
}

impl Seal {
    /// Where it is in the journal: two seals take turns.
    pub(crate) fn at(self) -> usize {
        SEALS_AT + SEAL_LEN * (self.frames % 2) as usize
    }

    pub(crate) fn bytes(self, base: Base) -> [u8; SEAL_LEN] {
        let mut bytes = [0; SEAL_LEN];
        bytes[..8].copy_from_slice(&self.end.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.frames.to_le_bytes());
        let sum = [base.header, base.len]
            .iter()
            .fold(crc32c(&bytes[..16]), |sum, number| crc32c_append(sum, &number.to_le_bytes()));
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The newer seal, and whether the other bytes of the seals are what writers write: another seal, or
    /// zeros while there is one frame only.
    fn newest(base: Base, header: &[u8]) -> (Option<Seal>, bool) {
        let (mut newest, mut is_clean) = (None::<Seal>, true);
        for bytes in header[SEALS_AT..HEADER_LEN].chunks_exact(SEAL_LEN) {
            let seal = Seal { end: number(bytes, 0, 8), frames: number(bytes, 8, 8) };
            if seal.bytes(base) == bytes {
                newest = newest.filter(|other| other.frames > seal.frames).or(Some(seal));
            } else {
                is_clean &= bytes.iter().all(|byte| *byte == 0);
            }
        }
        (newest, is_clean)
    }
}

/// A frame with this body, for this place.
pub(crate) fn frame(base: Base, at: u64, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_LEN + body.len());
    frame.extend_from_slice(&(body.len() as u64).to_le_bytes());
    frame.extend_from_slice(&crc32c(body).to_le_bytes());
    frame.extend_from_slice(&frame_sum(base, at, &frame).to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

fn frame_sum(base: Base, at: u64, first: &[u8]) -> u32 {
    [base.header, base.len, at]
        .iter()
        .fold(crc32c(first), |sum, number| crc32c_append(sum, &number.to_le_bytes()))
}

/// The frames of a journal.
#[derive(Debug, Clone)]
pub(crate) struct Frames {
    pub(crate) bodies: Vec<Range<usize>>,
    /// Where the last whole frame ends: what follows was never acknowledged.
    pub(crate) end: usize,
    /// Whether the last save was interrupted after its frame, so that there is no seal of it.
    pub(crate) needs_seal: bool,
}

/// The frames of the journal with these bytes.
pub(crate) fn frames(base: Base, bytes: &[u8]) -> Result<Frames, DecodeError> {
    let (seal, is_clean) = Seal::newest(base, bytes);
    let damaged_seals =
        DecodeError::Checksum { field: "journal seals", at: SEALS_AT as u64, len: 2 * SEAL_LEN as u64 };
    let Some(seal) = seal else { return Err(damaged_seals) };
    if seal.end > bytes.len() as u64 {
        let (need, have) = (seal.end, bytes.len() as u64);
        return Err(DecodeError::Truncated { field: "journal", at: have, need, have });
    }
    let (mut bodies, mut end) = (Vec::new(), HEADER_LEN);
    while let Some(body) = body_at(base, bytes, end) {
        end = body.end;
        bodies.push(body);
    }
    let sealed = usize::try_from(seal.frames).ok().and_then(|frames| bodies.get(frames.checked_sub(1)?));
    if sealed.is_none_or(|last| last.end as u64 != seal.end) {
        let (at, len) = (end as u64, seal.end.saturating_sub(end as u64));
        return Err(DecodeError::Checksum { field: "journal frame", at, len });
    }
    // With a seal that cannot be read, it is not known whether the bytes at the end were acknowledged.
    if !is_clean && end < bytes.len() {
        return Err(damaged_seals);
    }
    let needs_seal = !is_clean || bodies.len() as u64 > seal.frames;
    Ok(Frames { bodies, end, needs_seal })
}

/// The body of the valid frame that begins here.
fn body_at(base: Base, bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let (body, sum) = head_at(base, bytes, at)?;
    bytes.get(body.clone()).is_some_and(|bytes| crc32c(bytes) == sum).then_some(body)
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
pub(crate) fn push(body: &mut Vec<u8>, time: u64, hashes: impl Iterator<Item = u64>) {
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
pub(crate) fn groups(
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
