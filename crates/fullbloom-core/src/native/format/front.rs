//! The front of a file from its sections.

use super::{ALIGN, CHECKED_FROM, ENTRY_LEN, HEADER_LEN, MAGIC, PAGE, PAGED_FROM, REQUIRED, VERSION};
use crate::checksum::crc32c;
use alloc::vec;
use alloc::vec::Vec;

/// The front of a file with these small sections (kind, flags, bytes), the checksums among them, and data
/// sections (kind, length) that follow the front without a gap.
pub fn front(small: &[(u32, u32, &[u8])], data: &[(u32, u64)], chunk_len: u64) -> Vec<u8> {
    let count = small.len() + data.len();
    let lengths = small.iter().map(|(.., bytes)| bytes.len() as u64);
    let front_len = front_len(lengths, count, data.first().map_or(0, |first| first.1));
    let mut front = vec![0; front_len as usize];
    let mut at = HEADER_LEN + ENTRY_LEN * count as u64;
    for (number, (kind, flags, bytes)) in small.iter().enumerate() {
        write_entry(&mut front, number, *kind, *flags, at, bytes.len() as u64);
        front[at as usize..][..bytes.len()].copy_from_slice(bytes);
        at += (bytes.len() as u64).next_multiple_of(8);
    }
    let mut file_len = front_len;
    for (number, (kind, len)) in (small.len()..).zip(data) {
        write_entry(&mut front, number, *kind, REQUIRED, file_len, *len);
        file_len += len;
    }
    front[..8].copy_from_slice(MAGIC);
    front[12..14].copy_from_slice(&VERSION.to_le_bytes());
    front[14..16].copy_from_slice(&(count as u16).to_le_bytes());
    front[16..20].copy_from_slice(&(front_len as u32).to_le_bytes());
    front[20..24].copy_from_slice(&(chunk_len as u32).to_le_bytes());
    front[24..32].copy_from_slice(&file_len.to_le_bytes());
    let sum = crc32c(&front[CHECKED_FROM..]);
    front[8..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
    front
}

/// Writes an entry of the section table.
fn write_entry(front: &mut [u8], number: usize, kind: u32, flags: u32, at: u64, len: u64) {
    let entry = &mut front[HEADER_LEN as usize + ENTRY_LEN as usize * number..][..ENTRY_LEN as usize];
    entry[..4].copy_from_slice(&kind.to_le_bytes());
    entry[4..8].copy_from_slice(&flags.to_le_bytes());
    entry[8..16].copy_from_slice(&at.to_le_bytes());
    entry[16..24].copy_from_slice(&len.to_le_bytes());
}

/// The length of the front: small sections of these lengths, and this many sections in all; the first data
/// section has `bits` bytes.
pub fn front_len(lengths: impl Iterator<Item = u64>, sections: usize, bits: u64) -> u64 {
    let small: u64 = lengths.map(|len| len.next_multiple_of(8)).sum();
    let len = HEADER_LEN + ENTRY_LEN * sections as u64 + small;
    len.next_multiple_of(if bits >= PAGED_FROM { PAGE } else { ALIGN })
}
