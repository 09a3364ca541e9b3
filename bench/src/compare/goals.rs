//! The figures that the native filter must reach, and what it reached.

use super::contender::{LIMIT, OURS};
use crate::harness::{self, Row};
use std::fmt::Write as _;

/// Who the filter is held against.
#[derive(Clone, Copy)]
enum Rival {
    /// The fastest filter of the race.
    Best,
    /// The fastest whose rate is at most this.
    BestUpTo(f64),
    /// One line touched for each key.
    Limit,
}

/// A figure to reach: keys, mode, the row of ours, the rival, and for each size the least ratio.
struct Goal {
    keys: &'static str,
    mode: &'static str,
    ours: &'static str,
    rival: Rival,
    least: [(u64, f64); 4],
}

const KIB_256: u64 = 256 << 10;
const MIB_8: u64 = 8 << 20;
const MIB_256: u64 = 256 << 20;
const GIB: u64 = 1 << 30;

/// A size without a goal has ratio 0. All at 10 bits per key.
const fn goal(
    keys: &'static str,
    mode: &'static str,
    ours: &'static str,
    rival: Rival,
    least: [f64; 4],
) -> Goal {
    let [a, b, c, d] = least;
    Goal { keys, mode, ours, rival, least: [(KIB_256, a), (MIB_8, b), (MIB_256, c), (GIB, d)] }
}

const GOALS: [Goal; 8] = [
    goal("u64", "batch", OURS, Rival::Best, [1.4, 1.3, 1.3, 1.25]),
    goal("u64", "batch", OURS, Rival::Limit, [0.63, 0.75, 0.95, 0.92]),
    goal("u64", "single", OURS, Rival::BestUpTo(0.0106), [1.15, 1.3, 1.6, 1.6]),
    goal("u64", "single", OURS, Rival::Best, [1.0, 1.0, 1.2, 1.2]),
    goal("u64", "build", OURS, Rival::Best, [1.2, 1.15, 1.6, 1.6]),
    goal("u64", "build", "fullbloom, 2 threads", Rival::Best, [0.0, 0.0, 3.2, 3.2]),
    goal("16B", "batch", OURS, Rival::Best, [1.4, 0.0, 0.0, 0.0]),
    goal("32B", "batch", OURS, Rival::Best, [1.25, 0.0, 0.0, 0.0]),
];

/// One line for each goal and size that was measured.
pub fn report(rows: &[Row]) -> String {
    let mut text = String::from("goals at 10 bits per key (medians):\n");
    for goal in &GOALS {
        for &(bytes, least) in &goal.least {
            if let Some((ratio, rival)) = goal.reached(rows, bytes).filter(|_| least > 0.0) {
                let verdict = if ratio >= least { "reached" } else { "MISSED" };
                let what = format!("{}, {} keys, {}", goal.mode, goal.keys, harness::size(bytes));
                let _ = writeln!(
                    text,
                    "  {what:26} {:21} {ratio:5.2} x {rival:20} at least {least:4.2}  {verdict}",
                    goal.ours
                );
            }
        }
    }
    text
}

impl Goal {
    /// The ratio to the rival, and the rival's name.
    fn reached<'a>(&self, rows: &'a [Row], bytes: u64) -> Option<(f64, &'a str)> {
        let race = || {
            rows.iter().filter(move |row| {
                let setting = &row.setting;
                let same = (setting.keys, setting.mode, setting.bytes) == (self.keys, self.mode, bytes);
                same && setting.bits_per_key == 10.0
            })
        };
        let ours = race().find(|row| row.filter == self.ours)?;
        let filters = race().filter(|row| row.filter != LIMIT && !row.filter.starts_with(OURS));
        let fastest =
            |rows: &mut dyn Iterator<Item = &'a Row>| rows.max_by(|a, b| a.median.total_cmp(&b.median));
        let rival = match self.rival {
            Rival::Best => fastest(&mut filters.into_iter()),
            Rival::BestUpTo(rate) => {
                fastest(&mut filters.filter(|row| row.fpr.is_some_and(|fpr| fpr <= rate)))
            }
            Rival::Limit => race().find(|row| row.filter == LIMIT),
        }?;
        Some((ours.median / rival.median, &rival.filter))
    }
}
