//! An object store that counts what is read of the sorted tables.

use bytes::Bytes;
use futures::stream::BoxStream;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Passes everything on to another store.
#[derive(Debug)]
pub(crate) struct Counting<T> {
    inner: T,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl<T> Counting<T> {
    pub(crate) fn new(inner: T) -> Self {
        Counting { inner, requests: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Requests and bytes since the last call.
    pub(crate) fn taken(&self) -> (u64, u64) {
        (self.requests.swap(0, Ordering::Relaxed), self.bytes.swap(0, Ordering::Relaxed))
    }

    fn count(&self, location: &Path, bytes: u64) {
        if location.as_ref().contains("/compacted/") {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl<T: fmt::Display> fmt::Display for Counting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait::async_trait]
impl<T: ObjectStore> ObjectStore for Counting<T> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        let result = self.inner.get_opts(location, options).await?;
        if !head {
            self.count(location, result.range.end - result.range.start);
        }
        Ok(result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            self.count(location, range.end - range.start);
        }
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
