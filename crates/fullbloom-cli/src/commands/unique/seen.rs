//! The keys seen so far: in one filter where their number is planned, in a chain that grows where it is not, in generations where
//! they are to be forgotten.

use fullbloom::NativeFilter;
use fullbloom::SizeError;
use fullbloom::keys::Hashes;
use fullbloom::native::{GrowingFilter, Hashing, RotatingFilter};
use std::io::{self, Write};
use std::time::SystemTime;

/// What has been seen.
#[derive(Debug)]
pub enum Seen {
    /// One filter, however many keys come.
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

    /// Keys it was made for; only a single filter has such a number.
    pub fn planned(&self) -> Option<u64> {
        match self {
            Seen::Fixed(filter) => Some(filter.expected_keys()),
            _ => None,
        }
    }

    /// Whether more keys are in than planned.
    pub fn is_overfull(&self) -> bool {
        matches!(self, Seen::Fixed(filter) if filter.is_overfull())
    }

    /// The rate as it is now, and how many keys are in, if these are more than planned.
    pub fn overfull_rate(&self) -> Option<(f64, u64)> {
        match self {
            Seen::Fixed(filter) if filter.is_overfull() => Some((filter.expected_fpr(), filter.keys())),
            _ => None,
        }
    }

    /// Puts keys in, in order, and tells of each whether it is new; how many are.
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

    /// Writes the filter to be kept.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Seen::Fixed(filter) => filter.write_to(out),
            Seen::Growing(filter) => filter.write_to(out),
            Seen::Rotating(filter) => filter.write_to(out),
        }
    }
}
