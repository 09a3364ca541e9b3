//! The roles of blocks.

/// The role of a block: names it in errors, decides its pool in the cache, and selects its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Keys and values.
    Data,
    /// The index, or the top level of a partitioned one.
    Index,
    /// A partition of the index.
    IndexPartition,
    /// A whole filter block: full or per-block.
    Filter,
    /// The top level of a partitioned filter.
    FilterIndex,
    /// A partition of a filter.
    FilterPartition,
    /// The list of everything that is not data.
    Metaindex,
    /// What the writer recorded about the table.
    Properties,
    /// The compression dictionary of data blocks.
    Dictionary,
    /// Deletions of whole ranges.
    RangeDeletions,
}

impl Role {
    /// All roles, for listings.
    pub const ALL: [Role; 10] = [
        Role::Data,
        Role::Index,
        Role::IndexPartition,
        Role::Filter,
        Role::FilterIndex,
        Role::FilterPartition,
        Role::Metaindex,
        Role::Properties,
        Role::Dictionary,
        Role::RangeDeletions,
    ];

    /// The role in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Data => "data block",
            Role::Index => "index",
            Role::IndexPartition => "index partition",
            Role::Filter => "filter block",
            Role::FilterIndex => "filter's top-level index",
            Role::FilterPartition => "filter partition",
            Role::Metaindex => "metaindex",
            Role::Properties => "properties",
            Role::Dictionary => "compression dictionary",
            Role::RangeDeletions => "range deletions",
        }
    }

    /// Whether the block is part of a filter.
    pub fn is_filter(self) -> bool {
        matches!(self, Role::Filter | Role::FilterIndex | Role::FilterPartition)
    }
}
