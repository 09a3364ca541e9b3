//! Parquet's split block Bloom filter: `parquet`.
//!
//! ```text
//!   | 15 | 2 * bytes: varint | 1c1c0000 block | 1c1c0000 xxHash | 1c1c0000 uncompressed | 00 | blocks of 32 bytes … |
//! ```
//!
//! The header is a Thrift structure. A filter beside a column chunk has it; some systems store the blocks
//! alone. Both are read: bytes that begin with the header have one, and other bytes in whole blocks of 32 are
//! blocks. The length distinguishes them, because no header has a length that is a multiple of 32.
//!
//! A key is the value's plain encoding without a length: 4 or 8 little-endian bytes of a number, the bytes of
//! a text. The upper half of its xxHash64 chooses a block, the lower half one bit in each of the block's
//! eight words: half a cache line per lookup.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Parquet;
//!
//! let mut filter = Filter::<Parquet>::with_fpr(1_000, 0.01)?;
//! filter.insert(&42i64.to_le_bytes());
//! let bytes = filter.encode();
//! assert_eq!(bytes[..4], [0x15, 0x80, 0x20, 0x1c]); // 2,048 bytes
//! assert!(Filter::<Parquet>::view(&bytes)?.may_contain(&42i64.to_le_bytes()));
//! assert!(Filter::<Parquet>::view(&bytes[16..])?.may_contain(&42i64.to_le_bytes())); // the blocks alone
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Name;
use crate::filter::{Check, Counted, Dialect, Filter, Format, Insert, Size};
use crate::hash::{xxh64, xxh64_chunk, xxh64_word};
use crate::kernel::blocks;
use crate::kernel::split::{self, SplitBlock};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use fullbloom_core::bits::prefetch;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::pipeline::{Answers, CHUNK, Source};
use fullbloom_core::keys::{KeyHasher, Keys};
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Geometry, Request, Target, collision_fpr, combine, split_block_fpr};
use fullbloom_core::wire::{Cursor, Output, Stop, put_zigzag};

/// Bytes of a block.
const BLOCK: u64 = size_of::<SplitBlock>() as u64;

/// One bit in each word of a block.
const PROBES: u32 = 8;

/// parquet-java builds no filter larger than 128 MiB, and other readers refuse larger ones.
const MAX_WRITTEN: u64 = 128 << 20;

const MAX_BITS: u64 = 8 * MAX_WRITTEN;

/// The maximum number of blocks whose bytes the header's `i32` can count.
const MAX_BLOCKS: u64 = i32::MAX as u64 / BLOCK;

/// Field 1, an i32: the number of bytes.
const LENGTH_FIELD: u8 = 0x15;

/// Three unions, each with an empty structure as field 1, and the end of the header.
const UNIONS: [(&str, [u8; 4]); 3] =
    [("algorithm", [0x1c, 0x1c, 0, 0]), ("hash", [0x1c, 0x1c, 0, 0]), ("compression", [0x1c, 0x1c, 0, 0])];

/// A filter of Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parquet {
    blocks: u32,
    header: bool,
}

impl Parquet {
    /// A filter of this many blocks, at least one, to be encoded with the header.
    pub fn with_blocks(blocks: u64) -> Result<Self, SizeError> {
        if blocks == 0 || blocks > MAX_BLOCKS {
            let allowed = "whole blocks of 256, up to 2^34 - 256";
            return Err(SizeError::Count {
                what: Quantity::Bits,
                got: blocks.saturating_mul(8 * BLOCK),
                allowed,
            });
        }
        Ok(Parquet { blocks: blocks as u32, header: true })
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The same filter, encoded with the Thrift header or as the blocks alone.
    #[must_use]
    pub fn with_header(self, header: bool) -> Self {
        Parquet { header, ..self }
    }

    #[inline(always)]
    fn block_index(&self, hash: u64) -> usize {
        (((hash >> 32) * u64::from(self.blocks)) >> 32) as usize
    }
}

impl<S: AsRef<[u8]>> Filter<Parquet, S> {
    /// The same filter, encoded with the Thrift header or as the blocks alone.
    #[must_use]
    pub fn with_header(self, header: bool) -> Self {
        self.map_dialect(|dialect| dialect.with_header(header))
    }
}

/// Bits for `keys` distinct values at this rate by `BlockSplitBloomFilter.optimalNumOfBits`, quirks included.
///
/// The last step was evidently meant to round to a multiple of 256 but clears bit 8 instead. This does no
/// harm: bytes are rounded up to a power of two afterwards.
pub fn optimal_bits(keys: u64, fpr: f64) -> u64 {
    let bits = needed_bits(keys, fpr);
    let bits = if (0.0..=MAX_BITS as f64).contains(&bits) { bits as u64 } else { MAX_BITS };
    ((bits + 255) & !256).max(256)
}

/// The bits that the rate needs, without a cap.
fn needed_bits(keys: u64, fpr: f64) -> f64 {
    -8.0 * keys as f64 / (1.0 - fpr.powf(1.0 / 8.0)).ln()
}

/// The constructor's rounding of a number of bytes: a power of two from 32 bytes to 128 MiB.
pub fn rounded_bytes(bytes: u64) -> u64 {
    bytes.clamp(BLOCK, MAX_WRITTEN).next_power_of_two()
}

/// Hashes keys by [`xxh64`].
#[derive(Debug, Clone, Copy)]
pub struct Xxh64;

impl Sealed for Parquet {}

impl Sealed for Xxh64 {}

impl KeyHasher for Xxh64 {
    type Hash = u64;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        xxh64(key)
    }

