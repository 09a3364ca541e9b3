//! The footer: the last 48 or 53 bytes, from which everything else is found.
//!
//! ```text
//!   LevelDB, and RocksDB format_version 0:      | metaindex handle, index handle, padding: 40 | magic: u64 |
//!   RocksDB 1 – 5:   | checksum type: u8 | metaindex handle, index handle, padding: 40 | version: u32 | magic |
//!   RocksDB 6, 7:    | checksum type: u8 | 3e 00 7a 00 | footer checksum: u32 | base context checksum: u32
//!                    | metaindex size: u32 | 16 ignored | 8 zero | version: u32 | magic |
//! ```
//!
//! From version 6 on the metaindex is directly before the footer, and the index is found through it.

use crate::bytes::{cursor, u32_at, u64_at};
use crate::checksum::{Checksum, modifier};
use crate::error::{At, Problem};
use crate::handle::{Handle, TRAILER_LEN};

/// LevelDB's magic number, also that of RocksDB's format_version 0.
pub const LEVELDB_MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// RocksDB's magic number since format_version 1.
pub const ROCKSDB_MAGIC: u64 = 0x88e2_41b7_85f4_cff7;

/// The longest footer.
pub(crate) const MAX_LEN: usize = 53;

const OLD_LEN: usize = 48;
const NEWEST_VERSION: u32 = 7;
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// The contents of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footer {
    /// 0 for LevelDB and for RocksDB's oldest files.
    pub format_version: u32,
    /// The checksum of blocks.
    pub checksum: Checksum,
    /// The handle of the metaindex block.
    pub metaindex: Handle,
    /// Where the index is; from version 6 on it is in the metaindex.
    pub index: Option<Handle>,
    /// Mixed into every checksum from version 6 on; 0 before.
    pub base_context_checksum: u32,
    /// Where the footer begins: blocks and their trailers end before it.
    pub offset: u64,
}

impl Footer {
    /// Reads the footer from the last bytes of a file (53, or all there are).
    pub(crate) fn decode(tail: &[u8], file_len: u64) -> Result<Footer, Problem> {
        let have = tail.len() as u64;
        let start = file_len - have;
        if tail.len() < OLD_LEN {
            return Err(Problem::Truncated {
                field: "footer",
                at: At::from(start),
                need: OLD_LEN as u64,
                have,
            });
        }
        let magic = u64_at(tail, tail.len() - 8);
        match magic {
            LEVELDB_MAGIC => {
                let offset = file_len - OLD_LEN as u64;
                let handles = &tail[tail.len() - OLD_LEN..tail.len() - 8];
                Self::with_handles(0, Checksum::Crc32c, handles, offset, offset)
            }
            ROCKSDB_MAGIC => {
                let Some(footer) = tail.last_chunk::<MAX_LEN>() else {
                    return Err(Problem::Truncated { field: "footer", at: At::from(start), need: 53, have });
                };
                Self::decode_versioned(footer, file_len - MAX_LEN as u64)
            }
            got => Err(Problem::Magic { at: file_len - 8, got, known_as: known_as(got) }),
        }
    }

    fn decode_versioned(footer: &[u8; MAX_LEN], offset: u64) -> Result<Footer, Problem> {
        let version = u32_at(footer, 41);
        let checksum = Checksum::from_byte(footer[0], offset)?;
        match version {
            1..=5 => Self::with_handles(version, checksum, &footer[1..41], offset + 1, offset),
            6..=NEWEST_VERSION => Self::decode_extended(footer, version, checksum, offset),
            got => {
                let at = At::from(offset + 41);
                Err(Problem::Value { field: "format_version", at, got: got.into(), allowed: "1 to 7" })
            }
        }
    }

    fn with_handles(
        format_version: u32,
        checksum: Checksum,
        bytes: &[u8],
        at: u64,
        offset: u64,
    ) -> Result<Footer, Problem> {
        let mut cursor = cursor(bytes, at);
        let metaindex = Handle::decode(&mut cursor)?;
        let index = Handle::decode(&mut cursor)?;
        Ok(Footer {
            format_version,
            checksum,
            metaindex,
            index: Some(index),
            base_context_checksum: 0,
            offset,
        })
    }

    fn decode_extended(
        footer: &[u8; MAX_LEN],
        format_version: u32,
        checksum: Checksum,
        offset: u64,
    ) -> Result<Footer, Problem> {
        let refuse = |field, byte: u64, got, allowed| {
            Err(Problem::Value { field, at: At::from(offset + byte), got, allowed })
        };
        if footer[1..5] != EXTENDED_MAGIC {
            return refuse("extended magic", 1, u32_at(footer, 1).into(), "3e 00 7a 00");
        }
        let (stored, base) = (u32_at(footer, 5), u32_at(footer, 9));
        let computed = Self::extended_checksum(footer, checksum, base, offset);
        if stored != computed {
            return Err(Problem::Checksum { of: "footer", at: offset, stored, computed });
        }
        if base == 0 {
            return refuse("base context checksum", 9, 0, "not zero");
        }
        if u64_at(footer, 33) != 0 {
            return refuse("reserved footer bytes", 33, u64_at(footer, 33).into(), "zero");
        }
        let size = u64::from(u32_at(footer, 13));
        let Some(start) = offset.checked_sub(size + TRAILER_LEN) else {
            return Err(Problem::Handle { of: "the metaindex", offset: 0, size, limit: offset });
        };
        let metaindex = Handle { offset: start, size };
        Ok(Footer { format_version, checksum, metaindex, index: None, base_context_checksum: base, offset })
    }

