//! What a file announces, compared with what is there and with limits, before the parquet crate allocates it.

use crate::error::Error;
use crate::source::Shared;
use crate::thrift::{self, Met};

/// The largest page that is read. Writers make pages of a mebibyte.
const PAGE: u64 = 64 << 20;

/// The largest dictionary page that is read; a value of four bytes takes ten times that in memory.
const DICTIONARY: u64 = 16 << 20;

/// Bytes read for the header of a page at first, and at most: statistics may be in it.
const HEADER: [u64; 2] = [1 << 10, 16 << 20];

/// Values of a chunk with repeated values that are read whatever its records. One record may have all values
/// of the chunk, and its levels and values are in memory together: up to half a gibibyte.
const REPEATED_VALUES: u64 = 1 << 24;

/// More of them are read if there are so many records that these have no more than this on average. Ten bytes
/// announce 2^31 nulls in one record.
const REPEATED_VALUES_PER_RECORD: u64 = 1 << 12;

/// The most levels of groups in a schema. The parquet crate calls itself for each level.
const SCHEMA_LEVELS: usize = 128;

/// Fields of the footer: an element of the schema, and the number of its children.
const ELEMENT: &[i16] = &[2, 0];
const CHILDREN: &[i16] = &[2, 0, 5];

/// Fields of a page header.
const SIZE: &[i16] = &[2];
const STORED: &[i16] = &[3];
const DICTIONARY_VALUES: &[i16] = &[7, 1];
const DATA_VALUES: &[i16] = &[5, 1];
const DATA_V2_VALUES: &[i16] = &[8, 1];

/// Checks that every list of the footer fits into it, and that its schema is a tree of few levels.
pub(crate) fn check_footer(footer: &[u8]) -> Result<(), Error> {
    let mut schema = Schema { left: Vec::new(), fits: true };
    let walked = thrift::walk(footer, |path, met| match (path, met) {
        (ELEMENT, Met::Struct) => schema.element(),
        (CHILDREN, Met::Number(children)) => schema.children(children, footer.len() as i64),
        _ => {}
    });
    match walked {
        Some(_) if schema.fits => Ok(()),
        Some(_) => Err(Error::Malformed { what: "the schema" }),
        None => Err(Error::Malformed { what: "the footer" }),
    }
}

/// The schema, which is a tree written as a list: each group says how many children follow it.
struct Schema {
    /// For each open group, the children that did not come yet.
    left: Vec<i64>,
    fits: bool,
}

impl Schema {
    fn element(&mut self) {
        while self.left.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = self.left.last_mut() {
            *left -= 1;
        }
    }

    /// Each child takes a byte of the footer at least; the parquet crate makes room for all of them.
    fn children(&mut self, children: i64, footer_len: i64) {
        self.fits &= children <= footer_len && self.left.len() < SCHEMA_LEVELS;
        if self.fits && children > 0 {
            self.left.push(children);
        }
    }
}

/// Checks the headers of all pages in a column chunk; `records` is the number of its records if their values
/// are repeated.
pub(crate) fn check(file: &Shared, start: u64, len: u64, records: Option<u64>) -> Result<(), Error> {
    let end = start.saturating_add(len);
    let mut at = start;
    let mut all_values: u64 = 0;
    while at < end {
        let (mut size, mut stored, mut values, mut data_values) = (None, None, None, 0);
        let header = HEADER.iter().find_map(|most| {
            let bytes = match file.read(at, (end - at).min(*most)) {
                Ok(bytes) => bytes,
                Err(e) => return Some(Err(Error::Io(e))),
            };
            let header_len = thrift::walk(&bytes, |path, met| match (path, met) {
                (SIZE, Met::Number(n)) => size = Some(n),
                (STORED, Met::Number(n)) => stored = Some(n),
                (DICTIONARY_VALUES, Met::Number(n)) => values = Some(n),
                (DATA_VALUES | DATA_V2_VALUES, Met::Number(n)) => data_values = n,
                _ => {}
            });
            header_len.map(Ok)
        });
        let malformed = || Error::Malformed { what: "the header of a page" };
        let header_len = header.unwrap_or_else(|| Err(malformed()))?;
        let (Some(size), Some(stored)) = (size, stored) else { return Err(malformed()) };
        let stored = u64::try_from(stored).map_err(|_| malformed())?;
        let (what, limit) =
            if values.is_some() { ("a dictionary page", DICTIONARY) } else { ("a page", PAGE) };
        if u64::try_from(size).map_err(|_| malformed())? > limit {
            return Err(Error::TooLarge { what, size, limit });
        }
        // The parquet crate makes room for all values of a dictionary; each takes a byte at least.
        if values.is_some_and(|values| values < 0 || values > size) {
            return Err(malformed());
        }
        all_values = all_values.saturating_add(u64::try_from(data_values).map_err(|_| malformed())?);
        at = at.saturating_add(header_len as u64).saturating_add(stored);
    }
    let most = |records: u64| REPEATED_VALUES.max(records.saturating_mul(REPEATED_VALUES_PER_RECORD));
    if records.is_some_and(|records| all_values > most(records)) {
        return Err(Error::TooManyValues { values: all_values });
    }
    Ok(())
}
