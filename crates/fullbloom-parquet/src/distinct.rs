//! Counts the distinct values of a column in bounded memory.

use fullbloom::DecodeError;

/// How many distinct values there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distinct {
    /// The number of distinct values.
    pub count: u64,
    /// The number is counted. An estimate has a standard error of 0.1 %.
    pub is_exact: bool,
}

/// The k smallest of the distinct hashes (k minimum values; Bar-Yossef et al. 2002). Up to k distinct hashes,
/// they are all there, and their number is exact: two values share a hash of 64 bits in a column of a million
/// values with a chance of 3 in 10^8. If there are more, they are spread evenly, so the k-th smallest shows
/// how many there are, with a standard error of 1/√k.
#[derive(Debug)]
pub struct DistinctCounter {
    /// Hashes up to `limit`, among them the k smallest. Each may be there several times.
    hashes: Vec<u64>,
    /// Larger hashes are not among the k smallest.
    limit: u64,
    k: usize,
}

/// 16 MiB of hashes at most: more than a million distinct values are an estimate within 0.1 %.
const K: usize = 1 << 20;

impl Default for DistinctCounter {
    fn default() -> DistinctCounter {
        DistinctCounter::keeping(K)
    }
}

impl DistinctCounter {
    fn keeping(k: usize) -> DistinctCounter {
        DistinctCounter { hashes: Vec::new(), limit: u64::MAX, k }
    }

    /// Counts the value with this hash.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn add(&mut self, hash: u64) -> Result<(), DecodeError> {
        if hash > self.limit {
            return Ok(());
        }
        if self.hashes.len() == 2 * self.k {
            self.tidy();
        }
        let bytes = 16 * self.hashes.len() as u64;
        self.hashes.try_reserve(1).map_err(|_| DecodeError::Memory { bytes })?;
        self.hashes.push(hash);
        Ok(())
    }

    /// Leaves each of the k smallest hashes once.
    fn tidy(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        if self.hashes.len() > self.k {
            self.hashes.truncate(self.k);
            self.limit = self.hashes[self.k - 1];
        }
    }

    /// The number of distinct values so far.
    pub fn count(mut self) -> Distinct {
        self.tidy();
        if self.limit == u64::MAX {
            return Distinct { count: self.hashes.len() as u64, is_exact: true };
        }
        let share = self.limit as f64 / 2f64.powi(64);
        Distinct { count: ((self.k - 1) as f64 / share).round() as u64, is_exact: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_dialects::hash::xxh64;

    fn count(k: usize, distinct: u64, times: u64) -> (Distinct, usize) {
        let mut counter = DistinctCounter::keeping(k);
        for _ in 0..times {
            (0..distinct).for_each(|i| counter.add(xxh64(&i.to_le_bytes())).unwrap());
        }
        let room = counter.hashes.capacity();
        (counter.count(), room)
    }

    #[test]
    fn a_number_that_fits_is_exact_however_often_values_come() {
        for (distinct, times) in [(0, 1), (1, 10_000), (999, 1), (1000, 1), (1000, 7), (1, 1)] {
            let (counted, room) = count(1000, distinct, times);
            assert_eq!(counted, Distinct { count: distinct, is_exact: true }, "{distinct} {times}");
            assert!(room <= 4096, "{room}");
        }
    }

    #[test]
    fn a_larger_number_is_an_estimate_of_known_error() {
        for (distinct, times) in [(1001, 1), (5_000, 3), (300_000, 1)] {
            let (counted, room) = count(1000, distinct, times);
            assert!(!counted.is_exact && room <= 4096, "{counted:?} {room}");
            let error = counted.count as f64 / distinct as f64 - 1.0;
            assert!(error.abs() < 4.0 / 1000f64.sqrt(), "{distinct}: {error}");
        }
    }
}
