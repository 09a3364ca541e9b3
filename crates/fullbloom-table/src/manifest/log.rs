//! Records of a log file, the form a MANIFEST is written in: LevelDB's, and RocksDB's where it differs.
//!
//! ```text
//!   file:      blocks of 32 KiB; a record never begins in the last six bytes of one
//!   fragment:  | checksum: u32 | length: u16 | type: u8 | bytes |
//!   type:      1 the whole record, 2 its first fragment, 3 one of its middle, 4 its last
//! ```
//!
//! The checksum is the masked CRC-32C of type and bytes. A log that is being written, or whose writer was cut
//! off, may end anywhere: an unfinished record at its end is ignored. Any other damage is an error.
//!
//! RocksDB also writes over old write-ahead logs: types 5 to 8 are 1 to 4 with the log's number after the
//! type, and a fragment of another number ends the log. Fragments of types from 128 on may be passed over.

use crate::bytes::u32_at;
use crate::checksum::mask;
use crate::error::{At, Problem};

/// Bytes of a block.
const BLOCK: usize = 32 << 10;

/// Bytes of a fragment's header.
const HEADER: usize = 7;

const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// The same types in a log that is written over an old one; its number follows the type.
const RECYCLED_FULL: u8 = 5;
const RECYCLED_LAST: u8 = 8;

/// Bytes of the log's number.
const LOG_NUMBER: usize = 4;

/// Types with this bit may be passed over by who does not know them.
const MAY_BE_IGNORED: u8 = 1 << 7;

/// The records of a log, in order.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    log: &'a [u8],
    offset: usize,
    /// Of a write-ahead log, which may be written over an old one: its number.
    number: Option<u32>,
    /// What follows belongs to the log that this one is written over.
    is_over_old: bool,
}

/// A part of a record.
struct Fragment<'a> {
    at: u64,
    kind: u8,
    bytes: &'a [u8],
}

/// One record, and where it begins.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(log: &'a [u8]) -> Records<'a> {
        Records { log, offset: 0, number: None, is_over_old: false }
    }

    /// The records of the write-ahead log of this number.
    pub(crate) fn of_wal(log: &'a [u8], number: u64) -> Records<'a> {
        // RocksDB stores the lower half of the number.
        Records { log, offset: 0, number: Some(number as u32), is_over_old: false }
    }

    /// Whether the log ended where an older one goes on, over which it is written.
    pub(crate) fn is_over_old(&self) -> bool {
        self.is_over_old
    }

    /// The offset behind the last whole record.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The next record; `None` at the end, even in the middle of a record.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, Problem> {
        let mut begun: Option<Record> = None;
        while let Some(Fragment { at, kind, bytes }) = self.fragment()? {
            let wrong = |got| Problem::Value {
                field: "fragment type",
                at: At::from(at + 6),
                got,
                allowed: "1 or 2 where a record begins, 3 or 4 after its beginning",
            };
            match (kind, &mut begun) {
                (FULL, None) => return Ok(Some(Record { at, bytes: bytes.to_vec() })),
                (FIRST, None) => begun = Some(Record { at, bytes: bytes.to_vec() }),
                (MIDDLE, Some(record)) => record.bytes.extend_from_slice(bytes),
                (LAST, Some(record)) => {
                    record.bytes.extend_from_slice(bytes);
                    return Ok(begun);
                }
                _ => return Err(wrong(kind.into())),
            }
        }
        Ok(None)
    }

    /// The next fragment; `None` at the end.
    fn fragment(&mut self) -> Result<Option<Fragment<'a>>, Problem> {
        loop {
            let left = BLOCK - self.offset % BLOCK;
            if left < HEADER {
                self.offset += left; // too few for a header: padding
            }
            let (at, rest) = (self.offset, self.log.get(self.offset..).unwrap_or_default());
            if rest.len() < HEADER {
                return Ok(None);
            }
            let len = usize::from(u16::from_le_bytes([rest[4], rest[5]]));
            let (stored, kind) = (u32_at(rest, 0), rest[6]);
            if kind == 0 && len == 0 {
                self.offset += BLOCK - at % BLOCK; // preallocated and not used
                continue;
            }
            let is_recycled = self.number.is_some() && matches!(kind, RECYCLED_FULL..=RECYCLED_LAST);
            let header = HEADER + if is_recycled { LOG_NUMBER } else { 0 };
            if header + len > BLOCK - at % BLOCK {
                let (got, allowed) = (len as i128, "what is left of the block of 32 KiB");
                return Err(Problem::Value {
                    field: "fragment length",
                    at: At::from(at as u64 + 4),
                    got,
                    allowed,
                });
            }
            let Some(bytes) = rest.get(header..header + len) else { return Ok(None) };
            if is_recycled && self.number != Some(u32_at(rest, HEADER)) {
                self.is_over_old = true;
                return Ok(None);
            }
            let computed = mask(crc32c::crc32c(&rest[6..header + len]));
            if computed != stored {
                return Err(Problem::Checksum { of: "record", at: at as u64, stored, computed });
            }
            self.offset += header + len;
            if self.number.is_some() && kind & MAY_BE_IGNORED != 0 {
                continue;
            }
            let kind = if is_recycled { kind - LOG_NUMBER as u8 } else { kind };
            return Ok(Some(Fragment { at: at as u64, kind, bytes }));
        }
    }
}

