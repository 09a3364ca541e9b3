//! The keys seen so far: in a dynamic filter, or in the fast filter of an existing state.

use fullbloom::NativeFilter;
use fullbloom::SizeError;
use fullbloom::keys::Hashes;
use fullbloom::native::{DynamicFilter, Hashing, Mode};
use std::time::SystemTime;

/// The keys seen so far.
#[derive(Debug)]
pub enum Seen {
    /// A filter of fixed size.
    Fixed(NativeFilter),
    /// A filter that grows, and whose keys may expire.
    Dynamic(DynamicFilter),
}

impl Seen {
    /// How the keys are hashed.
    pub fn hashing(&self) -> &Hashing {
        match self {
            Seen::Fixed(filter) => filter.hashing(),
            Seen::Dynamic(filter) => filter.hashing(),
        }
    }

    /// Keys it keeps its rate for; 0 if that is not known.
    pub fn planned(&self) -> u64 {
        match self {
            Seen::Fixed(filter) => filter.expected_keys(),
            Seen::Dynamic(filter) => filter.up_to(),
        }
    }

    /// Whether it holds more keys than planned.
    pub fn is_overfull(&self) -> bool {
        match self {
            Seen::Fixed(filter) => filter.is_overfull(),
            Seen::Dynamic(filter) => filter.is_overfull(),
        }
    }

    /// The present rate and the number of keys, if there are more than planned.
    pub fn overfull_rate(&self) -> Option<(f64, u64)> {
        self.is_overfull().then(|| match self {
            Seen::Fixed(filter) => (filter.expected_fpr(), filter.keys()),
            Seen::Dynamic(filter) => (filter.expected_fpr(), filter.keys()),
        })
    }

    /// Whether known keys change it, too.
    pub fn refreshes(&self) -> bool {
        matches!(self, Seen::Dynamic(filter) if matches!(filter.mode(), Mode::Expiring(expiry) if expiry.refresh))
    }

    /// Inserts keys in order, and marks each one that is new; returns the number of new keys.
    pub fn insert(&mut self, hashes: &[u64], new: &mut [bool]) -> Result<u64, SizeError> {
        match self {
            Seen::Fixed(filter) => {
                let before = filter.keys();
                filter.insert_batch_new(&Hashes(hashes), new);
                Ok(filter.keys() - before)
            }
            Seen::Dynamic(filter) => {
                filter.advance(SystemTime::now())?;
                filter.insert_batch_new(&Hashes(hashes), new)
            }
        }
    }
}
