//! Rounds, interleaving, figures, the table and the JSON rows.

use serde_json::{Value, json};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// One contestant of a race: its name and what it does in a round, whose number it gets.
pub struct Contestant<'a> {
    pub name: String,
    pub run: Box<dyn FnMut(usize) + 'a>,
}

impl<'a> Contestant<'a> {
    pub fn new(name: impl Into<String>, run: impl FnMut(usize) + 'a) -> Self {
        Contestant { name: name.into(), run: Box::new(run) }
    }
}

/// What is the same for all contestants of a race.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// `u64`, `16B` or `32B`.
    pub keys: &'static str,
    /// Size of the filter.
    pub bytes: u64,
    pub bits_per_key: f64,
    /// `single`, `present`, `batch` or `build`.
    pub mode: &'static str,
}

/// One contestant's result.
#[derive(Debug, Clone)]
pub struct Row {
    pub filter: String,
    pub setting: Setting,
    /// Million keys a second: the best round, the median, and the quartiles.
    pub best: f64,
    pub median: f64,
    pub quartiles: [f64; 2],
    pub fpr: Option<f64>,
    /// Bits per key that it takes, and those with which the native filter has its measured rate.
    pub bits: Option<[f64; 2]>,
}

/// Runs all contestants in turn, `rounds` times, after one round that does not count unless there is only
/// one. `ops` keys a round.
pub fn race(
    setting: &Setting,
    ops: u64,
    rounds: usize,
    fpr: Option<f64>,
    mut contestants: Vec<Contestant<'_>>,
) -> Vec<Row> {
    let mut speeds = vec![Vec::with_capacity(rounds); contestants.len()];
    let mut turn = 0;
    let warm_up = usize::from(rounds > 1);
    for round in 0..rounds + warm_up {
        for (contestant, speeds) in contestants.iter_mut().zip(&mut speeds) {
            let seconds = time(1, || (contestant.run)(turn));
            turn += 1;
            if round >= warm_up {
                speeds.push(ops as f64 / seconds / 1e6);
            }
        }
    }
    let row =
        |(contestant, speeds): (Contestant<'_>, _)| Row { fpr, ..Row::new(contestant.name, setting, speeds) };
    contestants.into_iter().zip(speeds).map(row).collect()
}

impl Row {
    /// The figures of these speeds, a million keys a second each; at least one.
    pub fn new(filter: String, setting: &Setting, mut speeds: Vec<f64>) -> Row {
        speeds.sort_by(f64::total_cmp);
        let at = |share: f64| speeds[((speeds.len() - 1) as f64 * share).round() as usize];
        let (best, median, quartiles) = (at(1.0), at(0.5), [at(0.25), at(0.75)]);
        Row { filter, setting: setting.clone(), best, median, quartiles, fpr: None, bits: None }
    }
}

/// How many seconds this takes on up to `threads` threads: CPU time, so what other programs take does not
/// count. Of several threads it is the average, or that of the calling one if it did more: what the clock
/// shows on a calm machine if they are equally busy to the end.
pub fn time(threads: usize, what: impl FnOnce()) -> f64 {
    let clocks = || [libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID].map(now);
    let start = clocks();
    what();
    let end = clocks();
    let own = end[0] - start[0];
    if threads == 1 { own } else { own.max((end[1] - start[1]) / threads as f64) }
}

/// As [`time`], for what may use threads of its own though it should use one: all of their time counts.
pub fn time_of_all(threads: usize, what: impl FnOnce()) -> f64 {
    if threads > 1 {
        return time(threads, what);
    }
    cpu_seconds(what)
}

/// How many seconds of CPU time all threads take for this.
pub fn cpu_seconds(what: impl FnOnce()) -> f64 {
    let start = now(libc::CLOCK_PROCESS_CPUTIME_ID);
    what();
    now(libc::CLOCK_PROCESS_CPUTIME_ID) - start
}

fn now(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec to be written.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(failed, 0, "no clock for CPU time");
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Prints the rows of one race, with the ratio of each to the one called `to`.
pub fn print(rows: &[Row], to: &str) {
    let Some(first) = rows.first() else { return };
    let Setting { keys, bytes, bits_per_key, mode } = &first.setting;
    println!("\n{mode}, {} at {bits_per_key} bits/key, {keys} keys: million keys/s", size(*bytes));
    println!(
        "  {:34} {:>8} {:>8} {:>17} {:>8} {:>6} {:>6}  ratio",
        "", "best", "median", "quartiles", "fpr %", "bits", "ours"
    );
    let base = rows.iter().find(|row| row.filter == to).map(|row| row.median);
    for row in rows {
        let [low, high] = row.quartiles;
        let fpr = row.fpr.map_or(String::new(), |fpr| format!("{:.3}", 100.0 * fpr));
        let ratio = base.map_or(String::new(), |base| format!("{:.2}", row.median / base));
        let [bits, ours] =
            row.bits.map_or_else(Default::default, |bits| bits.map(|bits| format!("{bits:.2}")));
        println!(
            "  {:34} {:8.1} {:8.1} {low:8.1}-{high:<8.1} {fpr:>8} {bits:>6} {ours:>6} {ratio:>6}",
            row.filter, row.best, row.median
        );
    }
    let _ = std::io::stdout().flush();
}

/// Writes the rows as a JSON list.
pub fn save(rows: &[Row], path: &Path) -> Result<(), Box<dyn Error>> {
    let list: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "filter": row.filter,
                "keys": row.setting.keys,
                "bytes": row.setting.bytes,
                "bits_per_key": row.setting.bits_per_key,
                "mode": row.setting.mode,
                "mops": row.best,
                "mops_median": row.median,
                "mops_quartiles": row.quartiles,
                "fpr": row.fpr,
                "bits_taken": row.bits.map(|[bits, _]| bits),
                "bits_of_fullbloom_at_this_fpr": row.bits.map(|[_, ours]| ours),
            })
        })
        .collect();
    std::fs::write(path, serde_json::to_string_pretty(&list)? + "\n")
        .map_err(|e| format!("{}: cannot write: {e}", path.display()).into())
}

/// `262144` as `256 KiB`.
pub fn size(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        30.. => format!("{} GiB", bytes >> 30),
        20.. => format!("{} MiB", bytes >> 20),
        10.. => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// `256K` as 262144.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| format!("{text}: not a size"))?;
    number.checked_mul(1 << shift).filter(|&n| n > 0).ok_or_else(|| format!("{text}: not a size"))
}

/// The CPU's name, for the head of a table.
pub fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown CPU".to_owned(), |(_, name)| name.trim().to_owned())
}
