//! A Parquet file that is read asynchronously, by ranges of bytes.

use crate::error::Error;
use crate::footer::{self, Chunk, Footer, Step};
use crate::prune::{Answer, Pruned, Query, Value};
use std::io;
use std::ops::Range;

/// Asynchronous reads of byte ranges: a client of an object store, for one object.
///
/// An implementation can write `async fn`. The futures are `Send`, so that a runtime of several threads can
/// run them.
pub trait ReadRanges: Sync {
    /// The length of the file.
    fn byte_len(&self) -> impl Future<Output = io::Result<u64>> + Send;

    /// The bytes of this range, which is inside the file and not empty.
    fn read(&self, range: Range<u64>) -> impl Future<Output = io::Result<Vec<u8>>> + Send;
}

impl<R: ReadRanges> ReadRanges for &R {
    fn byte_len(&self) -> impl Future<Output = io::Result<u64>> + Send {
        (**self).byte_len()
    }

    fn read(&self, range: Range<u64>) -> impl Future<Output = io::Result<Vec<u8>>> + Send {
        (**self).read(range)
    }
}

/// An open Parquet file behind [`ReadRanges`]; [`File`](crate::File) is the synchronous form.
///
/// Opening it takes one read of the last 64 KiB, and a second one if the footer is longer. Each filter takes one
/// read if the footer records its length, and two if it does not or if the filter is larger than 16 MiB.
pub struct AsyncFile<R> {
    source: R,
    footer: Footer,
}

impl<R: ReadRanges> AsyncFile<R> {
    /// Opens a file: reads its footer.
    pub async fn open(source: R) -> Result<AsyncFile<R>, Error> {
        let len = source.byte_len().await?;
        let footer = finish(&source, Footer::open(len)).await?;
        Ok(AsyncFile { source, footer })
    }

    /// All column chunks, row group by row group.
    pub fn chunks(&self) -> &[Chunk] {
        &self.footer.chunks
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.footer.row_groups()
    }

    /// The bytes of a chunk's filter; see [`File::filter_bytes`](crate::File::filter_bytes).
    pub async fn filter_bytes(&self, chunk: &Chunk) -> Result<Option<Vec<u8>>, Error> {
        finish(&self.source, self.footer.filter(chunk)?).await
    }

    /// The row groups that may contain at least one of these values; see [`File::prune`](crate::File::prune).
    ///
    /// Reads one filter after another. To have several reads under way, call
    /// [`may_contain`](AsyncFile::may_contain) for several row groups at once.
    pub async fn prune(&self, column: &str, values: &[Value<'_>]) -> Result<Pruned, Error> {
        let query = self.query(column, values)?;
        let mut answers = Vec::new();
        for row_group in 0..self.row_groups() {
            answers.push(self.may_contain(&query, row_group).await);
        }
        Ok(Pruned::new(answers))
    }

    /// Hashes values for lookups in the filters of a column; see [`File::query`](crate::File::query).
    pub fn query(&self, column: &str, values: &[Value<'_>]) -> Result<Query, Error> {
        Query::new(&self.footer, column, values)
    }

    /// Whether a row group may contain at least one value of the query. Reads the row group's filter, unless
    /// the answer does not depend on it.
    pub async fn may_contain(&self, query: &Query, row_group: usize) -> Answer {
        match query.chunk(&self.footer, row_group) {
            Ok(chunk) => query.answer(chunk, self.filter_bytes(chunk).await),
            Err(answer) => answer,
        }
    }
}

/// Reads what an operation needs until it is done.
async fn finish<T>(source: &impl ReadRanges, mut step: Step<'_, T>) -> Result<T, Error> {
    loop {
        match step {
            Step::Done(done) => return Ok(done),
            Step::Read(range, then) if range.is_empty() => step = then(Vec::new())?,
            Step::Read(range, then) => {
                let bytes = source.read(range.clone()).await;
                step = then(footer::whole(bytes, &range)?)?;
            }
        }
    }
}
