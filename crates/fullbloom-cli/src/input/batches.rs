//! Blocks of records cut into batches of keys, without a copy or an allocation for each key.

use super::KeyFormat;
use super::ends::Ends;
use super::source::{Header, Label};
use crate::error::Failure;
use crate::text;
use fullbloom_core::typed::KeyField;
use std::ops::ControlFlow;

/// Keys looked up or inserted at once: enough to overlap memory accesses, few enough to stay in L1.
pub const BATCH: usize = 1024;

/// Some keys, in order.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The keys.
    pub keys: &'a [&'a [u8]],
    /// The records they came in, without their ends; the same as the keys unless those are written in hex or
    /// as values, or are part of the record.
    pub records: &'a [&'a [u8]],
    /// Bytes of records without a key before each record; empty if every record has a key.
    pub gaps: &'a [u32],
}

/// Cuts the blocks of one source.
#[derive(Debug)]
pub struct Splitter {
    format: KeyFormat,
    /// Records before the present batch, to name a line.
    before: u64,
    /// Bytes of the present batch's keys, where records are not the keys themselves.
    decoded: Vec<u8>,
    /// Where each of those keys ends.
    ends: Vec<usize>,
    /// If records are skipped: the bytes skipped before each record of the batch, and its number.
    gaps: Vec<u32>,
    numbers: Vec<u64>,
}

/// What ends a block early.
#[derive(Debug)]
pub enum SplitError {
    /// A record is not a valid key.
    Record {
        /// Its number, from 1.
        record: u64,
        /// What is wrong with it.
        why: String,
        /// It is a line that ends with a carriage return.
        carriage_return: bool,
    },
    /// The receiver of the keys failed.
    Receiver(Failure),
}

