//! What filters of other sizes would cost a database, and how a memory budget is best split over its levels.

use super::levels::{self, Level};
use super::{find, look};
use crate::error::{Failure, Status};
use crate::output;
use crate::table::Table;
use crate::text;
use fullbloom::dialect::Name;
use fullbloom_table::split::{Curves, LevelKeys, MOST_BITS, Share};
use serde_json::{Value, json};
use std::path::Path;

/// Bits per key that people choose between.
const USUAL: [f64; 7] = [5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0];

/// What was planned.
#[derive(Debug)]
pub struct Planned {
    dialect: Name,
    families: Vec<Family>,
    memory: Option<u64>,
    unread: usize,
}

/// The levels of one column family, and what they would get.
#[derive(Debug)]
struct Family {
    name: String,
    levels: Vec<Level>,
    usual: Vec<Vec<Share>>,
    splits: Option<Splits>,
}

/// Two ways to spend the same memory.
#[derive(Debug)]
struct Splits {
    budget: u64,
    equal: Vec<Share>,
    optimal: Vec<Share>,
}

/// Counts the keys of every table and sizes filters for them.
pub fn plan(path: &Path, memory: Option<u64>) -> Result<Planned, Failure> {
    let database = find(path)?;
    let facts = look(&database);
    let levels = levels::of(&database, &facts);
    if levels.is_empty() {
        return Err(Failure::new(path.display(), "no table of the database can be read"));
    }
    let dialect = dialect(&levels);
    let total: u64 = levels.iter().map(Level::total_keys).sum();
    let mut families = Vec::new();
    for levels in levels.chunk_by(|a, b| a.family == b.family) {
        let keys: u64 = levels.iter().map(Level::total_keys).sum();
        let sizes: Vec<LevelKeys> = levels
            .iter()
            .map(|level| LevelKeys {
                keys: level.total_keys(),
                tables: level.keys.len() as u64,
                runs: level.runs(),
            })
            .collect();
        let curves = Curves::new(dialect, &sizes).map_err(|e| Failure::size(dialect, &e))?;
        // Families get their part of the memory by their keys.
        let budget = memory.map(|memory| (memory as f64 * keys as f64 / total.max(1) as f64) as u64);
        let splits = budget.map(|budget| Splits {
            budget,
            equal: curves.equal(budget),
            optimal: curves.optimal(budget),
        });
        let usual = USUAL.iter().map(|bits| curves.with(*bits)).collect();
        families.push(Family { name: levels[0].family.clone(), levels: levels.to_vec(), usual, splits });
    }
    let unread = facts
        .iter()
        .zip(&database.tables)
        .filter(|(facts, table)| facts.is_err() && (table.place.is_some() || !database.has_levels()));
    Ok(Planned { dialect, families, memory, unread: unread.count() + database.missing.len() })
}

/// What the engine would write today: LevelDB its own, RocksDB Ribbon where it is used, else the full Bloom filter.
fn dialect(levels: &[Level]) -> Name {
    let keys_of = |name: Name| -> u64 {
        levels
            .iter()
            .flat_map(|level| &level.dialects)
            .filter(|(n, _)| *n == name)
            .map(|(_, keys)| keys)
            .sum()
    };
    let modern = [Name::RocksDb, Name::RocksDbLegacy, Name::RocksDbBlock].map(keys_of).iter().sum::<u64>();
    let all = [
        (modern, Name::RocksDb),
        (keys_of(Name::LevelDb), Name::LevelDb),
        (keys_of(Name::RocksDbRibbon), Name::RocksDbRibbon),
    ];
    // A database without any filter is most likely one of RocksDB, whose default that is.
    all.into_iter()
        .rev()
        .max_by_key(|(keys, _)| *keys)
        .filter(|(keys, _)| *keys > 0)
        .map_or(Name::RocksDb, |(_, name)| name)
}

fn sums(shares: &[Share]) -> (u64, f64) {
    (shares.iter().map(|s| s.bytes).sum(), shares.iter().map(|s| s.useless_reads).sum())
}

impl Planned {
    /// Whether all tables could be read.
    pub fn status(&self) -> Status {
        Status::selected(self.unread == 0)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for family in &self.families {
            if self.families.len() > 1 {
                text += &format!("column family {}\n", text::printable(&family.name));
            }
            text += &usual_text(family);
            text.push('\n');
            if let Some(splits) = &family.splits {
                text += &splits_text(family, splits);
                text.push('\n');
            }
        }
        text += &format!(
            "Sized as {} ({}). Useless reads: tables read for a key that is nowhere.\n",
            self.dialect,
            self.dialect.about()
        );
        if self.memory.is_some() {
            text += match self.dialect {
                Name::LevelDb => "LevelDB has one number of bits per key for all levels.\n",
                _ => {
                    "RocksDB takes bits per key by level from a FilterPolicy that looks at level_at_creation; \
                     tables change when they are compacted.\n"
                }
            };
        }
        if self.unread > 0 {
            let tables = text::counted(self.unread as u64, "table");
            output::warning(&format!("{tables} left out: cannot be read"));
        }
        text
    }

