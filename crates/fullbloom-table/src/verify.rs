//! Verifies a table's filter: looks up every key and absent keys, and rebuilds the bytes.

use crate::error::{Problem, TableError};
use crate::filter::{HashedKey, Question, TableFilter};
use crate::internal_key::KeyOrder;
use crate::reader::Table;
use crate::rebuild::Rebuilt;
use crate::source::Source;
use std::cmp::Ordering;

/// The result of verifying a table's filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Distinct user keys in the table.
    pub keys: u64,
    /// Entries of its data blocks, every version of a key counted.
    pub entries: u64,
    /// Keys that a lookup would not find because the filter denies them.
    pub missing: u64,
    /// Keys that a forward seek to them would not find.
    pub missing_in_seek: u64,
    /// Keys that a backward seek to them would not find.
    pub missing_in_seek_back: u64,
    /// The first key denied.
    pub first_missing: Option<Vec<u8>>,
    /// Absent keys looked up, or absent prefixes if the filter holds prefixes only.
    pub absent_asked: u64,
    /// The absent keys that the filter answered "maybe".
    pub absent_passed: u64,
    /// The result of rebuilding the filter.
    pub rebuilt: Rebuilt,
}

impl Verification {
    /// The rate measured on absent keys; `None` if none could be looked up.
    pub fn measured_fpr(&self) -> Option<f64> {
        (self.absent_asked > 0).then(|| self.absent_passed as f64 / self.absent_asked as f64)
    }

    /// No key is denied, and the bytes are right as far as they could be compared.
    pub fn is_sound(&self) -> bool {
        self.missing + self.missing_in_seek + self.missing_in_seek_back == 0
            && self.rebuilt.is_identical() != Some(false)
    }
}

impl<S: Source> Table<S> {
    /// Looks up every key of the table and about `absent` keys between them, and rebuilds the filter.
    pub fn verify(&self, absent: u64) -> Result<Verification, TableError> {
        let filter = self.filter()?;
        let mut asking = Asking::new(self, &filter, absent);
        let mut keys = self.keys()?;
        let mut last: Option<Vec<u8>> = None;
        while let Some(key) = keys.next()? {
            asking.present(key).map_err(|problem| self.error(problem))?;
            if let Some(last) = &last {
                asking.absent_between(last, key).map_err(|problem| self.error(problem))?;
            }
            match &mut last {
                Some(last) => {
                    last.clear();
                    last.extend_from_slice(key);
                }
                None => last = Some(key.to_vec()),
            }
        }
        let (found, entries) = (asking.found, keys.entry_count());
        Ok(Verification { entries, rebuilt: self.rebuild_filter()?, ..found })
    }
}

/// Keys that are made up are not longer than this. Hashing a hundred thousand keys of megabytes would take
/// minutes.
const LONGEST_MADE_UP: usize = 1 << 10;

/// Appends the beginning of keys between `key` and `next`: `key` itself, or if it is long the shortest
/// beginning that is greater than `key` and less than `next`. False if there is none short enough.
fn extend_above(key: &[u8], next: &[u8], out: &mut Vec<u8>) -> bool {
    if key.len() <= LONGEST_MADE_UP {
        out.extend_from_slice(key);
        return true;
    }
    let common = key.iter().zip(next).take_while(|(a, b)| a == b).count();
    // A byte after the first difference can be raised: the order against `next` is decided before it.
    let raised =
        key.iter().enumerate().take(LONGEST_MADE_UP).skip(common + 1).find(|(_, byte)| **byte < 0xff);
    match raised {
        Some((at, byte)) => {
            out.extend_from_slice(&key[..at]);
            out.push(byte + 1);
            true
        }
        None => false,
    }
}

struct Asking<'a, 't, S> {
    filter: &'a TableFilter<'t, S>,
    order: Option<KeyOrder>,
    /// Number of absent keys to make up between two keys.
    in_each_gap: u64,
    most_absent: u64,
    made: u64,
    candidate: Vec<u8>,
    found: Verification,
}

