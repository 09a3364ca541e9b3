//! False-positive rates, planned and measured, and proofs that no key is lost.
//!
//! Without a subcommand: the rates of every dialect with keys of three shapes. Some engines' hashes treat keys that
//! count up better or worse than others, and their dialects do the same.

use crate::harness;
use crate::machine;
use crate::memory;
use fullbloom::Hashing;
use fullbloom::bulk::Builder;
use fullbloom::kernel::Kernel;
use fullbloom::keys::Column;
use fullbloom::sizing::{Request, Sizing, Target};
use fullbloom_any as any;
use fullbloom_any::AnyFilter;
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_dialects::Name;
use fullbloom_testkit::keys::Shape;
use fullbloom_testkit::stats::Measured;
use std::error::Error;
use std::path::PathBuf;

/// Options of `rates`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// Put this many keys into each filter.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 100_000, 10_000_000])]
    keys: Vec<u64>,
    /// Look up this many absent keys in each filter.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    absent: u64,
    /// Give each filter this many bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',', default_values_t = [8.0, 10.0, 16.0])]
    bits_per_key: Vec<f64>,
    /// Measure only these dialects.
    #[arg(long = "dialect", value_name = "DIALECT", value_delimiter = ',')]
    dialects: Vec<Name>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Build one filter that is too large for a test, look up its keys and absent ones.
    Large(Large),
    /// Look up present keys in compact filters of many sizes, rates and shapes of keys.
    Lost {
        /// Look up this many present keys at least.
        #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
        lookups: u64,
    },
}

/// Options of `rates large`.
#[derive(clap::Args)]
struct Large {
    /// Build a filter of this kind.
    #[arg(long, value_name = "KIND", value_parser = ["fast", "compact"], default_value = "fast")]
    kind: String,
    /// Insert the numbers below this.
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    keys: u64,
    /// Look up this many absent keys: the numbers from 2^40 on.
    #[arg(long, value_name = "N", default_value_t = 200_000_000)]
    absent: u64,
    /// Give a fast filter this many bits per key.
    #[arg(long, value_name = "BITS", default_value_t = 10.0)]
    bits_per_key: f64,
    /// Give a compact filter this false-positive rate.
    #[arg(long, value_name = "P", default_value_t = 1.0 / 256.0)]
    fpr: f64,
    /// Build a compact filter in this many MiB of memory.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,
    /// Build on this many threads; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Look up one of this many keys.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: u64,
    /// Save the filter to this file, map it for the lookups, and remove it.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the subcommand, or measures every dialect. An error if a key is lost or a rate is not the planned one.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}", machine::describe());
    match &options.command {
        None => dialects(options),
        Some(Command::Large(large)) => large.run(),
        Some(Command::Lost { lookups }) => lost(*lookups),
    }
}

/// A rate that differs from the plan by more than this share, and not by chance, gets a mark.
const NOTEWORTHY: f64 = 0.05;

/// Keys looked up at a time.
const BATCH: usize = 1000;

/// Small filters differ from each other, so several of one size are filled until they have this many keys together;
/// at most [`MOST_FILTERS`].
const TOGETHER: u64 = 1_000_000;
const MOST_FILTERS: u64 = 200;

/// The number of filters of this size that are filled, each with keys of its own. They share the absent keys.
fn filters(keys: u64) -> u64 {
    (TOGETHER / keys.max(1)).clamp(1, MOST_FILTERS)
}

