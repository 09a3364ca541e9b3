//! Writes tables: sorted keys in, a file out that LevelDB or RocksDB opens and uses.
//!
//! ```text
//!   RocksDB   | data blocks | filter, or its partitions and their index | index | range deletions | properties
//!             | metaindex | footer |
//!   LevelDB   | data blocks | filter | metaindex | index | footer |
//! ```
//!
//! Blocks are cut, indexed and filtered by the engines' rules: the same entries and options give the same
//! data, index and filter blocks, byte for byte. Properties that name the writing process are left out.

mod index;
mod options;
mod properties;

pub use options::{Format, IndexLayout, WriterOptions};

use crate::block_builder::BlockBuilder;
use crate::checksum::{Checksum, modifier};
use crate::compression::{Compression, Limits, compress};
use crate::error::{Problem, TableError};
use crate::filter::build::{FilterBlockBuilder, Finished, Layout};
use crate::footer::Footer;
use crate::handle::{Handle, TRAILER_LEN};
use crate::internal_key::{FOOTER_LEN, InternalKey, KeyOrder, ValueType};
use crate::metaindex::FilterLayout;
use index::IndexBuilder;
use properties::Summary;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Write;

/// The longest key and value together: a block that holds them must stay readable.
const LONGEST_ENTRY: u64 = Limits::DEFAULT.block_len - 1024;
const LONGER: &str = "a key and its value must be shorter than 64 MiB, the largest block that is read";

/// Writes one table.
///
/// ```
/// use fullbloom_table::writer::{TableWriter, WriterOptions};
/// use fullbloom_table::{Table, TableOptions};
///
/// let mut writer = TableWriter::new(Vec::new(), WriterOptions::default())?;
/// for i in 0..1000u32 {
///     writer.put(&i.to_be_bytes(), b"value")?;
/// }
/// let file: Vec<u8> = writer.finish()?.into_inner();
/// let table = Table::new(file, TableOptions::default())?;
/// assert!(table.filter()?.may_contain(&7u32.to_be_bytes())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableWriter<W> {
    out: Output<W>,
    options: WriterOptions,
    data: BlockBuilder,
    index: IndexBuilder,
    filter: Option<FilterBlockBuilder>,
    range_deletions: BlockBuilder,
    last_range_start: Option<Vec<u8>>,
    /// The last key as stored; empty before the first.
    last_key: Vec<u8>,
    key: Vec<u8>,
    any_key: bool,
    /// A written block that is indexed when the next key is known.
    pending: Option<Handle>,
    first_key_of_block: Vec<u8>,
    summary: Summary,
}

/// A table that was written.
#[derive(Debug)]
pub struct Written<W> {
    out: W,
    /// Length of the file.
    pub file_len: u64,
    /// Entries in it, deletions included.
    pub entries: u64,
    /// Data blocks in it.
    pub data_blocks: u64,
    /// Entries in its filter.
    pub filter_entries: u64,
    /// Bytes of its filter, the top-level index over partitions included.
    pub filter_len: u64,
}

impl<W> Written<W> {
    /// Returns the output that the table was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> TableWriter<W> {
    /// Begins a table.
    pub fn new(out: W, options: WriterOptions) -> Result<TableWriter<W>, TableError> {
        options.check()?;
        let mut filter = match &options.filter {
            Some(filter) => Some(FilterBlockBuilder::new(filter.clone()).map_err(Problem::from)?),
            None => None,
        };
        if let Some(filter) = &mut filter {
            filter.start_block(0)?;
        }
        Ok(TableWriter {
            out: Output {
                out,
                offset: 0,
                checksum: options.checksum(),
                base: None,
                version: options.format.version(),
            },
            data: BlockBuilder::new(options.restart_interval),
            index: IndexBuilder::new(&options),
            filter,
            range_deletions: BlockBuilder::new(1),
            last_range_start: None,
            last_key: Vec::new(),
            key: Vec::new(),
            any_key: false,
            pending: None,
            first_key_of_block: Vec::new(),
            summary: Summary::default(),
            options,
        })
    }

