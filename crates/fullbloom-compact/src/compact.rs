//! Everything of a compact filter but its array.

use crate::format;
use crate::lookup::Data;
use crate::probe::{ALL, LIMIT};
use crate::shape::{LINE, PARTS, Shape};
use alloc::sync::Arc;
use core::ops::Range;
use fullbloom_core::bits;
use fullbloom_core::error::DecodeError;
use fullbloom_core::kernel::Cpu;
use fullbloom_core::kernel::pipeline::{Answers, Source};
use fullbloom_core::keys::Keys;
use fullbloom_core::native::exceptions::Exceptions;
use fullbloom_core::native::format::{Encoder, decode};
use fullbloom_core::native::hashing::{Hasher, Secret};
use fullbloom_core::native::head::Head;
use fullbloom_core::part::Check;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{self as rates, Geometry};

/// The shape, the hash and the header of a filter. The methods that take `bits` rely on their length, which
/// [`CompactFilter`](crate::CompactFilter) has checked.
#[derive(Debug, Clone)]
pub(crate) struct Compact {
    pub(crate) shape: Shape,
    pub(crate) hasher: Hasher,
    pub(crate) head: Head,
    cpu: Cpu,
}

impl Compact {
    pub(crate) fn from_parts(shape: Shape, head: Head) -> Compact {
        Compact { shape, hasher: head.hasher(), head, cpu: Cpu::in_use() }
    }

    /// Reads a file. Returns the location of the array too.
    pub(crate) fn decode(file: &[u8], check: Check) -> Result<(Compact, Range<usize>), DecodeError> {
        let decoded = decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        let (head, shape) = format::decode(&decoded, file)?;
        Ok((Compact::from_parts(shape, head), decoded.bits.range()))
    }

    pub(crate) fn encoder<'a>(&'a self, bits: &'a [u8]) -> Encoder<'a> {
        format::encoder(&self.head, &self.shape, bits)
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub(crate) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.head.unlock(secret)?;
        self.hasher = self.head.hasher();
        Ok(())
    }

    /// The same with these exceptions, or without any.
    pub(crate) fn with_exceptions(self, exceptions: Option<Exceptions>) -> Compact {
        let head = Head { exceptions: exceptions.map(Arc::new), ..self.head };
        Compact { head, ..self }
    }

    #[inline(always)]
    fn data<'a>(&'a self, bytes: &'a [u8]) -> Data<'a> {
        Data { shape: &self.shape, bytes }
    }

    /// The length of the array, the bits of a line, and the columns that a present key is compared in.
    pub(crate) fn geometry(&self) -> Geometry {
        let columns = 8 / self.shape.words as u32 + self.shape.further;
        Geometry::blocked(self.shape.byte_len().saturating_mul(8), LINE * 8, columns)
    }

    #[inline(always)]
    pub(crate) fn test(&self, bits: &[u8], hash: u64) -> bool {
        if self.head.exceptions.is_some() | self.head.locked.is_some() {
            return self.test_closed(bits, hash);
        }
        self.data(bits).test(hash)
    }

    #[inline(never)]
    fn test_closed(&self, bytes: &[u8], hash: u64) -> bool {
        self.head.locked.is_some() || (self.data(bytes).test(hash) && !self.head.excepts(hash))
    }

    pub(crate) fn prefetch(&self, bits: &[u8], hash: u64) {
        self.data(bits).prefetch(hash);
    }

    pub(crate) fn test_batch<K: Keys<Hasher> + ?Sized>(
        &self,
        bits: &[u8],
        keys: &K,
        mut answers: Answers<'_>,
    ) {
        if self.head.locked.is_some() {
            return answers.fill(keys.count(), true);
        }
        let source = Source::new(keys, &self.hasher);
        let excepted = self.head.exceptions.as_ref().map(|exceptions| |hash| exceptions.excepts(hash));
        self.data(bits).test_batch(self.cpu, source, answers, excepted);
    }

    /// The exact probability, over all hashes, that one is reported present: from the limits of all lines.
    /// Exceptions, which only lower it, are not counted.
    pub(crate) fn fpr_of(&self, bits: &[u8]) -> f64 {
        self.fpr_reading(bits, |_| ())
    }

    /// The number of set bits, and [`fpr_of`](Self::fpr_of), in one pass.
    pub(crate) fn occupancy(&self, bits: &[u8]) -> (u64, f64) {
        let mut set_bits = 0;
        let fpr = self.fpr_reading(bits, |part| set_bits += bits::count_ones(part, part.len() as u64 * 8));
        (set_bits, fpr)
    }

    /// As [`fpr_of`](Self::fpr_of); calls `each` with every part of the array, in order.
    fn fpr_reading(&self, bits: &[u8], mut each: impl FnMut(&[u8])) -> f64 {
        let shape = &self.shape;
        let (lines, _) = bits.as_chunks::<{ LINE as usize }>();
        let mut next = 0;
        // The share of hashes that have not been answered by an earlier layer.
        let (mut left, mut sum) = (1.0, 0.0);
        for layer in &shape.layers {
            each(lines[next..layer.first as usize].as_flattened());
            next = (layer.first + layer.lines) as usize;
            let own = &lines[layer.first as usize..next];
            // The shares of hashes that the lines keep and compare in fewer columns, and in one more.
            let (mut fewer, mut more) = (0.0, 0.0);
            for (line, at) in own.iter().zip((0..).step_by(PARTS as usize)) {
                each(line);
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
        each(lines[next..].as_flattened());
        rates::combine(
            sum * self.head.kept_share(),
            rates::collision_fpr(self.head.keys as f64, self.head.hash_bits),
        )
    }

    pub(crate) fn planned_fpr(&self) -> f64 {
        let collisions = rates::collision_fpr(self.head.keys as f64, self.head.hash_bits);
        rates::combine(self.shape.planned_fpr(), collisions)
    }
}