/// Prints a table; an error if a key is lost.
fn dialects(options: &Options) -> Result<(), Box<dyn Error>> {
    let dialects = if options.dialects.is_empty() { Name::ALL } else { &options.dialects };
    let most = options.keys.iter().map(|&keys| filters(keys) * keys).max().unwrap_or(0);
    if options.keys.contains(&0) || options.absent == 0 {
        return Err("--keys, --absent: 1 or more".into());
    }
    let mut rows: Vec<Row> = Vec::new();
    for &name in dialects {
        for &keys in &options.keys {
            rows.extend(options.bits_per_key.iter().map(|&bits| Row { name, keys, bits, cells: Vec::new() }));
        }
    }
    // A shape at a time: all of its keys are held in memory.
    for shape in Shape::ALL {
        let owned: Vec<Vec<u8>> = (0..most + options.absent).map(|i| shape.key(i)).collect();
        let keys: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
        let (present, absent) = keys.split_at(most as usize);
        for row in &mut rows {
            row.cells.extend(measure(row, present, absent)?);
        }
    }
    println!("| dialect | keys | bits per key | planned | random | counting | one beginning |");
    println!("|---|---|---|---|---|---|---|");
    for Row { name, keys, bits, cells } in rows {
        // What the dialect refuses has no row.
        let Some(Cell { planned, .. }) = cells.first() else { continue };
        print!("| {name} | {keys} | {bits} | {:.4} % |", 100.0 * planned);
        cells.iter().for_each(|cell| print!(" {} |", cell.shown()));
        println!();
    }
    Ok(())
}

struct Row {
    name: Name,
    keys: u64,
    bits: f64,
    /// One for each shape.
    cells: Vec<Cell>,
}

struct Cell {
    planned: f64,
    measured: Measured,
}

impl Cell {
    fn shown(&self) -> String {
        let rate = self.measured.rate();
        let off = rate / self.planned - 1.0;
        let by_chance = self.measured.z_score(self.planned).abs() <= 4.0;
        let mark = if off.abs() > NOTEWORTHY && !by_chance {
            format!(" ({:+.0} %)", 100.0 * off)
        } else {
            String::new()
        };
        format!("{:.4} %{mark}", 100.0 * rate)
    }
}

/// `None` where the dialect refuses the request.
fn measure(row: &Row, present: &[&[u8]], absent: &[&[u8]]) -> Result<Option<Cell>, Box<dyn Error>> {
    let Row { name, keys: count, bits, .. } = *row;
    let request = Request { expected_keys: count, target: Target::BitsPerKey(bits) };
    let Ok(plan) = any::plan(name, &request) else { return Ok(None) };
    let mut measured = Measured { lookups: 0, hits: 0 };
    let filters = filters(count) as usize;
    let shares = absent.chunks(absent.len().div_ceil(filters));
    for (present, absent) in present.chunks_exact(count as usize).take(filters).zip(shares) {
        let mut builder = any::Builder::new(name, &request)?;
        present.chunks(BATCH).for_each(|some| builder.add_batch(some));
        let filter = builder.build()?;
        let found = hits(&filter, present);
        if found != count {
            return Err(format!("{name}: {} of {count} keys are lost", count - found).into());
        }
        measured.lookups += absent.len() as u64;
        measured.hits += hits(&filter, absent);
    }
    Ok(Some(Cell { planned: plan.expected_fpr, measured }))
}

fn hits(filter: &AnyFilter, keys: &[&[u8]]) -> u64 {
    let mut answers = [false; BATCH];
    let mut hits = 0;
    for some in keys.chunks(BATCH) {
        let answers = &mut answers[..some.len()];
        filter.may_contain_batch_into(some, &mut *answers).expect("a place for each key");
        hits += answers.iter().filter(|&&yes| yes).count() as u64;
    }
    hits
}

/// Keys that are made at a time.
const CHUNK: u64 = 1 << 20;

/// A measured rate that is off by more standard deviations than this is an error.
const MOST: f64 = 3.0;

/// The lookups of a large filter.
trait Count {
    fn count(&self, keys: &[u64]) -> Result<u64, Box<dyn Error>>;
    fn expected(&self) -> f64;
}

macro_rules! count {
    ($($filter:ident),*) => {$(
        impl<S: AsRef<[u8]>> Count for $filter<S> {
            fn count(&self, keys: &[u64]) -> Result<u64, Box<dyn Error>> {
                Ok(self.count_batch(&Column(keys))?)
            }

            fn expected(&self) -> f64 {
                self.expected_fpr()
            }
        }
    )*};
}

use fullbloom::Filter;
count!(Filter, CompactFilter);

