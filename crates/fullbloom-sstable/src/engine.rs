//! Which engine wrote an sstable, and so which rules apply to its files.

use crate::sstable::{SCYLLA, Sstable};
use fullbloom_dialects::cassandra::descriptor::TableFormat;
use std::fmt;

/// The engine that an sstable belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// The sstable is Apache Cassandra's.
    Cassandra,
    /// ScyllaDB: there is a `Scylla.db`, or the version is one that only ScyllaDB writes, or one that it
    /// reads and the directory is that of a ScyllaDB table.
    Scylla,
    /// DataStax Enterprise, Hyper-Converged Database and Astra: BTI versions before `da`. Sstables that they
    /// write in versions of Apache Cassandra cannot be distinguished.
    DataStax,
}

impl Engine {
    pub(crate) fn of(sstable: &Sstable) -> Engine {
        let version = sstable.version.as_str();
        match sstable.format {
            _ if sstable.has(SCYLLA) || matches!(version, "ms" | "mt") => Engine::Scylla,
            TableFormat::Big
                if sstable.in_scylla_table && matches!(version, "ka" | "la" | "mc" | "md" | "me") =>
            {
                Engine::Scylla
            }
            TableFormat::Bti if version < "d" => Engine::DataStax,
            _ => Engine::Cassandra,
        }
    }

    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Cassandra => "cassandra",
            Engine::Scylla => "scylla",
            Engine::DataStax => "datastax",
        }
    }
}

/// Its name for people.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Cassandra => "Cassandra",
            Engine::Scylla => "ScyllaDB",
            Engine::DataStax => "DataStax Enterprise",
        })
    }
}
