//! The native filter beside the filters that Rust, C and C++ programs use: asked key by key, asked in
//! batches, built.
//!
//! All contenders get the same keys, the same number of bytes (the static xorf takes what it takes) and 2 MiB
//! pages. `single` asks for absent keys one by one, `present` for present ones; `batch` asks for keys of
//! which half are present, by the filter's own batch if it has one, else in a loop; `build` goes from keys to
//! a filter in new memory.

#[cfg(boost_bloom)]
mod boost;
mod contender;
mod frontier;
mod machine;
mod many;
mod peers;
mod plot;
mod ratios;
#[cfg(fast_local)]
mod rocksdb;

use crate::Common;
use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::{self, Key, Mix, Questions};
use crate::memory::HugePages;
use contender::{Contender, Contenders, Fullbloom, Limit, NativeKeys, OURS, Shared, Size};
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;

/// Options of `compare`.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    bits_per_key: Option<Vec<f64>>,
    /// Kinds of keys.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = ["u64", "16B", "32B"])]
    keys: Option<Vec<String>>,
    /// Only these modes.
    #[arg(long, value_name = "MODES", value_delimiter = ',', value_parser = ["single", "present", "batch", "build", "many"])]
    modes: Option<Vec<String>>,
    /// Only filters whose names begin so.
    #[arg(long, value_name = "NAMES", value_delimiter = ';')]
    filters: Option<Vec<String>>,
    /// Write the plot there (SVG) instead of bench/target/compare.svg.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// One mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Single,
    Present,
    Batch,
    Build,
    /// One key in 64 filters. Only if it is asked for: it takes 64 times the memory.
    Many,
}

impl Mode {
    const ALL: [Mode; 5] = [Mode::Single, Mode::Present, Mode::Batch, Mode::Build, Mode::Many];

    fn name(self) -> &'static str {
        match self {
            Mode::Single => "single",
            Mode::Present => "present",
            Mode::Batch => "batch",
            Mode::Build => "build",
            Mode::Many => "many",
        }
    }
}

/// What to measure, settled.
struct Course<'a> {
    quick: bool,
    filters: Option<&'a [String]>,
    rounds: Option<usize>,
    modes: Vec<Mode>,
}

impl Course<'_> {
    fn wants(&self, filter: &str) -> bool {
        self.filters.is_none_or(|names| names.iter().any(|name| filter.starts_with(name)))
    }

    /// Rounds of questions: short ones are many.
    fn question_rounds(&self, bytes: u64) -> usize {
        let usual = match (bytes, self.quick) {
            (0..=0x100_0000, false) => 61,
            (0..=0x100_0000, true) => 21,
            (_, false) => 21,
            (_, true) => 7,
        };
        self.rounds.unwrap_or(usual)
    }

    /// Builds of large filters take minutes, so there are fewer of them.
    fn build_rounds(&self, bytes: u64) -> usize {
        let usual = match (bytes, self.quick) {
            (0..=0x10_0000, false) => 41,
            (0..=0x10_0000, true) => 15,
            (0..=0x400_0000, false) => 7,
            _ => 1,
        };
        self.rounds.map_or(usual, |rounds| rounds.min(usual))
    }
}