impl Large {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let Large { keys, absent, every, .. } = *self;
        if [keys, absent, every].iter().any(|n| !(1..=1 << 40).contains(n)) {
            return Err("--keys, --absent, --every: from 1 to 2^40".into());
        }
        if self.kind == "fast" {
            let target = Target::BitsPerKey(self.bits_per_key);
            let plan = Sizing::new(&Request { expected_keys: keys, target })?;
            let filter = self.timed(|| {
                let filter = Filter::with_sizing(&plan, Hashing::default())?;
                let mut builder = Builder::new(filter, self.threads);
                for_chunks(0..keys, |chunk| Ok(builder.add_batch(&Column(chunk))?))?;
                Ok(builder.build())
            })?;
            self.report(plan.expected_fpr, plan.bits_per_key());
            match &self.file {
                None => self.ask(&filter),
                Some(path) => {
                    filter.save(path)?;
                    drop(filter);
                    let asked = Filter::open(path).map_err(Into::into).and_then(|mapped| self.ask(&mapped));
                    std::fs::remove_file(path)?;
                    asked
                }
            }
        } else {
            let filter = self.timed(|| {
                let builder = CompactBuilder::new(self.fpr)?.memory(self.memory << 20).expected_keys(keys);
                let mut builder = builder.threads(self.threads);
                for_chunks(0..keys, |chunk| Ok(builder.add_batch(&Column(chunk))?))?;
                Ok(builder.build()?)
            })?;
            self.report(filter.planned_fpr(), filter.bits().len() as f64 * 8.0 / keys as f64);
            match &self.file {
                None => self.ask(&filter),
                Some(path) => {
                    filter.save(path)?;
                    drop(filter);
                    let asked =
                        CompactFilter::open(path).map_err(Into::into).and_then(|mapped| self.ask(&mapped));
                    std::fs::remove_file(path)?;
                    asked
                }
            }
        }
    }

    /// Prints what building costs.
    fn timed<F>(&self, build: impl FnOnce() -> Result<F, Box<dyn Error>>) -> Result<F, Box<dyn Error>> {
        let start = std::time::Instant::now();
        let mut built = None;
        let cpu = harness::time(1, || built = Some(build()));
        println!(
            "built in {:.1} s, {cpu:.1} s of CPU time: {:.2} for 10^9 keys; {} MiB of memory at most",
            start.elapsed().as_secs_f64(),
            cpu * 1e9 / self.keys as f64,
            memory::peak_mib()
        );
        built.expect("built")
    }

    fn report(&self, planned: f64, bits_per_key: f64) {
        println!(
            "{} keys, {bits_per_key:.4} bits per key, {:.4} of log2(1/rate); planned rate {planned:.6e}",
            self.keys,
            bits_per_key / -planned.log2()
        );
    }

    /// Looks up the keys and absent ones.
    fn ask(&self, filter: &impl Count) -> Result<(), Box<dyn Error>> {
        let Large { keys, absent, every, .. } = *self;
        let (mut found, mut hits) = (0, 0);
        for_chunks(0..keys.div_ceil(every), |chunk| {
            let keys: Vec<u64> = chunk.iter().map(|number| number * every).collect();
            found += filter.count(&keys)?;
            Ok(())
        })?;
        let present = keys.div_ceil(every);
        if found != present {
            return Err(format!("{} of {present} keys are lost", present - found).into());
        }
        for_chunks(1 << 40..(1 << 40) + absent, |chunk| {
            hits += filter.count(chunk)?;
            Ok(())
        })?;
        let (measured, expected) = (Measured { lookups: absent, hits }, filter.expected());
        let off = measured.z_score(expected);
        println!("all {present} keys found; {absent} absent keys: measured rate {:.6e}", measured.rate());
        println!("expected of its bits: {expected:.6e}, {off:+.2} standard deviations");
        if off.abs() > MOST { Err("the rate is not the planned one".into()) } else { Ok(()) }
    }
}

