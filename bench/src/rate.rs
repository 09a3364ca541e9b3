//! The promise of the native filter at sizes too large for tests: what is planned is what is measured.

use crate::{harness, memory};
use fullbloom::Hashing;
use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `rate`.
#[derive(clap::Args)]
pub struct Options {
    /// Keys in the filter: the numbers from 0 on.
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    keys: u64,
    /// Absent keys asked for: the numbers from 2^40 on.
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    absent: u64,
    /// Bits per key, one filter for each.
    #[arg(long, value_name = "BITS", value_delimiter = ',', default_values_t = [10.0, 16.0])]
    bits_per_key: Vec<f64>,
    /// Ask for every N-th of the keys.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: u64,
    /// Save the filter there, and ask the mapped file. It is removed at the end.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Keys given at a time.
const CHUNK: u64 = 1 << 20;

/// More standard deviations than this are no chance.
const MOST: f64 = 3.0;

/// Builds the filters and measures; an error if a key is lost or a rate is not the planned one.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let Options { keys, absent, every, .. } = *options;
    if [keys, absent, every].iter().any(|n| !(1..=1 << 40).contains(n)) {
        return Err("--keys, --absent, --every: from 1 to 2^40".into());
    }
    for &bits_per_key in &options.bits_per_key {
        let plan = Sizing::new(&Request { expected_keys: keys, target: Target::BitsPerKey(bits_per_key) })?;
        println!("{plan}");
        let (start, mut built) = (Instant::now(), None);
        let cpu = harness::cpu_seconds(|| built = Some(build(&plan, keys)));
        let filter = built.expect("built")?;
        println!(
            "  built in {:.1} s, {cpu:.1} s of CPU time: {:.2} for 10^9 keys; {} MiB at most",
            start.elapsed().as_secs_f64(),
            cpu * 1e9 / keys as f64,
            memory::peak_mib()
        );
        let Some(path) = &options.file else {
            ask(&filter, &plan, options)?;
            continue;
        };
        filter.save(path)?;
        drop(filter);
        let asked =
            fullbloom::Filter::open(path).map_err(Into::into).and_then(|mapped| ask(&mapped, &plan, options));
        std::fs::remove_file(path)?;
        asked?;
    }
    Ok(())
}

/// Looks for the keys and for absent ones.
fn ask<S: AsRef<[u8]>>(
    filter: &fullbloom::Filter<S>,
    plan: &Sizing,
    Options { keys, absent, every, .. }: &Options,
) -> Result<(), Box<dyn Error>> {
    let (present, found) = (keys.div_ceil(*every), count(filter, 0..*keys, *every));
    if found != present {
        return Err(format!("{} of {present} keys are lost", present - found).into());
    }
    let measured = count(filter, 1 << 40..(1 << 40) + absent, 1) as f64 / *absent as f64;
    println!("  all {present} keys found; {absent} absent keys: measured {measured:.4e}");
    for (what, expected) in [("planned", plan.expected_fpr), ("its own bits", filter.expected_fpr())] {
        let deviation = (expected * (1.0 - expected) / *absent as f64).sqrt();
        let off = (measured - expected) / deviation;
        println!("  {what}: {expected:.4e}, {off:+.2} standard deviations");
        if off.abs() > MOST {
            return Err(format!("{} bits per key: off by {off:+.2} deviations", plan.bits_per_key()).into());
        }
    }
    Ok(())
}

fn build(plan: &Sizing, keys: u64) -> Result<fullbloom::Filter, Box<dyn Error>> {
    let mut builder = Builder::new(fullbloom::Filter::with_sizing(plan, Hashing::default())?, 0);
    for_chunks(0..keys, |chunk| builder.add_batch(&Column(chunk)).expect("the keys fit"));
    Ok(builder.build())
}

fn count<S: AsRef<[u8]>>(filter: &fullbloom::Filter<S>, keys: std::ops::Range<u64>, every: u64) -> u64 {
    let (mut found, mut some) = (0, Vec::new());
    for_chunks(keys.start / every..keys.end.div_ceil(every), |chunk| {
        some.clear();
        some.extend(chunk.iter().map(|number| number * every));
        found += filter.count_batch(&Column(&some)).expect("the keys fit");
    });
    found
}

fn for_chunks(keys: std::ops::Range<u64>, mut then: impl FnMut(&[u64])) {
    let mut chunk = Vec::new();
    for start in keys.clone().step_by(CHUNK as usize) {
        chunk.clear();
        chunk.extend(start..keys.end.min(start + CHUNK));
        then(&chunk);
    }
}