    /// Adds a key with its value. Keys must ascend.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), TableError> {
        self.add(InternalKey { user_key: key, sequence: 0, value_type: ValueType::PUT }, value)
    }

    /// Adds a deletion of a key.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), TableError> {
        self.add(InternalKey { user_key: key, sequence: 0, value_type: ValueType::DELETE }, &[])
    }

    /// Adds a deletion of all keys from `start` to `end`, excluding `end`. RocksDB only; starts must not
    /// descend. Ranges are not inserted into the filter.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8], sequence: u64) -> Result<(), TableError> {
        if self.options.format == Format::LevelDb {
            return Err(Problem::Input { why: "LevelDB's tables cannot hold deletions of ranges" }.into());
        }
        if start >= end || self.last_range_start.as_deref().is_some_and(|last| last > start) {
            return Err(Problem::Input {
                why: "deletions of ranges must not be empty and must come in order",
            }
            .into());
        }
        let mut key = Vec::new();
        InternalKey { user_key: start, sequence, value_type: ValueType::RANGE_DELETE }.encode(&mut key);
        self.range_deletions.add(&key, end);
        self.last_range_start = Some(start.to_vec());
        self.summary.range_deletion(key.len(), end.len());
        Ok(())
    }

    /// Adds an entry. User keys must ascend, and the versions of one must descend.
    pub fn add(&mut self, key: InternalKey<'_>, value: &[u8]) -> Result<(), TableError> {
        self.key.clear();
        key.encode(&mut self.key);
        self.check_order(&key, value)?;
        if self.is_full(value.len()) {
            self.write_data_block()?;
        }
        if let Some(handle) = self.pending.take() {
            let next = std::mem::take(&mut self.key);
            self.index_block(handle, Some(&next));
            self.key = next;
        }
        if self.data.is_empty() {
            self.first_key_of_block.clone_from(&self.key);
        }
        if let Some(filter) = &mut self.filter {
            if filter.wants_cut() {
                self.index.request_cut();
            }
            filter.add(key.user_key)?;
        }
        let stored_len = if self.options.plain_keys { key.user_key.len() } else { self.key.len() };
        self.data.add(&self.key[..stored_len], value);
        self.summary.entry(&key, stored_len, value.len());
        std::mem::swap(&mut self.last_key, &mut self.key);
        self.any_key = true;
        if self.options.format == Format::LevelDb && self.data.len() as u64 >= self.options.block_size {
            self.write_data_block()?;
        }
        Ok(())
    }

    fn check_order(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<(), Problem> {
        if (key.user_key.len() as u64).saturating_add(value.len() as u64) > LONGEST_ENTRY {
            return Err(Problem::Input { why: LONGER });
        }
        let last = &self.last_key;
        let order = match self.options.plain_keys {
            _ if !self.any_key => Ordering::Less,
            true => last[..last.len() - FOOTER_LEN].cmp(key.user_key),
            false => KeyOrder::BYTEWISE.internal(last, &self.key),
        };
        match order {
            Ordering::Less => Ok(()),
            Ordering::Equal | Ordering::Greater => {
                Err(Problem::Input { why: "keys must ascend, and versions of one key descend" })
            }
        }
    }

    /// RocksDB's rule, applied before an entry is added: the block has its size, or is close to it and would
    /// exceed it. LevelDB checks after adding.
    fn is_full(&self, value_len: usize) -> bool {
        if self.data.is_empty() || self.options.format == Format::LevelDb {
            return false;
        }
        options::block_is_full(
            self.data.len() as u64,
            self.data.guess_with(self.key.len(), value_len, false) as u64,
            self.options.block_size,
            self.options.deviation,
        )
    }

    fn write_data_block(&mut self) -> Result<(), TableError> {
        let plain = self.data.finish();
        self.out.choose_base(&plain);
        let handle = self.out.block(&plain, self.options.compression)?;
        self.summary.data_blocks += 1;
        self.pending = Some(handle);
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.out.offset)?;
        }
        Ok(())
    }

    fn index_block(&mut self, handle: Handle, next: Option<&[u8]>) {
        let cut = self.index.add(&self.last_key, next, handle, &self.first_key_of_block);
        if let (Some(separator), Some(filter)) = (cut, &mut self.filter) {
            filter.cut_before_next(separator);
        }
    }

    /// Writes everything after the data blocks.
    pub fn finish(mut self) -> Result<Written<W>, TableError> {
        if !self.data.is_empty() {
            self.write_data_block()?;
        }
        if let Some(handle) = self.pending.take() {
            self.index_block(handle, None);
        }
        self.summary.data_len = self.out.offset;
        let tail = Tail::default();
        let filter_entries = self.filter.as_ref().map_or(0, FilterBlockBuilder::entries);
        let finished =
            self.filter.take().map(FilterBlockBuilder::finish).transpose()?.unwrap_or(Finished::None);
        let tail = self.write_filter(tail, finished)?;
        self.summary.filter_entries = filter_entries;
        let footer = match self.options.format {
            Format::LevelDb => self.finish_leveldb(tail)?,
            Format::RocksDb { .. } => self.finish_rocksdb(tail)?,
        };
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        self.out.write(&bytes)?;
        self.out.out.flush().map_err(|cause| Problem::Io { action: "write", at: self.out.offset, cause })?;
        Ok(Written {
            file_len: self.out.offset,
            entries: self.summary.entries,
            data_blocks: self.summary.data_blocks,
            filter_entries,
            filter_len: self.summary.filter_len,
            out: self.out.out,
        })
    }

    fn write_filter(&mut self, mut tail: Tail, finished: Finished) -> Result<Tail, Problem> {
        let layout = match (&finished, &self.options.filter) {
            (Finished::None, _) | (_, None) => return Ok(tail),
            (_, Some(filter)) => match filter.layout {
                Layout::Full => FilterLayout::Full,
                Layout::Partitioned(_) => FilterLayout::Partitioned,
                Layout::PerBlock => FilterLayout::PerBlock,
            },
        };
        let handle = match finished {
            Finished::None => return Ok(tail),
            Finished::Block(block) => {
                self.summary.filter_len = block.len() as u64;
                self.out.block(&block, Compression::None)?
            }
            Finished::Partitions(partitions) => {
                let mut handles = Vec::with_capacity(partitions.partitions.len());
                for partition in &partitions.partitions {
                    self.summary.filter_len += partition.content.len() as u64;
                    handles.push(self.out.block(&partition.content, Compression::None)?);
                }
                let (interval, user_keys) = (self.options.index_restart_interval, self.index.user_keys());
                let top = partitions.top_level(&handles, interval, user_keys, self.options.delta_values());
                self.summary.filter_len += top.len() as u64;
                self.out.block(&top, Compression::None)?
            }
        };
        let policy = self.options.filter.as_ref().map_or("", |filter| filter.policy.engine_name());
        tail.metaindex.push((format!("{}{policy}", layout.prefix()), handle));
        Ok(tail)
    }

    fn finish_leveldb(&mut self, tail: Tail) -> Result<Footer, Problem> {
        let metaindex = tail.encode_metaindex(self.options.restart_interval);
        let metaindex = self.out.block(&metaindex, self.options.compression)?;
        let index = self.index.finish(&mut self.out, self.options.compression)?;
        Ok(self.footer(metaindex, index.handle))
    }

    fn finish_rocksdb(&mut self, mut tail: Tail) -> Result<Footer, Problem> {
        let index = self.index.finish(&mut self.out, self.options.compression)?;
        if !self.range_deletions.is_empty() {
            let block = self.range_deletions.finish();
            let handle = self.out.block(&block, Compression::None)?;
            tail.metaindex.push(("rocksdb.range_del".to_owned(), handle));
        }
        let properties = self.summary.encode(&self.options, &index);
        let handle = self.out.block(&properties, Compression::None)?;
        tail.metaindex.push(("rocksdb.properties".to_owned(), handle));
        if self.options.format.version() >= 6 {
            tail.metaindex.push(("rocksdb.index".to_owned(), index.handle));
        }
        let metaindex = tail.encode_metaindex(1);
        let metaindex = self.out.block(&metaindex, Compression::None)?;
        Ok(self.footer(metaindex, index.handle))
    }

    fn footer(&self, metaindex: Handle, index: Handle) -> Footer {
        let format_version = self.options.format.version();
        Footer {
            format_version,
            checksum: self.options.checksum(),
            metaindex,
            index: (format_version < 6).then_some(index),
            base_context_checksum: self.out.base.unwrap_or(0),
            offset: self.out.offset,
        }
    }
}

