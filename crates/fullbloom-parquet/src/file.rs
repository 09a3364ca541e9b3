//! A file, its column chunks, and the bytes of their filters.

use crate::error::{Error, guarded};
use crate::pages;
use crate::source::{OnDisk, Shared, Source};
use fullbloom::DecodeError;
use fullbloom::internal::parquet::header;
use parquet::basic::Type;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Longer than any header of a filter.
const HEADER: u64 = 64;

/// An open Parquet file.
pub struct File {
    pub(crate) reader: SerializedFileReader<Shared>,
    source: Shared,
    len: u64,
    /// Where the footer begins.
    footer: u64,
    chunks: Vec<Chunk>,
    /// Where filters begin, sorted.
    filters: Vec<i64>,
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
    /// The type of its values: `INT64`, `BYTE_ARRAY`, …
    pub physical_type: Type,
    /// Values it holds, nulls included.
    pub values: u64,
    /// Nulls among them, if the file records it.
    pub nulls: Option<u64>,
    /// Distinct values, if the file records it.
    pub distinct: Option<u64>,
    /// Where its filter begins, and its length if the file records it.
    filter: Option<(i64, Option<i32>)>,
}

impl Chunk {
    /// Whether it has a filter.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }
}

/// Whether a file begins like a Parquet file; false if it cannot be read.
pub fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let mut read = || fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    is_file && read().is_ok() && magic == MAGIC
}

/// What a Parquet file begins with.
pub const MAGIC: [u8; 4] = *b"PAR1";

impl File {
    /// Opens a file and reads its footer.
    pub fn open(path: &Path) -> Result<File, Error> {
        let file = fs::File::open(path)?;
        let len = file.metadata()?.len();
        File::from_source(OnDisk { file, len })
    }

    /// The same for bytes from anywhere.
    pub fn from_source(source: impl Source) -> Result<File, Error> {
        let (len, source) = (source.byte_len(), Shared(Arc::new(source)));
        let footer = pages::check_footer(&source, len)?;
        let again = source.clone();
        let reader = guarded(move || Ok(SerializedFileReader::new(again)?))?;
        let mut chunks = Vec::new();
        for (row_group, group) in reader.metadata().row_groups().iter().enumerate() {
            for (column, chunk) in group.columns().iter().enumerate() {
                let statistics = chunk.statistics();
                chunks.push(Chunk {
                    row_group,
                    column,
                    name: chunk.column_path().string(),
                    physical_type: chunk.column_type(),
                    values: u64::try_from(chunk.num_values()).unwrap_or(0),
                    nulls: statistics.and_then(|s| s.null_count_opt()),
                    distinct: statistics.and_then(|s| s.distinct_count_opt()),
                    filter: chunk.bloom_filter_offset().map(|at| (at, chunk.bloom_filter_length())),
                });
            }
        }
        let mut filters: Vec<i64> = chunks.iter().filter_map(|chunk| Some(chunk.filter?.0)).collect();
        filters.sort_unstable();
        Ok(File { reader, source, len, footer, chunks, filters })
    }

    /// All column chunks, row group by row group.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The bytes of a chunk's filter, header and blocks; `None` if it has none.
    ///
    /// The filter must lie between the magic and the footer, have the length that the footer records, and
    /// share no byte with the beginning of another filter.
    pub fn filter_bytes(&self, chunk: &Chunk) -> Result<Option<Vec<u8>>, Error> {
        let Some((offset, len)) = chunk.filter else { return Ok(None) };
        let outside = Error::Place { offset, len, file_len: self.len };
        let Some(at) = u64::try_from(offset).ok().filter(|at| (MAGIC.len() as u64..self.footer).contains(at))
        else {
            return Err(outside);
        };
        let there = self.footer - at;
        if len.is_some_and(|len| u64::try_from(len).map_or(true, |len| len > there)) {
            return Err(outside);
        }
        // Bytes without a header may be a filter elsewhere, but not in a Parquet file.
        let (header, blocks) = header(&self.read(at, there.min(HEADER))?)?;
        let needed = header + blocks; // both far below 2^32
        match len.map(|len| len as u64) {
            Some(len) if len != needed => {
                let (got, expected) = (blocks, len.saturating_sub(header));
                return Err(DecodeError::Mismatch { field: "bytes", at: 1, got, expected }.into());
            }
            _ if needed > there => return Err(outside),
            _ => {}
        }
        let first = self.filters.partition_point(|other| *other < offset);
        if self.filters.get(first + 1).is_some_and(|next| *next as u64 - at < needed) {
            return Err(Error::Malformed { what: "the position of a filter" });
        }
        self.read(at, needed).map(Some)
    }

    fn read(&self, at: u64, len: u64) -> Result<Vec<u8>, Error> {
        Ok(self.source.read(at, len)?)
    }

    /// Checks the pages of a chunk before the parquet crate allocates what they announce.
    pub(crate) fn check_pages(&self, chunk: &Chunk) -> Result<(), Error> {
        let group = self.reader.metadata().row_group(chunk.row_group);
        let column = group.column(chunk.column);
        let (at, len) = column.byte_range();
        let is_repeated = column.column_descr().max_rep_level() > 0;
        let records = is_repeated.then(|| u64::try_from(group.num_rows()).unwrap_or(0));
        pages::check(&self.source, at, len.min(self.len.saturating_sub(at)), records)
    }
}
