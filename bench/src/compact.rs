//! The native kind `compact` beside `fast` and the static filters of others: built, asked key by key and in
//! batches.
//!
//! All have the same keys. A size is that of the compact filter's array. Filters of others whose rate cannot
//! be chosen have the nearest one that is not above the requested rate; their tables have its figure.

mod entrants;
pub mod large;
pub mod lost;

use crate::Common;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::{self, Mix, Questions};
use crate::memory::{self, Held, HugePages};
use entrants::{BINARY_FUSE, BOUNDED, COMPACT, COMPACT_2, Entrant, FAST, Filter};
use fullbloom_compact::CompactFilter;
use std::cell::RefCell;
use std::error::Error;
use std::hint::black_box;

/// Options of `compact`.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// False-positive rates.
    #[arg(long, value_name = "RATES", value_delimiter = ',', default_values_t = [1.0 / 256.0, 1e-4, 1e-6])]
    rates: Vec<f64>,
    /// Only filters whose names begin so.
    #[arg(long, value_name = "NAMES", value_delimiter = ';')]
    filters: Option<Vec<String>>,
    /// Rounds of building.
    #[arg(long, value_name = "N")]
    build_rounds: Option<usize>,
}

/// One rate and size after the other.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    HugePages::want();
    let common = &options.common;
    println!("{}; kernel {}; 8-byte keys", harness::cpu_name(), fullbloom::kernel::Kernel::in_use());
    println!("million keys/s; CPU time, contestants in turn; ratio: median to the median of {FAST}");
    let default: &[u64] = if common.quick { &[256 << 10, 8 << 20] } else { &[256 << 10, 8 << 20, 256 << 20] };
    let mut rows = Vec::new();
    for &bytes in common.sizes.as_deref().unwrap_or(default) {
        for &fpr in &options.rates {
            rows.extend(at_size(bytes, fpr, options)?);
            // What was measured stays, whatever happens later.
            if let Some(path) = &common.json {
                harness::save(&rows, path)?;
            }
        }
    }
    Ok(())
}

/// The most keys whose compact filter has at most so many bytes.
fn members_for(bytes: u64, fpr: f64) -> Result<u64, Box<dyn Error>> {
    let mut members = (bytes as f64 * 8.0 / -fpr.log2()) as u64;
    while CompactFilter::plan(members, fpr)?.bit_len > bytes * 8 {
        members -= members / 500;
    }
    Ok(members)
}

/// All races of one size and rate.
fn at_size(bytes: u64, fpr: f64, options: &Options) -> Result<Vec<Row>, Box<dyn Error>> {
    let members: Vec<u64> = (0..members_for(bytes, fpr)?).map(keys::member).collect();
    let count = members.len() as u64;
    let mut entrants = entrants::all(count, fpr);
    entrants.retain(|entrant| {
        let wanted = options
            .filters
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| entrant.name.starts_with(name)));
        let refused = memory::refused(entrant.needs);
        if let Some(why) = refused.as_ref().filter(|_| wanted) {
            println!("left out: {} at {}: {why}", entrant.name, harness::size(bytes));
        }
        wanted && refused.is_none()
    });
    let setting =
        |mode| Setting { keys: "u64", bytes, bits_per_key: bytes as f64 * 8.0 / count as f64, mode };
    println!("\n{count} keys at {fpr}");
    let rounds = options.build_rounds.unwrap_or(if bytes > 64 << 20 { 1 } else { 7 });
    let (built, mut rows) = build(&setting("build"), &entrants, &members, fpr, rounds)?;
    drop(members);
    harness::print(&rows, FAST);
    let rounds = match (options.common.rounds, bytes) {
        (Some(rounds), _) => rounds,
        (None, 0..=0x100_0000) => 41,
        (None, _) => 15,
    };
    let one_each: Vec<&(&'static str, Box<dyn Filter>)> =
        built.iter().filter(|(name, _)| ![COMPACT_2, BOUNDED, entrants::FAST_2].contains(name)).collect();
    for (mode, mixed, batch) in [
        ("single", Mix::Absent, false),
        ("single, present", Mix::Present, false),
        ("batch, absent", Mix::Absent, true),
        ("batch, present", Mix::Present, true),
    ] {
        let questions = &Questions::<u64>::new(bytes, count, mixed);
        let repeats = if questions.window() <= 1 << 15 { 32 } else { 1 };
        let answers = &RefCell::new(vec![false; questions.window()]);
        let contestants = one_each
            .iter()
            .map(|(name, filter)| {
                Contestant::new(*name, move |turn| {
                    for _ in 0..repeats {
                        let keys = &questions.keys[questions.at(turn)];
                        if batch {
                            let mut answers = answers.borrow_mut();
                            filter.answer(keys, &mut answers);
                            black_box(&*answers);
                        } else {
                            black_box(filter.count(keys));
                        }
                    }
                })
            })
            .collect();
        let ops = (questions.window() * repeats) as u64;
        let asked = harness::race(&setting(mode), ops, rounds, None, contestants);
        harness::print(&asked, FAST);
        rows.extend(asked);
    }
    println!("\n{}", compared(&rows, bytes, fpr));
    Ok(rows)
}