/// Runs the comparison.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    HugePages::want();
    let common = &options.common;
    let all = |list: &[u64]| list.to_vec();
    let sizes = common.sizes.clone().unwrap_or_else(|| match common.quick {
        true => all(&[256 << 10, 256 << 20]),
        false => all(&[256 << 10, 8 << 20, 256 << 20, 1 << 30]),
    });
    let densities = options.bits_per_key.clone().unwrap_or(match common.quick {
        true => vec![10.0],
        false => vec![10.0, 16.0],
    });
    if let Some(bits) = densities.iter().find(|&&bits| !(1.0..=100.0).contains(&bits)) {
        return Err(format!("--bits-per-key {bits}: from 1 to 100").into());
    }
    let kinds = options.keys.clone().unwrap_or_else(|| match common.quick {
        true => vec!["u64".to_owned()],
        false => ["u64", "16B", "32B"].map(str::to_owned).to_vec(),
    });
    let wanted = |mode: &Mode| {
        options.modes.as_ref().map_or(*mode != Mode::Many, |modes| modes.iter().any(|m| m == mode.name()))
    };
    let modes = Mode::ALL.into_iter().filter(wanted).collect();
    let course =
        Course { quick: common.quick, filters: options.filters.as_deref(), rounds: common.rounds, modes };

    let machine = machine::describe();
    println!("{machine}\n");
    println!("million keys/s; thread CPU time, contenders in turn; ratio: median to fullbloom's median");
    let mut notes = BTreeSet::new();
    let mut rows = Vec::new();
    for kind in &kinds {
        for &bits_per_key in &densities {
            for &bytes in &sizes {
                let members = (bytes as f64 * 8.0 / bits_per_key) as u64;
                let size = Size { bytes, members, bits_per_key };
                let measured = match kind.as_str() {
                    "u64" => at_size::<u64>(size, &course, &mut notes)?,
                    "16B" => at_size::<[u8; 16]>(size, &course, &mut notes)?,
                    _ => at_size::<[u8; 32]>(size, &course, &mut notes)?,
                };
                rows.extend(measured);
                // What was measured stays, whatever happens later.
                if let Some(path) = &common.json {
                    harness::save(&rows, path)?;
                }
            }
        }
    }
    println!("\n{}", ratios::report(&rows));
    for note in &notes {
        println!("left out: {note}");
    }
    let plot = options.plot.clone().unwrap_or_else(|| PathBuf::from(PLOT));
    plot::save(&rows, &machine, &plot)?;
    println!("plot: {}", plot.display());
    Ok(())
}

const PLOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/compare.svg");

/// All races of one size.
fn at_size<K: NativeKeys>(
    size: Size,
    course: &Course<'_>,
    notes: &mut BTreeSet<String>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let (peers, missing) = peers::all::<K>(size);
    notes.extend(missing.into_iter().map(|why| format!("{} at {}", why, harness::size(size.bytes))));
    let mut contenders: Contenders<K> =
        vec![Box::new(Fullbloom::new(size, 1)?), Box::new(Shared::new(size)?)];
    for peer in peers {
        if course.quick && size.bytes > SLOW && peer.is_slow_to_build() {
            let bytes = harness::size(size.bytes);
            notes.insert(format!("{}: too slow to build at {bytes} for --quick", peer.name()));
        } else {
            contenders.push(peer);
        }
    }
    contenders.push(Box::new(Limit::new(size)));
    contenders.retain(|contender| course.wants(&contender.name()));

    let mut rows = Vec::new();
    let setting = |mode: Mode| Setting {
        keys: K::NAME,
        bytes: size.bytes,
        bits_per_key: size.bits_per_key,
        mode: mode.name(),
    };
    let mut built = build(&setting(Mode::Build), size, course, &mut contenders)?;
    let rates = measure_rates(size, &contenders)?;
    let rate_of =
        |name: &str| rates.iter().find(|(filter, _)| name.starts_with(filter)).map(|(_, rate)| *rate);
    let bits: Vec<(String, f64)> = contenders
        .iter()
        .map(|contender| {
            let bytes = contender.bytes().unwrap_or(size.bytes);
            (contender.name(), bytes as f64 * 8.0 / size.members as f64)
        })
        .collect();
    let complete = |row: &mut Row| {
        row.fpr = rate_of(&row.filter);
        let taken = bits.iter().find(|(filter, _)| *filter == row.filter).map(|(_, bits)| *bits);
        row.bits = taken.zip(row.fpr.and_then(|fpr| ours_at(size.members, fpr))).map(<[f64; 2]>::from);
    };
    built.iter_mut().for_each(complete);
    for &mode in &course.modes {
        let mut measured = match mode {
            Mode::Build => built.clone(),
            Mode::Many => many::race(&setting(mode), size, course.question_rounds(size.bytes))?,
            _ => ask(&setting(mode), mode, size, course, &contenders),
        };
        measured.iter_mut().for_each(complete);
        harness::print(&measured, OURS);
        rows.extend(measured);
    }
    Ok(rows)
}

/// The bits per key with which the native filter has this rate.
fn ours_at(members: u64, fpr: f64) -> Option<f64> {
    let request = Request { expected_keys: members, target: Target::Fpr(fpr) };
    Sizing::new(&request).ok().map(|sizing| sizing.bits_per_key())
}

/// Filters above this are large.
const SLOW: u64 = 64 << 20;

/// Keys given at a time while building.
const CHUNK: u64 = 1 << 22;

