//! Absent keys, to measure a filter's rate with. They are the same every time, so that all sstables of a node
//! share them: sorting and hashing 100,000 keys takes much longer than looking their hashes up.

use fullbloom_any::{AnyFilter, KeyHash};
use fullbloom_dialects::Name;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The start of every such key; sixteen hexadecimal digits follow. It is text, because the oldest filters
/// take text only.
const MARK: &[u8] = b"fullbloom absent ";

/// Length of such a key.
const LEN: usize = MARK.len() + 16;

/// More keys than this are hashed for each filter: the hash of a key has 32 bytes.
const MOST_HASHED: u64 = 1 << 20;

/// Hashes looked up at once.
const BATCH: usize = 4096;

/// The keys, and which of them are in the index by chance.
#[derive(Debug)]
pub(crate) struct AbsentKeys {
    shared: Arc<Shared>,
    /// The places of keys that the index has.
    present: BTreeSet<usize>,
}

/// The keys, before any index is known.
#[derive(Debug)]
struct Shared {
    /// In ascending order.
    numbers: Vec<u64>,
    /// Their hashes, in the same order, by dialect.
    hashes: Mutex<Vec<(Name, Arc<Vec<KeyHash>>)>>,
}

/// The keys of the last caller. All sstables are verified with the same number of them.
static LAST: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

impl Shared {
    fn new(count: u64) -> Shared {
        let mut numbers: Vec<u64> = (1..=count).map(mix).collect();
        numbers.sort_unstable();
        Shared { numbers, hashes: Mutex::default() }
    }

    /// The hashes of all keys; `None` if there are too many, or if the filter does not hash single keys.
    fn hashes_for(&self, filter: &AnyFilter) -> Option<Arc<Vec<KeyHash>>> {
        if self.numbers.len() as u64 > MOST_HASHED {
            return None;
        }
        let mut known = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hashes)) = known.iter().find(|(dialect, _)| *dialect == filter.dialect()) {
            return Some(hashes.clone());
        }
        let hash = |number: &u64| filter.hash(&key(*number)).ok();
        let hashes = Arc::new(self.numbers.iter().map(hash).collect::<Option<Vec<_>>>()?);
        known.push((filter.dialect(), hashes.clone()));
        Some(hashes)
    }
}

impl AbsentKeys {
    /// `count` different keys.
    pub(crate) fn new(count: u64) -> AbsentKeys {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().filter(|known| known.numbers.len() as u64 == count);
        let shared = known.cloned().unwrap_or_else(|| Arc::new(Shared::new(count)));
        // A filter that is not asked needs none, and must not displace those of the others.
        if count > 0 && count <= MOST_HASHED {
            *last = Some(shared.clone());
        }
        AbsentKeys { shared, present: BTreeSet::new() }
    }

    /// Excludes a key of the index, if it is one of ours.
    pub(crate) fn exclude(&mut self, key: &[u8]) {
        if key.len() != LEN || !key.starts_with(MARK) {
            return;
        }
        let digits = std::str::from_utf8(&key[MARK.len()..]).ok();
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if let Some(Ok(place)) = number.map(|number| self.shared.numbers.binary_search(&number)) {
            self.present.insert(place);
        }
    }

    /// Looks the absent keys up: how many there are, and how many the filter reports present.
    pub(crate) fn ask(&self, filter: &AnyFilter) -> (u64, u64) {
        let asked = (self.shared.numbers.len() - self.present.len()) as u64;
        let by_hash = self.shared.hashes_for(filter).and_then(|hashes| self.ask_hashes(filter, &hashes));
        (asked, by_hash.unwrap_or_else(|| self.ask_keys(filter)))
    }

    fn ask_hashes(&self, filter: &AnyFilter, hashes: &[KeyHash]) -> Option<u64> {
        let (mut answers, mut passed) = ([false; BATCH], 0);
        for (batch, first) in hashes.chunks(BATCH).zip((0..).step_by(BATCH)) {
            let answers = &mut answers[..batch.len()];
            filter.may_contain_hashes(batch, &mut *answers).ok()?;
            let present = self.present.range(first..first + batch.len());
            present.for_each(|place| answers[place - first] = false);
            passed += answers.iter().filter(|answer| **answer).count() as u64;
        }
        Some(passed)
    }

    fn ask_keys(&self, filter: &AnyFilter) -> u64 {
        let absent =
            self.shared.numbers.iter().enumerate().filter(|(place, _)| !self.present.contains(place));
        absent.filter(|(_, number)| filter.may_contain(&key(**number))).count() as u64
    }
}

/// The key of a number.
fn key(number: u64) -> [u8; LEN] {
    let mut key = [0; LEN];
    key[..MARK.len()].copy_from_slice(MARK);
    for (i, digit) in key[MARK.len()..].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * i)) as usize & 0xf];
    }
    key
}

/// Spreads numbers over all 64 bits (the finish of Murmur3); no two have the same result.
fn mix(mut number: u64) -> u64 {
    number ^= number >> 33;
    number = number.wrapping_mul(0xff51_afd7_ed55_8ccd);
    number ^= number >> 33;
    number = number.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom::sizing::{Request, Target};

    fn filter(dialect: Name, keys: impl Iterator<Item = u64>) -> AnyFilter {
        let target = Target::Fpr(0.1);
        let mut filter = AnyFilter::new(dialect, &Request { expected_keys: 1000, target }).unwrap();
        for number in keys {
            filter.insert(&key(number)).unwrap();
        }
        filter
    }

    #[test]
    fn keys_of_the_index_are_left_out() {
        let mut keys = AbsentKeys::new(1000);
        let number = keys.shared.numbers[500];
        let filter = filter(Name::Cassandra, [number].into_iter());
        let (asked, passed) = keys.ask(&filter);
        assert_eq!(asked, 1000);
        keys.exclude(&key(number));
        keys.exclude(&key(number));
        keys.exclude(b"another key");
        keys.exclude(b"fullbloom absent 0123456789abcdeX");
        assert_eq!(keys.ask(&filter), (999, passed - 1));
    }

    #[test]
    fn looking_up_hashes_and_keys_is_the_same_in_every_dialect_of_sstables() {
        for dialect in
            [Name::Cassandra, Name::Cassandra3, Name::Cassandra2, Name::Cassandra1, Name::Cassandra07]
        {
            for count in [0, 1, BATCH as u64, 10_000] {
                let mut keys = AbsentKeys::new(count);
                let some: Vec<u64> = keys.shared.numbers.iter().step_by(11).copied().collect();
                let filter = filter(dialect, some.iter().copied());
                some.iter().step_by(3).for_each(|number| keys.exclude(&key(*number)));
                let hashes = keys.shared.hashes_for(&filter).expect("hashes");
                assert_eq!(
                    keys.ask_hashes(&filter, &hashes),
                    Some(keys.ask_keys(&filter)),
                    "{dialect} {count}"
                );
                assert!(keys.ask(&filter).1 >= some.len() as u64 - some.iter().step_by(3).count() as u64);
            }
        }
    }

    #[test]
    fn too_many_keys_are_not_kept() {
        let keys = AbsentKeys::new(MOST_HASHED + 1);
        assert!(keys.shared.hashes_for(&filter(Name::Cassandra, 0..9)).is_none());
        assert_eq!(keys.ask(&filter(Name::Cassandra, 0..0)).0, MOST_HASHED + 1);
    }
}
