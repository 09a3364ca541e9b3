//! A compact filter of very many keys, made up on the fly: built in bounded memory, every thousandth key
//! looked up, the rate measured.

use crate::keys;
use crate::memory::held_by;
use fullbloom::keys::Column;
use fullbloom_compact::CompactBuilder;
use fullbloom_testkit::stats::Measured;
use std::error::Error;
use std::time::Instant;

/// Options of `compact-large`.
#[derive(clap::Args)]
pub struct Options {
    /// Keys.
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    keys: u64,
    /// The false-positive rate.
    #[arg(long, value_name = "P", default_value_t = 1.0 / 256.0)]
    fpr: f64,
    /// Scratch memory in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Absent keys that are looked up.
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    absent: u64,
}

/// Keys made up at a time.
const CHUNK: u64 = 1 << 20;

/// One of so many keys is looked up.
const STEP: usize = 1000;

/// Builds and looks up; an error if a key is lost or the rate is not the planned one.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let Options { keys, fpr, memory, threads, absent } = *options;
    let start = Instant::now();
    let mut built = None;
    let held = held_by(|| {
        built = Some((|| {
            let mut builder =
                CompactBuilder::new(fpr)?.threads(threads).memory(memory << 20).expected_keys(keys);
            for at in (0..keys).step_by(CHUNK as usize) {
                let some: Vec<u64> = (at..keys.min(at + CHUNK)).map(keys::member).collect();
                builder.add_batch(&Column(&some))?;
            }
            builder.build()
        })());
    });
    let filter = built.expect("built")?;
    let seconds = start.elapsed().as_secs_f64();
    let bits = filter.bits().len() as f64 * 8.0 / keys as f64;
    println!("{keys} keys at {fpr}: {bits:.4} bits per key, {:.4} of log2(1/rate)", bits / -fpr.log2());
    println!(
        "built in {seconds:.0} s on {threads} threads; {:.2} million keys/s",
        keys as f64 / seconds / 1e6
    );
    println!(
        "memory: {} MiB for the filter, and {} MiB at most while it was built",
        filter.bits().len() >> 20,
        held.peak >> 20
    );
    if filter.keys() != keys {
        return Err(format!("{} keys are counted", filter.keys()).into());
    }
    let members: Vec<u64> = (0..keys).step_by(STEP).map(keys::member).collect();
    let found = filter.count_batch(&Column(&members))?;
    println!("every {STEP}th key looked up: {found} of {} found", members.len());
    if found != members.len() as u64 {
        return Err("keys are lost".into());
    }
    let (mut lookups, mut hits) = (0, 0);
    for at in (0..absent).step_by(CHUNK as usize) {
        let some: Vec<u64> = (at..absent.min(at + CHUNK)).map(keys::stranger).collect();
        lookups += some.len() as u64;
        hits += filter.count_batch(&Column(&some))?;
    }
    let (measured, expected) = (Measured { lookups, hits }, filter.expected_fpr());
    let sigma = measured.z_score(expected);
    println!(
        "rate: {:.6e} planned, {expected:.6e} expected, {:.6e} measured over {lookups} absent keys, {sigma:+.2} sigma",
        filter.planned_fpr(),
        measured.rate()
    );
    if sigma.abs() > 3.0 { Err("the rate is not the planned one".into()) } else { Ok(()) }
}
