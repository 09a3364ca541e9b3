//! The footer, and where it says that filters are. Nothing here reads: each operation says which bytes it
//! needs next, so that files on disk and in object storage are read by the same code.

use crate::error::{Error, guarded};
use crate::file::MAGIC;
use crate::pages;
use crate::types::{Column, PhysicalType};
use fullbloom::DecodeError;
use fullbloom_dialects::parquet::header;
use parquet::basic::{Encoding, EncodingMask};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;
use std::io;
use std::ops::Range;

/// Longer than any header of a filter.
const HEADER: u64 = 64;

/// A filter of at most this many bytes by the footer is read at once. The header of a larger one is read
/// first, so that a footer that lies about the length costs no more memory than this.
const AT_ONCE: u64 = 16 << 20;

/// The end of a file: the length of the footer, and the magic.
const TAIL: usize = 8;

/// Bytes read from the end of a file at first. Most footers are shorter, so one request fetches them.
const LAST: u64 = 64 << 10;

/// An operation that needs bytes of the file.
pub(crate) enum Step<'a, T> {
    /// It goes on with the bytes of this range.
    Read(Range<u64>, Then<'a, T>),
    /// It needs no more bytes.
    Done(T),
}

type Then<'a, T> = Box<dyn FnOnce(Vec<u8>) -> Result<Step<'a, T>, Error> + Send + 'a>;

/// The bytes that a source returned for a range, if they are as many as the range has.
pub(crate) fn whole(bytes: io::Result<Vec<u8>>, range: &Range<u64>) -> Result<Vec<u8>, Error> {
    let bytes = bytes?;
    match bytes.len() as u64 == range.end - range.start {
        true => Ok(bytes),
        false => Err(Error::Io(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// A column of a row group.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The number of the row group, from 0.
    pub row_group: usize,
    /// The number of the column, from 0.
    pub column: usize,
    /// The column's name, with those of the groups it is in.
    pub name: String,
    /// How its values are stored.
    pub physical_type: PhysicalType,
    /// Values it holds, nulls included.
    pub values: u64,
    /// Nulls among them, if the file records it.
    pub nulls: Option<u64>,
    /// Distinct values, if the file records it.
    pub distinct: Option<u64>,
    /// Bytes of its pages in the file.
    pub bytes: u64,
    /// Bytes of the dictionary, if every value is in it: a reader finds out there what is in the row group.
    pub dictionary: Option<u64>,
    /// How many values there can be from the smallest to the largest, where the file records both: integers
    /// between them, or 1 if they are equal.
    pub range: Option<u64>,
    /// Where its filter begins, and its length if the file records it.
    filter: Option<(i64, Option<i32>)>,
}

impl Chunk {
    /// Whether it has a filter.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }
}

/// What the footer says.
pub(crate) struct Footer {
    pub(crate) metadata: ParquetMetaData,
    pub(crate) columns: Vec<Column>,
    /// All columns of the first row group, then all of the second, and so on.
    pub(crate) chunks: Vec<Chunk>,
    /// Where filters begin, sorted.
    filters: Vec<i64>,
    /// Where the footer begins.
    start: u64,
    file_len: u64,
}

impl Footer {
    /// Reads the footer of a file of this length.
    pub(crate) fn open(file_len: u64) -> Step<'static, Footer> {
        let at = file_len.saturating_sub(LAST);
        Step::Read(
            at..file_len,
            Box::new(move |last| {
                let start = start(&last, file_len)?;
                let Some(skipped) = start.checked_sub(at) else {
                    let rest = move |mut bytes: Vec<u8>| {
                        bytes.extend_from_slice(&last);
                        Footer::parse(&bytes, start, file_len).map(Step::Done)
                    };
                    return Ok(Step::Read(start..at, Box::new(rest)));
                };
                Footer::parse(&last[skipped as usize..], start, file_len).map(Step::Done)
            }),
        )
    }

    /// Parses the end of a file, from the footer on.
    fn parse(bytes: &[u8], start: u64, file_len: u64) -> Result<Footer, Error> {
        let bytes = &bytes[..bytes.len() - TAIL];
        pages::check_footer(bytes)?;
        let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(bytes).map_err(Error::refused))?;
        let schema = metadata.file_metadata().schema_descr();
        let columns: Vec<Column> = schema.columns().iter().map(|column| Column::new(column)).collect();
        let mut chunks = Vec::new();
        for (row_group, group) in metadata.row_groups().iter().enumerate() {
            if group.columns().len() != columns.len() {
                return Err(Error::Malformed { what: "a row group" });
            }
            for (column, chunk) in group.columns().iter().enumerate() {
                let statistics = chunk.statistics();
                chunks.push(Chunk {
                    row_group,
                    column,
                    name: columns[column].name.clone(),
                    physical_type: columns[column].physical_type,
                    values: u64::try_from(chunk.num_values()).unwrap_or(0),
                    nulls: statistics.and_then(|s| s.null_count_opt()),
                    distinct: statistics.and_then(|s| s.distinct_count_opt()),
                    bytes: u64::try_from(chunk.compressed_size()).unwrap_or(0),
                    dictionary: dictionary(chunk),
                    range: statistics.and_then(range),
                    filter: chunk.bloom_filter_offset().map(|at| (at, chunk.bloom_filter_length())),
                });
            }
        }
        let mut filters: Vec<i64> = chunks.iter().filter_map(|chunk| Some(chunk.filter?.0)).collect();
        filters.sort_unstable();
        Ok(Footer { metadata, columns, chunks, filters, start, file_len })
    }

    /// Reads the bytes of a chunk's filter; `None` if it has none.
    ///
    /// The filter must lie between the magic and the footer, have the length that the footer records, and
    /// share no byte with the beginning of another filter.
    pub(crate) fn filter(&self, chunk: &Chunk) -> Result<Step<'_, Option<Vec<u8>>>, Error> {
        let Some((offset, len)) = chunk.filter else { return Ok(Step::Done(None)) };
        let outside = move || Error::Place { offset, len, file_len: self.file_len };
        let inside = |at: &u64| (MAGIC.len() as u64..self.start).contains(at);
        let at = u64::try_from(offset).ok().filter(inside).ok_or_else(outside)?;
        let there = self.start - at;
        let recorded = len.map(|len| u64::try_from(len).ok().filter(|len| *len <= there));
        let recorded = recorded.map(|len| len.ok_or_else(outside)).transpose()?;
        let first = match recorded {
            Some(len) if len <= AT_ONCE => len.max(1),
            _ => there.min(HEADER),
        };
        let next = move |mut bytes: Vec<u8>| {
            // Bytes without a header may be a filter elsewhere, but not in a Parquet file.
            let (header, blocks) = header(&bytes)?;
            let needed = header + blocks; // both far below 2^32
            match recorded {
                Some(len) if len != needed => {
                    let (got, expected) = (blocks, len.saturating_sub(header));
                    return Err(DecodeError::Mismatch { field: "bytes", at: 1, got, expected }.into());
                }
                _ if needed > there => return Err(outside()),
                _ => {}
            }
            let first = self.filters.partition_point(|other| *other < offset);
            if self.filters.get(first + 1).is_some_and(|next| *next as u64 - at < needed) {
                return Err(Error::Malformed { what: "the position of a filter" });
            }
            if needed > bytes.len() as u64 {
                let all = |bytes| Ok(Step::Done(Some(bytes)));
                return Ok(Step::Read(at..at + needed, Box::new(all)));
            }
            bytes.truncate(needed as usize); // no more than there are
            Ok(Step::Done(Some(bytes)))
        };
        Ok(Step::Read(at..at + first, Box::new(next)))
    }

    /// The number of the column of this name.
    pub(crate) fn column(&self, name: &str) -> Result<usize, Error> {
        let mut named = self.columns.iter().enumerate().filter(|(_, column)| column.name == name);
        match (named.next(), named.next()) {
            (Some((number, _)), None) => Ok(number),
            (None, _) => Err(Error::NoColumn { name: name.to_owned() }),
            _ => Err(Error::AmbiguousColumn { name: name.to_owned() }),
        }
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.metadata.num_row_groups()
    }
}