/// The blocks after the data.
#[derive(Debug, Default)]
struct Tail {
    metaindex: Vec<(String, Handle)>,
}

impl Tail {
    fn encode_metaindex(self, restart_interval: u32) -> Vec<u8> {
        encode_metaindex(
            self.metaindex.into_iter().map(|(name, handle)| (name.into_bytes(), handle)),
            restart_interval,
        )
    }
}

/// The metaindex of these blocks, in the order of their names.
pub(crate) fn encode_metaindex(
    named: impl IntoIterator<Item = (Vec<u8>, Handle)>,
    restart_interval: u32,
) -> Vec<u8> {
    let mut block = BlockBuilder::new(restart_interval);
    for (name, handle) in named.into_iter().collect::<BTreeMap<_, _>>() {
        let mut value = Vec::new();
        handle.encode(&mut value);
        block.add(&name, &value);
    }
    block.finish()
}

/// The file being written: blocks with their trailers.
#[derive(Debug)]
pub(crate) struct Output<W> {
    out: W,
    offset: u64,
    checksum: Checksum,
    /// From version 6 on, mixed into every checksum; chosen with the first block.
    base: Option<u32>,
    version: u32,
}

impl<W: Write> Output<W> {
    /// Continues a table whose bytes before the footer are in `out`.
    pub(crate) fn behind(footer: &Footer, out: W) -> Output<W> {
        let Footer { checksum, format_version: version, base_context_checksum: base, offset, .. } = *footer;
        Output { out, offset, checksum, base: (base != 0).then_some(base), version }
    }

