//! The keys seen so far: one filter where their number is planned, a chain of growing ones where it is not.

use fullbloom::SizeError;
use fullbloom::native::{Hashes, Hashing, NativeFilter, Plan};
use fullbloom::sizing::{Request, Target};

/// Keys of the first filter of a chain; each further one takes twice as many.
pub const FIRST: u64 = 1 << 20;

/// Hashes worked on at once: how far a filter of a chain may be filled beyond its plan.
const CHUNK: usize = 4096;

/// What has been seen.
#[derive(Debug)]
pub struct Seen {
    /// Keys are put into the last.
    filters: Vec<NativeFilter>,
    /// The rate of all filters of a chain together; `None` for a single filter of a planned size.
    chain_fpr: Option<f64>,
    known: Vec<bool>,
    fresh: Vec<u64>,
}

impl Seen {
    /// One filter, however many keys come.
    pub fn fixed(filter: NativeFilter) -> Seen {
        Seen { filters: vec![filter], chain_fpr: None, known: Vec::new(), fresh: Vec::new() }
    }

    /// A chain that grows. The rates of its filters halve, so that their sum stays below `fpr`.
    pub fn growing(fpr: f64, hashing: Hashing) -> Result<Seen, SizeError> {
        let filter = link(fpr, hashing, 0)?;
        Ok(Seen { chain_fpr: Some(fpr), ..Seen::fixed(filter) })
    }

    fn last(&self) -> &NativeFilter {
        self.filters.last().expect("there is always a filter")
    }

    /// How the keys are hashed.
    pub fn hashing(&self) -> &Hashing {
        self.last().hashing()
    }

    /// Keys it was made for.
    pub fn planned(&self) -> u64 {
        self.last().expected_keys()
    }

    /// Whether more keys are in than planned; a chain has no plan to exceed.
    pub fn is_overfull(&self) -> bool {
        self.chain_fpr.is_none() && self.last().is_overfull()
    }

    /// The rate as it is now, and how many keys are in, if these are more than planned.
    pub fn overfull_rate(&self) -> Option<(f64, u64)> {
        self.is_overfull().then(|| (self.last().expected_fpr(), self.last().keys()))
    }

    /// The filter to be kept, if it is one.
    pub fn only(&self) -> Option<&NativeFilter> {
        match (self.chain_fpr, self.filters.as_slice()) {
            (None, [filter]) => Some(filter),
            _ => None,
        }
    }

    /// Puts keys in, in order, and tells of each whether it is new; how many are.
    pub fn insert(&mut self, hashes: &[u64], new: &mut [bool]) -> Result<u64, SizeError> {
        let Some(fpr) = self.chain_fpr else {
            return Ok(self.filters[0].insert_batch_new(&Hashes(hashes), new));
        };
        let mut count = 0;
        for (hashes, new) in hashes.chunks(CHUNK).zip(new.chunks_mut(CHUNK)) {
            if self.last().keys() >= self.last().expected_keys() {
                let next = link(fpr, self.hashing().clone(), self.filters.len())?;
                self.filters.push(next);
            }
            count += self.insert_chunk(hashes, new);
        }
        Ok(count)
    }

    fn insert_chunk(&mut self, hashes: &[u64], new: &mut [bool]) -> u64 {
        let (last, older) = self.filters.split_last_mut().expect("there is always a filter");
        if older.is_empty() {
            return last.insert_batch_new(&Hashes(hashes), new);
        }
        self.known.resize(hashes.len(), false);
        new.fill(true);
        for filter in older {
            filter.may_contain_batch(&Hashes(hashes), &mut self.known);
            new.iter_mut().zip(&self.known).for_each(|(new, known)| *new &= !known);
        }
        self.fresh.clear();
        self.fresh.extend(hashes.iter().zip(&*new).filter(|(_, new)| **new).map(|(hash, _)| hash));
        self.known.resize(self.fresh.len(), false);
        let count = last.insert_batch_new(&Hashes(&self.fresh), &mut self.known);
        let answers = new.iter_mut().filter(|new| **new);
        answers.zip(&self.known).for_each(|(new, answer)| *new = *answer);
        count
    }
}

/// Filter number `i` of a chain.
fn link(fpr: f64, hashing: Hashing, i: usize) -> Result<NativeFilter, SizeError> {
    let doublings = i.min(40) as i32; // 2^60 keys never come
    let request =
        Request { expected_keys: FIRST << doublings, target: Target::Fpr(fpr * 0.5f64.powi(doublings + 1)) };
    NativeFilter::from_plan(&Plan::new(&request)?, hashing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A thorough mixing of a counter.
    fn hash(i: u64) -> u64 {
        let x = (i ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb).rotate_left(31)
    }

    #[test]
    fn a_chain_tells_new_from_known_over_all_its_filters() {
        let mut seen = Seen::growing(1e-6, Hashing::default()).unwrap();
        let (mut exact, mut count, mut lost) = (HashSet::new(), 0, 0);
        let mut new = Vec::new();
        for start in (0..4_000_000).step_by(100_000) {
            // Every key comes twice, the second time 100,000 keys later.
            let hashes: Vec<u64> = (start..start + 200_000u64).map(hash).collect();
            new.resize(hashes.len(), false);
            count += seen.insert(&hashes, &mut new).unwrap();
            for (hash, new) in hashes.iter().zip(&new) {
                let first = exact.insert(*hash);
                assert!(first || !new, "a known key is never new");
                lost += u64::from(first && !new);
            }
        }
        assert_eq!(seen.filters.len(), 3, "2^20, 2^21 and 2^22 keys");
        assert_eq!(count + lost, exact.len() as u64);
        assert!(lost <= 20, "{lost} of {} lost at one in a million", exact.len());
        assert!(!seen.is_overfull() && seen.only().is_none());
    }
}
