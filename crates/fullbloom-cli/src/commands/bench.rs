//! `fullbloom bench`: how fast the dialects are on this machine.

use crate::args;
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::table::Table;
use crate::text;
use fullbloom::error::BuildError;
use fullbloom::kernel::Kernel;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// Keys in one batch.
const BATCH: usize = 1024;

/// Measure the speed of each dialect on this machine
///
/// Building, lookups of absent keys one by one and in batches, and of present keys in batches, on one thread;
/// the medians of all rounds.
///
/// Keys have 16 characters. Native filters are built on all threads. The dialects take turns in each round.
/// The first columns show the cost: bits per key and measured rate. Exit status: 0, or 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom bench
  fullbloom bench --keys 10M --dialect rocksdb
  FULLBLOOM_KERNEL=scalar fullbloom bench --json")]
pub struct Args {
    /// Insert and look up this many keys: 1000 to 100M
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "1M")]
    keys: u64,

    /// Give each key this many bits
    #[arg(long, value_name = "B", default_value_t = 10.0)]
    bits_per_key: f64,

    /// Measure one dialect, or all (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialects(), hide_possible_values = true, default_value = "all")]
    dialect: args::Dialects,

    /// Measure this many rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 5)]
    rounds: u32,

    /// Print one JSON object: {"kernel": …, "rows": […]}
    #[arg(long)]
    json: bool,
}

/// What is measured, in this order.
const WORK: [&str; 4] = ["build", "single_absent", "batch_absent", "batch_present"];

/// One dialect.
struct Row {
    dialect: Name,
    filter: AnyFilter,
    measured_fpr: f64,
    /// Seconds of each round, for each kind of work.
    seconds: [Vec<f64>; 4],
}

/// Measures and prints.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if !(1000..=100_000_000).contains(&args.keys) {
        return Err(Failure::new("--keys", "1000 to 100M keys can be measured"));
    }
    let (present, absent) = (texts(args.keys, 1), texts(args.keys, 2));
    let (present, absent) = (slices(&present), slices(&absent));
    let request = Request { expected_keys: args.keys, target: Target::BitsPerKey(args.bits_per_key) };
    let mut rows = Vec::new();
    for &dialect in args.dialect.names() {
        match build(dialect, &request, &present) {
            Ok(filter) => rows.push(Row::new(dialect, filter, &present, &absent)?),
            Err(e) if args.dialect.names().len() == 1 => return Err(Failure::building(dialect, e)),
            Err(e) => output::warning(&format!("{dialect} is left out: {e}")),
        }
    }
    // Dialects take turns, so that other load on the machine affects all of them.
    for _ in 0..args.rounds {
        for row in &mut rows {
            row.measure(&request, &present, &absent);
        }
    }
    let mut out = Output::stdout();
    if args.json {
        out.json(&json!({
            "kernel": Kernel::in_use().name(),
            "version": env!("CARGO_PKG_VERSION"),
            "keys": args.keys,
            "rounds": args.rounds,
            "threads": std::thread::available_parallelism().map_or(1, usize::from),
            "rows": rows.iter().map(|row| row.json(args.keys)).collect::<Vec<_>>(),
        }))?;
    } else {
        out.bytes(text(&rows, args).as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Yes)
}

impl Row {
    fn new(dialect: Name, filter: AnyFilter, present: &[&[u8]], absent: &[&[u8]]) -> Result<Row, Failure> {
        let found = |keys: &[&[u8]]| {
            let mut answers = vec![false; keys.len()];
            filter.may_contain_batch_into(keys, &mut answers).expect("a place for each key");
            answers.iter().filter(|answer| **answer).count()
        };
        if found(present) != present.len() {
            return Err(Failure::new(
                dialect,
                "a key that was inserted is not found: this machine is faulty",
            ));
        }
        let measured_fpr = found(absent) as f64 / absent.len() as f64;
        Ok(Row { dialect, filter, measured_fpr, seconds: Default::default() })
    }