    /// Bytes of the file so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let at = self.offset;
        self.out.write_all(bytes).map_err(|cause| Problem::Io { action: "write", at, cause })?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// A number that differs from table to table, and is the same for the same table: so that a block from
    /// another file is detected, and the same input gives the same file.
    fn choose_base(&mut self, first_block: &[u8]) {
        if self.version >= 6 && self.base.is_none() {
            self.base = Some(Checksum::Xxh3.of(first_block, 0).max(1));
        }
    }

    /// Writes a block, compressed if that saves enough, and its trailer.
    pub(crate) fn block(&mut self, plain: &[u8], compression: Compression) -> Result<Handle, Problem> {
        let (size, limit) = (plain.len() as u64, Limits::DEFAULT.block_len);
        if size > limit {
            return Err(Problem::TooLarge { what: "block", at: self.offset, size, limit });
        }
        self.choose_base(plain);
        let packed = compress(compression, plain, self.version);
        let (stored, kind) = match &packed {
            Some(packed) => (&packed[..], compression.byte()),
            None => (plain, 0),
        };
        let handle = Handle { offset: self.offset, size: stored.len() as u64 };
        self.write(stored)?;
        let trailer = trailer(self.checksum, self.base.unwrap_or(0), handle.offset, stored, kind);
        self.write(&trailer)?;
        Ok(handle)
    }
}

/// The trailer of a block at this position of a file.
pub(crate) fn trailer(
    checksum: Checksum,
    base: u32,
    offset: u64,
    stored: &[u8],
    kind: u8,
) -> [u8; TRAILER_LEN as usize] {
    let sum = checksum.of(stored, kind).wrapping_add(modifier(base, offset));
    let mut trailer = [kind; TRAILER_LEN as usize];
    trailer[1..].copy_from_slice(&sum.to_le_bytes());
    trailer
}
