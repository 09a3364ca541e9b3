//! Which bits per key to set for the column families of a database.

use super::plan::{FamilyNow, LevelPlan};
use super::split::{Curves, Share};
use crate::next::{Even, Next, Spread, Step, WORTHWHILE};
use crate::report::Found;
use fullbloom_dialects::Name;

/// Filters count as what they are planned to be if their size and their reads differ by less than this share:
/// engines round to whole blocks.
const SAME: f64 = 0.05;

/// Chooses bits per key for each column family, the same on all of its levels, as an option sets them.
/// `curves` are those of the families' levels, and `requested` what each family gets if the caller wants a rate
/// or bits per key.
pub(super) fn choose(
    dialect: Name,
    names: &[String],
    curves: &[Curves],
    found: &[Found<LevelPlan>],
    requested: Option<Vec<Share>>,
    memory: Option<u64>,
) -> Next {
    let levels = |name: &String| {
        let of = |level: &&LevelPlan| level.column_family == *name;
        FamilyNow::of(found.iter().map(|found| &found.record).filter(of))
    };
    let now: Vec<FamilyNow> = names.iter().map(levels).collect();
    let families = Curves::of(curves.iter().map(Curves::summed).collect());
    let budget = memory.unwrap_or(now.iter().map(|now| now.costs.bytes).sum());
    let spread = |shares: &[Share]| Spread {
        bytes: shares.iter().map(|share| share.bytes).sum(),
        useless_reads: shares.iter().map(|share| share.useless_reads).sum::<f64>()
            / names.len().max(1) as f64,
    };
    let even = families.equal_step(budget).map(|step| {
        let shares = families.at(&vec![step; names.len()]);
        Even { value: shares.first().map_or(0.0, |share| share.bits_per_key), spread: spread(&shares) }
    });
    let is_requested = requested.is_some();
    let shares = match requested {
        Some(shares) => shares,
        None => match families.optimal_steps(budget) {
            Some(steps) => families.at(&steps),
            None => return Next::default(),
        },
    };
    let planned = spread(&shares);
    let reads = |now: &FamilyNow| now.costs.useless_reads.unwrap_or(0.0);
    let reads_now = now.iter().map(reads).sum::<f64>() / names.len().max(1) as f64;
    let is_asked = is_requested || memory.is_some();
    if !is_asked && planned.useless_reads > reads_now * (1.0 - WORTHWHILE) {
        return Next::default();
    }
    let mut next = Next {
        planned: Some(planned),
        even: even.filter(|_| !is_requested && names.len() > 1),
        ..Next::default()
    };
    for ((name, now), share) in names.iter().zip(&now).zip(&shares) {
        let differs = |a: f64, b: f64| (a - b).abs() > SAME * a.max(b);
        let (bytes, reads) = (now.costs.bytes, reads(now));
        if !differs(bytes as f64, share.bytes as f64) && !differs(reads, share.useless_reads) {
            continue;
        }
        next.steps.push(Step {
            name: name.clone(),
            command: option(dialect, share.bits_per_key),
            bytes_now: bytes,
            bytes_then: share.bytes,
            useless_reads_now: reads,
            useless_reads_then: share.useless_reads,
        });
    }
    next.sort();
    if !next.steps.is_empty() {
        next.after.push(match dialect {
            Name::LevelDb => "db->CompactRange(nullptr, nullptr);".to_owned(),
            _ => "CompactRange of each column family, with bottommost_level_compaction = kForce".to_owned(),
        });
    }
    next
}

/// The option that gives filters of this size.
fn option(dialect: Name, bits_per_key: f64) -> String {
    if bits_per_key == 0.0 {
        return match dialect {
            Name::LevelDb => "options.filter_policy = nullptr;".to_owned(),
            _ => "block_based_table_factory={filter_policy=nullptr}".to_owned(),
        };
    }
    match dialect {
        Name::LevelDb => format!("options.filter_policy = leveldb::NewBloomFilterPolicy({bits_per_key});"),
        Name::RocksDbRibbon => {
            format!("block_based_table_factory={{filter_policy=ribbonfilter:{bits_per_key}}}")
        }
        _ => format!("block_based_table_factory={{filter_policy=bloomfilter:{bits_per_key}:false}}"),
    }
}