type Built = Vec<(&'static str, Box<dyn Filter>)>;

/// Builds every filter in every round, and keeps those of the last.
fn build(
    setting: &Setting,
    entrants: &[Entrant],
    members: &[u64],
    fpr: f64,
    rounds: usize,
) -> Result<(Built, Vec<Row>), Box<dyn Error>> {
    let mut built: Built = Vec::new();
    let mut speeds = vec![Vec::new(); entrants.len()];
    let mut held = vec![Held::default(); entrants.len()];
    let warm_up = usize::from(rounds > 1);
    for round in 0..rounds + warm_up {
        built.clear();
        for (i, entrant) in entrants.iter().enumerate() {
            let mut filter = None;
            let mut seconds = 0.0;
            held[i] = memory::held_by(|| {
                let build = || filter = Some((entrant.build)(members, fpr));
                seconds = harness::time_of_all(entrant.threads, build);
            });
            built.push((entrant.name, filter.expect("built")?));
            if round >= warm_up {
                speeds[i].push(members.len() as f64 / seconds / 1e6);
            }
        }
    }
    let strangers: Vec<u64> = (0..1 << 22).map(keys::stranger).collect();
    let mut answers = vec![false; strangers.len()];
    println!(
        "  {:34} {:>9} {:>9} {:>12} {:>10} {:>12}",
        "", "bits/key", "of log2", "rate", "strangers", "scratch B/key"
    );
    for ((name, filter), held) in built.iter().zip(&held) {
        let found = members.chunks(1 << 22).map(|some| filter.count(some)).sum::<usize>();
        if found != members.len() {
            return Err(format!("{name} has lost keys").into());
        }
        filter.answer(&strangers, &mut answers);
        let hits = answers.iter().filter(|&&yes| yes).count();
        if filter.count(&strangers) != hits {
            return Err(format!("{name} answers a batch otherwise than single keys").into());
        }
        let bits = filter.array().unwrap_or(held.after as usize) as f64 * 8.0 / members.len() as f64;
        println!(
            "  {name:34} {bits:9.3} {:9.3} {:12.3e} {hits:10} {:12.1}",
            bits / -filter.rate(fpr).log2(),
            filter.rate(fpr),
            (held.peak - held.after) as f64 / members.len() as f64
        );
    }
    let rows = entrants.iter().zip(speeds);
    let rows = rows.map(|(entrant, speeds)| Row::new(entrant.name.to_owned(), setting, speeds)).collect();
    Ok((built, rows))
}

/// The speed compared with other filters, and the least ratios that changes must keep.
fn compared(rows: &[Row], bytes: u64, fpr: f64) -> String {
    let (near, far) = (bytes <= 1 << 20, bytes > 64 << 20);
    // 2^-8, 10^-4, 10^-6 and what is between.
    let by_rate = |values: [f64; 3]| values[if fpr > 1e-3 { 0 } else { 1 + usize::from(fpr < 1e-5) }];
    let mut least_ratios = vec![
        ("single", COMPACT, FAST, 0.6),
        ("build", COMPACT, FAST, by_rate([0.45, 1.0, 2.0])),
        ("build", COMPACT_2, COMPACT, 1.8),
    ];
    if near {
        least_ratios.push(("batch, absent", COMPACT, FAST, 0.65));
    }
    if far {
        least_ratios.push(("batch, absent", COMPACT, FAST, by_rate([0.9, 1.15, 1.3])));
    }
    if fpr == 1.0 / 256.0 {
        least_ratios.push(("batch, absent", COMPACT, BINARY_FUSE, if near { 1.3 } else { 3.3 }));
    }
    if far {
        least_ratios.push(("build", COMPACT, BINARY_FUSE, 5.0));
    }
    let mut text = format!("compared with other filters, {} at {fpr}:\n", harness::size(bytes));
    for (mode, ours, rival, least) in least_ratios {
        let median = |name: &str| {
            rows.iter().find(|row| row.setting.mode == mode && row.filter == name).map(|row| row.median)
        };
        if let Some((ours_median, rival_median)) = median(ours).zip(median(rival)) {
            let ratio = ours_median / rival_median;
            let verdict = if ratio >= least { "" } else { "BELOW" };
            text +=
                &format!("  {mode:16} {ours:22} {ratio:5.2} x {rival:22} at least {least:4.2}  {verdict}\n");
        }
    }
    text
}
