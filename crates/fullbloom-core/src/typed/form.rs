//! The form that keys are brought into before they are hashed.

use alloc::borrow::Cow;
use core::fmt;

/// The form of all keys of a filter: a key is brought into it before it is inserted, and before it is looked
/// up. A native filter records it.
///
/// ```
/// use fullbloom_core::typed::KeyForm;
///
/// let form = KeyForm { trim: true, ignore_case: true };
/// assert_eq!(*form.apply(b" Example.ORG\t"), *b"example.org");
/// assert_eq!(*KeyForm::default().apply(b" As it is"), *b" As it is");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyForm {
    /// Without ASCII white space at both ends.
    pub trim: bool,
    /// In lower case: text by the rules of Unicode, bytes that are not UTF-8 by those of ASCII.
    pub ignore_case: bool,
}

/// The bits of the forms in the flags of a native file.
const IGNORE_CASE: u8 = 2;
const TRIM: u8 = 4;

impl KeyForm {
    /// All bits of forms in the flags of a native file.
    pub const FLAGS: u8 = IGNORE_CASE | TRIM;

    /// Its bits in the flags of a native file.
    pub fn flags(self) -> u8 {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        bit(self.ignore_case, IGNORE_CASE) | bit(self.trim, TRIM)
    }

    /// The form with these bits; others are ignored.
    pub fn from_flags(flags: u8) -> KeyForm {
        KeyForm { trim: flags & TRIM != 0, ignore_case: flags & IGNORE_CASE != 0 }
    }

    /// Whether keys are hashed as they are given.
    pub fn is_plain(self) -> bool {
        self == KeyForm::default()
    }

    /// Whether keys in this form are in the other form, too.
    pub fn has(self, other: KeyForm) -> bool {
        self.and(other) == self
    }

    /// What both forms do to a key.
    #[must_use]
    pub fn and(self, other: KeyForm) -> KeyForm {
        KeyForm { trim: self.trim || other.trim, ignore_case: self.ignore_case || other.ignore_case }
    }

    /// The key in this form.
    pub fn apply(self, key: &[u8]) -> Cow<'_, [u8]> {
        let key = if self.trim { key.trim_ascii() } else { key };
        match core::str::from_utf8(key) {
            _ if !self.ignore_case => Cow::Borrowed(key),
            Ok(text) if !text.is_ascii() => Cow::Owned(text.to_lowercase().into_bytes()),
            _ if key.iter().any(u8::is_ascii_uppercase) => Cow::Owned(key.to_ascii_lowercase()),
            _ => Cow::Borrowed(key),
        }
    }
}

impl fmt::Display for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.trim, self.ignore_case) {
            (false, false) => "as given",
            (false, true) => "in lower case",
            (true, false) => "without white space at both ends",
            (true, true) => "in lower case, without white space at both ends",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_from_its_own_flags() {
        for (trim, ignore_case) in [(false, false), (false, true), (true, false), (true, true)] {
            let form = KeyForm { trim, ignore_case };
            assert_eq!(KeyForm::from_flags(form.flags()), form);
            assert_eq!(KeyForm::from_flags(form.flags() | !KeyForm::FLAGS), form);
        }
    }

    #[test]
    fn text_is_lowered_by_unicode_and_other_bytes_by_ascii() {
        let lower = KeyForm { trim: false, ignore_case: true };
        assert_eq!(*lower.apply("ÉTÉ".as_bytes()), *"été".as_bytes());
        assert_eq!(*lower.apply(b"\xffA "), *b"\xffa ");
        let trim = KeyForm { trim: true, ignore_case: false };
        assert_eq!(*trim.apply(b"\t A b\r\n"), *b"A b");
        assert_eq!(*trim.apply(b" \t"), *b"");
    }
}
