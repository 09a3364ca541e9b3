//! A Parquet file that is read synchronously.

use crate::error::Error;
use crate::footer::{self, Chunk, Footer, Step};
use crate::pages;
use crate::prune::{Answer, Pruned, Query, Value};
use crate::source::{OnDisk, Shared, Source};
use parquet::file::properties::ReaderProperties;
use parquet::file::serialized_reader::SerializedRowGroupReader;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// An open Parquet file.
pub struct File {
    source: Shared,
    len: u64,
    footer: Footer,
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
        let footer = finish(&source, Footer::open(len))?;
        Ok(File { source, len, footer })
    }

    /// All column chunks, row group by row group.
    pub fn chunks(&self) -> &[Chunk] {
        &self.footer.chunks
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.footer.row_groups()
    }

    /// The bytes of a chunk's filter, header and blocks; `None` if it has none.
    ///
    /// The filter must lie between the magic and the footer, have the length that the footer records, and
    /// share no byte with the beginning of another filter.
    pub fn filter_bytes(&self, chunk: &Chunk) -> Result<Option<Vec<u8>>, Error> {
        finish(&self.source, self.footer.filter(chunk)?)
    }

    /// The row groups that may contain at least one of these values in a column, by its filters.
    ///
    /// `column` is the path to a column, with dots between the names of nested groups: `address.city`, or
    /// `tags.list.element`. Values of a type that does not fit the column are an error. A filter that is
    /// missing, damaged or cannot be read is none: its row group is kept, and [`Pruned::answers`] says why.
    pub fn prune(&self, column: &str, values: &[Value<'_>]) -> Result<Pruned, Error> {
        let query = self.query(column, values)?;
        Ok(Pruned::new((0..self.row_groups()).map(|group| self.may_contain(&query, group)).collect()))
    }

    /// Hashes values for lookups in the filters of a column; see [`prune`](File::prune). For readers that
    /// skip row groups by other means first, and have many files of one schema.
    pub fn query(&self, column: &str, values: &[Value<'_>]) -> Result<Query, Error> {
        Query::new(&self.footer, column, values)
    }

    /// Whether a row group may contain at least one value of the query.
    pub fn may_contain(&self, query: &Query, row_group: usize) -> Answer {
        match query.chunk(&self.footer, row_group) {
            Ok(chunk) => query.answer(chunk, self.filter_bytes(chunk)),
            Err(answer) => answer,
        }
    }

    /// The parquet crate's reader of a row group.
    pub(crate) fn row_group(
        &self,
        row_group: usize,
    ) -> parquet::errors::Result<SerializedRowGroupReader<'_, Shared>> {
        let metadata = &self.footer.metadata;
        let properties = Arc::new(ReaderProperties::builder().build());
        let pages = metadata.page_index_for_row_group(row_group);
        SerializedRowGroupReader::new(
            Arc::new(self.source.clone()),
            metadata.row_group(row_group),
            pages,
            properties,
        )
    }

    /// Checks the pages of a chunk before the parquet crate allocates what they announce.
    pub(crate) fn check_pages(&self, chunk: &Chunk) -> Result<(), Error> {
        let group = self.footer.metadata.row_group(chunk.row_group);
        let column = group.column(chunk.column);
        let (at, len) = column.byte_range();
        let is_repeated = column.column_descr().max_rep_level() > 0;
        let records = is_repeated.then(|| u64::try_from(group.num_rows()).unwrap_or(0));
        pages::check(&self.source, at, len.min(self.len.saturating_sub(at)), records)
    }
}

/// Reads what an operation needs until it is done.
fn finish<T>(source: &Shared, mut step: Step<'_, T>) -> Result<T, Error> {
    loop {
        match step {
            Step::Done(done) => return Ok(done),
            Step::Read(range, then) => {
                let bytes = source.read(range.start, range.end - range.start);
                step = then(footer::whole(bytes, &range)?)?;
            }
        }
    }
}
