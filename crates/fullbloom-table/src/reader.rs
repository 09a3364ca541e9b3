//! A table opened for reading: every block checked, expanded within bounds, and found through the footer.
//!
//! ```text
//!   footer ─► metaindex ─► properties ─► how the index is written
//!          │           └─► filter      ─► may_contain
//!          └─► index (from version 6 on through the metaindex) ─► data blocks ─► entries
//! ```

use crate::block::Block;
use crate::cache::{BlockCache, Counts, Share};
use crate::compression::{Expander, Limits};
use crate::contents::Contents;
use crate::error::{Problem, TableError};
use crate::filter::{Family, Holds, KeptContent, PartitionedBlock, SharedBlock};
use crate::footer::{self, Footer};
use crate::handle::{Handle, TRAILER_LEN};
use crate::index::{IndexShape, end_of};
use crate::internal_key::KeyOrder;
use crate::kept::{Decoded, Fetched, KeptBlock};
use crate::metaindex::{FilterLayout, Metaindex};
use crate::properties::{self, Properties};
use crate::role::Role;
use crate::source::{PlainFile, Source};
use crate::{EnginePrefix, PrefixExtractor};
use fullbloom::error::FileCause;
use fullbloom::storage::Mapped;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The kind of keys in a table's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyForm {
    /// Internal keys if the table has RocksDB's properties; else what the first data block looks like.
    #[default]
    Detect,
    /// User key, sequence number, type: what databases write.
    Internal,
    /// The key alone: what LevelDB's table builder writes when it is used without a database.
    Plain,
}

/// Options for opening a table.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// Bounds on memory.
    pub limits: Limits,
    /// Skips the checksums of blocks. Damage may then go undetected.
    pub skip_checksums: bool,
    /// Whether keys carry sequence numbers.
    pub key_form: KeyForm,
    /// The database's prefix extractor, for tables whose own extractor is not known by name.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// The block cache; without one, each block is read when it is needed.
    pub cache: Option<Arc<BlockCache>>,
    /// Where the index and a whole filter, or the top levels over their partitions, are kept.
    pub keep: Keep,
}

/// Where a table keeps the blocks that nearly every lookup needs: its index and its whole filter, or the top
/// levels over their partitions. Partitions and data blocks are always kept in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// In the table itself, from the first use on. The default, as RocksDB's.
    #[default]
    Table,
    /// In the cache, where they can be evicted.
    Cache,
    /// In the cache and charged to it, but not evicted while the table is open.
    Pinned,
}

/// A LevelDB or RocksDB table.
#[derive(Debug)]
pub struct Table<S> {
    source: S,
    path: Option<PathBuf>,
    options: TableOptions,
    footer: Footer,
    metaindex: Metaindex,
    properties: Properties,
    dictionary: Vec<u8>,
    index: IndexShape,
    order: Option<KeyOrder>,
    internal_keys: bool,
    /// The family of the filter and what it holds.
    filter_terms: (Family, Holds),
    share: Option<Share>,
    /// Index, filter, the filter's top level: kept here unless they are only in the cache.
    kept: [OnceLock<Arc<KeptBlock>>; 3],
    reads: Counts,
    bytes_read: Counts,
}

/// What a table has read from its source so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reads {
    /// The number of blocks that were read.
    pub blocks: u64,
    /// Their bytes as stored, with trailers.
    pub bytes: u64,
}

impl Table<PlainFile> {
    /// Opens a file and reads it block by block as needed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TableError> {
        Self::open_with(path, TableOptions::default())
    }

    /// As [`open`](Table::open), with options.
    pub fn open_with(path: impl AsRef<Path>, options: TableOptions) -> Result<Self, TableError> {
        let path = path.as_ref();
        let source = PlainFile::open(path).map_err(|cause| cannot_open(path, cause))?;
        Table::load(source, Some(path), options)
    }
}

impl Table<Mapped> {
    /// Maps a file; see [`Mapped`] for what must not be done to it.
    pub fn map(path: impl AsRef<Path>, options: TableOptions) -> Result<Self, TableError> {
        let path = path.as_ref();
        let source = Mapped::open(path).map_err(|cause| match cause.cause() {
            FileCause::Io(io) => cannot_open(path, io::Error::new(io.kind(), io.to_string())),
            _ => cannot_open(path, io::Error::other(cause)),
        })?;
        Table::load(source, Some(path), options)
    }
}

