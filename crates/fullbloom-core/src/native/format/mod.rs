//! The bytes of a `.bloom` file.
//!
//! ```text
//!   | header 64 | section table | small sections | pad |  bits ...  | exceptions ... |
//!   |<------------ header: one checksum ----------------->|<- data: a checksum per chunk ->|
//! ```
//!
//! The header holds everything a lookup needs besides the bits, so a mapped file is ready once its header has
//! been read. The bits follow at a multiple of 64 bytes. Every byte of the file is covered by a checksum
//! (CRC-32C): the header by one that is always checked, the data by one per chunk, checked when a file is
//! loaded or on request. All numbers are little-endian. `docs/formats/native.md` describes every byte.
//!
//! The layout in the filter section says of which kind the filter is. A compact or dynamic filter has one
//! more section, which a reader must know.
//!
//! Extensions: a section of an unknown kind is skipped unless it is marked as required. Unknown required
//! features, versions, layouts and hashes are refused, and the error names them.

mod decode;
mod encode;
mod header;

pub use decode::{Decoded, Record, Section, Table, decode};
pub use encode::{Encoder, checksums, chunk_len, plain_len};
pub use header::{header, header_len};

/// The first eight bytes. The first is not ASCII and the last is a line feed, so that text conversions are
/// detected.
pub const MAGIC: &[u8; 8] = b"\x89FBLOOM\n";

const VERSION: u16 = 1;

/// The fixed part of the header: magic number, version, lengths.
const FIXED_LEN: u64 = 64;
const ENTRY_LEN: u64 = 32;

/// The range of the header's checksum begins here: after the checksum itself.
const CHECKED_FROM: usize = 12;

/// The maximum number of sections that are read.
const MAX_SECTIONS: u16 = 64;

/// The data, and each data section, begins at a multiple of this.
pub const ALIGN: u64 = 64;

/// Large arrays begin at a multiple of this: a page, so that a block of 64 lines is a page of the mapping.
const PAGE: u64 = 4096;

/// Arrays of this many bytes and more are aligned to a page.
const PAGED_FROM: u64 = 1 << 20;

/// Data bytes per checksum.
const CHUNK_LEN: u32 = 1 << 16;

/// Set for sections that a reader must know.
pub const REQUIRED: u32 = 1;

/// The contents of a section.
pub mod kind {
    pub const FILTER: u32 = 1;
    pub const BITS: u32 = 2;
    pub const LABEL: u32 = 3;
    pub const SUMS: u32 = 4;
    pub const SECRET: u32 = 5;
    pub const EXCEPTIONS: u32 = 11;
    pub const EXCEPTION_DATA: u32 = 12;
    pub const COMPACT: u32 = 13;
    pub const DYNAMIC: u32 = 14;
    pub const KEY_FIELD: u32 = 15;

    /// All of them. Only development versions used the numbers between them.
    pub const KNOWN: [u32; 10] =
        [FILTER, BITS, LABEL, SUMS, SECRET, EXCEPTIONS, EXCEPTION_DATA, COMPACT, DYNAMIC, KEY_FIELD];
}

/// Length of the filter section.
pub const FILTER_LEN: u64 = 64;

pub const LAYOUT_LINES: u8 = 2;
pub const LAYOUT_COMPACT: u8 = 3;
pub const LAYOUT_DYNAMIC: u8 = 4;
pub const HASH_FOLD64: u8 = 1;
pub const HASH_SIPHASH13: u8 = 2;
