//! Partitioned filters: an index over full filters, each for a range of keys.

use super::holds::Question;
use crate::block::{Block, IndexEntries, IndexFormat, RestartKeys};
use crate::error::Problem;
use crate::handle::Handle;
use crate::index::Target;
use crate::internal_key::KeyOrder;

/// The top-level index of a partitioned filter.
///
/// A partition's key is not less than any key it holds. Partitions also hold the prefix of the first key
/// after them, where a forward seek may end, and that of the last key before them, for a backward seek; so
/// one lookup in the partition of the key is enough in both directions.
#[derive(Debug, Clone)]
pub struct PartitionedBlock<B> {
    top: Block<B>,
    restarts: RestartKeys,
    format: IndexFormat,
    user_keys: bool,
    order: KeyOrder,
}

impl<B: AsRef<[u8]>> PartitionedBlock<B> {
    /// Reads a top-level index at byte `at` of its file. `user_keys` and `delta_values` follow the table's
    /// index: keys without sequence numbers, handles delta-coded.
    pub fn new(bytes: B, at: u64, user_keys: bool, delta_values: bool) -> Result<Self, Problem> {
        let format = IndexFormat { delta_values, first_keys: false };
        let top = Block::new(bytes, at)?;
        let restarts = top.restart_keys(format);
        Ok(PartitionedBlock { top, restarts, format, user_keys, order: KeyOrder::BYTEWISE })
    }

    /// For tables with another order of keys.
    pub(crate) fn with_order(self, order: KeyOrder) -> Self {
        PartitionedBlock { order, ..self }
    }

    /// The partition for a key; `None` if there are no partitions, and then the answer is "maybe".
    ///
    /// Past the last partition's key it is the last one: its keys are all smaller, but a prefix may be in it.
    pub fn partition_for(&self, question: Question, key: &[u8]) -> Result<Option<Handle>, Problem> {
        let target = match question {
            Question::Get | Question::Seek => Target::newest(key),
            Question::SeekBack => Target::oldest(key),
        };
        let order = |entry: &[u8]| target.order(self.order, entry, self.user_keys);
        match self.top.seek_index_with(self.format, &self.restarts, order)? {
            Some(entry) => Ok(Some(entry.handle())),
            None => self.top.last_index_entry(self.format),
        }
    }

    /// Bytes of memory besides those of the block.
    pub(crate) fn extra_bytes(&self) -> usize {
        self.restarts.byte_len()
    }

    /// Walks the partitions in order.
    pub fn partitions(&self) -> IndexEntries<&[u8]> {
        self.top.index_entries(self.format)
    }
}
