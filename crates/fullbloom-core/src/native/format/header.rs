//! The header of a file from its sections.

use super::{ALIGN, CHECKED_FROM, ENTRY_LEN, FIXED_LEN, MAGIC, PAGE, PAGED_FROM, REQUIRED, VERSION};
use crate::checksum::crc32c;
use alloc::vec;
use alloc::vec::Vec;

/// The header of a file with these small sections (kind, flags, bytes), the checksums among them, and data
/// sections (kind, length) that follow the header without a gap.
pub fn header(small: &[(u32, u32, &[u8])], data: &[(u32, u64)], chunk_len: u64) -> Vec<u8> {
    let count = small.len() + data.len();
    let lengths = small.iter().map(|(.., bytes)| bytes.len() as u64);
    let header_len = header_len(lengths, count, data.first().map_or(0, |first| first.1));
    let mut header = vec![0; header_len as usize];
    let mut at = FIXED_LEN + ENTRY_LEN * count as u64;
    for (number, (kind, flags, bytes)) in small.iter().enumerate() {
        write_entry(&mut header, number, *kind, *flags, at, bytes.len() as u64);
        header[at as usize..][..bytes.len()].copy_from_slice(bytes);
        at += (bytes.len() as u64).next_multiple_of(8);
    }
    let mut file_len = header_len;
    for (number, (kind, len)) in (small.len()..).zip(data) {
        write_entry(&mut header, number, *kind, REQUIRED, file_len, *len);
        file_len += len;
    }
    header[..8].copy_from_slice(MAGIC);
    header[12..14].copy_from_slice(&VERSION.to_le_bytes());
    header[14..16].copy_from_slice(&(count as u16).to_le_bytes());
    header[16..20].copy_from_slice(&(header_len as u32).to_le_bytes());
    header[20..24].copy_from_slice(&(chunk_len as u32).to_le_bytes());
    header[24..32].copy_from_slice(&file_len.to_le_bytes());
    let sum = crc32c(&header[CHECKED_FROM..]);
    header[8..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Writes an entry of the section table.
fn write_entry(header: &mut [u8], number: usize, kind: u32, flags: u32, at: u64, len: u64) {
    let entry = &mut header[FIXED_LEN as usize + ENTRY_LEN as usize * number..][..ENTRY_LEN as usize];
    entry[..4].copy_from_slice(&kind.to_le_bytes());
    entry[4..8].copy_from_slice(&flags.to_le_bytes());
    entry[8..16].copy_from_slice(&at.to_le_bytes());
    entry[16..24].copy_from_slice(&len.to_le_bytes());
}

/// The length of the header: small sections of these lengths, and this many sections in all; the first data
/// section has `bits` bytes.
pub fn header_len(lengths: impl Iterator<Item = u64>, sections: usize, bits: u64) -> u64 {
    let small: u64 = lengths.map(|len| len.next_multiple_of(8)).sum();
    let len = FIXED_LEN + ENTRY_LEN * sections as u64 + small;
    len.next_multiple_of(if bits >= PAGED_FROM { PAGE } else { ALIGN })
}
