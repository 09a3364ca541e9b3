//! Block checksums: five kinds, and since format_version 6 they include the position of the block.
//!
//! ```text
//!   block:   | contents | compression type: u8 | checksum: u32 |
//!   stored   = kind(contents, type)                              format_version 0 – 5
//!            = kind(contents, type) + (base ^ lo(at) + hi(at))   format_version 6, 7: `base` is in the footer
//! ```
//!
//! So a block that was written to, or read from, the wrong offset is detected.

use crate::error::{At, Problem};
use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::Xxh64};

/// The kind of block checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// No checksum; since format_version 6 the position is still checked.
    None,
    /// CRC-32C, rotated and offset so that a CRC over bytes that contain CRCs stays reliable. LevelDB's only
    /// kind.
    Crc32c,
    /// The XXH32 checksum of a block.
    XxHash,
    /// The low half of XXH64.
    XxHash64,
    /// The low half of XXH3 (of today, not the preview that the filters hash with).
    Xxh3,
}

impl Checksum {
    /// All kinds, in the order of the byte that stands for them.
    pub const ALL: [Checksum; 5] =
        [Checksum::None, Checksum::Crc32c, Checksum::XxHash, Checksum::XxHash64, Checksum::Xxh3];

    pub(crate) fn from_byte(byte: u8, at: u64) -> Result<Checksum, Problem> {
        let refused =
            Problem::Value { field: "checksum type", at: At::from(at), got: byte.into(), allowed: "0 to 4" };
        Self::ALL.get(usize::from(byte)).copied().ok_or(refused)
    }

    /// The byte in the footer.
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// The name as options spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Checksum::None => "none",
            Checksum::Crc32c => "crc32c",
            Checksum::XxHash => "xxhash",
            Checksum::XxHash64 => "xxhash64",
            Checksum::Xxh3 => "xxh3",
        }
    }

    /// The checksum of `contents` followed by the byte `last`, without the position.
    pub fn of(self, contents: &[u8], last: u8) -> u32 {
        match self {
            Checksum::None => 0,
            Checksum::Crc32c => mask(crc32c::crc32c_append(crc32c::crc32c(contents), &[last])),
            Checksum::XxHash => {
                // XXH32 has no streaming form here; blocks are small and this kind is rare.
                let mut whole = contents.to_vec();
                whole.push(last);
                xxh32(&whole, 0)
            }
            Checksum::XxHash64 => {
                let mut state = Xxh64::new(0);
                state.update(contents);
                state.update(&[last]);
                state.digest() as u32
            }
            Checksum::Xxh3 => xxh3_64(contents) as u32 ^ u32::from(last).wrapping_mul(XXH3_LAST_BYTE),
        }
    }
}

/// Multiplies the last byte into an XXH3 checksum, so that contents need not be copied.
const XXH3_LAST_BYTE: u32 = 0x6b90_83d9;

/// The form in which LevelDB stores a CRC: rotated, plus a constant.
pub(crate) fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// What to add to the checksum of a block at `offset`; `base` is 0 before format_version 6.
pub(crate) fn modifier(base: u32, offset: u64) -> u32 {
    if base == 0 {
        return 0;
    }
    base ^ (offset as u32).wrapping_add((offset >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_come_out() {
        // CRC-32C of 32 zero bytes is the published 0x8a9136aa; here the last of them is the type byte.
        assert_eq!(Checksum::Crc32c.of(&[0; 31], 0), mask(0x8a91_36aa));
        assert_eq!(mask(0), 0xa282_ead8);
        assert_eq!(Checksum::XxHash.of(b"ab", b'c'), 0x32d1_53ff);
        assert_eq!(Checksum::XxHash64.of(b"ab", b'c'), 0x44bc_2cf5_ad77_0999_u64 as u32);
        assert_eq!(Checksum::Xxh3.of(b"", 0), 0x2d06_8005_38d3_94c2_u64 as u32);
        assert_eq!(Checksum::None.of(b"x", 1), 0);
    }

    #[test]
    fn the_type_byte_is_covered_by_every_real_kind() {
        for kind in &Checksum::ALL[1..] {
            assert_ne!(kind.of(b"contents", 0), kind.of(b"contents", 1), "{kind:?}");
            assert_eq!(Checksum::from_byte(kind.byte(), 0).unwrap(), *kind);
        }
        assert!(Checksum::from_byte(5, 9).unwrap_err().to_string().contains("byte 9"));
    }

    #[test]
    fn the_place_enters_only_with_a_base() {
        assert_eq!(modifier(0, 12345), 0);
        assert_eq!(modifier(7, 0), 7);
        assert_eq!(modifier(7, 1 << 32 | 2), 7 ^ 3);
    }
}