    #[inline(always)]
    fn hash_keys<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut [u64], wide: bool) {
        match (keys.first_chunk::<CHUNK>(), out.first_chunk_mut()) {
            (Some(chunk), Some(hashes)) if wide && keys.len() == CHUNK => xxh64_chunk(chunk, hashes),
            _ => self.hash_iter(keys.iter(), out),
        }
    }

    #[inline(always)]
    fn hash_words(&self, words: &[u64], out: &mut [u64]) {
        for (hash, word) in out.iter_mut().zip(words) {
            *hash = xxh64_word(*word);
        }
    }
}

impl Dialect for Parquet {
    const NAME: Name = Name::Parquet;
    type Hash = u64;
    type Hasher = Xxh64;

    #[inline(always)]
    fn hasher(&self) -> &Xxh64 {
        &Xxh64
    }

    fn geometry(&self) -> Geometry {
        let block_len = 8 * BLOCK;
        Geometry { bit_len: u64::from(self.blocks) * block_len, block_len, probes: PROBES }
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        split::chosen_test(&bits.as_chunks().0[self.block_index(hash)], hash as u32)
    }

    /// Both ends of the block: borrowed bytes need not begin at a cache line.
    #[inline(always)]
    fn prefetch(&self, bits: &[u8], hash: u64) {
        let at = self.block_index(hash) * BLOCK as usize;
        prefetch::read(bits, at);
        prefetch::read(bits, at + BLOCK as usize - 1);
    }

    fn visit_probes(&self, hash: u64, visit: &mut dyn FnMut(u64)) -> bool {
        let start = 8 * BLOCK * self.block_index(hash) as u64;
        split::positions(hash as u32).for_each(|at| visit(start + at));
        true
    }

    fn test_batch<K: Keys<Xxh64> + ?Sized>(&self, bits: &[u8], keys: &K, answers: Answers<'_>) {
        let filter = blocks::Filter::new(bits.as_chunks().0, PROBES).expect("at least one block");
        split::answer(Cpu::in_use(), filter, Source::new(keys, &Xxh64), answers);
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        combine(split_block_fpr(keys, self.blocks.into()), collision_fpr(keys, 64))
    }

    /// Exact: the mean over the blocks of the product of their words' fills.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let (blocks, _) = bits.bits().as_chunks::<{ BLOCK as usize }>();
        let mut set_bits = 0;
        let mut fill = |word: &[u8; 4]| {
            let ones = u32::from_le_bytes(*word).count_ones();
            set_bits += u64::from(ones);
            f64::from(ones) / 32.0
        };
        let rates = blocks.iter().map(|block| block.as_chunks().0.iter().map(&mut fill).product::<f64>());
        let sum: f64 = rates.sum();
        bits.note(set_bits);
        sum / blocks.len().max(1) as f64
    }
}

impl Insert for Parquet {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        split::chosen_set(&mut bits.as_chunks_mut().0[self.block_index(hash)], hash as u32)
    }

    fn set_batch<K: Keys<Xxh64> + ?Sized>(&mut self, bits: &mut [u8], keys: &K) {
        let filter = blocks::FilterMut::new(bits.as_chunks_mut().0, PROBES).expect("at least one block");
        split::fill(Cpu::in_use(), filter, Source::new(keys, &Xxh64));
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("bits", self.geometry().bit_len, other.geometry().bit_len)
    }
}

