//! Write-ahead logs: the writes of a LevelDB or RocksDB database that may be in no table yet.
//!
//! ```text
//!   log:    records of a log file, as those of a MANIFEST; each is a batch of writes
//!   batch:  | sequence of the first: u64 | count: u32 | write | write | …
//!   write:  | tag: u8 | column family: varint, by tag | key with its length | value with its length, by tag |
//! ```
//!
//! A log ends where its writer was cut off. What is behind its last whole batch is not read, and
//! [`LogEnd::unread`] says so.

use crate::bytes::{Cursor, cursor};
use crate::error::{At, Problem};
use crate::manifest::Records;

/// One write of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogWrite<'a> {
    /// The number of the column family.
    pub family: u32,
    /// Its sequence number: the largest one of a key is its newest write.
    pub sequence: u64,
    /// Whether the write puts, deletes or merges.
    pub kind: WriteKind,
    /// The key; of a range the first.
    pub key: &'a [u8],
    /// Of a range: the first key after it.
    pub end: &'a [u8],
}

/// The effect of a write on its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteKind {
    /// It sets the key.
    Put,
    /// It changes the value of the key.
    Merge,
    /// It deletes the key.
    Delete,
    /// It deletes all keys of a range.
    DeleteRange,
}

/// How a log ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogEnd {
    /// The number of batches that were read whole.
    pub batches: u64,
    /// Writes in them.
    pub writes: u64,
    /// What is behind the last whole batch: where it begins, and why it is not read. `None` if nothing is.
    pub unread: Option<(u64, Option<Problem>)>,
}

