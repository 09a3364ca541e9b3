//! Looks up one key in a table, without its filter.

use crate::error::{Problem, TableError};
use crate::internal_key::{InternalKey, Target, ValueType};
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use std::cmp::Ordering;

/// The newest entry of a key in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The value as stored.
    pub value: Vec<u8>,
    /// The type of the entry: a put, a deletion, an operand …
    pub value_type: ValueType,
    /// The sequence number of the write.
    pub sequence: u64,
}

/// The smallest and the greatest user key of a table.
pub type KeyRange = (Vec<u8>, Vec<u8>);

impl<S: Source> Table<S> {
    /// The newest entry of a key; searches the index and reads one data block. Deletions are entries too;
    /// deletions of ranges are not considered.
    pub fn get(&self, key: &[u8]) -> Result<Option<Found>, TableError> {
        self.find(key, || {}).map_err(|problem| self.error(problem))
    }

    /// As [`get`](Table::get); `looking_into` is called before a data block is fetched.
    pub(crate) fn find(&self, key: &[u8], looking_into: impl FnOnce()) -> Result<Option<Found>, Problem> {
        let order = self.order().ok_or(Problem::Missing { what: "comparator that is known here" })?;
        let target = Target::newest(key);
        let Some((handle, _)) = self.seek_data_block(target)? else { return Ok(None) };
        looking_into();
        let block = self.fetch_block(handle, Role::Data)?;
        let plain = !self.has_internal_keys();
        let Some(entry) = block.seek(|stored| target.order(order, stored, plain))? else { return Ok(None) };
        if self.filter_key_of(entry.key()) != key {
            return Ok(None);
        }
        let (value_type, sequence) = match InternalKey::decode(entry.key()) {
            Some(internal) if !plain => (internal.value_type, internal.sequence),
            _ => (ValueType::PUT, 0),
        };
        Ok(Some(Found { value: entry.value().to_vec(), value_type, sequence }))
    }

    /// The smallest and the greatest user key; `None` for a table without entries.
    ///
    /// Reads the first and the last data block.
    pub fn key_range(&self) -> Result<Option<KeyRange>, TableError> {
        let mut entries = self.entries()?;
        if !entries.advance()? {
            return Ok(None);
        }
        let first = entries.filter_key().to_vec();
        let mut blocks = self.data_blocks()?;
        let mut last_block = None;
        while let Some(handle) = blocks.advance()? {
            last_block = Some(handle);
        }
        let mut last = first.clone();
        if let Some(handle) = last_block {
            let block = self.fetch_block(handle, Role::Data).map_err(|problem| self.error(problem))?;
            let mut entries = block.entries();
            while entries.advance().map_err(|problem| self.error(problem))? {
                last.clear();
                last.extend_from_slice(self.filter_key_of(entries.key()));
            }
        }
        match self.order().map_or(Ordering::Less, |order| order.user(&first, &last)) {
            Ordering::Greater => Err(self.error(Problem::KeyOrder { at: 0.into() })),
            _ => Ok(Some((first, last))),
        }
    }
}
