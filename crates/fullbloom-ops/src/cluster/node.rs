//! The JSON of `inspect`, as far as it matters here. Fields that a later release adds are ignored.

use crate::problem::Severity;
use serde::Deserialize;

/// What `inspect --json` printed on a node.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct NodeReport {
    /// The version of the shape.
    pub version: u32,
    /// The filters; null for what could not be read.
    pub places: Vec<Option<NodePlace>>,
    /// Everything that is wrong.
    pub problems: Vec<NodeProblem>,
    /// The sums.
    pub summary: NodeSummary,
}

/// One filter of a node.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct NodePlace {
    /// `filter`, `table`, `sstable` or `column`.
    pub r#type: String,
    /// Where it is.
    pub path: String,
    /// Its dialect.
    pub dialect: Option<String>,
    /// Keyspace.
    pub keyspace: Option<String>,
    /// Table.
    pub table: Option<String>,
    /// The table's id.
    pub table_id: Option<String>,
    /// Version letters of an sstable.
    pub version: Option<String>,
    /// Format version of a table.
    pub format_version: Option<u32>,
    /// Layout of a table's filter; `none` without one.
    pub kind: Option<String>,
    /// Column family.
    pub column_family: Option<String>,
    /// Level.
    pub level: Option<u32>,
    /// Column of a Parquet file.
    pub column: Option<String>,
    /// Keys.
    pub keys: Option<u64>,
    /// Values of a column chunk.
    pub values: Option<u64>,
    /// Keys estimated from the set bits.
    pub estimated_keys: Option<u64>,
    /// Bits of the filter.
    pub bits: Option<u64>,
    /// Bytes of the filter.
    pub bytes: Option<u64>,
    /// Bytes in a node's memory.
    pub memory_bytes: Option<u64>,
    /// Share of bits set.
    pub fill: Option<f64>,
    /// The expected rate.
    pub expected_fpr: Option<f64>,
    /// The recorded rate.
    pub recorded_fpr: Option<f64>,
    /// The first and the last token.
    pub tokens: Option<[i64; 2]>,
    /// What `Scylla.db` says.
    pub scylla: Option<NodeScylla>,
}

/// What `Scylla.db` says.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct NodeScylla {
    /// The release that wrote the sstable.
    pub version: Option<String>,
}

impl NodePlace {
    /// Whether there is a filter that can be read.
    pub fn is_readable(&self) -> bool {
        self.bits.is_some_and(|bits| bits > 0)
    }

    /// Its keys, as far as they are known.
    pub fn known_keys(&self) -> Option<u64> {
        self.keys.or(self.values).or(self.estimated_keys)
    }

    /// Bits for each key, where both are known.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.known_keys().filter(|keys| *keys > 0)?;
        Some(self.bits? as f64 / keys as f64)
    }

    /// The version of its file, with the release that wrote it.
    pub fn file_version(&self) -> Option<String> {
        let format = || self.format_version.map(|version| format!("format_version {version}"));
        let version = self.version.clone().or_else(format)?;
        let release = self.scylla.as_ref().and_then(|scylla| scylla.version.as_ref());
        Some(release.map_or(version.clone(), |release| format!("{version} (ScyllaDB {release})")))
    }
}

/// One problem.
#[derive(Debug, Clone, Deserialize)]
pub struct NodeProblem {
    /// The path it is about.
    pub place: String,
    /// Its code; perhaps one of a later release.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The sums that are not made again. Their names are those of `inspect` and of no other command.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct NodeSummary {
    /// By level of a database.
    pub levels: Vec<NodeLevel>,
    /// The databases.
    #[serde(rename = "databases")]
    _databases: Vec<serde::de::IgnoredAny>,
}

/// The sums over a level.
#[derive(Debug, Clone, Deserialize)]
pub struct NodeLevel {
    /// The database.
    pub path: String,
    /// Column family.
    pub column_family: String,
    /// Level.
    pub level: Option<u32>,
    /// Tables that a lookup of an absent key reads needlessly.
    pub useless_reads: f64,
}