/// Reads the write-ahead log of this number, and hands out its writes in order. A batch counts whole or not at
/// all.
pub fn read_log(log: &[u8], number: u64, mut each: impl FnMut(LogWrite<'_>)) -> LogEnd {
    let mut records = Records::of_wal(log, number);
    let (mut batches, mut writes, mut read) = (0, 0, 0);
    let problem = loop {
        match records.next() {
            Ok(Some(record)) => {
                // Checked as a whole before the first write of it is handed out.
                let checked = batch(&record.bytes, record.at, |_| {});
                let Ok(count) = checked else { break checked.err() };
                let _ = batch(&record.bytes, record.at, &mut each);
                batches += 1;
                writes += count;
                read = records.offset();
            }
            Ok(None) => break None,
            Err(problem) => break Some(problem),
        }
    };
    // Zeros are space that was reserved and not used.
    let is_rest = !records.is_over_old() && log[read..].iter().any(|byte| *byte != 0);
    LogEnd { batches, writes, unread: is_rest.then_some((read as u64, problem)) }
}

/// Reads a batch that begins at `at` of its log; the number of its writes.
fn batch(bytes: &[u8], at: u64, mut each: impl FnMut(LogWrite<'_>)) -> Result<u64, Problem> {
    let mut cursor = cursor(bytes, at);
    let mut sequence = cursor.u64_le("sequence number")?;
    let count = cursor.u32_le("number of writes")?;
    let mut seen = 0u64;
    while cursor.remaining() > 0 {
        let tag = cursor.u8("tag of a write")?;
        // Since RocksDB 3.0 these tags come with a column family.
        let family = match tag {
            0x4..=0x6 | 0x8 | 0xe | 0x10 | 0x17 | 0x19 => cursor.varint32("column family")?,
            _ => 0,
        };
        let mut part = |field| with_len(&mut cursor, field);
        let empty: &[u8] = &[];
        let (kind, key, end) = match tag {
            0x1 | 0x5 | 0x10 | 0x11 | 0x16 | 0x17 | 0x18 | 0x19 => {
                let key = part("key")?;
                part("value")?;
                (WriteKind::Put, key, empty)
            }
            0x2 | 0x6 => {
                let key = part("key")?;
                part("operand")?;
                (WriteKind::Merge, key, empty)
            }
            0x0 | 0x4 | 0x7 | 0x8 => (WriteKind::Delete, part("key")?, empty),
            0xe | 0xf => (WriteKind::DeleteRange, part("first key")?, part("key after the range")?),
            // Data for replication, and the names of transactions: no writes.
            0x3 | 0xa | 0xb | 0xc => {
                part("name")?;
                continue;
            }
            0x9 | 0xd | 0x12 | 0x13 => continue,
            0x15 => {
                part("timestamp")?;
                part("name")?;
                continue;
            }
            got => {
                let (field, allowed) = ("tag of a write", "one of LevelDB's or RocksDB's");
                return Err(Problem::Value { field, at: At::from(at), got: got.into(), allowed });
            }
        };
        each(LogWrite { family, sequence, kind, key, end });
        sequence = sequence.wrapping_add(1);
        seen += 1;
    }
    if seen != count.into() {
        let (field, allowed) = ("number of writes", "that of the writes that follow");
        return Err(Problem::Value { field, at: At::from(at + 8), got: count.into(), allowed });
    }
    Ok(seen)
}

fn with_len<'a>(cursor: &mut Cursor<'a>, field: &'static str) -> Result<&'a [u8], Problem> {
    let len = cursor.varint32(field)?;
    Ok(cursor.slice(field, len.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_varint;
    use crate::manifest::write_records;

    /// A batch of writes: tag, family, key, and what follows it.
    fn batch_of(sequence: u64, writes: &[(u8, Option<u64>, &str, Option<&str>)]) -> Vec<u8> {
        let mut out = sequence.to_le_bytes().to_vec();
        out.extend_from_slice(&(writes.len() as u32).to_le_bytes());
        for (tag, family, key, more) in writes {
            out.push(*tag);
            family.iter().for_each(|family| put_varint(&mut out, *family));
            for text in [Some(*key), *more].into_iter().flatten() {
                put_varint(&mut out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
        }
        out
    }

    fn all(log: &[u8]) -> (Vec<(u32, u64, WriteKind, String)>, LogEnd) {
        let mut found = Vec::new();
        let end = read_log(log, 7, |write| {
            let key = String::from_utf8_lossy(write.key).into_owned();
            found.push((write.family, write.sequence, write.kind, key));
        });
        (found, end)
    }

    fn batches() -> Vec<Vec<u8>> {
        let large = "v".repeat(50_000);
        vec![
            batch_of(5, &[(1, None, "a", Some("1")), (0, None, "b", None), (2, None, "c", Some("+"))]),
            batch_of(
                8,
                &[(5, Some(3), "d", Some(&large)), (0xe, Some(3), "e", Some("g")), (8, Some(300), "h", None)],
            ),
            batch_of(11, &[(7, None, "i", None), (0xf, None, "j", Some("k"))]),
        ]
    }

    #[test]
    fn writes_come_with_their_family_and_sequence() {
        let (found, end) = all(&write_records(&batches()));
        use WriteKind::{Delete, DeleteRange, Merge, Put};
        let expected = [
            (0, 5, Put, "a"),
            (0, 6, Delete, "b"),
            (0, 7, Merge, "c"),
            (3, 8, Put, "d"),
            (3, 9, DeleteRange, "e"),
            (300, 10, Delete, "h"),
            (0, 11, Delete, "i"),
            (0, 12, DeleteRange, "j"),
        ];
        assert_eq!(
            found,
            expected.map(|(family, sequence, kind, key)| (family, sequence, kind, key.to_owned()))
        );
        assert_eq!((end.batches, end.writes, end.unread.is_none()), (3, 8, true));
    }

    #[test]
    fn a_log_cut_anywhere_gives_whole_batches_and_says_what_is_left() {
        let log = write_records(&batches());
        let whole = all(&log).0;
        for cut in (0..log.len()).step_by(501).chain(0..100).chain(log.len() - 60..log.len()) {
            let (found, end) = all(&log[..cut]);
            assert_eq!(found, whole[..found.len()], "{cut}");
            assert!([0, 3, 6, 8].contains(&found.len()), "{cut}: {}", found.len());
            let at = end.unread.map_or(cut as u64, |(at, _)| at);
            assert!(at <= cut as u64, "{cut}: {at}");
            assert!(found.len() == whole.len() || cut as u64 == at || at < cut as u64);
        }
        let mut reserved = log.clone();
        reserved.resize(200_000, 0);
        let (found, end) = all(&reserved);
        assert!(found == whole && end.unread.is_none());
    }

    #[test]
    fn damage_is_no_panic_and_gives_no_write_of_a_damaged_batch() {
        let log = write_records(&batches());
        let whole = all(&log).0;
        for at in (0..log.len()).step_by(37).chain(0..200) {
            let mut changed = log.clone();
            changed[at] ^= 0x55;
            let (found, end) = all(&changed);
            assert_eq!(found, whole[..found.len()], "byte {at}");
            assert!(end.unread.is_some(), "byte {at}");
        }
        // A batch that is whole by its checksum, and none by its contents.
        for bad in [&batch_of(1, &[(0x77, None, "a", None)])[..], b"short", &[0; 12][..11]] {
            assert_eq!(all(&write_records(&[bad.to_vec()])).1.writes, 0);
        }
        let mut count = batches()[0].clone();
        count[8] = 9;
        assert!(all(&write_records(&[count])).1.unread.is_some());
    }

    #[test]
    fn a_log_written_over_an_old_one_ends_where_the_old_one_goes_on() {
        let recycled = |number: u32, batch: &[u8]| {
            let mut checked = vec![5];
            checked.extend_from_slice(&number.to_le_bytes());
            checked.extend_from_slice(batch);
            let mut out = crate::checksum::mask(crc32c::crc32c(&checked)).to_le_bytes().to_vec();
            out.extend_from_slice(&(batch.len() as u16).to_le_bytes());
            [out, checked].concat()
        };
        let [first, _, last] = &batches()[..] else { panic!("three batches") };
        let log = [recycled(7, first), recycled(6, last)].concat();
        let (found, end) = all(&log);
        assert!(found.len() == 3 && end.unread.is_none());
        let own = [recycled(7, first), recycled(7, last)].concat();
        assert_eq!(all(&own).0.len(), 5);
    }
}
