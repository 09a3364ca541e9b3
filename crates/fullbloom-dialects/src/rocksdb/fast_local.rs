//! `rocksdb`: FastLocalBloom, the full Bloom filter of `format_version` 5 and later.
//!
//! ```text
//!   | blocks of 64 bytes … | FF | 00 | probes: 5 bits, log2(block bytes) - 6: 3 bits | 00 00 |
//! ```
//!
//! The lower half of the hash chooses the block, the upper half makes all probes inside it: one cache line
//! per lookup.

use super::sizing::{MAX_FAST_LOCAL, fast_local_fpr};
use super::{FilterType, Policy, TRAILER, require_marker, split};
use crate::Name;
use crate::filter::{Check, Counted, Dialect, Format, Insert, Size};
use crate::hash::{xxph3_chunk, xxph3_rocksdb};
use crate::kernel::blocks::{Filter, FilterMut};
use crate::kernel::{local, scalar};
use core::ops::Range;
use fullbloom_core::bits::{self, prefetch};
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::pipeline::{Answers, CHUNK, Source};
use fullbloom_core::keys::{KeyHasher, Keys};
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_core::wire::{Output, Stop};

/// The trailer's first byte: it marks a filter newer than the legacy one.
pub(crate) const MARKER: u8 = 0xff;

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 64;

/// Probe counts that the five bits may hold; 0 and 31 are reserved.
const PROBES: Range<u32> = 1..31;

/// RocksDB's full filter since format_version 5, FastLocalBloom: one cache line per key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RocksDb {
    blocks: u32,
    probes: u8,
}

const WHOLE_BLOCKS: &str = "whole blocks of 512, up to 2^35 - 512";

impl RocksDb {
    /// A filter of this many bytes of data (whole blocks, at least one) and 1 to 30 probes.
    pub(crate) fn with_len(data_len: u64, probes: u32) -> Result<RocksDb, SizeError> {
        if data_len == 0 || data_len > MAX_FAST_LOCAL || !data_len.is_multiple_of(BLOCK) {
            let got = data_len.saturating_mul(8);
            return Err(SizeError::Count { what: Quantity::Bits, got, allowed: WHOLE_BLOCKS });
        }
        if !PROBES.contains(&probes) {
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1 to 30" });
        }
        Ok(RocksDb { blocks: (data_len / BLOCK) as u32, probes: probes as u8 })
    }

    /// Reads the trailer as RocksDB does. Returns an error where RocksDB would answer "maybe" to every key,
    /// and for data shorter than one block, where it would read past the end.
    pub(crate) fn read(data: &[u8], trailer: [u8; TRAILER]) -> Result<RocksDb, DecodeError> {
        let data_len = data.len() as u64;
        let refuse = |field, i, got: u8, allowed| {
            Err(DecodeError::Value { field, at: data_len + i, got: got.into(), allowed })
        };
        let [_, implementation, shape, seed @ ..] = trailer;
        if implementation != 0 {
            return refuse("sub_implementation", 1, implementation, "0");
        }
        if shape >> 5 != 0 {
            return refuse("block_size", 2, shape >> 5, "0, blocks of 64 bytes");
        }
        if !PROBES.contains(&shape.into()) {
            return refuse("probes", 2, shape, "1..=30");
        }
        if let Some(i) = seed.iter().position(|&byte| byte != 0) {
            return refuse("seed", 3 + i as u64, seed[i], "0");
        }
        let blocks = data_len / BLOCK; // `split` limits the length to 32 bits
        if blocks == 0 {
            return Err(DecodeError::Truncated { field: "blocks", at: 0, need: BLOCK, have: data_len });
        }
        Ok(RocksDb { blocks: blocks as u32, probes: shape })
    }

    /// The block of this hash.
    #[inline(always)]
    fn block_index(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * u64::from(self.blocks)) >> 32) as usize
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
}

/// Hashes keys by [`xxph3_rocksdb`].
#[derive(Debug, Clone, Copy)]
pub struct Xxph3;

impl Sealed for RocksDb {}

impl Sealed for Xxph3 {}

impl KeyHasher for Xxph3 {
    type Hash = u64;

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        xxph3_rocksdb(key)
    }

    #[inline(always)]
    fn hash_keys<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut [u64], wide: bool) {
        match (keys.first_chunk::<CHUNK>(), out.first_chunk_mut()) {
            (Some(chunk), Some(hashes)) if wide && keys.len() == CHUNK => xxph3_chunk(chunk, hashes),
            _ => self.hash_iter(keys.iter(), out),
        }
    }
}

