//! The hashes of one filter, and the filter they become: RocksDB's own builder, or that of `native` filters.

use super::FilterOptions;
use crate::error::BlockError;
use crate::policy::FullPolicy;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use fullbloom::error::BuildError;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{FilterBuilder, SizeError};
use fullbloom_dialects::rocksdb::reservation::BUCKET;
use fullbloom_dialects::rocksdb::{Builder, FilterType, Reservation};

/// Collects the entries of full filters or partitions, one after the other.
#[derive(Debug)]
pub(super) enum Collector {
    RocksDb(Box<Builder>),
    Native(Box<NativeCollector>),
}

impl Collector {
    pub(super) fn new(options: &FilterOptions) -> Result<Collector, SizeError> {
        match options.policy.full()? {
            FullPolicy::RocksDb(policy) => {
                let mut builder = Builder::new(policy);
                if options.detect_corruption {
                    builder = builder.with_corruption_detection();
                }
                if let Some(reservation) = &options.reservation {
                    builder = builder.with_reservation(Arc::clone(reservation));
                }
                Ok(Collector::RocksDb(Box::new(builder)))
            }
            FullPolicy::Native { bits_per_key } => {
                let builder = FilterBuilder::with_bits_per_key(bits_per_key);
                let request = Request { expected_keys: 0, target: Target::BitsPerKey(bits_per_key) };
                Sizing::new(&request)?; // reports an invalid size before keys come
                let charge = Charge { budget: options.reservation.clone(), reserved: 0 };
                let detects_corruption = options.detect_corruption;
                Ok(Collector::Native(Box::new(NativeCollector {
                    builder,
                    detects_corruption,
                    checksum: 0,
                    charge,
                })))
            }
        }
    }

    pub(super) fn entries(&self) -> u64 {
        match self {
            Collector::RocksDb(builder) => builder.entries(),
            Collector::Native(native) => native.builder.len() as u64,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        match self {
            Collector::RocksDb(builder) => builder.add(key),
            Collector::Native(native) => native.add(|builder| builder.add(key)),
        }
    }

    #[inline]
    pub(super) fn add_with_prefix(&mut self, key: &[u8], prefix: Option<&[u8]>) {
        match self {
            Collector::RocksDb(builder) => builder.add_with_prefix(key, prefix),
            Collector::Native(native) => native.add(|builder| builder.add_with_prefix(key, prefix)),
        }
    }

    /// The encoded filter, of this length if one is given; the collector is empty again.
    pub(super) fn finish(&mut self, len: Option<u64>) -> Result<Vec<u8>, BlockError> {
        match self {
            Collector::RocksDb(builder) => {
                let Some(len) = len else { return Ok(builder.finish()?) };
                let content = builder.build_with_len(len)?.encode();
                builder.verify(&content)?;
                Ok(content)
            }
            Collector::Native(native) => native.finish(),
        }
    }

    /// What releases before 9.6 write for a partition without entries: a trailer without data.
    pub(super) fn stub(&self) -> Vec<u8> {
        let Collector::RocksDb(builder) = self else { return Vec::new() };
        let probes = builder.policy().geometry(1).probes as u8; // 30 at most
        match builder.policy().filter_type() {
            FilterType::Legacy => vec![probes, 0, 0, 0, 0],
            FilterType::FastLocal => vec![0xff, 0, probes, 0, 0],
            FilterType::Ribbon => Vec::new(),
        }
    }
}

/// Keys of `native` filters, with what RocksDB's options add: memory charged to a cache, and a check of the
/// hashes that were kept.
pub(super) struct NativeCollector {
    builder: FilterBuilder,
    detects_corruption: bool,
    /// XOR of all hashes, computed when they were added.
    checksum: u64,
    charge: Charge,
}

impl NativeCollector {
    fn add(&mut self, add: impl FnOnce(&mut FilterBuilder)) {
        let before = self.builder.len();
        add(&mut self.builder);
        self.checksum ^= xor(&self.builder.hashes().to_raw()[before..]);
        self.charge.cover(self.builder.len() as u64 * 8);
    }

    fn finish(&mut self) -> Result<Vec<u8>, BlockError> {
        let content = self.checked();
        self.builder.clear();
        self.checksum = 0;
        self.charge.cover(0);
        content
    }

    fn checked(&self) -> Result<Vec<u8>, BlockError> {
        let content = match self.builder.build() {
            Ok(filter) => filter.encode(),
            Err(BuildError::Size(error)) => return Err(error.into()),
            Err(_) => unreachable!("keys are given as bytes"),
        };
        let hashes = self.builder.hashes().to_raw();
        if !self.detects_corruption {
            return Ok(content);
        }
        if xor(hashes) != self.checksum {
            return Err(BlockError::Construction { why: "its hashes changed while they were kept" });
        }
        let view = fullbloom::Filter::view(&content)
            .map_err(|_| BlockError::Construction { why: "its bytes cannot be decoded" })?;
        match hashes.iter().all(|&hash| view.may_contain_raw(hash)) {
            true => Ok(content),
            false => Err(BlockError::Construction { why: "it denies keys that went in" }),
        }
    }
}

impl fmt::Debug for NativeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeCollector({} hashes)", self.builder.len())
    }
}

fn xor(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |sum, hash| sum ^ hash)
}

/// Memory of hashes, reserved in buckets; a refusal changes nothing, as in RocksDB.
struct Charge {
    budget: Option<Arc<dyn Reservation>>,
    reserved: u64,
}

impl Charge {
    fn cover(&mut self, bytes: u64) {
        let Some(budget) = &self.budget else { return };
        // Rounded to the nearest bucket, so that small filters are not charged.
        let wanted = (bytes + BUCKET / 2) / BUCKET * BUCKET;
        while self.reserved < wanted && budget.reserve(BUCKET) {
            self.reserved += BUCKET;
        }
        if self.reserved > wanted {
            budget.release(self.reserved - wanted);
            self.reserved = wanted;
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.cover(0);
    }
}
