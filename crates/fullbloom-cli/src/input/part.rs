//! The part of a line that is the key.

use std::borrow::Cow;

/// Which part of a record is its key. The whole record, unless something else is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyPart {
    /// The key is this field, from 1, between delimiters.
    pub field: Option<(u8, usize)>,
    /// Keys are in lower case, whatever the records have.
    pub ignore_case: bool,
    /// Empty records and those that begin with `#` are no keys.
    pub skip_comments: bool,
    /// A carriage return at the end is not part of the key.
    pub crlf: bool,
}

impl KeyPart {
    /// Whether keys differ from their records.
    pub fn is_derived(&self) -> bool {
        self.field.is_some() || self.ignore_case || self.crlf
    }

    /// Whether the record has no key.
    pub fn skips(&self, record: &[u8]) -> bool {
        self.skip_comments && matches!(record.trim_ascii_start().first(), None | Some(b'#'))
    }

    /// The key in a record, or what is wrong with it.
    pub fn of<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, [u8]>, String> {
        let line = if self.crlf { record.strip_suffix(b"\r").unwrap_or(record) } else { record };
        let key = match self.field {
            None => line,
            Some((delimiter, number)) => {
                let mut fields = line.split(|byte| *byte == delimiter);
                fields.nth(number.saturating_sub(1)).ok_or_else(|| {
                    let count = line.split(|byte| *byte == delimiter).count();
                    let fields = if count == 1 { "field" } else { "fields" };
                    format!("it has {count} {fields}, and the key is field {number}")
                })?
            }
        };
        Ok(if self.ignore_case { lower(key) } else { Cow::Borrowed(key) })
    }
}

/// In lower case: text by the rules of Unicode, other bytes by those of ASCII.
fn lower(key: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(key) {
        Ok(text) if !text.is_ascii() => Cow::Owned(text.to_lowercase().into_bytes()),
        _ if key.iter().any(u8::is_ascii_uppercase) => Cow::Owned(key.to_ascii_lowercase()),
        _ => Cow::Borrowed(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_field_in_lower_case_without_a_carriage_return() {
        let part = KeyPart { field: Some((b',', 2)), ignore_case: true, skip_comments: false, crlf: true };
        assert_eq!(*part.of(b"1,Example.ORG,x\r").unwrap(), *b"example.org");
        assert_eq!(*part.of("1,\u{c9}T\u{c9}\r".as_bytes()).unwrap(), *"\u{e9}t\u{e9}".as_bytes());
        assert_eq!(*part.of(b"1,\xffA").unwrap(), *b"\xffa", "not text");
        assert_eq!(*part.of(b"1,").unwrap(), *b"");
        assert_eq!(part.of(b"only").unwrap_err(), "it has 1 field, and the key is field 2");
    }

    #[test]
    fn empty_lines_and_comments_are_skipped_only_if_asked_for() {
        let part = KeyPart { skip_comments: true, ..KeyPart::default() };
        for line in [&b""[..], b"  ", b"# x", b"  # x", b"\r"] {
            assert!(part.skips(line), "{line:?}");
            assert!(!KeyPart::default().skips(line));
        }
        assert!(!part.skips(b"a # b"));
    }
}
