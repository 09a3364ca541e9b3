//! The part of a line that is the key.

use fullbloom_core::typed::KeyField;
use std::borrow::Cow;

/// Which part of a record is its key. The whole record, unless something else is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyPart {
    /// The key is this field.
    pub field: Option<KeyField>,
    /// Empty records and those that begin with `#` are no keys.
    pub skip_comments: bool,
    /// A carriage return at the end is not part of the key.
    pub crlf: bool,
}

impl KeyPart {
    /// Whether keys differ from their records.
    pub fn is_derived(&self) -> bool {
        self.field.is_some() || self.crlf
    }

    /// Whether the record has no key.
    pub fn skips(&self, record: &[u8]) -> bool {
        self.skip_comments && matches!(record.trim_ascii_start().first(), None | Some(b'#'))
    }

    /// The key in a record, or what is wrong with it.
    pub fn of<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, [u8]>, String> {
        let line = if self.crlf { record.strip_suffix(b"\r").unwrap_or(record) } else { record };
        let Some(field) = self.field else { return Ok(Cow::Borrowed(line)) };
        let (number, delimiter) = (field.number(), field.delimiter());
        let missing = |count: usize| {
            let fields = if count == 1 { "field" } else { "fields" };
            format!("it has {count} {fields}, and the key is field {number}")
        };
        if field.is_quoted() {
            return quoted_field(line, delimiter, number)?.map_err(missing);
        }
        let mut fields = line.split(|byte| *byte == delimiter);
        let field = fields.nth(number as usize - 1);
        let count = || line.split(|byte| *byte == delimiter).count();
        field.map(Cow::Borrowed).ok_or_else(|| missing(count()))
    }

    /// Whether quotes of a record are taken for part of its fields, up to the key.
    pub fn keeps_quotes(&self, record: &[u8]) -> bool {
        self.field.filter(|field| !field.is_quoted()).is_some_and(|field| {
            let fields = record.split(|byte| *byte == field.delimiter());
            fields.take(field.number() as usize).any(|field| field.starts_with(b"\""))
        })
    }
}

/// The field with this number, from 1, of a line whose fields may be in quotes; within them, two quotes stand
/// for one. The inner error is the number of fields.
fn quoted_field(line: &[u8], delimiter: u8, number: u32) -> Result<Result<Cow<'_, [u8]>, usize>, String> {
    let mut rest = line;
    for at in 1.. {
        let (field, after) = match rest {
            [b'"', inside @ ..] => unquoted(inside)?,
            _ => {
                let end = rest.iter().position(|byte| *byte == delimiter).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        match after {
            _ if at == number as usize => return Ok(Ok(field)),
            [] => return Ok(Err(at)),
            [next, more @ ..] if *next == delimiter => rest = more,
            _ => return Err(format!("after the quotes of field {at} comes no delimiter")),
        }
    }
    unreachable!("the loop has no end")
}

/// What is in quotes, and what follows them.
fn unquoted(inside: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8]), String> {
    let mut text: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    let mut rest = inside;
    loop {
        let Some(end) = rest.iter().position(|byte| *byte == b'"') else {
            return Err("a quoted field does not end in its line".to_owned());
        };
        if text.is_empty() {
            text = Cow::Borrowed(&rest[..end]);
        } else {
            text.to_mut().extend_from_slice(&rest[..end]);
        }
        match &rest[end + 1..] {
            [b'"', more @ ..] => {
                text.to_mut().push(b'"');
                rest = more;
            }
            after => return Ok((text, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_field_without_a_carriage_return() {
        let part = KeyPart { field: KeyField::new(2, b',', false), crlf: true, ..KeyPart::default() };
        assert_eq!(*part.of(b"1,Example.ORG,x\r").unwrap(), *b"Example.ORG");
        assert_eq!(*part.of(b"1,").unwrap(), *b"");
        assert_eq!(part.of(b"only").unwrap_err(), "it has 1 field, and the key is field 2");
        for line in [&b"1,\"a\",x"[..], b"1,\"a, b\",x", b"\"x,y\",a"] {
            assert!(part.keeps_quotes(line), "{line:?}");
        }
        assert!(!part.keeps_quotes(b"1,a") && !part.keeps_quotes(b"1,a,\"b\""));
    }

    #[test]
    fn quoted_fields_lose_their_quotes_and_keep_their_delimiters() {
        let part = |number| KeyPart { field: KeyField::new(number, b',', true), ..KeyPart::default() };
        let line = b"a,\"b,\"\"c\"\"\",,\"\",\"\"\"\",e";
        for (number, field) in [(1, "a"), (2, "b,\"c\""), (3, ""), (4, ""), (5, "\""), (6, "e")] {
            assert_eq!(*part(number).of(line).unwrap(), *field.as_bytes(), "{number}");
        }
        assert_eq!(part(7).of(line).unwrap_err(), "it has 6 fields, and the key is field 7");
        assert!(part(1).of(b"\"a").unwrap_err().contains("does not end"));
        assert!(part(2).of(b"\"a\"b,c").unwrap_err().contains("no delimiter"));
        assert_eq!(*part(1).of(b"a\"b\"c").unwrap(), *b"a\"b\"c", "quotes inside are part of it");
        assert!(!part(1).keeps_quotes(b"\"a\""));
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