/// The bytes of the dictionary, if all data pages hold numbers of it. Old files do not say whether they do.
fn dictionary(chunk: &ColumnChunkMetaData) -> Option<u64> {
    let is_only = |mask: &EncodingMask| {
        mask.is_only(Encoding::PLAIN_DICTIONARY) || mask.is_only(Encoding::RLE_DICTIONARY)
    };
    chunk.page_encoding_stats_mask().filter(|mask| is_only(mask))?;
    u64::try_from(chunk.data_page_offset().checked_sub(chunk.dictionary_page_offset()?)?).ok()
}

/// See [`Chunk::range`].
fn range(statistics: &Statistics) -> Option<u64> {
    let integers = |min: i64, max: i64| {
        let between = i128::from(max) - i128::from(min);
        u64::try_from(between).ok()?.checked_add(1)
    };
    match statistics {
        Statistics::Int32(values) => integers((*values.min_opt()?).into(), (*values.max_opt()?).into()),
        Statistics::Int64(values) => integers(*values.min_opt()?, *values.max_opt()?),
        other => {
            let is_exact = other.min_is_exact() && other.max_is_exact();
            (is_exact && other.min_bytes_opt()? == other.max_bytes_opt()?).then_some(1)
        }
    }
}

/// Where the footer begins, by the last bytes of a file.
fn start(last: &[u8], file_len: u64) -> Result<u64, Error> {
    let refused = |why: &str| Error::File(why.into());
    let Some((_, tail)) = last.split_last_chunk::<TAIL>() else {
        return Err(refused("it is shorter than the end of a Parquet file"));
    };
    let [len @ .., m0, m1, m2, m3] = *tail;
    match [m0, m1, m2, m3] {
        MAGIC => {}
        [b'P', b'A', b'R', b'E'] => return Err(refused("its footer is encrypted")),
        _ => return Err(refused("it does not end with PAR1")),
    }
    let len = u64::from(u32::from_le_bytes(len)) + TAIL as u64;
    file_len.checked_sub(len).ok_or_else(|| refused("its footer is longer than the file"))
}
