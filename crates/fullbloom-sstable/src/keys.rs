//! The partition keys of an sstable of any format: the keys its filter must contain.

use crate::ComponentError;
use crate::bti::{KeyPlace, PartitionIndex, key_in_rows};
use crate::chunks::Data;
use crate::compression::{self, CompressionInfo, InfoError};
use crate::index::{Entries, Layout};
use crate::sstable::{COMPRESSION_INFO, DATA, INDEX, PARTITIONS, ROWS, Sstable};
use crate::version::{KeySource, Version};
use fullbloom::{DecodeError, FileError};
use fullbloom_any::SharedBytes;
use fullbloom_dialects::hash::murmur3_cassandra;
use std::ops::ControlFlow;

/// How many keys are passed on at once, so that filters can be queried in batches.
const BATCH: usize = 64;

/// How many bytes of keys are collected at once, where they must be copied.
const BATCH_BYTES: usize = 1 << 20;

/// The opened components that hold the keys. Files are mapped: memory does not grow with them.
#[derive(Debug)]
pub struct Keys<'s> {
    sstable: &'s Sstable,
    files: Files,
}

#[derive(Debug)]
enum Files {
    Index { index: SharedBytes, layout: Layout },
    Bti(Box<Bti>),
}

#[derive(Debug)]
struct Bti {
    partitions: SharedBytes,
    rows: Option<SharedBytes>,
    data: Option<SharedBytes>,
    compression: Option<SharedBytes>,
    compression_layout: compression::Layout,
}

/// What a scan found besides the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Scan {
    /// The number of keys that were read.
    pub keys: u64,
    /// Entries of `Index.db` whose partition does not come after that of the entry before. Sstables are
    /// written front to back, so such an index is not as Cassandra wrote it.
    pub out_of_order: u64,
}

/// The first and the last key of an sstable, in the order of its partitioner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ends {
    pub(crate) first: Option<Vec<u8>>,
    pub(crate) last: Option<Vec<u8>>,
}

impl Ends {
    /// The next batch of keys.
    pub(crate) fn extend(&mut self, batch: &[&[u8]]) {
        if self.first.is_none() {
            self.first = batch.first().map(|key| key.to_vec());
        }
        if let Some(last) = batch.last() {
            let kept = self.last.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(last);
        }
    }
}