impl Size for Parquet {
    /// By parquet-java's rule: a power of two of bytes. Filters that need more than 128 MiB are refused;
    /// parquet-java limits them to 128 MiB, at a worse rate.
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys;
        let limited = |bits: f64| match bits {
            bits if (0.0..=MAX_BITS as f64).contains(&bits) => Ok(()),
            // Below about 1e-128 the root of the rate vanishes next to 1, and the quotient is minus infinity.
            bits => Err(SizeError::TooLarge { bit_len: bits.abs() as u64, limit: MAX_BITS }),
        };
        let bytes = match request.target {
            Target::Fpr(fpr) if fpr > 0.0 && fpr < 1.0 => {
                limited(needed_bits(keys, fpr))?;
                rounded_bytes(optimal_bits(keys, fpr) / 8)
            }
            Target::Fpr(fpr) => {
                return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
            }
            Target::BitsPerKey(bits) if bits > 0.0 && bits.is_finite() => {
                limited(keys as f64 * bits)?;
                rounded_bytes((keys as f64 * bits / 8.0).ceil() as u64)
            }
            Target::BitsPerKey(bits) => {
                return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed: "above 0" });
            }
            Target::Exact { probes, .. } if probes != PROBES => {
                return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "8" });
            }
            Target::Exact { bit_len, .. } if bit_len % (8 * BLOCK) != 0 => {
                let allowed = "whole blocks of 256, up to 2^34 - 256";
                return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
            }
            Target::Exact { bit_len, .. } => bit_len / 8,
        };
        Self::with_blocks(bytes / BLOCK)
    }
}

/// Reads the header. Returns the number of bytes it announces.
fn read_header(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    cursor.magic("header", &[LENGTH_FIELD])?;
    let zigzag = cursor.shortest_varint("bytes", "a 32-bit number in its shortest form")?;
    let bytes = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    for (union, only) in UNIONS {
        cursor.magic(union, &only)?;
    }
    cursor.magic("end of header", &[0])?;
    if bytes < BLOCK as i64 || bytes % BLOCK as i64 != 0 || bytes > i64::from(i32::MAX) {
        let allowed = "a multiple of 32, 32..=2147483616";
        return Err(DecodeError::Value { field: "bytes", at: 1, got: bytes.into(), allowed });
    }
    Ok(bytes as u64)
}

fn write_header(bytes: u64) -> Vec<u8> {
    let mut header = vec![LENGTH_FIELD];
    put_zigzag(&mut header, bytes as i64);
    for (_, only) in UNIONS {
        header.extend(only);
    }
    header.push(0);
    header
}

/// Whether these bytes are a whole filter with its header.
#[cfg(feature = "std")]
pub fn sniff(bytes: &[u8]) -> bool {
    Parquet::decode(bytes, Check::Header).is_ok_and(|(dialect, _)| dialect.header)
}

/// The header at the beginning of these bytes, if there is one: its own length, and the length of the blocks
/// that follow.
///
/// For reading a filter out of a larger file, where its end is not yet known.
pub fn header(bytes: &[u8]) -> Result<(u64, u64), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let block_bytes = read_header(&mut cursor)?;
    Ok((cursor.at(), block_bytes))
}

impl Format for Parquet {
    /// With the header, or without one when the bytes are whole blocks and do not begin with it.
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let (array, header) = match read_header(&mut cursor) {
            Ok(len) => (cursor.take("blocks", len)?, true),
            Err(_) if !bytes.is_empty() && (bytes.len() as u64).is_multiple_of(BLOCK) => {
                cursor = Cursor::new(bytes);
                (cursor.take("blocks", bytes.len() as u64)?, false)
            }
            Err(error) => return Err(error),
        };
        cursor.finish()?;
        let dialect = Self::with_blocks(array.len() as u64 / BLOCK).map_err(DecodeError::Geometry)?;
        Ok((dialect.with_header(header), array))
    }

    fn decode_exact(
        bytes: &[u8],
        bit_len: u64,
        probes: u32,
        check: Check,
    ) -> Result<(Self, Range<usize>), DecodeError> {
        let request = Request { expected_keys: 0, target: Target::Exact { bit_len, probes } };
        let requested = Self::size(&request).map_err(DecodeError::Geometry)?;
        let (dialect, range) = Self::decode(bytes, check)?;
        let (got, expected) = (bit_len, dialect.geometry().bit_len);
        if dialect.blocks != requested.blocks {
            return Err(DecodeError::Given { what: Quantity::Bits, got, expected });
        }
        Ok((dialect, range))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        if self.header {
            out.write_all(&write_header(self.byte_len()))?;
        }
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        let header = if self.header { write_header(self.byte_len()).len() as u64 } else { 0 };
        header + self.byte_len()
    }
}