impl<'a, 't, S: Source> Asking<'a, 't, S> {
    fn new(table: &Table<S>, filter: &'a TableFilter<'t, S>, absent: u64) -> Self {
        let entries = table.properties().entry_count().unwrap_or(1000).max(1);
        Asking {
            filter,
            order: table.order(),
            in_each_gap: absent.div_ceil(entries),
            most_absent: if filter.layout().is_some() { absent } else { 0 },
            made: 0,
            candidate: Vec::new(),
            found: Verification {
                keys: 0,
                entries: 0,
                missing: 0,
                missing_in_seek: 0,
                missing_in_seek_back: 0,
                first_missing: None,
                absent_asked: 0,
                absent_passed: 0,
                rebuilt: Rebuilt::Nothing,
            },
        }
    }

    fn present(&mut self, key: &[u8]) -> Result<(), Problem> {
        self.found.keys += 1;
        let found = &mut self.found;
        for (question, missing) in [
            (Question::Get, &mut found.missing),
            (Question::Seek, &mut found.missing_in_seek),
            (Question::SeekBack, &mut found.missing_in_seek_back),
        ] {
            if question != Question::Get && self.filter.holds().prefixes.is_none() {
                continue;
            }
            if !self.filter.ask(question, &HashedKey::new(key))? {
                *missing += 1;
                found.first_missing.get_or_insert_with(|| key.to_vec());
            }
        }
        Ok(())
    }

    /// Makes up keys between two neighbours, which are certainly absent, and looks them up.
    fn absent_between(&mut self, key: &[u8], next: &[u8]) -> Result<(), Problem> {
        let Some(order) = self.order.filter(|order| order.timestamp == 0) else { return Ok(()) };
        let holds = self.filter.holds();
        for i in 0..self.in_each_gap {
            if self.found.absent_asked >= self.most_absent {
                break;
            }
            self.made += 1;
            self.candidate.clear();
            let question = if holds.whole_keys {
                if !extend_above(key, next, &mut self.candidate) {
                    break;
                }
                // Appending any bytes to a key makes a greater one; these look random.
                let suffix = self.made.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                self.candidate.extend_from_slice(&suffix[..6]);
                Question::Get
            } else {
                let Some((prefix, next)) = holds.prefix(key).zip(holds.prefix(next)) else { break };
                if prefix.len() > LONGEST_MADE_UP {
                    break;
                }
                self.candidate.extend_from_slice(prefix);
                let Some(last) = self.candidate.last_mut() else { break };
                // The same length, the last byte a little greater: outside if that reaches the next prefix.
                let Some(greater) = last.checked_add(1 + i as u8) else { break };
                *last = greater;
                if order.user(&self.candidate, next) != Ordering::Less {
                    break;
                }
                Question::Get
            };
            let between = order.user(key, &self.candidate) == Ordering::Less
                && order.user(&self.candidate, next) == Ordering::Less;
            if between {
                self.found.absent_asked += 1;
                self.found.absent_passed +=
                    u64::from(self.filter.ask(question, &HashedKey::new(&self.candidate))?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_lies_between_the_neighbours_and_is_short() {
        let long = |byte: u8| [vec![byte], vec![7; 5000]].concat();
        for (key, next) in [
            (b"a".to_vec(), b"b".to_vec()),
            (long(1), long(2)),
            ([vec![3; 500], vec![0xff; 100], vec![1; 3000]].concat(), vec![4]),
        ] {
            let mut made = Vec::new();
            assert!(extend_above(&key, &next, &mut made));
            made.push(0);
            assert!(key < made && made < next && made.len() <= LONGEST_MADE_UP + 2);
        }
        let mut made = Vec::new();
        assert!(!extend_above(&vec![0xff; 5000], &vec![0xff; 5001], &mut made));
    }
}