fn cannot_open(path: &Path, cause: io::Error) -> TableError {
    TableError::new(Some(path), Problem::Io { action: "open", at: 0, cause })
}

impl<S: Source> Table<S> {
    /// Reads footer, metaindex and properties of a table.
    pub fn new(source: S, options: TableOptions) -> Result<Self, TableError> {
        Self::load(source, None, options)
    }

    fn load(source: S, path: Option<&Path>, options: TableOptions) -> Result<Self, TableError> {
        Self::load_parts(source, path, options).map_err(|problem| TableError::new(path, problem))
    }

    fn load_parts(source: S, path: Option<&Path>, options: TableOptions) -> Result<Self, Problem> {
        let file_len = source.byte_len();
        let tail_len = file_len.min(footer::MAX_LEN as u64);
        let tail = source.read(file_len - tail_len, tail_len as usize);
        let tail =
            tail.map_err(|cause| Problem::Io { action: "read the footer", at: file_len - tail_len, cause })?;
        let footer = Footer::decode(&tail, file_len)?;
        drop(tail);
        let share = options.cache.clone().map(Share::new);
        let mut table = Table {
            source,
            path: path.map(Path::to_owned),
            options,
            footer,
            metaindex: Metaindex::default(),
            properties: Properties::none(),
            dictionary: Vec::new(),
            index: IndexShape::default(),
            order: Some(KeyOrder::BYTEWISE),
            internal_keys: true,
            filter_terms: (Family::Unknown, Holds::default()),
            share,
            kept: Default::default(),
            reads: Counts::default(),
            bytes_read: Counts::default(),
        };
        table.load_metadata()?;
        Ok(table)
    }

    fn load_metadata(&mut self) -> Result<(), Problem> {
        self.metaindex = Metaindex::decode(&self.block(self.footer.metaindex, Role::Metaindex)?)?;
        if let Some(handle) = self.metaindex.properties {
            let bytes = self.read(handle, Role::Properties)?.into_vec();
            self.properties = Properties::decode(Block::new(bytes, handle.offset)?)?;
        }
        if let Some(handle) = self.metaindex.dictionary {
            self.dictionary = self.read(handle, Role::Dictionary)?.into_vec();
        }
        let handle = self.footer.index.or(self.metaindex.index).ok_or(Problem::Missing { what: "index" })?;
        self.index = IndexShape::of(handle, &self.properties)?;
        if let Some(comparator) = self.properties.comparator() {
            self.order = KeyOrder::named(&comparator, self.properties.timestamps_stored());
        }
        self.filter_terms = self.read_filter_terms();
        self.internal_keys = match self.options.key_form {
            KeyForm::Internal => true,
            KeyForm::Plain => false,
            KeyForm::Detect => !self.properties.is_empty() || self.looks_internal()?,
        };
        Ok(())
    }

    fn read_filter_terms(&self) -> (Family, Holds) {
        let family =
            self.metaindex.filter.as_ref().map_or(Family::Unknown, |entry| Family::named(&entry.policy));
        let name = self.properties.prefix_extractor();
        // The filter holds prefixes if the table was written with an extractor. Its name is known here, or
        // the caller gives the extractor.
        let prefixes = match name {
            Some(name) if self.properties.prefix_filtering() => {
                let known = name.parse::<EnginePrefix>().ok().map(Into::into);
                known.or_else(|| self.options.prefix_extractor.clone())
            }
            _ => None,
        };
        (family, Holds { whole_keys: self.properties.whole_key_filtering(), prefixes })
    }

    pub(crate) fn filter_terms(&self) -> (Family, &Holds) {
        (self.filter_terms.0, &self.filter_terms.1)
    }

