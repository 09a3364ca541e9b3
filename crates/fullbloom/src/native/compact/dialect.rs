//! The kind `compact` as a dialect: the facts a filter stores besides its array.

use super::lookup::Data;
use super::shape::{LINE, Shape};
use crate::dialect::Name;
use crate::filter::Dialect;
use crate::kernel::Cpu;
use crate::kernel::pipeline::{Answers, Source};
use crate::keys::Keys;
use crate::native::dialect::Head;
use crate::native::exceptions::Exceptions;
use crate::native::hashing::Hasher;
use crate::probe::systems::ALL;
use crate::sealed::Sealed;
#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use crate::sizing::{self as rates, Geometry};
use alloc::sync::Arc;

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
        let hasher = Hasher::new(&head.hashing);
        Compact { shape, hasher, head, exceptions: None, locked: None, cpu: Cpu::in_use() }
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
        self.locked.is_some() || (self.data(bytes).test(self.cpu, hash) && !self.excepts(hash))
    }
}

impl Sealed for Compact {}

impl Dialect for Compact {
    const NAME: Name = Name::Native;
    type Hash = u64;
    type Hasher = Hasher;

    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
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
        self.data(bits).test(self.cpu, hash)
    }

    fn prefetch(&self, bits: &[u8], hash: u64) {
        self.data(bits).prefetch(hash);
    }

    fn test_batch<K: Keys<Hasher> + ?Sized>(&self, bits: &[u8], keys: &K, mut answers: Answers<'_>) {
        if self.locked.is_some() {
            return answers.fill(keys.count(), true);
        }
        let source = Source::new(keys, &self.hasher);
        self.data(bits).test_batch(self.cpu, source, answers, |hash| self.excepts(hash));
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
            let share = |line: &[u8; LINE as usize]| {
                let tops = line.chunks_exact(8).map(|word| word[7] >> 7);
                match tops.enumerate().fold(0, |limit, (j, top)| limit | top << j) {
                    ALL => 1.0,
                    limit => f64::from(limit) / 256.0,
                }
            };
            let mean = |lines: &[[u8; LINE as usize]]| lines.iter().map(share).sum::<f64>() / layer.lines as f64;
            let (fewer, more) = own.split_at(layer.split as usize);
            let (fewer, more) = (mean(fewer), mean(more));
            let rate = 2f64.powi(-(8 / shape.words as i32 + shape.further as i32));
            sum += left * rate * (fewer + more / 2.0);
            left *= 1.0 - fewer - more;
        }
        rates::combine(sum, rates::collision_fpr(self.head.keys as f64, 64))
    }

    /// The number of keys is known.
    fn keys_of(&self, _: &[u8]) -> Option<f64> {
        Some(self.head.keys as f64)
    }

    fn expected_fpr(&self, keys: f64) -> f64 {
        rates::combine(self.shape.planned_fpr(), rates::collision_fpr(keys, 64))
    }

    fn byte_len(&self) -> u64 {
        self.shape.byte_len()
    }
}
