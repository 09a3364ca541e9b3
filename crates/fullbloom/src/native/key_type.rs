//! The type of its keys that a native filter records, so that lookups with other keys are detected.
//!
//! A number and its text are different keys: the filter of one surely does not contain the other. The file
//! therefore records what its keys are, if the writer knows it. `bytes` and `string` are the same keys in a
//! native filter, and so are `int` and `long` ([`typed`](crate::typed)).

use super::dialect::Head;
use super::{DynamicFilter, NativeFilter, StoredFilter};
use crate::typed::{KeyField, KeyForm, KeyType, TypeError};

/// The number of a type in the file; 0 if it is not recorded. Types that native filters do not have are not
/// recorded.
pub(super) fn code(key_type: Option<KeyType>) -> u8 {
    match key_type {
        Some(KeyType::Bytes) => 1,
        Some(KeyType::Text) => 2,
        Some(KeyType::Int) => 3,
        Some(KeyType::Long) => 4,
        _ => 0,
    }
}

/// The type with this number; `None` if no type has it.
pub(super) fn from_code(code: u8) -> Option<Option<KeyType>> {
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
pub(super) fn recorded(key_type: KeyType) -> Option<KeyType> {
    from_code(code(Some(key_type))).flatten()
}

/// The type that the keys of two filters have together; `None` if one of them is not known, or if they
/// disagree.
pub(super) fn common(ours: Option<KeyType>, theirs: Option<KeyType>) -> Option<KeyType> {
    match (ours?, theirs?) {
        (ours, theirs) if ours == theirs => Some(ours),
        (ours, theirs) if !ours.has_bytes_of(theirs) => None,
        (KeyType::Int | KeyType::Long, _) => Some(KeyType::Long),
        _ => Some(KeyType::Bytes),
    }
}

/// `Ok` unless both types are known and their keys have different bytes.
pub(super) fn require(recorded: Option<KeyType>, given: KeyType) -> Result<(), TypeError> {
    match recorded {
        Some(recorded) if !recorded.has_bytes_of(given) => Err(TypeError::Recorded { recorded, given }),
        _ => Ok(()),
    }
}

impl<S> NativeFilter<S> {
    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.dialect.head.key_type
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    ///
    /// ```
    /// use fullbloom::{NativeFilter, typed::KeyType};
    /// let mut filter = NativeFilter::with_fpr(1_000, 0.01)?;
    /// filter.set_key_type(Some(KeyType::Long));
    /// let read = NativeFilter::decode(&filter.encode())?;
    /// assert_eq!(read.key_type(), Some(KeyType::Long));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.dialect.head.key_type = key_type.and_then(recorded);
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.head().key_type
    }

    /// The recorded form of its keys. The filter does not bring keys into it: the caller must.
    pub fn key_form(&self) -> KeyForm {
        self.head().key_form
    }

    /// The recorded field of a line that its keys were taken from.
    pub fn key_field(&self) -> Option<KeyField> {
        self.head().key_field
    }

    /// Checks that keys of this type can be in the filter: that their bytes are those of the recorded type.
    pub fn require_key_type(&self, given: KeyType) -> Result<(), TypeError> {
        require(self.key_type(), given)
    }
}

impl<S> StoredFilter<S> {
    fn head_mut(&mut self) -> &mut Head {
        match self {
            StoredFilter::Fast(filter) => &mut filter.dialect.head,
            StoredFilter::Dynamic(filter) => &mut filter.head,
            StoredFilter::Compact(filter) => &mut filter.dialect.head,
        }
    }

    /// Records the form that its keys were brought into.
    pub fn set_key_form(&mut self, form: KeyForm) {
        self.head_mut().key_form = form;
    }

    /// Records the field of a line that its keys were taken from.
    pub fn set_key_field(&mut self, field: Option<KeyField>) {
        self.head_mut().key_field = field;
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        match self {
            StoredFilter::Fast(filter) => filter.set_key_type(key_type),
            StoredFilter::Dynamic(filter) => filter.set_key_type(key_type),
            StoredFilter::Compact(filter) => filter.set_key_type(key_type),
        }
    }
}

impl<S> DynamicFilter<S> {
    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.head.key_type
    }

    /// Records the type of its keys; see [`Filter::set_key_type`](crate::Filter::set_key_type).
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.head.key_type = key_type.and_then(recorded);
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