    /// A block from memory, or else read and kept there.
    pub(crate) fn fetch(&self, handle: Handle, role: Role) -> Result<Contents<'_>, Problem> {
        self.fetch_decoded(handle, role).map(Fetched::into_contents)
    }

    /// The filter of one block, if the table has it in its own memory.
    pub(crate) fn kept_filter(&self) -> Option<&Decoded> {
        self.kept[1].get().map(|block| &block.decoded)
    }

    /// As [`fetch`](Table::fetch), with what was decoded when the block was read.
    #[inline(always)] // returning a result of this size costs more than finding it
    pub(crate) fn fetch_decoded(&self, handle: Handle, role: Role) -> Result<Fetched<'_>, Problem> {
        let place = match role {
            Role::Index => Some(0),
            Role::Filter => Some(1),
            Role::FilterIndex => Some(2),
            _ => None,
        };
        match place.filter(|_| self.options.keep != Keep::Cache) {
            Some(i) => match self.kept[i].get() {
                Some(block) => Ok(Fetched::InTable(block)),
                None => self.read_into(handle, role, &self.kept[i]).map(Fetched::InTable),
            },
            None => self.fetch_cached(handle, role),
        }
    }

    /// A block from the cache, or else read and kept there; read for this use alone without a cache.
    fn fetch_cached(&self, handle: Handle, role: Role) -> Result<Fetched<'_>, Problem> {
        let Some(share) = &self.share else { return self.read(handle, role).map(Fetched::Read) };
        if let Some(block) = share.get(handle, role) {
            return Ok(Fetched::InCache(block));
        }
        let block = self.read_to_keep(handle, role)?;
        share.insert(handle, Arc::clone(&block), role, false);
        Ok(Fetched::InCache(block))
    }

    /// Reads a block that the table keeps.
    #[cold]
    fn read_into<'a>(
        &'a self,
        handle: Handle,
        role: Role,
        place: &'a OnceLock<Arc<KeptBlock>>,
    ) -> Result<&'a KeptBlock, Problem> {
        let block = self.read_to_keep(handle, role)?;
        if let (Some(share), Keep::Pinned) = (&self.share, self.options.keep) {
            share.insert(handle, Arc::clone(&block), role, true);
        }
        Ok(place.get_or_init(|| block))
    }

    fn read_to_keep(&self, handle: Handle, role: Role) -> Result<Arc<KeptBlock>, Problem> {
        let bytes = self.read(handle, role)?.into_vec();
        Ok(KeptBlock::new(bytes, |bytes| self.decode_filter(bytes, handle, role)))
    }

    /// Decodes a block that is to be kept, if it is a full filter, a partition, or the index over partitions.
    fn decode_filter(&self, bytes: &Arc<Vec<u8>>, handle: Handle, role: Role) -> Decoded {
        let layout = self.metaindex.filter.as_ref().map(|entry| entry.layout);
        match (role, layout) {
            (Role::Filter, Some(FilterLayout::Full)) | (Role::FilterPartition, _) => {
                Decoded::Filter(KeptContent::keep(bytes, self.filter_terms.0))
            }
            (Role::FilterIndex, _) => match self.filter_index(SharedBlock(Arc::clone(bytes)), handle) {
                Ok(index) => Decoded::FilterIndex(index),
                Err(_) => Decoded::Nothing, // the next use reads it again and gets the error
            },
            _ => Decoded::Nothing,
        }
    }

    /// The top-level index over the partitions of the filter, in these bytes.
    pub(crate) fn filter_index<B: AsRef<[u8]>>(
        &self,
        bytes: B,
        handle: Handle,
    ) -> Result<PartitionedBlock<B>, Problem> {
        let delta_values = self.index.format.delta_values;
        let index = PartitionedBlock::new(
            bytes,
            handle.offset,
            self.filter_terms.1.clone(),
            self.index_user_keys(),
            delta_values,
        )?;
        Ok(match self.order {
            Some(order) => index.with_order(order),
            None => index,
        })
    }

    pub(crate) fn fetch_block(&self, handle: Handle, role: Role) -> Result<Block<Contents<'_>>, Problem> {
        Ok(Block::new(self.fetch(handle, role)?, handle.offset)?)
    }

    /// The plain contents of a block whose checksum was checked.
    pub fn read_block(&self, handle: Handle, role: Role) -> Result<Contents<'_>, TableError> {
        self.read(handle, role).map_err(|problem| self.error(problem))
    }

    pub(crate) fn block(&self, handle: Handle, role: Role) -> Result<Block<Contents<'_>>, Problem> {
        Ok(Block::new(self.read(handle, role)?, handle.offset)?)
    }

    pub(crate) fn read(&self, handle: Handle, role: Role) -> Result<Contents<'_>, Problem> {
        let stored = self.read_stored(handle, role)?;
        let size = handle.size as usize; // it was read, so it fits
        match stored[size] {
            0 => Ok(Contents::from(match stored {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..size]),
                Cow::Owned(mut bytes) => {
                    bytes.truncate(size);
                    Cow::Owned(bytes)
                }
            })),
            kind => {
                let expander = Expander {
                    format_version: self.footer.format_version,
                    old_magic: self.footer.format_version == 0,
                    dictionary: if role == Role::Data { &self.dictionary } else { &[] },
                    limits: self.options.limits,
                };
                Ok(Contents::Owned(expander.expand(kind, &stored[..size], handle.offset)?))
            }
        }
    }

    /// A block and its trailer as they are in the file; the checksum is right.
    fn read_stored(&self, handle: Handle, role: Role) -> Result<Cow<'_, [u8]>, Problem> {
        let stored = self.read_raw(handle, role)?;
        if !self.options.skip_checksums {
            self.check(&stored, handle.offset, role).or_else(|wrong| match role {
                Role::Properties if self.check_before_ingestion(&stored, handle.offset) => Ok(()),
                _ => Err(wrong),
            })?;
        }
        Ok(stored)
    }

    /// Whether the checksum of the properties is the one they had before the table was ingested. RocksDB then writes
    /// a sequence number into them, where there were zeros, and leaves the checksum as it is
    /// (`write_global_seqno`).
    fn check_before_ingestion(&self, stored: &[u8], offset: u64) -> bool {
        let (block, trailer) = stored.split_at(stored.len() - TRAILER_LEN as usize);
        let is_plain = trailer[0] == 0;
        let place = is_plain.then(|| properties::place_of_sequence(block, offset)).flatten();
        let Some(place) = place else { return false };
        let mut before = stored.to_vec();
        before[place].fill(0);
        self.check(&before, offset, Role::Properties).is_ok()
    }

    fn read_raw(&self, handle: Handle, role: Role) -> Result<Cow<'_, [u8]>, Problem> {
        let Handle { offset, size } = handle;
        end_of(handle, role, self.footer.offset)?;
        let limit = self.options.limits.block_len;
        let len = usize::try_from(size + TRAILER_LEN).unwrap_or(usize::MAX);
        if size > limit || len == usize::MAX {
            return Err(Problem::TooLarge { what: role.as_str(), at: offset, size, limit });
        }
        let stored = self.source.read(offset, len);
        let stored = stored.map_err(|cause| Problem::Io { action: "read a block", at: offset, cause })?;
        self.reads.add(role, 1);
        self.bytes_read.add(role, len as u64);
        Ok(stored)
    }

    /// A block as it is in the file, whatever its checksum says; `None` unless it is stored plain.
    pub(crate) fn read_damaged(&self, handle: Handle, role: Role) -> Result<Option<Vec<u8>>, Problem> {
        let mut stored = self.read_raw(handle, role)?.into_owned();
        let size = handle.size as usize; // it was read, so it fits
        let is_plain = stored[size] == 0;
        stored.truncate(size);
        Ok(is_plain.then_some(stored))
    }

    fn check(&self, stored: &[u8], offset: u64, role: Role) -> Result<(), Problem> {
        let size = stored.len() - TRAILER_LEN as usize;
        let expected = crate::bytes::u32_at(stored, size + 1);
        let Footer { checksum, base_context_checksum, .. } = self.footer;
        let modifier = crate::checksum::modifier(base_context_checksum, offset);
        let computed = checksum.of(&stored[..size], stored[size]).wrapping_add(modifier);
        // Without checksums nothing is stored before version 6, and from then on only the position.
        let unchecked = checksum == crate::checksum::Checksum::None && base_context_checksum == 0;
        if expected == computed || unchecked {
            return Ok(());
        }
        Err(Problem::Checksum { of: role.as_str(), at: offset, stored: expected, computed })
    }

    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    pub(crate) fn error(&self, problem: impl Into<Problem>) -> TableError {
        TableError::new(self.path.as_deref(), problem.into())
    }

    /// The file the table was opened from.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Length of the table in bytes.
    pub fn file_len(&self) -> u64 {
        self.source.byte_len()
    }

    /// The footer, as it was read when the table was opened.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The metaindex, as it was read when the table was opened.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// The properties, as they were read when the table was opened.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// The format of the index.
    pub fn index_shape(&self) -> &IndexShape {
        &self.index
    }

    /// Whether keys carry sequence number and type.
    pub fn has_internal_keys(&self) -> bool {
        self.internal_keys
    }

    /// How many blocks with this role were read from the source since the table was opened.
    pub fn reads(&self, role: Role) -> Reads {
        Reads { blocks: self.reads.of(role), bytes: self.bytes_read.of(role) }
    }

    pub(crate) fn options(&self) -> &TableOptions {
        &self.options
    }

    /// The order of the keys; `None` when the table's comparator is not supported.
    pub fn order(&self) -> Option<KeyOrder> {
        self.order
    }
}
