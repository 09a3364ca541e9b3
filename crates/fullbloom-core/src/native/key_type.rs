//! The type of its keys that a native filter records, so that lookups with other keys are detected.
//!
//! A number and its text are different keys: the filter of one surely does not contain the other. The file
//! therefore records what its keys are, if the writer knows it. `bytes` and `string` are the same keys in a
//! native filter, and so are `int` and `long` ([`typed`](crate::typed)).

use crate::typed::{KeyType, TypeError};

/// The number of a type in the file; 0 if it is not recorded. Types that native filters do not have are not
/// recorded.
pub fn code(key_type: Option<KeyType>) -> u8 {
    match key_type {
        Some(KeyType::Bytes) => 1,
        Some(KeyType::Text) => 2,
        Some(KeyType::Int) => 3,
        Some(KeyType::Long) => 4,
        _ => 0,
    }
}

/// The type with this number; `None` if no type has it.
pub fn from_code(code: u8) -> Option<Option<KeyType>> {
    Some(match code {
        0 => None,
        1 => Some(KeyType::Bytes),
        2 => Some(KeyType::Text),
        3 => Some(KeyType::Int),
        4 => Some(KeyType::Long),
        _ => return None,
    })
}

/// The type as it is recorded: `None` if native filters do not have it.
pub fn recorded(key_type: KeyType) -> Option<KeyType> {
    from_code(code(Some(key_type))).flatten()
}

/// The type that the keys of two filters have together; `None` if one of them is not known, or if they
/// disagree.
pub fn common(ours: Option<KeyType>, theirs: Option<KeyType>) -> Option<KeyType> {
    match (ours?, theirs?) {
        (ours, theirs) if ours == theirs => Some(ours),
        (ours, theirs) if !ours.has_bytes_of(theirs) => None,
        (KeyType::Int | KeyType::Long, _) => Some(KeyType::Long),
        _ => Some(KeyType::Bytes),
    }
}

/// `Ok` unless both types are known and their keys have different bytes.
pub fn require(recorded: Option<KeyType>, given: KeyType) -> Result<(), TypeError> {
    match recorded {
        Some(recorded) if !recorded.has_bytes_of(given) => Err(TypeError::Recorded { recorded, given }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_type_is_read_as_that_type() {
        for code_of_one in 0..=4 {
            assert_eq!(code(from_code(code_of_one).unwrap()), code_of_one);
        }
        assert_eq!(from_code(5), None);
        for unsupported in [KeyType::Utf16, KeyType::Float, KeyType::Double] {
            assert_eq!(code(Some(unsupported)), 0);
        }
    }

    #[test]
    fn two_types_have_a_common_one_only_if_their_bytes_agree() {
        use KeyType::{Bytes, Int, Long, Text};
        assert_eq!(common(Some(Int), Some(Long)), Some(Long));
        assert_eq!(common(Some(Text), Some(Text)), Some(Text));
        assert_eq!(common(Some(Bytes), Some(Text)), Some(Bytes));
        assert_eq!(common(Some(Text), Some(Long)), None);
        assert_eq!(common(None, Some(Long)), None);
        assert_eq!(require(Some(Int), Long), Ok(()));
        assert_eq!(require(None, Long), Ok(()));
        assert_eq!(require(Some(Long), Text), Err(TypeError::Recorded { recorded: Long, given: Text }));
    }
}
