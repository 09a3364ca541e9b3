//! The bytes of a `.bloom` file.
//!
//! ```text
//!   | header 64 | section table | small sections | pad |  bits ...  | exceptions ... |
//!   |<------------ front: one checksum ----------------->|<- data: a checksum per chunk ->|
//! ```
//!
//! The front says all that is needed to answer, so a mapped file is ready once its front has been read; the bits follow
//! at a multiple of 64 bytes. Every byte of the file is under a checksum (CRC-32C): the front under one that is
//! always checked, the data under one for each chunk, checked when a file is loaded or when asked. All
//! numbers are little-endian. `docs/formats/native.md` has every byte.
//!
//! A growing or rotating filter is several filters: the filter section has a record for each, and the bits are those of one after
//! the other. A removing filter has counters beside its bits. A section of its own, which a reader must know, says so.
//!
//! Room for more: a section of an unknown kind is passed over unless it is marked as required; unknown required
//! features, versions, layouts and hashes are refused by name.

mod decode;
mod encode;

pub(super) use decode::{Decoded, DecodedForm, decode};
pub(super) use encode::{Encoder, checksums, chunk_len, plain_len};

/// The first eight bytes. The first is none of ASCII and the last a line feed, so that text conversions show.
pub(crate) const MAGIC: &[u8; 8] = b"\x89FBLOOM\n";

const VERSION: u16 = 1;

const HEADER_LEN: u64 = 64;
const ENTRY_LEN: u64 = 32;

/// Where the front's checksum begins to count: after itself.
const CHECKED_FROM: usize = 12;

/// The most sections that are read.
const MAX_SECTIONS: u16 = 64;

/// Data begins and sections of data begin at a multiple of this.
const ALIGN: u64 = 64;

/// Where large arrays begin: at a page, so that a block of 64 lines is a page of the mapping.
const PAGE: u64 = 4096;

/// Arrays of this many bytes and more begin at a page.
const PAGED_FROM: u64 = 1 << 20;

/// Data bytes under one checksum.
const CHUNK_LEN: u32 = 1 << 16;

/// Set for sections that a reader must know.
const REQUIRED: u32 = 1;

/// What a section holds.
mod kind {
    pub(super) const FILTER: u32 = 1;
    pub(super) const BITS: u32 = 2;
    pub(super) const LABEL: u32 = 3;
    pub(super) const SUMS: u32 = 4;
    pub(super) const SECRET: u32 = 5;
    pub(super) const GROWING: u32 = 8;
    pub(super) const ROTATING: u32 = 9;
    pub(super) const COUNTERS: u32 = 10;
    pub(super) const EXCEPTIONS: u32 = 11;
    pub(super) const EXCEPTION_DATA: u32 = 12;
}

/// Length of the filter section.
const FILTER_LEN: u64 = 64;
/// Length of the growing section, of the rotating section before its generations, and of each generation.
const GROWING_LEN: u64 = 24;
const ROTATING_LEN: u64 = 32;
const GENERATION_LEN: u64 = 16;

/// Flags of the rotating section: generations end after a number of keys; keys that come again are remembered from then on.
const BY_KEYS: u32 = 1;
const REFRESH: u32 = 2;

/// Length of the exceptions section before its levels, and of each level.
const EXCEPTIONS_LEN: u64 = 16;
const LEVEL_LEN: u64 = 16;

const LAYOUT_LINES: u8 = 1;
const HASH_FOLD64: u8 = 1;
const HASH_SIPHASH13: u8 = 2;

/// Set when the number of keys is an estimate.
const KEYS_ESTIMATED: u8 = 1;
