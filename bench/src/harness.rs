//! Clocks, result rows, the printed table and the JSON file.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// From keys to a finished filter in new memory.
    Build,
    /// Lookups of absent keys, one by one.
    Single,
    /// Lookups of present keys, one by one.
    Present,
    /// Lookups of keys of which half are present, by the filter's own batch function if it has one.
    Batch,
    /// Removing all keys.
    Remove,
}

impl Mode {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Build => "build",
            Mode::Single => "single",
            Mode::Present => "present",
            Mode::Batch => "batch",
            Mode::Remove => "remove",
        }
    }
}

/// What a filter is made for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// The filter's array, for filters whose size can be chosen.
    pub bytes: u64,
    /// Keys in the filter.
    pub members: u64,
    /// `8 * bytes / members`.
    pub bits_per_key: f64,
    /// The rate that the kind fast plans for this size.
    pub fpr: f64,
    /// Filters are asked for the rate, not for the bits per key.
    pub by_rate: bool,
}

/// One filter's result in one mode.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The command that measured it.
    pub command: String,
    pub filter: String,
    /// `u64`, `16B` or `32B`.
    pub keys: String,
    pub size: Size,
    pub mode: Mode,
    /// Million keys per second in the best round.
    pub best: f64,
    pub median: f64,
    pub quartiles: [f64; 2],
    /// The measured false-positive rate; none for LIMIT.
    pub fpr: Option<f64>,
    /// Bits per key that the filter takes.
    pub bits: Option<f64>,
    /// Bytes per key, beyond the filter, that building took.
    pub scratch: Option<f64>,
}

impl Row {
    /// The figures of these rounds, in million keys per second; at least one.
    pub fn new(command: &str, filter: &str, keys: &str, size: Size, mode: Mode, mut speeds: Vec<f64>) -> Row {
        speeds.sort_by(f64::total_cmp);
        let at = |share: f64| speeds[((speeds.len() - 1) as f64 * share).round() as usize];
        Row {
            command: command.to_owned(),
            filter: filter.to_owned(),
            keys: keys.to_owned(),
            size,
            mode,
            best: at(1.0),
            median: at(0.5),
            quartiles: [at(0.25), at(0.75)],
            fpr: None,
            bits: None,
            scratch: None,
        }
    }

    /// Whether the other row is of the same race.
    pub fn races(&self, other: &Row) -> bool {
        (&self.command, &self.keys, self.size, self.mode)
            == (&other.command, &other.keys, other.size, other.mode)
    }
}

/// The CPU seconds that this takes. Of `threads` threads it is the average, or the time of the calling thread if
/// that worked more: what the clock shows on an idle machine. Work that a filter moves to threads of its own counts.
pub fn time(threads: usize, what: impl FnOnce()) -> f64 {
    let clocks = || [libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID].map(now);
    let start = clocks();
    what();
    let end = clocks();
    (end[0] - start[0]).max((end[1] - start[1]) / threads as f64)
}

fn now(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec that this function owns, and the call writes nothing else.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(failed, 0, "no clock for CPU time");
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Prints the rows of one race, with the ratio of each median to that of the filter called `base`.
pub fn print(rows: &[Row], base: &str) {
    let Some(Row { keys, size, mode, .. }) = rows.first() else { return };
    println!(
        "\n{}, {} of array, {} {keys} keys at {:.4} bits: million keys/s",
        mode.name(),
        bytes(size.bytes),
        size.members,
        size.bits_per_key
    );
    println!(
        "  {:34} {:>8} {:>8} {:>17} {:>10} {:>6} {:>8} {:>8}  ratio",
        "", "best", "median", "quartiles", "rate %", "bits", "of log2", "scratch"
    );
    let base = rows.iter().find(|row| row.filter == base).map(|row| row.median);
    for row in rows {
        let [low, high] = row.quartiles;
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        println!(
            "  {:34} {:8.1} {:8.1} {low:8.1}-{high:<8.1} {:>10} {:>6} {:>8} {:>8}  {}",
            row.filter,
            row.best,
            row.median,
            shown(row.fpr.map(|fpr| 100.0 * fpr), 4),
            shown(row.bits, 2),
            shown(overhead(row), 3),
            shown(row.scratch, 1),
            shown(base.map(|base| row.median / base), 2)
        );
    }
    let _ = std::io::stdout().flush();
}

/// The bits per key that the filter takes, compared with log2(1/rate), which no filter of that rate can beat.
pub fn overhead(row: &Row) -> Option<f64> {
    let fpr = row.fpr.filter(|&fpr| fpr > 0.0)?;
    Some(row.bits? / -fpr.log2())
}

/// Writes the rows as a JSON list.
pub fn save(rows: &[Row], path: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::write(path, serde_json::to_string_pretty(rows)? + "\n")
        .map_err(|e| format!("{}: cannot write: {e}", path.display()).into())
}

/// `262144` as `256 KiB`; other numbers to three digits.
pub fn bytes(bytes: u64) -> String {
    let (unit, shift) = match bytes {
        0..=0x3ff => return format!("{bytes} bytes"),
        0x400..=0xf_ffff => ("KiB", 10),
        0x10_0000..=0x3fff_ffff => ("MiB", 20),
        _ => ("GiB", 30),
    };
    let number = bytes as f64 / f64::from(1 << shift);
    format!("{} {unit}", if number.fract() == 0.0 { number } else { (number * 100.0).round() / 100.0 })
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
