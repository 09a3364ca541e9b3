//! The kinds compact and dynamic beside fast: compact with other static filters, dynamic with others that grow or
//! delete. All have the same keys and are made for the same rate.

use crate::harness::{self, Mode, Row, Size};
use crate::keys::mix;
use crate::machine;
use crate::memory::HugePages;
use crate::ours::{FAST, OurKey};
use crate::peers;
use crate::race::{Common, Race};
use fullbloom_dialects::rocksdb::{FilterType, Policy};
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode as Dynamic};
use std::collections::BTreeSet;
use std::error::Error;

/// Options of `kinds`.
#[derive(clap::Args, Default)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,
    /// Measure only this kind.
    #[arg(long, value_name = "KIND", value_parser = ["compact", "dynamic"])]
    pub kind: Option<String>,
    /// Measure these false-positive rates.
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub rates: Option<Vec<f64>>,
    /// Time single insertions into a growing filter until it has these numbers of keys, and print the longest, instead.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub pauses: Option<Vec<u64>>,
}

pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}", machine::describe());
    match &options.pauses {
        Some(ends) => pauses(ends),
        None => measure(options).map(drop),
    }
}

/// The rows of all kinds, rates and sizes. A size is that of the kind fast.
pub fn measure(options: &Options) -> Result<Vec<Row>, Box<dyn Error>> {
    HugePages::want();
    let common = &options.common;
    let sizes = common.sizes.clone().unwrap_or_else(|| match common.quick {
        true => vec![256 << 10, 8 << 20],
        false => vec![256 << 10, 8 << 20, 256 << 20],
    });
    let rates = options.rates.clone().unwrap_or_else(|| vec![1.0 / 256.0, 1e-4]);
    if let Some(rate) = rates.iter().find(|&&rate| !(1e-9..=0.5).contains(&rate)) {
        return Err(format!("--rates {rate}: from 1e-9 to 0.5").into());
    }
    let (mut notes, mut rows) = (BTreeSet::new(), Vec::new());
    for kind in ["compact", "dynamic"] {
        if options.kind.as_ref().is_some_and(|only| only != kind) {
            continue;
        }
        for &rate in &rates {
            for &bytes in &sizes {
                let size = Size::with_rate(bytes, rate)?;
                println!("\n{kind}, {} keys at a rate of {rate}", size.members);
                rows.extend(match kind {
                    "compact" => compact(size, common, &mut notes)?,
                    _ => dynamic(size, common, &mut notes)?,
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

fn compact(size: Size, options: &Common, notes: &mut BTreeSet<String>) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut contenders =
        vec![<u64 as OurKey>::fast(size, 1)?, u64::compact(size, 1, None), u64::compact(size, 2, None)];
    if size.members > 30_000_000 {
        contenders.push(u64::compact(size, 1, Some(256 << 20)));
    }
    contenders.extend(peers::fixed(size));
    // RocksDB's Ribbon filter as fullbloom writes and reads it, for the bits per key of a Bloom filter of this rate.
    // It is built at 5 million keys per second.
    if size.members < 30_000_000 {
        contenders.push(u64::policy(
            "Ribbon of RocksDB, by fullbloom",
            Policy::new(FilterType::Ribbon, size.bits_per_key)?,
        ));
    }
    let modes = &[Mode::Build, Mode::Single, Mode::Present, Mode::Batch];
    Race { command: "kinds compact", options, modes, base: FAST, same_answers: false }
        .run(size, contenders, notes)
}

fn dynamic(size: Size, options: &Common, notes: &mut BTreeSet<String>) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut contenders = vec![<u64 as OurKey>::fast(size, 1)?];
    for mode in [Dynamic::Set, Dynamic::Counting] {
        contenders.extend([u64::dynamic(size, mode, false), u64::dynamic(size, mode, true)]);
    }
    contenders.extend(peers::dynamic(size));
    contenders.extend(peers::field(size, notes));
    let modes = &[Mode::Build, Mode::Single, Mode::Present, Mode::Batch, Mode::Remove];
    Race { command: "kinds dynamic", options, modes, base: FAST, same_answers: false }
        .run(size, contenders, notes)
}

/// Insertions that take longer than this are counted.
const LONG: f64 = 0.1e-3;

/// Single insertions into filters that begin with room for 1,000 keys and promise 1 % up to 10^9 keys.
fn pauses(ends: &[u64]) -> Result<(), Box<dyn Error>> {
    println!(
        "\n| filter | keys | insertions over 0.1 ms | the hundredth longest | the tenth | the longest |"
    );
    println!("|---|---|---|---|---|---|");
    for mode in [Dynamic::Set, Dynamic::Counting] {
        let plan = DynamicOptions::new(1_000, 0.01).up_to(1_000_000_000).mode(mode);
        let mut filter = DynamicFilter::new(plan)?;
        let mut done = 0;
        for &end in ends {
            let mut long = Vec::new();
            for key in done..end {
                let mut inserted = Ok(false);
                let seconds = harness::time(1, || inserted = filter.insert(mix(key).to_le_bytes()));
                inserted?;
                if seconds > LONG {
                    long.push(seconds);
                }
            }
            long.sort_by(|a, b| b.total_cmp(a));
            let at =
                |i: usize| long.get(i).map_or("–".to_owned(), |seconds| format!("{:.2} ms", 1e3 * seconds));
            println!(
                "| {} | {done} to {end} | {} | {} | {} | {} |",
                mode.name(),
                long.len(),
                at(99),
                at(9),
                at(0)
            );
            done = end;
        }
    }
    Ok(())
}