impl Splitter {
    /// For the records of one source.
    pub fn new(format: KeyFormat) -> Splitter {
        Splitter {
            format,
            before: 0,
            decoded: Vec::new(),
            ends: Vec::new(),
            gaps: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// From now on, keys are this field of the records.
    pub fn set_field(&mut self, field: KeyField) {
        self.format.part.field = Some(field);
    }

    /// Records handed out since the beginning, or since the last call.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.before)
    }

    /// Hands out the records of a block.
    pub fn split(
        &mut self,
        block: &[u8],
        each: &mut impl FnMut(&Batch<'_>) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<ControlFlow<()>, SplitError> {
        if self.format.part.skip_comments {
            return self.split_skipping(block, each);
        }
        let mut records: Vec<&[u8]> = Vec::with_capacity(BATCH);
        let mut start = 0;
        for end in Ends::new(block, self.format.end) {
            records.push(&block[start..end]);
            start = end + 1;
            if records.len() == BATCH {
                if self.hand_out(&records, each)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                records.clear();
            }
        }
        if start < block.len() {
            records.push(&block[start..]);
        }
        if records.is_empty() { Ok(ControlFlow::Continue(())) } else { self.hand_out(&records, each) }
    }

    /// As [`split`](Splitter::split), without the records that have no key.
    fn split_skipping(
        &mut self,
        block: &[u8],
        each: &mut impl FnMut(&Batch<'_>) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<ControlFlow<()>, SplitError> {
        let mut records: Vec<&[u8]> = Vec::with_capacity(BATCH);
        let (mut start, mut gap, mut line) = (0, 0, self.before);
        let unended = (!block.is_empty() && block.last() != Some(&self.format.end)).then_some(block.len());
        for end in Ends::new(block, self.format.end).chain(unended) {
            let record = &block[start..end];
            start = end + 1;
            line += 1;
            if self.format.part.skips(record) {
                gap += record.len() as u32 + 1; // a block is shorter than 1 GiB
                continue;
            }
            records.push(record);
            self.gaps.push(std::mem::take(&mut gap));
            self.numbers.push(line);
            if records.len() == BATCH {
                let flow = self.hand_out(&records, each);
                self.before = line;
                if flow?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                records.clear();
            }
        }
        let flow = match records.is_empty() {
            true => Ok(ControlFlow::Continue(())),
            false => self.hand_out(&records, each),
        };
        self.before = line;
        flow
    }

    fn hand_out(
        &mut self,
        records: &[&[u8]],
        each: &mut impl FnMut(&Batch<'_>) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<ControlFlow<()>, SplitError> {
        let written = self.format.hex
            || self.format.typed.is_some()
            || self.format.part.is_derived()
            || !self.format.form.is_plain();
        let (records, refused) = if written { self.decode(records) } else { (records, None) };
        let flow = if written {
            let mut start = 0;
            let mut keys: Vec<&[u8]> = Vec::with_capacity(BATCH);
            for &end in &self.ends {
                keys.push(&self.decoded[start..end]);
                start = end;
            }
            each(&Batch { keys: &keys, records, gaps: &self.gaps })
        } else {
            each(&Batch { keys: records, records, gaps: &self.gaps })
        };
        self.gaps.clear();
        self.numbers.clear();
        self.before += records.len() as u64;
        match (flow.map_err(SplitError::Receiver)?, refused) {
            (ControlFlow::Continue(()), Some(refused)) => Err(refused),
            (flow, _) => Ok(flow),
        }
    }

    /// Decodes until a record is not a valid key. Returns the keys before it, which are still handed out, and
    /// the error.
    fn decode<'r, 'k>(&mut self, records: &'r [&'k [u8]]) -> (&'r [&'k [u8]], Option<SplitError>) {
        self.decoded.clear();
        self.ends.clear();
        for (i, record) in records.iter().enumerate() {
            let form = self.format.form;
            let decoded = self.format.part.of(record).and_then(|part| match &self.format.typed {
                Some((spec, dialect)) => spec.encode(&form.apply(&part), *dialect, &mut self.decoded),
                None if self.format.hex => {
                    let start = self.decoded.len();
                    text::decode_hex(&part, &mut self.decoded)?;
                    if !form.is_plain() {
                        let formed = form.apply(&self.decoded[start..]).into_owned();
                        self.decoded.truncate(start);
                        self.decoded.extend(formed);
                    }
                    Ok(())
                }
                None => {
                    self.decoded.extend_from_slice(&form.apply(&part));
                    Ok(())
                }
            });
            if let Err(why) = decoded {
                let number = self.numbers.get(i).copied().unwrap_or(self.before + i as u64 + 1);
                let carriage_return = record.ends_with(b"\r");
                return (&records[..i], Some(SplitError::Record { record: number, why, carriage_return }));
            }
            self.ends.push(self.decoded.len());
        }
        (records, None)
    }
}

impl SplitError {
    /// The error of a block, given the number of records before it in the source.
    pub fn after(self, records: u64) -> SplitError {
        match self {
            SplitError::Record { record, why, carriage_return } => {
                SplitError::Record { record: record + records, why, carriage_return }
            }
            receiver @ SplitError::Receiver(_) => receiver,
        }
    }

    /// The failure, with the name of the source and the line, of which the header line is one.
    pub fn in_source(self, name: &Label, header: Option<Header>) -> Failure {
        match self {
            SplitError::Record { record, why, carriage_return } => {
                let line = record + header.map_or(0, |header| header.lines);
                let failure = Failure::new(name, format_args!("line {line}, {why}"));
                if carriage_return { failure.hint("--crlf leaves carriage returns out") } else { failure }
            }
            SplitError::Receiver(failure) => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(block: &[u8], format: KeyFormat) -> Result<Vec<Vec<u8>>, SplitError> {
        let mut keys = Vec::new();
        let _ = Splitter::new(format).split(block, &mut |batch| {
            assert_eq!(batch.keys.len(), batch.records.len());
            assert!(batch.keys.len() <= BATCH);
            keys.extend(batch.keys.iter().map(|key| key.to_vec()));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }

    use crate::input::KeyPart;
    use fullbloom_core::typed::KeyType;
    use fullbloom_dialects::Name;
    use fullbloom_ops::KeySpec;

    const LINES: KeyFormat = KeyFormat::LINES;
    const HEX: KeyFormat = KeyFormat { hex: true, ..LINES };

    #[test]
    fn every_record_is_a_key_at_every_batch_border() {
        for lines in [0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH] {
            let text: String = (0..lines).map(|i| format!("{i}\n")).collect();
            let expected: Vec<Vec<u8>> = (0..lines).map(|i| i.to_string().into_bytes()).collect();
            assert_eq!(split(text.as_bytes(), LINES).unwrap(), expected);
            let unended = text.strip_suffix('\n').unwrap_or("");
            assert_eq!(split(unended.as_bytes(), LINES).unwrap(), expected);
        }
    }

    #[test]
    fn empty_lines_are_empty_keys_and_carriage_returns_stay() {
        assert_eq!(split(b"\n\na\r\n", LINES).unwrap(), [&b""[..], b"", b"a\r"]);
        let zeros = KeyFormat { end: 0, ..LINES };
        assert_eq!(split(b"a\nb\0\0c", zeros).unwrap(), [&b"a\nb"[..], b"", b"c"]);
    }

    #[test]
    fn hex_keys_of_different_lengths_stay_apart() {
        assert_eq!(split(b"00ff\n\n0a\n", HEX).unwrap(), [&[0, 255][..], &[], &[10]]);
    }

    #[test]
    fn a_bad_line_past_the_first_batch_is_named_by_its_number() {
        let text = "00\n".repeat(BATCH + 4) + "0x\n00\n";
        let mut seen = 0;
        let refused = Splitter::new(HEX).split(text.as_bytes(), &mut |batch| {
            seen += batch.keys.len();
            Ok(ControlFlow::Continue(()))
        });
        let Err(SplitError::Record { record, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(record, BATCH as u64 + 5);
        assert_eq!(seen, BATCH + 4, "the keys before it are handed out");
    }

    #[test]
    fn values_become_the_bytes_their_dialect_makes_of_them() {
        let typed =
            |key_type, dialect| KeyFormat { typed: Some((KeySpec::Value(key_type), dialect)), ..LINES };
        let ints = split(b"1\n-1\n", typed(KeyType::Int, Name::Spark)).unwrap();
        assert_eq!(ints, [[1, 0, 0, 0, 0, 0, 0, 0], [0xff; 8]]);
        assert_eq!(split(b"258", typed(KeyType::Int, Name::Cassandra)).unwrap(), [[0, 0, 1, 2]]);
        assert_eq!(split("é\n".as_bytes(), typed(KeyType::Utf16, Name::Guava)).unwrap(), [[0xe9, 0]]);
        let refused = split(b"1\n2\n0x3\n", typed(KeyType::Long, Name::Parquet));
        let Err(SplitError::Record { record: 3, why, .. }) = refused else { panic!("{refused:?}") };
        assert!(why.contains("not a number of type long"), "{why}");
    }

    #[test]
    fn skipped_lines_leave_gaps_and_count_as_lines() {
        let field = KeyField::new(2, b' ', false);
        let part = KeyPart { skip_comments: true, field, ..KeyPart::default() };
        let format = KeyFormat { part, ..LINES };
        let text = "# a comment\n".to_owned() + &"x key\n\n".repeat(BATCH) + "x last\n# end\nshort\n";
        let (mut keys, mut gaps) = (Vec::new(), Vec::new());
        let refused = Splitter::new(format.clone()).split(text.as_bytes(), &mut |batch| {
            keys.extend(batch.keys.iter().map(|key| key.to_vec()));
            gaps.extend_from_slice(batch.gaps);
            Ok(ControlFlow::Continue(()))
        });
        let Err(SplitError::Record { record, why, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(record, 2 * BATCH as u64 + 4, "{why}");
        assert_eq!((keys.len(), &keys[0][..], &keys[BATCH][..]), (BATCH + 1, &b"key"[..], &b"last"[..]));
        assert_eq!((gaps[0], gaps[1], gaps[BATCH]), (12, 1, 1));
        assert_eq!(crate::input::count_keys(text.as_bytes(), &format), BATCH as u64 + 2);
    }

    #[test]
    fn breaking_off_stops_at_once() {
        let mut calls = 0;
        let text = "a\n".repeat(5 * BATCH);
        let flow = Splitter::new(LINES).split(text.as_bytes(), &mut |_| {
            calls += 1;
            Ok(ControlFlow::Break(()))
        });
        assert_eq!(flow.unwrap(), ControlFlow::Break(()));
        assert_eq!(calls, 1);
    }
}