    /// Over the footer with its checksum field zero; the last byte takes the role of the type byte.
    fn extended_checksum(footer: &[u8; MAX_LEN], checksum: Checksum, base: u32, offset: u64) -> u32 {
        let mut zeroed = *footer;
        zeroed[5..9].fill(0);
        checksum.of(&zeroed[..MAX_LEN - 1], zeroed[MAX_LEN - 1]).wrapping_add(modifier(base, offset))
    }

    /// Appends the footer; `self.offset` is where it will begin.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut footer = [0u8; MAX_LEN];
        footer[0] = self.checksum.byte();
        footer[41..45].copy_from_slice(&self.format_version.to_le_bytes());
        footer[45..53].copy_from_slice(&ROCKSDB_MAGIC.to_le_bytes());
        if self.format_version >= 6 {
            footer[1..5].copy_from_slice(&EXTENDED_MAGIC);
            footer[9..13].copy_from_slice(&self.base_context_checksum.to_le_bytes());
            footer[13..17].copy_from_slice(&(self.metaindex.size as u32).to_le_bytes());
            let sum =
                Self::extended_checksum(&footer, self.checksum, self.base_context_checksum, self.offset);
            footer[5..9].copy_from_slice(&sum.to_le_bytes());
            out.extend_from_slice(&footer);
            return;
        }
        let mut handles = Vec::with_capacity(40);
        self.metaindex.encode(&mut handles);
        self.index.unwrap_or_default().encode(&mut handles);
        handles.resize(40, 0);
        if self.format_version == 0 {
            out.extend_from_slice(&handles);
            out.extend_from_slice(&LEVELDB_MAGIC.to_le_bytes());
            return;
        }
        footer[1..41].copy_from_slice(&handles);
        out.extend_from_slice(&footer);
    }
}

/// Whether these last bytes of a file are the end of a table of LevelDB or RocksDB, of any format.
pub fn is_table(tail: &[u8]) -> bool {
    tail.last_chunk::<8>().is_some_and(|magic| {
        let magic = u64::from_le_bytes(*magic);
        matches!(magic, LEVELDB_MAGIC | ROCKSDB_MAGIC) || known_as(magic).is_some()
    })
}

/// RocksDB's other table formats, which have no block-based filter.
fn known_as(magic: u64) -> Option<&'static str> {
    match magic {
        0x4f34_18eb_7a8f_13b8 | 0x8242_2296_63bf_9564 => Some("a RocksDB plain table"),
        0x9267_89d0_c5f1_7873 => Some("a RocksDB cuckoo table"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(format_version: u32) -> Footer {
        Footer {
            format_version,
            checksum: if format_version == 0 { Checksum::Crc32c } else { Checksum::Xxh3 },
            metaindex: Handle { offset: 895, size: 100 },
            index: (format_version < 6).then_some(Handle { offset: 700, size: 190 }),
            base_context_checksum: if format_version < 6 { 0 } else { 0xdead_beef },
            offset: 1000,
        }
    }

    #[test]
    fn every_version_comes_back() {
        for version in 0..=NEWEST_VERSION {
            let mut bytes = Vec::new();
            sample(version).encode(&mut bytes);
            assert_eq!(bytes.len(), if version == 0 { 48 } else { 53 });
            let file_len = 1000 + bytes.len() as u64;
            assert_eq!(Footer::decode(&bytes, file_len).unwrap(), sample(version));
        }
    }

    #[test]
    fn versions_from_the_future_and_other_tables_are_named() {
        let mut bytes = Vec::new();
        sample(5).encode(&mut bytes);
        bytes[41] = 8;
        let error = Footer::decode(&bytes, 1053).unwrap_err().to_string();
        assert_eq!(error, "format_version at byte 1041: 8 is not allowed (expected 1 to 7)");
        assert!(is_table(&bytes) && !is_table(&bytes[..52]) && !is_table(&[]));
        bytes[45..].copy_from_slice(&0x8242_2296_63bf_9564_u64.to_le_bytes());
        assert!(is_table(&bytes));
        let error = Footer::decode(&bytes, 1053).unwrap_err().to_string();
        assert!(error.contains("plain table"), "{error}");
    }

    #[test]
    fn any_changed_byte_of_an_extended_footer_is_noticed() {
        let mut bytes = Vec::new();
        sample(6).encode(&mut bytes);
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 0x10;
            assert!(Footer::decode(&damaged, 1053).is_err(), "byte {i}");
        }
        assert!(Footer::decode(&bytes, 1054).is_err(), "the place of the footer is covered");
    }

    #[test]
    fn a_file_shorter_than_a_footer_says_so() {
        for len in 0..48 {
            assert!(matches!(Footer::decode(&vec![0; len], len as u64), Err(Problem::Truncated { .. })));
        }
        let mut bytes = Vec::new();
        sample(6).encode(&mut bytes);
        assert!(Footer::decode(&bytes[1..], 52).is_err());
    }
}
