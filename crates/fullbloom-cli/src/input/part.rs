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
        let number = field.number() as usize;
        let fields = || Fields::new(line, field.delimiter(), field.is_quoted());
        match fields().take(number).try_fold((0, None), |(at, _), field| Ok((at + 1, Some(field?)))) {
            Ok((count, Some(field))) if count == number => Ok(field),
            Ok((count, _)) => {
                let fields = if count == 1 { "field" } else { "fields" };
                Err(format!("it has {count} {fields}, and the key is field {number}"))
            }
            Err(why) => Err(why),
        }
    }

    /// Whether quotes of a record are taken for part of its fields, up to the key.
    pub fn keeps_quotes(&self, record: &[u8]) -> bool {
        self.field.filter(|field| !field.is_quoted()).is_some_and(|field| {
            let fields = record.split(|byte| *byte == field.delimiter());
            fields.take(field.number() as usize).any(|field| field.starts_with(b"\""))
        })
    }
}

/// A column by its name in the header line: the first line of each source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in the header line.
    pub name: String,
    /// The separator of fields.
    pub delimiter: u8,
    /// Fields may be in quotes.
    pub quoted: bool,
}

/// The most names of columns in a message.
const NAMES: usize = 20;

impl Column {
    /// The column's field, or what is wrong with this header line.
    pub fn find(&self, header: &[u8]) -> Result<KeyField, String> {
        let names: Vec<_> = Fields::new(header, self.delimiter, self.quoted).collect::<Result<_, _>>()?;
        let mut found = names.iter().zip(1..).filter(|(name, _)| ***name == *self.name.as_bytes());
        match (found.next(), found.next()) {
            (Some((_, number)), None) => {
                Ok(KeyField::new(number, self.delimiter, self.quoted).expect("a number from 1 on"))
            }
            (Some((_, first)), Some((_, second))) => {
                Err(format!("columns {first} and {second} are both named {:?}: give the number", self.name))
            }
            (None, _) => {
                let shown =
                    names.iter().take(NAMES).map(|name| format!("{:?}", String::from_utf8_lossy(name)));
                let mut shown = shown.collect::<Vec<_>>().join(", ");
                if names.len() > NAMES {
                    shown += &format!(" and {} more", names.len() - NAMES);
                }
                let columns = if names.len() == 1 { "column" } else { "columns" };
                Err(format!("no column {:?}; the header line has the {columns} {shown}", self.name))
            }
        }
    }
}

/// The fields of a line. If they may be in quotes, two quotes within them stand for one.
struct Fields<'l> {
    /// What follows the last field, with the delimiter; the whole line before the first.
    rest: &'l [u8],
    delimiter: u8,
    quoted: bool,
    /// Fields so far.
    count: usize,
}

impl<'l> Fields<'l> {
    fn new(line: &'l [u8], delimiter: u8, quoted: bool) -> Fields<'l> {
        Fields { rest: line, delimiter, quoted, count: 0 }
    }
}

impl<'l> Iterator for Fields<'l> {
    type Item = Result<Cow<'l, [u8]>, String>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = match self.rest {
            line if self.count == 0 => line,
            [] => return None,
            [delimiter, start @ ..] if *delimiter == self.delimiter => start,
            _ => return Some(Err(format!("after the quotes of field {} comes no delimiter", self.count))),
        };
        self.count += 1;
        let field = match start {
            [b'"', inside @ ..] if self.quoted => unquoted(inside),
            _ => {
                let end = start.iter().position(|byte| *byte == self.delimiter).unwrap_or(start.len());
                Ok((Cow::Borrowed(&start[..end]), &start[end..]))
            }
        };
        Some(field.map(|(field, rest)| {
            self.rest = rest;
            field
        }))
    }
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
    fn a_column_is_found_by_its_name_in_the_header_line() {
        let column = |name: &str, quoted| Column { name: name.to_owned(), delimiter: b',', quoted };
        let header = b"id,\"first, \"\"last\"\"\",,day,day";
        for (name, number) in [("id", 1), ("first, \"last\"", 2), ("", 3)] {
            assert_eq!(column(name, true).find(header), Ok(KeyField::new(number, b',', true).unwrap()));
        }
        assert_eq!(
            column("\"first", false).find(header).unwrap().number(),
            2,
            "quotes are kept without --csv"
        );
        assert!(column("day", true).find(header).unwrap_err().starts_with("columns 4 and 5"));
        let missing = column("name", true).find(header).unwrap_err();
        assert_eq!(
            missing,
            r#"no column "name"; the header line has the columns "id", "first, \"last\"", "", "day", "day""#
        );
        assert!(column("x", true).find(&b",".repeat(99)).unwrap_err().ends_with(" and 80 more"));
        assert!(column("b", true).find(b"a,\"b").is_err() && column("a", true).find(b"\"a\"b").is_err());
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
