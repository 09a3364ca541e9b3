//! A Parquet file that is read synchronously.

use crate::error::Error;
use crate::footer::{self, Chunk, Footer, Step};
use crate::pages;
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

    /// The bytes of a chunk's filter, header and blocks; `None` if it has none.
    ///
    /// The filter must lie between the magic and the footer, have the length that the footer records, and
    /// share no byte with the beginning of another filter.
    pub fn filter_bytes(&self, chunk: &Chunk) -> Result<Option<Vec<u8>>, Error> {
        finish(&self.source, self.footer.filter(chunk)?)
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