/// Builds all filters, a chunk of keys to each in turn, and leaves the last ones for questions.
fn build<K: NativeKeys>(
    setting: &Setting,
    size: Size,
    course: &Course<'_>,
    contenders: &mut [Box<dyn Contender<K>>],
) -> Result<Vec<Row>, Box<dyn Error>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parallel: Contenders<K> = Vec::new();
    if threads > 1 && course.wants(OURS) {
        parallel.push(Box::new(Fullbloom::new(size, threads)?));
    }
    let rounds = if course.modes.contains(&Mode::Build) { course.build_rounds(size.bytes) } else { 1 };
    let mut speeds = vec![Vec::new(); contenders.len() + parallel.len()];
    let mut chunk: Vec<K> = Vec::new();
    let warm_up = usize::from(rounds > 1);
    for round in 0..rounds + warm_up {
        let mut seconds = vec![0.0; speeds.len()];
        let mut each = |act: &mut dyn FnMut(&mut dyn Contender<K>)| {
            for (contender, seconds) in contenders.iter_mut().chain(&mut parallel).zip(&mut seconds) {
                *seconds += harness::time(contender.threads(), || act(contender.as_mut()));
            }
        };
        each(&mut |contender| contender.start());
        for start in (0..size.members).step_by(CHUNK as usize) {
            chunk.clear();
            chunk.extend((start..size.members.min(start + CHUNK)).map(keys::member::<K>));
            each(&mut |contender| contender.insert(&chunk));
        }
        each(&mut |contender| contender.finish());
        if round >= warm_up {
            for (speeds, seconds) in speeds.iter_mut().zip(seconds) {
                speeds.push(size.members as f64 / seconds / 1e6);
            }
        }
    }
    contenders.iter_mut().for_each(|contender| contender.settle());
    let names = contenders.iter().chain(&parallel).map(|contender| contender.name());
    Ok(names.zip(speeds).map(|(name, speeds)| Row::new(name, setting, speeds)).collect())
}

/// The rate of each filter, after a proof that each finds its keys and answers a batch as it does single
/// keys.
fn measure_rates<K: Key>(
    size: Size,
    contenders: &[Box<dyn Contender<K>>],
) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let members: Vec<K> = (0..1 << 16).map(|i| keys::member(keys::mix(i) % size.members)).collect();
    // 10 bits per key: a standard deviation of 0.005 percent; 16: 0.001.
    let strangers: Vec<K> = (0..1 << 22).map(keys::stranger).collect();
    let mut answers = vec![false; strangers.len()];
    let mut rates = Vec::new();
    for contender in contenders.iter().filter(|contender| contender.is_filter()) {
        let name = contender.name();
        if contender.count(&members) != members.len() {
            return Err(format!("{name} has lost keys").into());
        }
        contender.answer(&strangers, &mut answers);
        let found = answers.iter().filter(|&&yes| yes).count();
        if contender.count(&strangers) != found {
            return Err(format!("{name} answers a batch otherwise than single keys").into());
        }
        rates.push((name, found as f64 / strangers.len() as f64));
    }
    // "fastbloom, atomic" before "fastbloom".
    rates.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    Ok(rates)
}

/// Asks all filters, in turn.
fn ask<K: Key>(
    setting: &Setting,
    mode: Mode,
    size: Size,
    course: &Course<'_>,
    contenders: &[Box<dyn Contender<K>>],
) -> Vec<Row> {
    let mixed = match mode {
        Mode::Batch => Mix::Half,
        Mode::Present => Mix::Present,
        Mode::Single | Mode::Build | Mode::Many => Mix::Absent,
    };
    let questions = &Questions::<K>::new(size.bytes, size.members, mixed);
    // A window of a small filter takes less than a tenth of a millisecond, and the first one of a turn brings
    // the filter back into the cache.
    let repeats = if questions.window() <= 1 << 15 { 32 } else { 1 };
    let answers = &RefCell::new(vec![false; questions.window()]);
    let contestants = contenders
        .iter()
        .map(|contender| {
            Contestant::new(contender.name(), move |turn| {
                for _ in 0..repeats {
                    let keys = &questions.keys[questions.at(turn)];
                    if mode == Mode::Batch {
                        let mut answers = answers.borrow_mut();
                        contender.answer(keys, &mut answers);
                        black_box(&*answers);
                    } else {
                        black_box(contender.count(keys));
                    }
                }
            })
        })
        .collect();
    let ops = (questions.window() * repeats) as u64;
    harness::race(setting, ops, course.question_rounds(size.bytes), None, contestants)
}