    /// For machines.
    pub fn json(&self, path: &Path) -> Value {
        let families: Vec<Value> = self.families.iter().map(family_json).collect();
        let (mut rows, mut equal, mut optimal) = (Vec::new(), (0, 0.0), (0, 0.0));
        for (i, bits) in USUAL.iter().enumerate() {
            let all = self.families.iter().map(|family| sums(&family.usual[i]));
            let (bytes, reads) = all.fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            rows.push(json!({ "bits_per_key": bits, "bytes": bytes, "useless_reads": reads }));
        }
        for splits in self.families.iter().filter_map(|family| family.splits.as_ref()) {
            let (e, o) = (sums(&splits.equal), sums(&splits.optimal));
            equal = (equal.0 + e.0, equal.1 + e.1);
            optimal = (optimal.0 + o.0, optimal.1 + o.1);
        }
        let split = |(bytes, reads): (u64, f64)| {
            self.memory.map(|_| json!({ "bytes": bytes, "useless_reads": reads }))
        };
        json!({
            "from": path.display().to_string(),
            "engine": if self.dialect == Name::LevelDb { "leveldb" } else { "rocksdb" },
            "dialect": self.dialect.as_str(),
            "memory": self.memory,
            "rows": rows,
            "equal": split(equal),
            "optimal": split(optimal),
            "column_families": families,
        })
    }
}

fn family_json(family: &Family) -> Value {
    let share = |share: &Share| {
        json!({
            "bits_per_key": share.bits_per_key,
            "bytes": share.bytes,
            "expected_fpr": share.expected_fpr,
            "useless_reads": share.useless_reads,
        })
    };
    let each = |(i, level): (usize, &Level)| {
        json!({
            "level": level.level,
            "tables": level.keys.len(),
            "keys": level.total_keys(),
            "now": {
                "bits_per_key": level.bits_per_key(),
                "bytes": level.bytes,
                "expected_fpr": level.expected_fpr(),
                "useless_reads": level.useless_reads(),
            },
            "equal": family.splits.as_ref().map(|splits| share(&splits.equal[i])),
            "optimal": family.splits.as_ref().map(|splits| share(&splits.optimal[i])),
        })
    };
    let levels: Vec<Value> = family.levels.iter().enumerate().map(each).collect();
    json!({
        "name": family.name,
        "memory": family.splits.as_ref().map(|splits| splits.budget),
        "levels": levels,
    })
}

/// What the usual numbers of bits cost, beside what is there.
fn usual_text(family: &Family) -> String {
    let keys: u64 = family.levels.iter().map(Level::total_keys).sum();
    let tables: usize = family.levels.iter().map(|level| level.keys.len()).sum();
    let mut table = Table::new(&["bits/key", "filters", "useless reads"]).indent(2);
    let bytes = family.levels.iter().map(|level| level.bytes).sum();
    let reads: f64 = family.levels.iter().map(Level::useless_reads).sum();
    table.row(vec!["now".into(), text::bytes(bytes), text::decimal(reads, 4)]);
    for (bits, shares) in USUAL.iter().zip(&family.usual) {
        let (bytes, reads) = sums(shares);
        table.row(vec![bits.to_string(), text::bytes(bytes), text::decimal(reads, 4)]);
    }
    let (tables, levels) =
        (text::counted(tables as u64, "table"), text::counted(family.levels.len() as u64, "level"));
    format!("{} in {tables} on {levels}\n", text::counted(keys, "key"))
        + &table.render_within(output::width())
}

fn splits_text(family: &Family, splits: &Splits) -> String {
    let titles = [
        "level",
        "tables",
        "keys",
        "equal: bits/key",
        "rate",
        "filters",
        "optimal: bits/key",
        "rate",
        "filters",
    ];
    let mut table = Table::new(&titles).indent(2);
    for (i, level) in family.levels.iter().enumerate() {
        let (equal, optimal) = (&splits.equal[i], &splits.optimal[i]);
        let mut cells = vec![level.title(), level.keys.len().to_string(), level.total_keys().to_string()];
        for share in [equal, optimal] {
            let bits = share.bits_per_key;
            cells.push(if bits == 0.0 { "none".into() } else { text::decimal(bits, 1) });
            cells.push(text::rate(share.expected_fpr));
            cells.push(text::bytes(share.bytes));
        }
        table.row(cells);
    }
    let (equal, optimal) = (sums(&splits.equal), sums(&splits.optimal));
    format!("{} split over the levels\n", text::bytes(splits.budget))
        + &table.render_within(output::width())
        + &format!(
            "  useless reads per lookup: equal {} in {}, optimal {} in {}\n",
            text::decimal(equal.1, 4),
            text::bytes(equal.0),
            text::decimal(optimal.1, 4),
            text::bytes(optimal.0),
        )
        + &at_most(splits)
}

/// Says why memory is left over, if a level has all the bits that are of use.
fn at_most(splits: &Splits) -> String {
    let most = f64::from(MOST_BITS);
    match splits.equal.iter().chain(&splits.optimal).any(|share| share.bits_per_key >= most) {
        true => format!(
            "  no level gets more than {MOST_BITS} bits per key: more save nothing worth their memory\n"
        ),
        false => String::new(),
    }
}
