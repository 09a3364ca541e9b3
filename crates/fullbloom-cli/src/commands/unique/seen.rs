//! The keys seen so far: in one filter if their number is planned, in a growing chain if it is not, in
//! generations if they expire.

use fullbloom::NativeFilter;
use fullbloom::SizeError;
use fullbloom::keys::Hashes;
use fullbloom::native::{GrowingFilter, Hashing, RotatingFilter};
use fullbloom::typed::KeyType;
use std::io::{self, Write};
use std::time::SystemTime;

/// The keys seen so far.
#[derive(Debug)]
pub enum Seen {
    /// One filter of fixed size.
    Fixed(NativeFilter),
    /// A chain that grows.
    Growing(GrowingFilter),
    /// Generations.
    Rotating(RotatingFilter),
}

impl Seen {
    /// How the keys are hashed.
    pub fn hashing(&self) -> &Hashing {
        match self {
            Seen::Fixed(filter) => filter.hashing(),
            Seen::Growing(filter) => filter.hashing(),
            Seen::Rotating(filter) => filter.hashing(),
        }
    }

    /// Records the type of its keys.
    pub fn set_key_type(&mut self, key_type: KeyType) {
        match self {
            Seen::Fixed(filter) => filter.set_key_type(Some(key_type)),
            Seen::Growing(filter) => filter.set_key_type(Some(key_type)),
            Seen::Rotating(filter) => filter.set_key_type(Some(key_type)),
        }
    }

    /// Keys it was made for; only a single filter has such a number.
    pub fn planned(&self) -> Option<u64> {
        match self {
            Seen::Fixed(filter) => Some(filter.expected_keys()),
            _ => None,
        }
    }

    /// Whether it holds more keys than planned.
    pub fn is_overfull(&self) -> bool {
        matches!(self, Seen::Fixed(filter) if filter.is_overfull())
    }

    /// The present rate and the number of keys, if there are more than planned.
    pub fn overfull_rate(&self) -> Option<(f64, u64)> {
        match self {
            Seen::Fixed(filter) if filter.is_overfull() => Some((filter.expected_fpr(), filter.keys())),
            _ => None,
        }
    }

    /// Inserts keys in order, and marks each one that is new; returns the number of new keys.
    pub fn insert(&mut self, hashes: &[u64], new: &mut [bool]) -> Result<u64, SizeError> {
        match self {
            Seen::Fixed(filter) => {
                let before = filter.keys();
                filter.insert_batch_new(&Hashes(hashes), new);
                Ok(filter.keys() - before)
            }
            Seen::Growing(filter) => filter.insert_batch_new(&Hashes(hashes), new),
            Seen::Rotating(filter) => filter.insert_batch_new(&Hashes(hashes), new, SystemTime::now()),
        }
    }

    /// Writes the filter to the state file.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Seen::Fixed(filter) => filter.write_to(out),
            Seen::Growing(filter) => filter.write_to(out),
            Seen::Rotating(filter) => filter.write_to(out),
        }
    }
}
