//! The index: from a key to the data block that would hold it.
//!
//! ```text
//!   binary, hash, first-key:   index ─────────────► data block
//!   two-level:                 top level ─► partition ─► data block
//! ```
//!
//! The hash index is an addition to the binary one and is not needed to find anything. Depth is two at most,
//! and blocks must follow each other in the file, so no index can loop.

use crate::block::{IndexEntries, IndexFormat};
use crate::contents::Contents;
use crate::error::{At, Problem, TableError};
use crate::handle::Handle;
use crate::internal_key::Target;
use crate::properties::Properties;
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;

/// The types of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IndexType {
    /// One block, with binary search.
    #[default]
    Binary,
    /// The same, with a hash table of prefixes in blocks of its own.
    Hash,
    /// Partitions and a top level.
    TwoLevel,
    /// One block, whose values also hold the first key of each data block.
    FirstKey,
}

/// The format of a table's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexShape {
    /// The index, or its top level.
    pub handle: Handle,
    /// How the index is laid out.
    pub index_type: IndexType,
    /// The encoding of its entries.
    pub format: IndexFormat,
    /// Keys are user keys, without sequence numbers.
    pub user_keys: bool,
}

impl IndexShape {
    pub(crate) fn of(handle: Handle, properties: &Properties) -> Result<IndexShape, Problem> {
        let index_type = match properties.index_type().unwrap_or(0) {
            0 => IndexType::Binary,
            1 => IndexType::Hash,
            2 => IndexType::TwoLevel,
            3 => IndexType::FirstKey,
            got => {
                let at = At::from(handle.offset);
                return Err(Problem::Value { field: "index type", at, got: got.into(), allowed: "0 to 3" });
            }
        };
        let delta_values = properties.index_has_delta_values();
        let format = IndexFormat { delta_values, first_keys: index_type == IndexType::FirstKey };
        Ok(IndexShape { handle, index_type, format, user_keys: properties.index_has_user_keys() })
    }
}

impl<S: Source> Table<S> {
    /// Walks the data blocks in the order of their keys.
    pub fn data_blocks(&self) -> Result<DataBlocks<'_, S>, TableError> {
        DataBlocks::new(self).map_err(|problem| self.error(problem))
    }

    /// Index keys are user keys, or all keys of the table are.
    pub(crate) fn index_user_keys(&self) -> bool {
        self.index_shape().user_keys || !self.has_internal_keys()
    }

    /// The data block that would hold the target, and the key that closes it in the index.
    pub(crate) fn seek_data_block(&self, target: Target<'_>) -> Result<Option<(Handle, Vec<u8>)>, Problem> {
        let order = self.order().ok_or(Problem::Missing { what: "comparator that is known here" })?;
        let shape = *self.index_shape();
        let user_keys = self.index_user_keys();
        let search = |handle, role| -> Result<Option<(Handle, Vec<u8>)>, Problem> {
            let block = self.fetch_block(handle, role)?;
            let entry = block.seek_index(shape.format, |key| target.order(order, key, user_keys))?;
            Ok(entry.map(|entry| (entry.handle(), entry.key().to_vec())))
        };
        match search(shape.handle, Role::Index)? {
            Some((partition, _)) if shape.index_type == IndexType::TwoLevel => {
                search(partition, Role::IndexPartition)
            }
            found => Ok(found),
        }
    }
}

/// A walk over a table's data blocks; it starts before the first.
#[derive(Debug)]
pub struct DataBlocks<'t, S> {
    table: &'t Table<S>,
    top: IndexEntries<Contents<'t>>,
    partition: Option<IndexEntries<Contents<'t>>>,
    /// Where the next data block may begin, and the next partition.
    earliest: [u64; 2],
}

impl<'t, S: Source> DataBlocks<'t, S> {
    pub(crate) fn new(table: &'t Table<S>) -> Result<Self, Problem> {
        let shape = table.index_shape();
        let top = table.fetch_block(shape.handle, Role::Index)?.into_index_entries(shape.format);
        Ok(DataBlocks { table, top, partition: None, earliest: [0; 2] })
    }

    /// Goes to the next data block; `None` at the end.
    pub fn advance(&mut self) -> Result<Option<Handle>, TableError> {
        self.step().map_err(|problem| self.table.error(problem))
    }

    pub(crate) fn step(&mut self) -> Result<Option<Handle>, Problem> {
        let handle = if self.table.index_shape().index_type == IndexType::TwoLevel {
            let Some(handle) = self.step_two_level()? else { return Ok(None) };
            handle
        } else if self.top.advance()? {
            self.top.handle()
        } else {
            return Ok(None);
        };
        self.earliest[0] = in_order(handle, self.earliest[0], Role::Data, self.table.footer().offset)?;
        Ok(Some(handle))
    }

    fn step_two_level(&mut self) -> Result<Option<Handle>, Problem> {
        loop {
            if let Some(partition) = &mut self.partition
                && partition.advance()?
            {
                return Ok(Some(partition.handle()));
            }
            if !self.top.advance()? {
                return Ok(None);
            }
            let (handle, role) = (self.top.handle(), Role::IndexPartition);
            self.earliest[1] = in_order(handle, self.earliest[1], role, self.table.footer().offset)?;
            let format = self.table.index_shape().format;
            self.partition = Some(self.table.block(handle, role)?.into_index_entries(format));
        }
    }

    /// The index key of the current block: not less than any key in it, less than all after it.
    pub fn key(&self) -> &[u8] {
        self.partition.as_ref().map_or(self.top.key(), IndexEntries::key)
    }

    /// The key in the top level that leads to the current block; in an index of one level, that of the block.
    pub(crate) fn top_key(&self) -> &[u8] {
        self.top.key()
    }

    /// The first key of the current block, if the index stores it.
    pub fn first_key(&self) -> Option<&[u8]> {
        self.partition.as_ref().map_or(self.top.first_key(), IndexEntries::first_key)
    }
}

/// Where the block and its trailer end, if that is not past `limit`.
pub(crate) fn end_of(handle: Handle, role: Role, limit: u64) -> Result<u64, Problem> {
    let Handle { offset, size } = handle;
    handle.end(limit).ok_or(Problem::Handle { of: role.as_str(), offset, size, limit })
}

/// Where the block ends, if it is inside the file and not before `earliest`.
pub(crate) fn in_order(handle: Handle, earliest: u64, role: Role, limit: u64) -> Result<u64, Problem> {
    let end = end_of(handle, role, limit)?;
    if handle.offset < earliest {
        return Err(Problem::Order { of: role.as_str(), at: handle.offset, earliest });
    }
    Ok(end)
}
