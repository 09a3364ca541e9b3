//! The rates of every dialect: what is planned, and what keys of three shapes come to. Some originals' hashes
//! treat keys that count up worse or better than others, and their dialects do what they do.

use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_testkit::keys::Shape;
use fullbloom_testkit::stats::Measured;
use std::error::Error;

/// Options of `rates`.
#[derive(clap::Args)]
pub struct Options {
    /// Keys in a filter.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 100_000, 10_000_000])]
    keys: Vec<u64>,
    /// Absent keys that each filter is asked for.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    absent: u64,
    /// Bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',', default_values_t = [8.0, 10.0, 16.0])]
    bits_per_key: Vec<f64>,
    /// Dialects; all unless named.
    #[arg(long = "dialect", value_name = "DIALECT", value_delimiter = ',')]
    dialects: Vec<Name>,
}

/// More than this beside the plan, and not by chance, gets a mark.
const NOTEWORTHY: f64 = 0.05;

/// Keys asked for at a time.
const BATCH: usize = 1000;

/// Small filters differ among each other: so many keys go into filters of one size together, 200 filters at
/// most.
const TOGETHER: u64 = 1_000_000;
const MOST_FILTERS: u64 = 200;

/// How many filters of so many keys are filled, each with keys of its own, and asked for their share of the
/// absent ones.
fn filters(keys: u64) -> u64 {
    (TOGETHER / keys.max(1)).clamp(1, MOST_FILTERS)
}

/// Prints a table; an error if a key is lost.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
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
