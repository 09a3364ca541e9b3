//! Rounds, interleaved: every contender runs once in each round, so that a noisy minute hits all of them alike.
//!
//! Time is that of the thread's CPU, not of the wall. What counts are ratios inside one run.

use serde_json::{Value, json};

/// One measured combination.
pub struct Row {
    /// Who.
    pub filter: String,
    /// What they did.
    pub mode: String,
    /// Bytes of the filter.
    pub bytes: u64,
    /// Nanoseconds for each key, of every round.
    nanos: Vec<f64>,
}

impl Row {
    /// The best round.
    pub fn best(&self) -> f64 {
        self.nanos.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The round in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// Half the distance between the quartiles, as a share of the median.
    fn spread(&self) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        (at(0.75) - at(0.25)) / 2.0 / self.median()
    }

    /// As one JSON row.
    pub fn json(&self) -> Value {
        json!({
            "filter": self.filter, "mode": self.mode, "bytes": self.bytes,
            "mops": 1e3 / self.best(), "mops_median": 1e3 / self.median(), "spread": self.spread(),
        })
    }
}

/// Somebody who does something with `keys` keys when called, and may prepare for it untimed.
pub struct Contender<'a> {
    /// Who.
    pub filter: &'a str,
    /// Before each round, not timed.
    pub prepare: Box<dyn FnMut() + 'a>,
    /// What is timed; the result keeps the compiler from leaving it out.
    pub run: Box<dyn FnMut() -> u64 + 'a>,
}

/// Runs all contenders `rounds` times, taking turns.
pub fn compete(mode: &str, bytes: u64, keys: usize, rounds: usize, mut contenders: Vec<Contender<'_>>) -> Vec<Row> {
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|c| Row { filter: c.filter.to_owned(), mode: mode.to_owned(), bytes, nanos: Vec::new() })
        .collect();
    for _ in 0..rounds {
        for (contender, row) in contenders.iter_mut().zip(&mut rows) {
            (contender.prepare)();
            let start = thread_nanos();
            std::hint::black_box((contender.run)());
            row.nanos.push((thread_nanos() - start) as f64 / keys as f64);
        }
    }
    rows
}

/// CPU time of this thread.
fn thread_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to, and the clock exists on every Linux.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the thread's CPU clock cannot be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Prints rows with their speed against the first of them.
pub fn print(title: &str, rows: &[Row]) {
    println!("\n{title}");
    println!("{:<22} {:>10} {:>10} {:>8} {:>8}", "", "ns/key", "median", "spread", "ratio");
    for row in rows {
        println!(
            "{:<22} {:>10.1} {:>10.1} {:>7.0}% {:>7.2}x",
            row.filter,
            row.best(),
            row.median(),
            row.spread() * 100.0,
            rows[0].median() / row.median()
        );
    }
}

/// A pseudo-random number; splitmix64's output step.
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