/// Writes records as LevelDB does.
#[cfg(test)]
pub(crate) fn write(records: &[Vec<u8>]) -> Vec<u8> {
    let mut log = Vec::new();
    for record in records {
        let mut rest = record.as_slice();
        let mut first = true;
        loop {
            let left = BLOCK - log.len() % BLOCK;
            if left < HEADER {
                log.resize(log.len() + left, 0);
            }
            let room = BLOCK - log.len() % BLOCK - HEADER;
            let (part, behind) = rest.split_at(rest.len().min(room));
            let kind = match (first, behind.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            let crc = mask(crc32c::crc32c_append(crc32c::crc32c(&[kind]), part));
            log.extend_from_slice(&crc.to_le_bytes());
            log.extend_from_slice(&(part.len() as u16).to_le_bytes());
            log.push(kind);
            log.extend_from_slice(part);
            (rest, first) = (behind, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(log: &[u8]) -> Result<Vec<Vec<u8>>, Problem> {
        let mut records = Records::new(log);
        let mut found = Vec::new();
        while let Some(record) = records.next()? {
            found.push(record.bytes);
        }
        Ok(found)
    }

    /// Records of many lengths, among them ones that end in each of the last bytes of a block.
    fn records() -> Vec<Vec<u8>> {
        let mut lens = vec![0, 1, 100, 40_000, 100_000, 7];
        lens.extend((0..30).map(|i| 32_740 - i));
        lens.iter().enumerate().map(|(i, len)| vec![i as u8; *len]).collect()
    }

    #[test]
    fn records_that_cross_blocks_come_back_whole() {
        assert_eq!(all(&write(&records())).unwrap(), records());
        assert!(all(b"").unwrap().is_empty());
    }

    #[test]
    fn a_log_cut_anywhere_gives_the_records_before_the_cut() {
        let log = write(&records());
        let whole = all(&log).unwrap();
        for cut in (0..log.len()).rev().step_by(997).chain(0..200) {
            let found = all(&log[..cut]).unwrap();
            assert_eq!(found, whole[..found.len()], "{cut}");
        }
    }

    #[test]
    fn a_changed_byte_is_noticed_unless_it_only_hides_the_end() {
        let log = write(&[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        for at in 0..log.len() {
            let mut changed = log.clone();
            changed[at] ^= 0x40;
            match all(&changed) {
                Err(_) => {}
                // A length past the end of a log that is still being written looks like an unfinished record.
                Ok(found) => assert!(found.len() < 3, "byte {at}: {found:?}"),
            }
        }
    }

    #[test]
    fn zeros_written_ahead_are_passed_over() {
        let mut log = write(&[b"one".to_vec()]);
        log.resize(2 * BLOCK, 0);
        log.extend(write(&[b"two".to_vec()]));
        assert_eq!(all(&log).unwrap(), [b"one", b"two"]);
    }
}
