//! Which releases of the engines use a table's filter.
//!
//! | what | releases |
//! |---|---|
//! | a filter for each block (`filter.`) | RocksDB up to 7.3; later releases ignore it |
//! | a full filter of `format_version` 5 and later | RocksDB 6.6 and later; older releases let every key pass |
//! | Ribbon | RocksDB 6.15 and later; older releases let every key pass |
//! | the policy names `bloomfilter` and `ribbonfilter` | RocksDB 7.0.0 to 7.0.2 only, which ignore every other name |
//! | `format_version` 3, 4, 5, 6, 7 | RocksDB 5.15, 5.16, 6.6, 8.6, 10.4 and later |
//! | `format_version` 0 and 1 | RocksDB up to 10.11; later releases do not open the table |
//! | `leveldb.BuiltinBloomFilter2` | LevelDB 1.18 and later; RocksDB looks for other names |
//! | `leveldb.BuiltinBloomFilter` | LevelDB up to 1.17 |

use crate::problem::Code;
use fullbloom_dialects::Name;
use fullbloom_table::Inspection;
use fullbloom_table::metaindex::FilterLayout;
use serde::Serialize;

/// What a range of releases does with a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineUse {
    /// The releases, as people write them.
    pub releases: String,
    /// Whether lookups are answered by the filter.
    pub used: bool,
    /// Why not.
    pub why: Option<&'static str>,
}

impl EngineUse {
    fn yes(releases: impl Into<String>) -> EngineUse {
        EngineUse { releases: releases.into(), used: true, why: None }
    }

    fn no(releases: impl Into<String>, why: &'static str) -> EngineUse {
        EngineUse { releases: releases.into(), used: false, why: Some(why) }
    }
}

const NOT_OPENED: &str = "they do not open tables of format_version 0 and 1";
const PER_BLOCK: &str = "they ignore filters for each block";
const OTHER_NAME: &str = "they look for a filter of another policy name";

/// What the releases do with the filter of a table with this `format_version`; empty without a filter.
pub(super) fn uses(found: &Inspection, format_version: u32) -> Vec<EngineUse> {
    let (Some(layout), Some(policy)) = (found.layout, found.policy.as_deref()) else { return Vec::new() };
    match policy {
        "leveldb.BuiltinBloomFilter2" => {
            vec![EngineUse::yes("LevelDB 1.18 and later"), EngineUse::no("RocksDB", OTHER_NAME)]
        }
        "leveldb.BuiltinBloomFilter" => {
            let later = EngineUse::no("LevelDB 1.18 and later", OTHER_NAME);
            vec![EngineUse::yes("LevelDB up to 1.17"), later]
        }
        "bloomfilter" | "ribbonfilter" => {
            let others = EngineUse::no("all other releases of RocksDB", OTHER_NAME);
            vec![EngineUse::yes("RocksDB 7.0.0 to 7.0.2"), others]
        }
        _ if policy.starts_with("rocksdb.BuiltinBloomFilter") && layout == FilterLayout::PerBlock => {
            let mut all = vec![EngineUse::yes("RocksDB up to 7.3")];
            if format_version < 2 {
                all.push(EngineUse::no("RocksDB 7.4 to 10.11", PER_BLOCK));
                all.push(EngineUse::no("RocksDB 11.0 and later", NOT_OPENED));
            } else {
                all.push(EngineUse::no("RocksDB 7.4 and later", PER_BLOCK));
            }
            all
        }
        _ if policy.starts_with("rocksdb.BuiltinBloomFilter") => full(found.dialect, format_version),
        _ => vec![EngineUse::yes("a database whose filter policy has the same name")],
    }
}

/// A full or partitioned filter of RocksDB.
fn full(dialect: Option<Name>, format_version: u32) -> Vec<EngineUse> {
    const EARLY_7: &str = "RocksDB 7.0.0 to 7.0.2";
    let since = match (format_version, dialect) {
        (7.., _) => Some("10.4"),
        (6, _) => Some("8.6"),
        (_, Some(Name::RocksDbRibbon)) => Some("6.15"),
        (5, _) | (_, Some(Name::RocksDb)) => Some("6.6"),
        (4, _) => Some("5.16"),
        (3, _) => Some("5.15"),
        _ => None,
    };
    match since {
        // From 8.6 on no release has the mistake of 7.0.
        Some(since @ ("10.4" | "8.6")) => vec![EngineUse::yes(format!("RocksDB {since} and later"))],
        Some(since) => vec![
            EngineUse::yes(format!("RocksDB {since} to 6.29")),
            EngineUse::no(EARLY_7, OTHER_NAME),
            EngineUse::yes("RocksDB 7.0.3 and later"),
        ],
        None if format_version < 2 => vec![
            EngineUse::yes("RocksDB up to 6.29"),
            EngineUse::no(EARLY_7, OTHER_NAME),
            EngineUse::yes("RocksDB 7.0.3 to 10.11"),
            EngineUse::no("RocksDB 11.0 and later", NOT_OPENED),
        ],
        None => vec![
            EngineUse::yes("RocksDB up to 6.29"),
            EngineUse::no(EARLY_7, OTHER_NAME),
            EngineUse::yes("RocksDB 7.0.3 and later"),
        ],
    }
}

/// The problem of a filter that today's releases do not use, unless it has another one that says so.
pub(super) fn ignored(uses: &[EngineUse], format_version: u32) -> Option<(Code, String)> {
    let last = uses.last().filter(|last| !last.used && !last.releases.starts_with("RocksDB 7.4"))?;
    let of_leveldb =
        uses.first().is_some_and(|first| first.used && first.releases == "LevelDB 1.18 and later");
    match last.why {
        _ if of_leveldb => None,
        Some(NOT_OPENED) => Some((
            Code::OldFormat,
            format!(
                "format_version {format_version}: RocksDB 11.0 and later do not open the table; \
                 compaction by an older release writes a newer one"
            ),
        )),
        _ => {
            let (releases, used) = (&last.releases, &uses[0].releases);
            Some((Code::FilterIgnored, format!("{releases} ignore this filter; only {used} use it")))
        }
    }
}
