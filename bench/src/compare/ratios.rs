//! The speed of the native filter compared with its peers, and the least ratios that changes must keep.

use super::contender::{LIMIT, OURS};
use crate::harness::{self, Row};
use std::fmt::Write as _;

/// What the filter is compared with.
#[derive(Clone, Copy)]
enum Rival {
    /// The fastest peer whose rate is at most this many times ours.
    UpTo(f64),
    /// One line touched for each key.
    Limit,
}

/// Rates this near to each other count as equal: measured ones vary by some percent.
const EQUAL: Rival = Rival::UpTo(1.05);
const NEAR: Rival = Rival::UpTo(1.3);

/// Filters up to this size are in the second-level cache.
const L2: u64 = 1 << 20;

/// Filters from this size on are in no cache.
const OUT_OF_CACHE: u64 = 64 << 20;

/// The least ratios of one race.
fn least_ratios(mode: &str, bytes: u64) -> Vec<(Rival, f64)> {
    let mut least = match mode {
        "single" | "present" => vec![(EQUAL, 1.15), (NEAR, 0.95)],
        "batch" => vec![(EQUAL, 1.3), (NEAR, if bytes <= L2 { 1.15 } else { 1.3 })],
        _ => vec![(EQUAL, 1.2)],
    };
    if mode == "batch" && bytes >= OUT_OF_CACHE {
        least.push((Rival::Limit, 0.95));
    }
    least
}

/// One line for each comparison of each race.
pub fn report(rows: &[Row]) -> String {
    let mut text = String::from(
        "compared with the fastest peer that has at most 1.05 or 1.3 times our rate (medians):\n",
    );
    for race in rows.chunk_by(|a, b| a.setting == b.setting) {
        let setting = &race[0].setting;
        for (rival, least) in least_ratios(setting.mode, setting.bytes) {
            if let Some((ratio, name)) = ratio_to(race, rival) {
                let verdict = if ratio >= least { "" } else { "BELOW" };
                let allowed = match rival {
                    Rival::UpTo(times) => format!("rate x {times}"),
                    Rival::Limit => String::new(),
                };
                let _ = writeln!(
                    text,
                    "  {:8} {:7} {:4} {:>4} bits  {ratio:5.2} x {name:20} {allowed:10}  at least {least:4.2}  {verdict}",
                    setting.mode,
                    harness::size(setting.bytes),
                    setting.keys,
                    setting.bits_per_key,
                );
            }
        }
    }
    text
}

/// The ratio to the rival, and the rival's name.
fn ratio_to(race: &[Row], rival: Rival) -> Option<(f64, &str)> {
    let ours = race.iter().find(|row| row.filter == OURS)?;
    let peers = race.iter().filter(|row| row.filter != LIMIT && !row.filter.starts_with(OURS));
    let rival = match rival {
        Rival::UpTo(times) => {
            let most = times * ours.fpr?;
            peers
                .filter(|row| row.fpr.is_some_and(|fpr| fpr <= most))
                .max_by(|a, b| a.median.total_cmp(&b.median))
        }
        Rival::Limit => race.iter().find(|row| row.filter == LIMIT),
    }?;
    Some((ours.median / rival.median, &rival.filter))
}