impl<'s> Keys<'s> {
    /// Opens what is needed: `Index.db`, or `Partitions.db` with `Rows.db`, `Data.db` and
    /// `CompressionInfo.db`.
    pub fn open(sstable: &'s Sstable) -> Result<Keys<'s>, ComponentError> {
        let files = match Version::of(sstable.format, &sstable.version).keys {
            KeySource::Unreadable(what) => {
                return Err(ComponentError::Version { version: sstable.version.clone(), what });
            }
            KeySource::Index(layout) => Files::Index { index: sstable.open(INDEX)?, layout },
            KeySource::Trie(compression_layout) => {
                let optional = |component| match sstable.open(component) {
                    Ok(map) => Ok(Some(map)),
                    // Listed but missing differs from never written: compressed data cannot be detected by
                    // their bytes.
                    Err(ComponentError::Missing { .. }) if sstable.lists(component) != Some(true) => Ok(None),
                    Err(e) => Err(e),
                };
                let compression = optional(COMPRESSION_INFO)?;
                // DataStax Enterprise encrypts the tries too, from `ba` on: they would look damaged.
                if compression.as_ref().is_some_and(|map| compression::is_encrypted(map.as_ref())) {
                    return Err(ComponentError::Encrypted { component: DATA });
                }
                Files::Bti(Box::new(Bti {
                    partitions: sstable.open(PARTITIONS)?,
                    rows: optional(ROWS)?,
                    data: optional(DATA)?,
                    compression,
                    compression_layout,
                }))
            }
        };
        Ok(Keys { sstable, files })
    }

    /// The number of keys without reading them, where a component says it.
    pub fn recorded_len(&self) -> Result<Option<u64>, ComponentError> {
        match &self.files {
            Files::Index { .. } => Ok(None),
            Files::Bti(bti) => {
                let index = PartitionIndex::decode(bti.partitions.as_ref());
                Ok(Some(index.map_err(|e| self.damaged(PARTITIONS, e))?.keys))
            }
        }
    }

    /// The first and the last key without reading the others, where a component says them.
    pub(crate) fn recorded_ends(&self) -> Option<Ends> {
        match &self.files {
            Files::Index { .. } => None,
            Files::Bti(bti) => {
                let index =
                    PartitionIndex::decode(bti.partitions.as_ref()).ok().filter(|index| index.keys > 0)?;
                Some(Ends { first: Some(index.smallest.to_vec()), last: Some(index.largest.to_vec()) })
            }
        }
    }

    /// Calls `visit` with all keys in order, in batches, until there are no more or it breaks off.
    ///
    /// An error is returned after the keys before it have been passed on.
    pub fn visit(&self, mut visit: impl FnMut(&[&[u8]]) -> ControlFlow<()>) -> Result<Scan, ComponentError> {
        match &self.files {
            Files::Index { index, layout } => {
                visit_index(index.as_ref(), *layout, &mut visit).map_err(|e| self.damaged(INDEX, e))
            }
            Files::Bti(bti) => self.visit_bti(bti, &mut visit),
        }
    }

    fn damaged(&self, component: &str, e: DecodeError) -> ComponentError {
        FileError::decode(&self.sstable.path(component), e).into()
    }

    fn visit_bti(
        &self,
        bti: &Bti,
        visit: &mut dyn FnMut(&[&[u8]]) -> ControlFlow<()>,
    ) -> Result<Scan, ComponentError> {
        let index =
            PartitionIndex::decode(bti.partitions.as_ref()).map_err(|e| self.damaged(PARTITIONS, e))?;
        let info = match &bti.compression {
            Some(map) => {
                Some(CompressionInfo::decode(map.as_ref(), bti.compression_layout).map_err(|e| match e {
                    InfoError::Decode(e) => self.damaged(COMPRESSION_INFO, e),
                    InfoError::Compressor(name) => ComponentError::Compressor { name },
                    InfoError::Encrypted => ComponentError::Encrypted { component: DATA },
                })?)
            }
            None => None,
        };
        let data = bti.data.as_ref().map(|map| Data::new(map.as_ref(), info));
        let (mut gathered, mut scan) = (Gathered::default(), Scan::default());
        let end = self.read_bti(&index, bti.rows.as_ref(), data, |key| {
            scan.keys += 1;
            gathered.push(key, visit)
        });
        let last_is_largest = gathered.last() == Some(index.largest);
        // Keys read before an error are passed on before the error is returned.
        let enough = matches!(end, Ok(ControlFlow::Break(()))) || gathered.flush(visit).is_break();
        if enough || end?.is_break() {
            return Ok(scan);
        }
        let at = bti.partitions.as_ref().len() as u64;
        if scan.keys != index.keys {
            let (field, got, expected) = ("keys", index.keys, scan.keys);
            return Err(self.damaged(PARTITIONS, DecodeError::Mismatch { field, at: at - 16, got, expected }));
        }
        if index.keys > 0 && !last_is_largest {
            return Err(self.damaged(PARTITIONS, DecodeError::Magic { field: "largest key", at: at - 24 }));
        }
        Ok(scan)
    }

    /// Calls `give` with the keys in the order of the trie.
    fn read_bti(
        &self,
        index: &PartitionIndex<'_>,
        rows: Option<&SharedBytes>,
        mut data: Option<Data<'_>>,
        mut give: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ComponentError> {
        let mut before = None;
        for (number, partition) in index.partitions().enumerate() {
            let partition = partition.map_err(|e| self.damaged(PARTITIONS, e))?;
            let (key, position) = match partition.key {
                KeyPlace::Rows(position) => {
                    let rows = rows.ok_or(ComponentError::Missing { component: ROWS })?;
                    key_in_rows(rows.as_ref(), position).map_err(|e| self.damaged(ROWS, e))?
                }
                KeyPlace::Data(position) => {
                    let data = data.as_mut().ok_or(ComponentError::Missing { component: DATA })?;
                    (data.key_at(position).map_err(|e| self.damaged(DATA, e))?, position)
                }
            };
            // Otherwise a pointer to the same partition twice would hide another one.
            if before.is_some_and(|before| position <= before) {
                let (field, at, got) = ("position of the partition", partition.at, position.into());
                let allowed = "after the partition before it";
                return Err(self.damaged(PARTITIONS, DecodeError::Value { field, at, got, allowed }));
            }
            before = Some(position);
            if number == 0 && key != index.smallest {
                let field = "smallest key, or the key that its node points to";
                return Err(self.damaged(PARTITIONS, DecodeError::Magic { field, at: partition.at }));
            }
            let expected = murmur3_cassandra(key)[1] as u8;
            if let Some(got) = partition.hash.filter(|got| *got != expected) {
                let (field, at) = ("byte of the hash of the key that the node points to", partition.at);
                let (got, expected) = (got.into(), expected.into());
                return Err(self.damaged(PARTITIONS, DecodeError::Mismatch { field, at, got, expected }));
            }
            if give(key).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn visit_index(
    index_db: &[u8],
    layout: Layout,
    visit: &mut dyn FnMut(&[&[u8]]) -> ControlFlow<()>,
) -> Result<Scan, DecodeError> {
    let mut scan = Scan::default();
    let mut entries = Entries::new(index_db, layout);
    let mut before = None;
    loop {
        let mut batch = [&[][..]; BATCH];
        let mut len = 0;
        let mut failed = None;
        for entry in entries.by_ref().take(BATCH) {
            match entry {
                Ok(entry) => {
                    scan.out_of_order += u64::from(before.is_some_and(|before| entry.position <= before));
                    before = Some(entry.position);
                    batch[len] = entry.key;
                    len += 1;
                }
                Err(e) => failed = Some(e),
            }
        }
        scan.keys += len as u64;
        let done = len > 0 && visit(&batch[..len]).is_break();
        match failed {
            _ if done => return Ok(scan),
            Some(e) => return Err(e),
            None if len < BATCH => return Ok(scan),
            None => {}
        }
    }
}

/// Keys from a buffer that will be reused, copied until there are enough of them.
#[derive(Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Gathered {
    fn push(&mut self, key: &[u8], visit: &mut dyn FnMut(&[&[u8]]) -> ControlFlow<()>) -> ControlFlow<()> {
        // Handed out when the next key arrives, so that the last one is still available.
        if self.ends.len() == BATCH || self.bytes.len() >= BATCH_BYTES {
            self.flush(visit)?;
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        ControlFlow::Continue(())
    }

    fn last(&self) -> Option<&[u8]> {
        let (end, before) = self.ends.split_last()?;
        Some(&self.bytes[before.last().copied().unwrap_or(0)..*end])
    }

    fn flush(&mut self, visit: &mut dyn FnMut(&[&[u8]]) -> ControlFlow<()>) -> ControlFlow<()> {
        if self.ends.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut batch = [&[][..]; BATCH];
        let mut start = 0;
        for (slot, &end) in batch.iter_mut().zip(&self.ends) {
            *slot = &self.bytes[start..end];
            start = end;
        }
        let flow = visit(&batch[..self.ends.len()]);
        self.bytes.clear();
        self.ends.clear();
        flow
    }
}