    fn measure(&mut self, request: &Request, present: &[&[u8]], absent: &[&[u8]]) {
        let filter = &self.filter;
        let mut answers = [false; BATCH];
        let mut batches = |keys: &[&[u8]]| {
            for some in keys.chunks(BATCH) {
                let places = &mut answers[..some.len()];
                filter.may_contain_batch_into(some, places).expect("a place for each key");
                black_box(&mut answers);
            }
        };
        let begun = Instant::now();
        let built = build(self.dialect, request, present);
        let build_time = begun.elapsed().as_secs_f64();
        drop(black_box(built));
        let timed = |work: &mut dyn FnMut()| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        };
        let single = timed(&mut || {
            let found = absent.iter().filter(|key| filter.may_contain(key)).count();
            black_box(found);
        });
        let absent_time = timed(&mut || batches(absent));
        let present_time = timed(&mut || batches(present));
        for (seconds, time) in self.seconds.iter_mut().zip([build_time, single, absent_time, present_time]) {
            seconds.push(time);
        }
    }

    /// Million keys a second, by the median of the rounds.
    fn speed(&self, work: usize, keys: u64) -> f64 {
        let mut seconds = self.seconds[work].clone();
        seconds.sort_by(f64::total_cmp);
        keys as f64 / seconds[seconds.len() / 2].max(1e-9) / 1e6
    }

    fn json(&self, keys: u64) -> Value {
        let geometry = self.filter.geometry();
        let mut row = json!({
            "dialect": self.dialect.as_str(),
            "bits": geometry.bit_len,
            "bytes": self.filter.encoded_len(),
            "bits_per_key": geometry.bit_len as f64 / keys as f64,
            "probes": geometry.probes,
            "measured_fpr": self.measured_fpr,
        });
        for (i, name) in WORK.iter().enumerate() {
            row[format!("{name}_mkeys_per_s")] = self.speed(i, keys).into();
        }
        row
    }
}

fn text(rows: &[Row], args: &Args) -> String {
    let titles = [
        "dialect",
        "bits/key",
        "bytes",
        "measured rate",
        "build",
        "absent",
        "absent, batch",
        "present, batch",
    ];
    let mut table = Table::new(&titles).optional(&["bytes", "present, batch", "bits/key"]);
    for row in rows {
        let geometry = row.filter.geometry();
        let mut cells = vec![
            row.dialect.to_string(),
            text::decimal(geometry.bit_len as f64 / args.keys as f64, 1),
            text::bytes(row.filter.encoded_len()),
            text::rate(row.measured_fpr),
        ];
        cells.extend((0..WORK.len()).map(|work| format!("{:.1}", row.speed(work, args.keys))));
        table.row(cells);
    }
    format!(
        "{} keys of 16 characters, kernel {}, median of {}, million keys a second\n\n",
        args.keys,
        Kernel::in_use(),
        text::counted(args.rounds.into(), "round")
    ) + &table.render_within(output::width())
}

fn build(dialect: Name, request: &Request, keys: &[&[u8]]) -> Result<AnyFilter, BuildError> {
    let mut builder = any::Builder::new(dialect, request)?;
    for some in keys.chunks(BATCH) {
        builder.add_batch(some);
    }
    builder.build()
}

/// Different texts of 16 hexadecimal digits: some dialects take nothing but text.
fn texts(count: u64, seed: u64) -> Vec<[u8; 16]> {
    let text = |i: u64| {
        // SplitMix64, whose results for different numbers are different.
        let mut x = (i << 2 | seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        std::array::from_fn(|digit| b"0123456789abcdef"[(x >> (60 - 4 * digit)) as usize & 15])
    };
    (0..count).map(text).collect()
}

fn slices(texts: &[[u8; 16]]) -> Vec<&[u8]> {
    texts.iter().map(|text| &text[..]).collect()
}
