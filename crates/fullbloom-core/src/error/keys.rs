//! Keys that do not fit a filter.

use super::SizeError;
use crate::typed::{KeyType, TypeError};
use core::fmt;

/// A batch of keys, or a hash, does not fit the filter: an answer could be a wrong "no".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeysError {
    /// The hashes were computed with another seed, secret or hash function than the filter's own.
    Hash,
    /// The filter records that its keys are of another type.
    Type(TypeError),
    /// There is not one place for an answer for each key.
    Answers {
        /// The number of keys.
        keys: usize,
        /// The number of places; of a bitmap, 64 for each word.
        places: usize,
    },
}

impl KeysError {
    /// The error for keys of type `given`, in a filter whose keys have another type.
    #[cold]
    pub fn of_type(recorded: KeyType, given: KeyType) -> KeysError {
        KeysError::Type(TypeError::Recorded { recorded, given })
    }
}

impl From<TypeError> for KeysError {
    fn from(error: TypeError) -> KeysError {
        KeysError::Type(error)
    }
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeysError::Hash => f.write_str("the hash was made with another seed, secret or hash function"),
            KeysError::Type(error) => error.fmt(f),
            KeysError::Answers { keys, places } => {
                write!(f, "there are {keys} keys, but places for {places} answers")
            }
        }
    }
}

impl core::error::Error for KeysError {}

/// Keys could not be inserted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InsertError {
    /// The keys do not fit the filter. None of them was inserted.
    Keys(KeysError),
    /// The filter is keyed and its secret is not known.
    Locked,
    /// There is not enough memory for the filter to grow.
    Size(SizeError),
}

impl From<KeysError> for InsertError {
    fn from(error: KeysError) -> InsertError {
        InsertError::Keys(error)
    }
}

impl From<SizeError> for InsertError {
    fn from(error: SizeError) -> InsertError {
        InsertError::Size(error)
    }
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Keys(error) => error.fmt(f),
            InsertError::Locked => f.write_str("the filter is keyed and its secret is not known"),
            InsertError::Size(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for InsertError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            InsertError::Keys(error) => Some(error),
            InsertError::Locked => None,
            InsertError::Size(error) => Some(error),
        }
    }
}
