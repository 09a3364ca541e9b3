//! The field of a line that a filter's keys were taken from.

use core::fmt;

/// The field of each line that the keys of a filter were taken from. A native filter records it, so that a
/// program that looks up lines, and not keys, can ask which part of them is the key.
///
/// ```
/// use fullbloom_core::typed::KeyField;
///
/// let field = KeyField::new(2, b',', true).unwrap();
/// assert_eq!(field.to_string(), "field 2 of each line (separator \",\", quoted)");
/// assert_eq!(KeyField::new(0, b',', true), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyField {
    number: u32,
    delimiter: u8,
    quoted: bool,
}

impl KeyField {
    /// The allowed values, for errors.
    pub const ALLOWED: &str = "a field from 1 on, an ASCII delimiter, 0 or 1 for quotes, two zero bytes";

    /// The field with this number, from 1, between ASCII delimiters. With `quoted`, fields may be in quotes,
    /// as in RFC 4180. `None` if there is no such field or delimiter.
    pub fn new(number: u32, delimiter: u8, quoted: bool) -> Option<KeyField> {
        (number > 0 && delimiter.is_ascii()).then_some(KeyField { number, delimiter, quoted })
    }

    /// The number of the field, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The ASCII character between fields.
    pub fn delimiter(self) -> u8 {
        self.delimiter
    }

    /// Whether fields may be in quotes, as in RFC 4180.
    pub fn is_quoted(self) -> bool {
        self.quoted
    }

    /// The eight bytes of the section in a native file.
    pub fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.number.to_le_bytes();
        [a, b, c, d, self.delimiter, self.quoted.into(), 0, 0]
    }

    /// The field with these bytes; `None` if they describe none.
    pub fn from_bytes(bytes: &[u8]) -> Option<KeyField> {
        let [a, b, c, d, delimiter, quoted @ (0 | 1), 0, 0] = *bytes else { return None };
        KeyField::new(u32::from_le_bytes([a, b, c, d]), delimiter, quoted == 1)
    }
}

impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyField { number, delimiter, quoted } = self;
        let quotes = if *quoted { ", quoted" } else { "" };
        let mut separator = [0; 4];
        let separator = char::from(*delimiter).encode_utf8(&mut separator);
        write!(f, "field {number} of each line (separator {separator:?}{quotes})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read_from_its_own_bytes_and_from_no_others() {
        for (number, delimiter, quoted) in [(1, b'\t', false), (u32::MAX, b',', true), (2, 0, true)] {
            let field = KeyField { number, delimiter, quoted };
            assert_eq!(KeyField::from_bytes(&field.to_bytes()), Some(field));
        }
        let good = KeyField { number: 1, delimiter: b',', quoted: false }.to_bytes();
        for (at, byte) in [(0, 0), (4, 128), (5, 2), (6, 1), (7, 1)] {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(KeyField::from_bytes(&bad), None, "{at}");
        }
        assert!(KeyField::from_bytes(&good[..7]).is_none() && KeyField::from_bytes(&[]).is_none());
    }
}