impl Dialect for RocksDb {
    const NAME: Name = Name::RocksDb;
    const RATE_NOT_MONOTONIC: bool = true;
    type Hash = u64;
    type Hasher = Xxph3;

    #[inline(always)]
    fn hasher(&self) -> &Xxph3 {
        &Xxph3
    }

    fn geometry(&self) -> Geometry {
        let block_len = 8 * BLOCK;
        Geometry { bit_len: u64::from(self.blocks) * block_len, block_len, probes: self.probes.into() }
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        let (blocks, _) = bits.as_chunks();
        local::test(&blocks[self.block_index(hash)], (hash >> 32) as u32, self.probes.into())
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
        let positions = scalar::local_positions((hash >> 32) as u32, self.probes.into());
        positions.for_each(|at| visit(start + u64::from(at)));
        true
    }

    fn test_batch<K: Keys<Xxph3> + ?Sized>(&self, bits: &[u8], keys: &K, answers: Answers<'_>) {
        let blocks = &bits.as_chunks().0[..self.blocks as usize];
        let filter = Filter::new(blocks, self.probes.into()).expect("at least one block");
        local::answer(Cpu::in_use(), filter, Source::new(keys, &Xxph3), answers);
    }

    /// The exact rate; RocksDB's own estimate is [`Policy::estimated_fpr`].
    fn fpr_with(&self, keys: f64) -> f64 {
        fast_local_fpr(keys, self.blocks.into(), self.probes.into())
    }

    /// The mean over the blocks of each block's own rate: a crowded block adds more errors than two
    /// half-empty ones save.
    fn fpr_of(&self, bits: &Counted<'_>) -> f64 {
        let (blocks, _) = bits.bits().as_chunks::<{ BLOCK as usize }>();
        let blocks = &blocks[..self.blocks as usize];
        let mut with_set_bits = [0u64; 513];
        for block in blocks {
            with_set_bits[bits::count_ones(block, 8 * BLOCK) as usize] += 1;
        }
        bits.note((0..).zip(with_set_bits).map(|(set, blocks)| set * blocks).sum());
        let rate = |set: usize| (set as f64 / 512.0).powi(self.probes.into());
        let sum: f64 = with_set_bits.iter().enumerate().map(|(set, &n)| n as f64 * rate(set)).sum();
        sum / blocks.len() as f64
    }
}

impl Insert for RocksDb {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        let (blocks, _) = bits.as_chunks_mut();
        scalar::local_set(&mut blocks[self.block_index(hash)], (hash >> 32) as u32, self.probes.into())
    }

    fn set_batch<K: Keys<Xxph3> + ?Sized>(&mut self, bits: &mut [u8], keys: &K) {
        let blocks = &mut bits.as_chunks_mut().0[..self.blocks as usize];
        let filter = FilterMut::new(blocks, self.probes.into()).expect("at least one block");
        local::fill(Cpu::in_use(), filter, Source::new(keys, &Xxph3));
    }
}

impl Size for RocksDb {
    /// RocksDB sizes a filter when it knows all keys; [`Builder`](super::Builder) does that. Here the number
    /// of keys is an expectation, and must not be zero: RocksDB stores zero bytes for zero keys.
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys;
        let policy = match request.target {
            Target::Exact { bit_len, probes } if bit_len % 8 == 0 => {
                return RocksDb::with_len(bit_len / 8, probes);
            }
            Target::Exact { bit_len, .. } => {
                return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed: WHOLE_BLOCKS });
            }
            Target::BitsPerKey(requested) => Policy::new(FilterType::FastLocal, requested)?,
            Target::Fpr(fpr) => Policy::for_fpr(FilterType::FastLocal, keys, fpr)?,
        };
        super::require_keys(keys)?;
        RocksDb::with_len(policy.fast_local_len(keys), policy.fast_local_probes())
    }
}

impl Format for RocksDb {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let (data, trailer) = split(bytes)?;
        require_marker(data, trailer, MARKER)?;
        let dialect = Self::read(data, trailer)?;
        let data_len = data.len() as u64;
        if !data_len.is_multiple_of(BLOCK) {
            let allowed = "whole blocks of 64 bytes";
            return Err(DecodeError::Value { field: "length", at: 0, got: data_len.into(), allowed });
        }
        Ok((dialect, 0..data.len()))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&bits[..self.byte_len() as usize])?;
        out.write_all(&[MARKER, 0, self.probes, 0, 0])
    }

    fn encoded_len(&self) -> u64 {
        self.byte_len() + TRAILER as u64
    }
}
