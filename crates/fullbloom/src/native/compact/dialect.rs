//! The kind `compact` as a dialect: the facts a filter stores besides its array.

use super::lookup::Data;
use super::shape::{LINE, Layer, PARTS, Shape};
use crate::dialect::Name;
use crate::error::DecodeError;
use crate::filter::{Check, Dialect, Format};
use crate::kernel::Cpu;
use crate::kernel::pipeline::{Answers, Source};
use crate::keys::Keys;
use crate::native::dialect::Head;
use crate::native::exceptions::Exceptions;
use crate::native::facts::KindFacts;
use crate::native::format::{self, DecodedKind, Encoder};
use crate::native::guard::Except;
use crate::native::hashing::{Hasher, Secret};
use crate::probe::systems::{ALL, LIMIT};
use crate::sealed::Sealed;
#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use crate::sizing::{self as rates, Geometry};
use crate::wire::{Output, Stop};
use alloc::sync::Arc;
use core::ops::Range;

/// fullbloom's own dialect, kind `compact`.
///
/// Most programs use [`CompactFilter`](super::CompactFilter), which is `Filter<Compact>`.
#[derive(Debug, Clone)]
pub struct Compact {
    pub(in crate::native) shape: Shape,
    pub(in crate::native) hasher: Hasher,
    pub(in crate::native) head: Head,
    pub(in crate::native) exceptions: Option<Arc<Exceptions>>,
    /// Keyed, with an unknown secret: the check value of the right secret.
    pub(in crate::native) locked: Option<u64>,
    cpu: Cpu,
}

impl Compact {
    pub(in crate::native) fn from_parts(shape: Shape, head: Head) -> Compact {
        let hasher = head.hasher();
        Compact { shape, hasher, head, exceptions: None, locked: None, cpu: Cpu::in_use() }
    }

    /// The same with these exceptions, or without any.
    pub(in crate::native) fn closed(mut self, exceptions: Option<Exceptions>) -> Compact {
        self.exceptions = exceptions.map(Arc::new);
        self
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub(in crate::native) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        let Some(expected) = self.locked else { return Ok(()) };
        self.head.unlock(expected, secret)?;
        self.hasher = self.head.hasher();
        self.locked = None;
        Ok(())
    }

    pub(in crate::native) fn kind_facts(&self) -> KindFacts {
        let shape = &self.shape;
        let further = |layer: &Layer| shape.further_words(layer, layer.lines) * 8;
        KindFacts::Compact {
            columns: 8 / shape.words as u32 + shape.further,
            layers: shape.layers.iter().map(|layer| layer.lines).collect(),
            further_bytes: shape.layers.iter().map(further).sum(),
            listed: shape.listed,
        }
    }

    #[inline(always)]
    fn data<'a>(&'a self, bytes: &'a [u8]) -> Data<'a> {
        Data { shape: &self.shape, bytes }
    }

    /// Whether a key that the lines report present is one of the exceptions.
    #[inline]
    fn excepts(&self, hash: u64) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.excepts(hash))
    }

    #[inline(never)]
    fn test_closed(&self, bytes: &[u8], hash: u64) -> bool {
        self.locked.is_some() || (self.data(bytes).test(hash) && !self.excepts(hash))
    }
}

impl Sealed for Compact {}

impl Except for Compact {
    fn is_open(&self) -> bool {
        self.exceptions.is_none() && self.locked.is_none()
    }

    fn member_count(&self) -> u64 {
        self.head.keys
    }

    fn exceptions(&self) -> Option<&Exceptions> {
        self.exceptions.as_deref()
    }

    fn with(self, exceptions: Option<Exceptions>) -> Compact {
        self.closed(exceptions)
    }
}

impl Dialect for Compact {
    const NAME: Name = Name::Native;
    type Hash = u64;
    type Hasher = Hasher;

    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    #[inline(always)]
    fn hash_variant(&self) -> (u32, u64) {
        self.head.hashing.variant(self.head.hash_bits)
    }

    /// The length of the array, the bits of a line, and the columns that a present key is compared in.
    fn geometry(&self) -> Geometry {
        let columns = 8 / self.shape.words as u32 + self.shape.further;
        Geometry { bit_len: self.shape.byte_len().saturating_mul(8), block_len: LINE * 8, probes: columns }
    }

    #[inline(always)]
    fn test(&self, bits: &[u8], hash: u64) -> bool {
        if self.exceptions.is_some() | self.locked.is_some() {
            return self.test_closed(bits, hash);
        }
        self.data(bits).test(hash)
    }

    fn prefetch(&self, bits: &[u8], hash: u64) {
        self.data(bits).prefetch(hash);
    }

    fn test_batch<K: Keys<Hasher> + ?Sized>(&self, bits: &[u8], keys: &K, mut answers: Answers<'_>) {
        if self.locked.is_some() {
            return answers.fill(keys.count(), true);
        }
        let source = Source::new(keys, &self.hasher);
        let excepted = self.exceptions.as_ref().map(|exceptions| |hash| exceptions.excepts(hash));
        self.data(bits).test_batch(self.cpu, source, answers, excepted);
    }

    /// The exact probability, over all hashes, that one is reported present: from the limits of all lines.
    /// Exceptions, which only lower it, are not counted.
    fn fpr_of(&self, bits: &[u8]) -> f64 {
        let shape = &self.shape;
        let (lines, _) = bits.as_chunks::<{ LINE as usize }>();
        // The share of hashes that have not been answered by an earlier layer.
        let (mut left, mut sum) = (1.0, 0.0);
        for layer in &shape.layers {
            let own = &lines[layer.first as usize..][..layer.lines as usize];
            // The shares of hashes that the lines keep and compare in fewer columns, and in one more.
            let (mut fewer, mut more) = (0.0, 0.0);
            for (line, at) in own.iter().zip((0..).step_by(PARTS as usize)) {
                let kept = match line[LIMIT] {
                    ALL => PARTS,
                    limit => limit.into(),
                };
                let few = kept.min(layer.split.saturating_sub(at));
                fewer += few as f64;
                more += (kept - few) as f64;
            }
            let all = (layer.lines * PARTS) as f64;
            let rate = 2f64.powi(-(8 / shape.words as i32 + shape.further as i32));
            sum += left * rate * (fewer + more / 2.0) / all;
            left *= 1.0 - (fewer + more) / all;
        }
        let kept = self.exceptions.as_ref().map_or(1.0, |exceptions| exceptions.kept_share());
        rates::combine(sum * kept, rates::collision_fpr(self.head.keys as f64, self.head.hash_bits))
    }

    /// The number of keys is known.
    fn keys_of(&self, _: &[u8]) -> Option<f64> {
        Some(self.head.keys as f64)
    }

    fn fpr_with(&self, keys: f64) -> f64 {
        rates::combine(self.shape.planned_fpr(), rates::collision_fpr(keys, self.head.hash_bits))
    }

    fn byte_len(&self) -> u64 {
        self.shape.byte_len()
    }
}

impl Format for Compact {
    fn decode(file: &[u8], check: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let decoded = format::decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        let exceptions = decoded.exceptions.map(|stored| stored.read(file));
        match decoded.kind {
            DecodedKind::Compact(compact) => Ok((compact.assemble(exceptions, decoded.locked), decoded.bits)),
            other => Err(DecodeError::Kind { found: other.name(), wanted: "compact" }),
        }
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        Encoder::compact(self, bits).write_to(out)
    }

    fn encoded_len(&self) -> u64 {
        Encoder::compact(self, &[]).encoded_len()
    }

    fn stores_secret(&self) -> bool {
        Encoder::compact(self, &[]).stores_secret()
    }
}
