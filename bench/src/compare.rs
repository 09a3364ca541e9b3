//! The kind fast and the Bloom filters that Rust, C and C++ programs use: all of the same size, built from the same
//! keys, in 2 MiB pages.

use crate::harness::{self, Mode, Row, Size};
use crate::keys;
use crate::machine;
use crate::memory::HugePages;
use crate::ours::{self, FAST, LIMIT, OurKey};
use crate::peers;
use crate::plot;
use crate::race::{Common, Race};
use fullbloom::keys::Column;
use fullbloom::{Filter, FilterRef, FilterSet};
use fullbloom_core::bits::Owned;
use std::collections::BTreeSet;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;

/// Options of `compare`.
#[derive(clap::Args, Default)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,
    /// Measure these bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    pub bits_per_key: Option<Vec<f64>>,
    /// Measure these kinds of keys.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = ["u64", "16B", "32B"])]
    pub keys: Option<Vec<String>>,
    /// Look up one key in 64 filters of each size instead: all at once, and one after the other.
    #[arg(long)]
    pub many: bool,
    /// Write the plot (SVG) to this file instead of bench/target/compare.svg.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

const PLOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/compare.svg");

pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}\n", machine::describe());
    let rows = measure(options)?;
    println!("\nwhere another filter with at most 1.05 times our rate is faster:");
    for loss in losses(&rows, 1.05) {
        println!(
            "  {:8} {:8} {:4} {:4} bits  {:.2} x {}",
            loss.ours.mode.name(),
            harness::bytes(loss.ours.size.bytes),
            loss.ours.keys,
            loss.ours.size.bits_per_key,
            loss.ours.median / loss.theirs.median,
            loss.theirs.filter
        );
    }
    let path = options.plot.clone().unwrap_or_else(|| PathBuf::from(PLOT));
    plot::save(&rows, &machine::describe(), &path)?;
    println!("plot: {}", path.display());
    Ok(())
}

/// The rows of all sizes.
pub fn measure(options: &Options) -> Result<Vec<Row>, Box<dyn Error>> {
    HugePages::want();
    let (common, quick) = (&options.common, options.common.quick);
    let sizes = common.sizes.clone().unwrap_or_else(|| match quick {
        true => vec![256 << 10, 256 << 20],
        false => vec![256 << 10, 8 << 20, 256 << 20, 1 << 30],
    });
    let bits = options.bits_per_key.clone().unwrap_or(if quick { vec![10.0] } else { vec![10.0, 16.0] });
    let kinds = options.keys.clone().unwrap_or_else(|| match quick {
        true => vec!["u64".to_owned()],
        false => ["u64", "16B", "32B"].map(str::to_owned).to_vec(),
    });
    let (mut notes, mut rows) = (BTreeSet::new(), Vec::new());
    for kind in &kinds {
        for &bits in &bits {
            for &bytes in &sizes {
                let size = Size::with_bits(bytes, bits)?;
                rows.extend(match kind.as_str() {
                    _ if options.many => many(size, common.rounds.unwrap_or(21))?,
                    "u64" => at_size::<u64>(size, common, &mut notes)?,
                    "16B" => at_size::<[u8; 16]>(size, common, &mut notes)?,
                    _ => at_size::<[u8; 32]>(size, common, &mut notes)?,
                });
                // What was measured stays, whatever happens later.
                if let Some(path) = &common.json {
                    harness::save(&rows, path)?;
                }
            }
        }
    }
    for note in &notes {
        println!("left out: {note}");
    }
    Ok(rows)
}

fn at_size<K: OurKey>(
    size: Size,
    options: &Common,
    notes: &mut BTreeSet<String>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut contenders = vec![K::fast(size, 1)?];
    if threads > 1 {
        contenders.push(K::fast(size, threads)?);
    }
    contenders.push(K::shared(size)?);
    contenders.extend(peers::bloom(size, notes));
    contenders.push(ours::limit(size));
    let modes = &[Mode::Build, Mode::Single, Mode::Present, Mode::Batch];
    Race { command: "compare", options, modes, base: FAST, same_answers: false }.run(size, contenders, notes)
}

/// A race in which another filter is faster than the kind fast.
pub struct Loss<'a> {
    pub ours: &'a Row,
    pub theirs: &'a Row,
}

/// The races in which a peer on one thread, with at most this many times our rate, is faster; the fastest such peer
/// of each.
pub fn losses(rows: &[Row], times: f64) -> Vec<Loss<'_>> {
    let fast = rows.iter().filter(|row| row.filter == FAST);
    fast.filter_map(|ours| {
        let most = times * ours.fpr?;
        let rivals =
            rows.iter().filter(|row| row.races(ours) && !ours::is_ours(&row.filter) && row.filter != LIMIT);
        let theirs = rivals
            .filter(|row| row.fpr.is_some_and(|fpr| fpr <= most) && row.median > ours.median)
            .max_by(|a, b| a.median.total_cmp(&b.median))?;
        Some(Loss { ours, theirs })
    })
    .collect()
}

/// Filters in a set, as tables of an engine.
const FILTERS: usize = 64;

/// Keys that are looked up in a round.
const KEYS: usize = 2_000;

/// Absent keys in 64 filters of this size: the rows have million answers per second.
fn many(size: Size, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut filter = Filter::with_bits_per_key(size.members, size.bits_per_key)?;
    let members: Vec<u64> = (0..size.members).map(keys::member).collect();
    filter.insert_batch(&Column(&members))?;
    let file = filter.encode();
    let mut set = FilterSet::new();
    for _ in 0..FILTERS {
        set.push(FilterRef::read(Owned::copied(&file)?));
    }
    let mut speeds = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (way, speeds) in speeds.iter_mut().enumerate() {
            let first = ((2 * round + way) * KEYS) as u64;
            let strangers: Vec<u64> = (first..first + KEYS as u64).map(keys::stranger).collect();
            let seconds = harness::time(1, || {
                for key in &strangers {
                    black_box(if way == 0 {
                        set.candidates(*key).count()
                    } else {
                        let hash = filter.hash(*key);
                        let maybe = |filter: &&FilterRef<Owned>| {
                            filter.filter().is_none_or(|filter| filter.may_contain_hash(hash))
                        };
                        set.filters().iter().filter(maybe).count()
                    });
                }
            });
            // The first round warms up.
            if round > 0 {
                speeds.push((KEYS * FILTERS) as f64 / seconds / 1e6);
            }
        }
    }
    let names = ["fullbloom FilterSet", "fullbloom fast, one filter after the other"];
    let row = |(name, speeds)| Row::new("compare --many", name, "u64", size, Mode::Single, speeds);
    let rows: Vec<Row> = names.into_iter().zip(speeds).map(row).collect();
    harness::print(&rows, names[0]);
    Ok(rows)
}
