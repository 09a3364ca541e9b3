//! The front of a file from its sections.

use super::encode::{Section, write_header};
use super::{ALIGN, CHECKED_FROM, ENTRY_LEN, HEADER_LEN, PAGE, PAGED_FROM, REQUIRED};
use crate::checksum::crc32c;
use alloc::vec;
use alloc::vec::Vec;

/// The front of a file with these small sections (kind, flags, bytes), the checksums among them, and data sections
/// (kind, length) that follow the front without a gap.
pub(in crate::native) fn front(small: &[(u32, u32, &[u8])], data: &[(u32, u64)], chunk_len: u64) -> Vec<u8> {
    let lengths = small.iter().map(|(.., bytes)| bytes.len() as u64);
    let front_len = front_len(lengths, small.len() + data.len(), data.first().map_or(0, |first| first.1));
    let mut at = HEADER_LEN + ENTRY_LEN * (small.len() + data.len()) as u64;
    let mut sections = Vec::with_capacity(small.len() + data.len());
    for (kind, flags, bytes) in small {
        sections.push(Section { kind: *kind, flags: *flags, at, len: bytes.len() as u64, bytes });
        at += (bytes.len() as u64).next_multiple_of(8);
    }
    let mut file_len = front_len;
    for (kind, len) in data {
        sections.push(Section { kind: *kind, flags: REQUIRED, at: file_len, len: *len, bytes: &[] });
        file_len += len;
    }
    let mut front = vec![0; front_len as usize];
    write_header(&mut front, &sections, front_len, chunk_len, file_len);
    for section in &sections {
        front[section.at.min(front_len) as usize..][..section.bytes.len()].copy_from_slice(section.bytes);
    }
    let sum = crc32c(&front[CHECKED_FROM..]);
    front[8..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
    front
}

/// The length of the front: small sections of these lengths, and this many sections in all; the first data section
/// has `bits` bytes.
pub(in crate::native) fn front_len(lengths: impl Iterator<Item = u64>, sections: usize, bits: u64) -> u64 {
    let small: u64 = lengths.map(|len| len.next_multiple_of(8)).sum();
    let len = HEADER_LEN + ENTRY_LEN * sections as u64 + small;
    len.next_multiple_of(if bits >= PAGED_FROM { PAGE } else { ALIGN })
}
