//! Checks that every value of a column is in its filter.

use crate::distinct::{Distinct, DistinctCounter};
use crate::error::Error;
use crate::file::File;
use crate::footer::Chunk;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_dialects::filter::Dialect;
use fullbloom_dialects::hash::xxh64;

/// How thoroughly to verify.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of made-up hashes to measure the rate with.
    pub absent: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { absent: 100_000 }
    }
}

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// Values that are not null.
    pub values: u64,
    /// Distinct values among them, counted.
    pub distinct: Distinct,
    /// Length of the filter's array in bits.
    pub bits: u64,
    /// Values that the filter calls absent.
    pub missing: u64,
    /// The first of them.
    pub first_missing: Option<Vec<u8>>,
    /// The rate measured with made-up hashes.
    pub measured_fpr: f64,
    /// The expected rate of the bits.
    pub expected_fpr: f64,
    /// The expected rate of a filter of this length with the distinct values.
    pub distinct_fpr: f64,
    /// Whether a filter built from the values has the same bits.
    pub rebuilt_identical: bool,
}

impl Verified {
    /// Whether no value is missing, and the filter equals the one built from the values.
    pub fn is_well(&self) -> bool {
        self.missing == 0 && self.rebuilt_identical
    }
}

impl File {
    /// Reads a chunk's column and looks up every value in its filter; `None` if it has no filter.
    pub fn verify(&self, chunk: &Chunk, options: Options) -> Result<Option<Verified>, Error> {
        let Some(bytes) = self.filter_bytes(chunk)? else { return Ok(None) };
        let filter = Filter::<Parquet>::view(&bytes)?;
        let memory = |_| fullbloom::DecodeError::Memory { bytes: bytes.len() as u64 };
        let mut rebuilt = Filter::from_dialect(*filter.dialect()).map_err(memory)?;
        let (mut values, mut missing, mut first_missing) = (0, 0, None);
        let (mut answers, mut distinct, mut counted) = (Vec::new(), DistinctCounter::default(), Ok(()));
        self.for_each_values(chunk, |keys| {
            answers.resize(keys.len(), false);
            filter.may_contain_batch_into(keys, &mut answers).expect("a place for each key");
            rebuilt.insert_batch(keys).expect("keys are given as bytes");
            if counted.is_ok() {
                counted = keys.iter().try_for_each(|key| distinct.add(xxh64(key)));
            }
            values += keys.len() as u64;
            for (key, _) in keys.iter().zip(&answers).filter(|(_, found)| !**found) {
                missing += 1;
                first_missing.get_or_insert_with(|| key.clone());
            }
        })?;
        counted?;
        let distinct = distinct.count();
        // Hashes of eight-byte numbers: no value of a column has one of these hashes except by chance.
        let made_up = |i: u64| xxh64(&xxh64(&i.to_le_bytes()).to_be_bytes());
        let yes = (0..options.absent).filter(|&i| filter.may_contain_raw(made_up(i))).count();
        Ok(Some(Verified {
            values,
            distinct,
            bits: filter.geometry().bit_len,
            missing,
            first_missing,
            measured_fpr: yes as f64 / options.absent.max(1) as f64,
            expected_fpr: filter.expected_fpr(),
            distinct_fpr: filter.dialect().fpr_with(distinct.count as f64),
            rebuilt_identical: rebuilt.bits() == filter.bits(),
        }))
    }
}