fn for_chunks(
    keys: std::ops::Range<u64>,
    mut then: impl FnMut(&[u64]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut chunk = Vec::new();
    for start in keys.clone().step_by(CHUNK as usize) {
        chunk.clear();
        chunk.extend(start..keys.end.min(start + CHUNK));
        then(&chunk)?;
    }
    Ok(())
}

const RATES: [f64; 12] =
    [0.5, 0.3, 0.2, 0.1, 0.05, 0.01, 1.0 / 256.0, 1e-3, 1e-4, 1e-6, 1e-9, 5.421_010_862_427_522e-20];

/// Sizes around the limits of one cache line and of few lines, and some larger ones.
const SIZES: [u64; 16] =
    [1, 8, 9, 58, 59, 121, 247, 629, 630, 1259, 5039, 5041, 20_000, 100_000, 1_000_000, 3_000_000];

/// Builds and looks up until there were enough lookups; an error at the first key that is lost.
fn lost(least: u64) -> Result<(), Box<dyn Error>> {
    let (mut lookups, mut filters, mut worst) = (0u64, 0u64, 0.0f64);
    let (mut rates, mut outliers) = (0u64, 0u64);
    let mut round = 0u64;
    while lookups < least {
        for shape in Shape::ALL {
            for count in SIZES {
                // Many small sets.
                for set in 0..(20_000 / count).clamp(1, 100) {
                    let first = (round * 1000 + set) * 4_000_000;
                    let owned: Vec<Vec<u8>> = (first..first + count).map(|i| shape.key(i)).collect();
                    let keys: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
                    let fpr = RATES[(filters % RATES.len() as u64) as usize];
                    let filter = compact(&keys, fpr, filters)?;
                    filters += 1;
                    lookups += present(&filter, &keys, fpr)?;
                    if count >= 5000 && fpr > 1e-5 {
                        let strangers: Vec<Vec<u8>> =
                            (0..200_000u64).map(|i| shape.key(i + (1 << 44) + filters * 300_000)).collect();
                        let strangers: Vec<&[u8]> = strangers.iter().map(Vec::as_slice).collect();
                        let hits = filter.count_batch(&strangers[..])?;
                        let measured = Measured { lookups: strangers.len() as u64, hits };
                        let sigma = measured.z_score(filter.expected_fpr()).abs();
                        worst = worst.max(sigma);
                        rates += 1;
                        outliers += u64::from(sigma > 3.0);
                    }
                }
            }
        }
        round += 1;
    }
    println!(
        "kernel {}: {lookups} lookups of present keys in {filters} filters, none lost",
        Kernel::in_use()
    );
    println!(
        "{rates} rates measured over 200000 absent keys each: {outliers} beyond 3 sigma, at most {worst:.2}"
    );
    // By chance one rate in 370 is off by more than three standard deviations.
    if outliers as f64 > 3.0 + rates as f64 / 370.0 * 3.0 {
        return Err("too many rates are off".into());
    }
    Ok(())
}

fn compact(keys: &[&[u8]], fpr: f64, number: u64) -> Result<CompactFilter, Box<dyn Error>> {
    let mut builder = CompactBuilder::new(fpr)?.threads(1 + number as usize % 2);
    for some in keys.chunks(50_000) {
        builder.add_batch(some)?;
    }
    let filter = builder.build()?;
    if filter.keys() != keys.len() as u64 {
        return Err(format!("{} keys at {fpr}: {} are counted", keys.len(), filter.keys()).into());
    }
    Ok(filter)
}

/// Looks up all keys in batches of several lengths, and one by one.
fn present(filter: &CompactFilter, keys: &[&[u8]], fpr: f64) -> Result<u64, Box<dyn Error>> {
    let mut lookups = 0;
    let mut check = |found: u64, of: usize| {
        lookups += of as u64;
        if found == of as u64 {
            Ok(())
        } else {
            Err(format!("{} keys at {fpr}: {} are lost", keys.len(), of as u64 - found))
        }
    };
    check(filter.count_batch(keys)?, keys.len())?;
    for len in [7, 100, 1000] {
        let found = keys.chunks(len).map(|some| filter.count_batch(some)).sum::<Result<u64, _>>()?;
        check(found, keys.len())?;
    }
    check(keys.iter().filter(|key| filter.may_contain(key)).count() as u64, keys.len())?;
    // Most of the lookups: the same keys again, at other places of the batch.
    for start in 1..20.min(keys.len()) {
        check(filter.count_batch(&keys[start..])?, keys.len() - start)?;
    }
    Ok(lookups)
}
