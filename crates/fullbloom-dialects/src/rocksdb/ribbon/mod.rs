//! `rocksdb-ribbon`: Standard128 Ribbon, a linear system instead of a bit array.
//!
//! ```text
//!   | segments of 16 bytes … | FE | seed: u8 | blocks: u24 |
//! ```
//!
//! Every key becomes an equation over 128 neighbouring slots; the filter stores a solution. For an absent
//! key, each column holds by chance with probability one half. At the rate of FastLocalBloom this takes about
//! 30 % less memory, but building and lookups take several times as long. All keys must be known before it is
//! built: see [`Builder`](super::Builder).

pub(crate) mod banding;
pub(crate) mod query;
pub(crate) mod sizing;
pub(crate) mod solution;

use super::{TRAILER, require_marker, split};
use crate::Name;
use crate::filter::{Check, Counted, Dialect, Format};
use crate::rocksdb::fast_local::Xxph3;
use core::ops::Range;
use fullbloom_core::error::DecodeError;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::Geometry;
use fullbloom_core::wire::{Output, Stop};
use query::Seed;
use solution::{Layout, SEGMENT};

/// The trailer's first byte.
pub(crate) const MARKER: u8 = 0xfe;

/// RocksDB's Ribbon filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RocksDbRibbon {
    layout: Layout,
    ordinal: u8,
    seed: Seed,
    /// Bytes of data; bytes past the layout's segments are unused.
    data_len: u64,
}

impl RocksDbRibbon {
    pub(crate) fn new(blocks: u32, ordinal: u8, data_len: u64) -> RocksDbRibbon {
        RocksDbRibbon { layout: Layout::new(blocks, data_len), ordinal, seed: Seed::new(ordinal), data_len }
    }

    /// Reads the trailer as RocksDB does. Returns an error where RocksDB would answer "maybe" to every key.
    pub(crate) fn read(data: &[u8], trailer: [u8; TRAILER]) -> Result<RocksDbRibbon, DecodeError> {
        let data_len = data.len() as u64;
        let [_, ordinal, b0, b1, b2] = trailer;
        let blocks = u32::from_le_bytes([b0, b1, b2, 0]);
        if blocks < 2 {
            let (got, allowed) = (blocks.into(), "2 or more");
            return Err(DecodeError::Value { field: "blocks", at: data_len + 2, got, allowed });
        }
        if data_len < SEGMENT {
            return Err(DecodeError::Truncated { field: "segments", at: 0, need: SEGMENT, have: data_len });
        }
        Ok(RocksDbRibbon::new(blocks, ordinal, data_len))
    }

    /// The layout, for the builder to solve into.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of blocks of 128 slots.
    pub fn blocks(&self) -> u32 {
        self.layout.blocks()
    }

    /// The number of the seed with which the keys could be solved.
    pub fn seed(&self) -> u8 {
        self.ordinal
    }
}

impl Sealed for RocksDbRibbon {}

impl Dialect for RocksDbRibbon {
    const NAME: Name = Name::RocksDbRibbon;
    const RATE_NOT_MONOTONIC: bool = true;
    type Hash = u64;
    type Hasher = Xxph3;

    #[inline(always)]
    fn hasher(&self) -> &Xxph3 {
        &Xxph3
    }

    /// `probes` is the number of columns compared; some blocks have one less.
    fn geometry(&self) -> Geometry {
        Geometry::whole(self.layout.segments() * 8 * SEGMENT, self.layout.upper_columns())
    }

    #[inline]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        query::test(&self.layout, self.seed, bits, hash)
    }

    #[inline]
    fn prefetch(&self, bits: &[u8], hash: u64) {
        query::prefetch(&self.layout, self.seed, bits, hash);
    }

    /// The rate does not depend on the keys: the number of columns determines it.
    fn fpr_with(&self, _keys: f64) -> f64 {
        self.layout.expected_fpr()
    }

    fn fpr_of(&self, _bits: &Counted<'_>) -> f64 {
        self.layout.expected_fpr()
    }

    /// The number of keys for which RocksDB would choose this many slots; the bits do not show it. The
    /// uncertainty is one block of 128 slots.
    fn keys_of(&self, _bits: &Counted<'_>) -> Option<f64> {
        let slots = self.blocks().checked_mul(sizing::BLOCK)?;
        Some(sizing::keys_for(slots) as f64)
    }

    fn byte_len(&self) -> u64 {
        self.data_len
    }
}

impl Format for RocksDbRibbon {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let (data, trailer) = split(bytes)?;
        require_marker(data, trailer, MARKER)?;
        let dialect = Self::read(data, trailer)?;
        let data_len = data.len() as u64;
        if !data_len.is_multiple_of(SEGMENT) {
            let allowed = "whole segments of 16 bytes";
            return Err(DecodeError::Value { field: "length", at: 0, got: data_len.into(), allowed });
        }
        // Rounding to allocator sizes lets a filter grow by a third, even past the last column.
        let used = dialect.layout.segments() * SEGMENT;
        if data_len > used.saturating_add(used / 3) {
            return Err(DecodeError::Mismatch {
                field: "blocks",
                at: data_len + 2,
                got: dialect.blocks().into(),
                expected: data_len.div_ceil(32 * SEGMENT),
            });
        }
        Ok((dialect, 0..data.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        let [b0, b1, b2, _] = self.blocks().to_le_bytes();
        out.write_all(&bits[..self.data_len as usize])?;
        out.write_all(&[MARKER, self.ordinal, b0, b1, b2])
    }

    fn encoded_len(&self) -> u64 {
        self.data_len + TRAILER as u64
    }
}

/// Blocks are counted in 24 bits, and [`sizing::MAX_KEYS`] keys need fewer.
const _: () = assert!(sizing::MAX_KEYS * 105 / 100 / 128 < 1 << 24);
