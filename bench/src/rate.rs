//! The promise of the native filter at sizes too large for tests: what is planned is what is measured.

use fullbloom::Hashing;
use fullbloom::bulk::Builder;
use fullbloom::keys::Column;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use std::error::Error;
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
}

/// Keys given at a time.
const CHUNK: u64 = 1 << 20;

/// More standard deviations than this are no chance.
const MOST: f64 = 3.0;

/// Builds the filters and measures; an error if a key is lost or a rate is not the planned one.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let Options { keys, absent, .. } = *options;
    if keys == 0 || keys > 1 << 40 || absent == 0 || absent > 1 << 40 {
        return Err("--keys, --absent: from 1 to 2^40".into());
    }
    for &bits_per_key in &options.bits_per_key {
        let plan = Sizing::new(&Request { expected_keys: keys, target: Target::BitsPerKey(bits_per_key) })?;
        println!("{plan}");
        let start = Instant::now();
        let filter = build(&plan, keys)?;
        println!("  built in {:.1} s", start.elapsed().as_secs_f64());
        let found = count(&filter, 0..keys);
        if found != keys {
            return Err(format!("{} of {keys} keys are lost", keys - found).into());
        }
        let measured = count(&filter, 1 << 40..(1 << 40) + absent) as f64 / absent as f64;
        println!("  all {keys} keys found; {absent} absent keys: measured {measured:.4e}");
        for (what, expected) in [("planned", plan.expected_fpr), ("its own bits", filter.expected_fpr())] {
            let deviation = (expected * (1.0 - expected) / absent as f64).sqrt();
            let off = (measured - expected) / deviation;
            println!("  {what}: {expected:.4e}, {off:+.2} standard deviations");
            if off.abs() > MOST {
                return Err(format!("{bits_per_key} bits per key: off by {off:+.2} deviations").into());
            }
        }
    }
    Ok(())
}

fn build(plan: &Sizing, keys: u64) -> Result<fullbloom::Filter, Box<dyn Error>> {
    let mut builder = Builder::new(fullbloom::Filter::with_sizing(plan, Hashing::default())?, 0);
    for_chunks(0..keys, |chunk| builder.add_batch(&Column(chunk)).expect("the keys fit"));
    Ok(builder.build())
}

fn count(filter: &fullbloom::Filter, keys: std::ops::Range<u64>) -> u64 {
    let mut found = 0;
    for_chunks(keys, |chunk| found += filter.count_batch(&Column(chunk)).expect("the keys fit"));
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
