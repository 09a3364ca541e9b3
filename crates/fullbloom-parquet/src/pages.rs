//! What a file announces, compared with what is there and with limits, before the parquet crate allocates it.

use crate::error::Error;
use crate::source::Shared;
use crate::thrift;

/// The largest page that is read. Writers make pages of a mebibyte.
const PAGE: u64 = 64 << 20;

/// The largest dictionary page that is read; a value of four bytes takes ten times that in memory.
const DICTIONARY: u64 = 16 << 20;

/// Bytes read for the header of a page at first, and at most: statistics may be in it.
const HEADER: [u64; 2] = [1 << 10, 16 << 20];

/// The end of a file: the length of the footer, and the magic.
const TAIL: u64 = 8;

/// Fields of a page header.
const SIZE: &[i16] = &[2];
const STORED: &[i16] = &[3];
const DICTIONARY_VALUES: &[i16] = &[7, 1];

/// Checks that every list of the footer fits into it.
pub(crate) fn check_footer(file: &Shared, file_len: u64) -> Result<(), Error> {
    let Some(end) = file_len.checked_sub(TAIL) else { return Ok(()) }; // the parquet crate refuses it
    let tail = file.read(end, TAIL)?;
    let Some((len, b"PAR1")) = tail.split_first_chunk::<4>() else { return Ok(()) };
    let Some(at) = end.checked_sub(u32::from_le_bytes(*len).into()) else { return Ok(()) };
    let footer = file.read(at, end - at)?;
    match thrift::walk(&footer, |_, _| {}) {
        Some(_) => Ok(()),
        None => Err(Error::Malformed { what: "the footer" }),
    }
}

/// Checks the headers of all pages in a column chunk.
pub(crate) fn check(file: &Shared, start: u64, len: u64) -> Result<(), Error> {
    let end = start.saturating_add(len);
    let mut at = start;
    while at < end {
        let (mut size, mut stored, mut values) = (0, 0, None);
        let header = HEADER.iter().find_map(|most| {
            let bytes = match file.read(at, (end - at).min(*most)) {
                Ok(bytes) => bytes,
                Err(e) => return Some(Err(Error::Io(e))),
            };
            let header_len = thrift::walk(&bytes, |path, value| match path {
                SIZE => size = value,
                STORED => stored = value,
                DICTIONARY_VALUES => values = Some(value),
                _ => {}
            });
            header_len.map(Ok)
        });
        let malformed = || Error::Malformed { what: "the header of a page" };
        let header_len = header.unwrap_or_else(|| Err(malformed()))?;
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
        at = at.saturating_add(header_len as u64).saturating_add(stored);
    }
    Ok(())
}
