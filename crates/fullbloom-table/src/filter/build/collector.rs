//! The hashes of one filter, and the filter they become: RocksDB's own builder, or that of `native` filters.

use super::FilterOptions;
use crate::error::Problem;
use crate::filter::policy::FullPolicy;
use fullbloom::dialect::rocksdb::{Builder, FilterType, Reservation};
use fullbloom::internal::rocksdb::BUCKET;
use fullbloom::{NativeFilter, SizeError};
use std::fmt;
use std::sync::Arc;

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
            FullPolicy::Native { bits_per_key } => Ok(Collector::Native(Box::new(NativeCollector {
                hasher: NativeFilter::with_bits_per_key(1, bits_per_key)?,
                bits_per_key,
                detects_corruption: options.detect_corruption,
                hashes: Vec::new(),
                checksum: 0,
                last_alt: None,
                charge: Charge { budget: options.reservation.clone(), reserved: 0 },
            }))),
        }
    }

    pub(super) fn entries(&self) -> u64 {
        match self {
            Collector::RocksDb(builder) => builder.entries(),
            Collector::Native(native) => native.hashes.len() as u64,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, key: &[u8]) {
        match self {
            Collector::RocksDb(builder) => builder.insert(key),
            Collector::Native(native) => native.insert(key),
        }
    }

    #[inline]
    pub(super) fn insert_with_alt(&mut self, key: &[u8], alt: &[u8]) {
        match self {
            Collector::RocksDb(builder) => builder.insert_with_alt(key, alt),
            Collector::Native(native) => native.insert_with_alt(key, alt),
        }
    }

    /// The encoded filter, of this length if one is given; the collector is empty again.
    pub(super) fn finish(&mut self, len: Option<u64>) -> Result<Vec<u8>, Problem> {
        match self {
            Collector::RocksDb(builder) => {
                let filter = match len {
                    Some(len) => builder.finish_with_len(len)?,
                    None => builder.finish()?,
                };
                let content = filter.encode();
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

/// Hashes of `native` filters, with the rules for repeats that RocksDB has had since 9.6.
pub(super) struct NativeCollector {
    /// Only hashes.
    hasher: NativeFilter,
    bits_per_key: f64,
    detects_corruption: bool,
    hashes: Vec<u64>,
    /// XOR of all hashes, computed on insertion.
    checksum: u64,
    last_alt: Option<u64>,
    charge: Charge,
}

impl NativeCollector {
    fn insert(&mut self, key: &[u8]) {
        let hash = self.hasher.hash(key);
        if self.hashes.last() != Some(&hash) {
            self.store(hash);
        }
    }

    fn insert_with_alt(&mut self, key: &[u8], alt: &[u8]) {
        let (hash, alt) = (self.hasher.hash(key), self.hasher.hash(alt));
        let (last, last_alt) = (self.hashes.last().copied(), self.last_alt);
        if Some(alt) != last_alt && alt != hash && Some(alt) != last {
            self.store(alt);
        }
        self.last_alt = Some(alt);
        if Some(hash) != last && Some(hash) != last_alt {
            self.store(hash);
        }
    }

    fn store(&mut self, hash: u64) {
        self.checksum ^= hash;
        self.hashes.push(hash);
        self.charge.cover(self.hashes.len() as u64 * 8);
    }

    fn finish(&mut self) -> Result<Vec<u8>, Problem> {
        let hashes = std::mem::take(&mut self.hashes);
        let checksum = std::mem::take(&mut self.checksum);
        self.last_alt = None;
        let mut filter = NativeFilter::with_bits_per_key(hashes.len() as u64, self.bits_per_key)?;
        for &hash in &hashes {
            filter.insert_hash(hash);
        }
        if self.detects_corruption && hashes.iter().fold(0, |sum, hash| sum ^ hash) != checksum {
            return Err(Problem::Construction { why: "its hashes changed while they were kept" });
        }
        let content = filter.encode();
        if self.detects_corruption {
            let view = NativeFilter::view(&content)
                .map_err(|_| Problem::Construction { why: "its bytes cannot be decoded" })?;
            if !hashes.iter().all(|&hash| view.may_contain_hash(hash)) {
                return Err(Problem::Construction { why: "it denies keys that went in" });
            }
        }
        self.charge.cover(0);
        Ok(content)
    }
}

impl fmt::Debug for NativeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeCollector({} hashes)", self.hashes.len())
    }
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
