//! Measures what docs/performance.md shows, and writes the tables of that page between its markers, all from one run.

use crate::compare::{self, losses};
use crate::dialects;
use crate::harness::{self, Mode, Row};
use crate::kinds;
use crate::machine;
use crate::ours;
use crate::plot;
use crate::race::Common;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `report`.
#[derive(clap::Args)]
pub struct Options {
    /// Write the page from the results in this file instead of measuring.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Keep the results in this file.
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Write the tables to this page and the plot beside it.
    #[arg(long, value_name = "FILE", default_value = PAGE)]
    page: PathBuf,
    /// Measure tiny filters in one round: a test of the program.
    #[arg(long)]
    tiny: bool,
}

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/report.json");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/performance.md");

/// Everything that one run has measured.
#[derive(Serialize, Deserialize)]
struct Results {
    machine: String,
    minutes: f64,
    rows: Vec<Row>,
}

pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let results = match &options.from {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => {
            let results = measure(options.tiny)?;
            std::fs::write(&options.results, serde_json::to_string_pretty(&results)? + "\n")?;
            println!("results: {}", options.results.display());
            results
        }
    };
    write(&results, &options.page)?;
    let svg = options.page.with_extension("svg");
    let compared: Vec<Row> = results.rows.iter().filter(|row| row.command == "compare").cloned().collect();
    plot::save(&compared, &results.machine, &svg)?;
    println!("written: {} and {}", options.page.display(), svg.display());
    Ok(())
}

/// One run: every table of the page.
fn measure(tiny: bool) -> Result<Results, Box<dyn Error>> {
    let start = Instant::now();
    let mut machine = machine::describe();
    println!("{machine}");
    let common = |sizes: &[u64]| Common {
        rounds: tiny.then_some(1),
        sizes: Some(if tiny { vec![16 << 10] } else { sizes.to_vec() }),
        ..Common::default()
    };
    let compared = |sizes: &[u64], bits: &[f64], keys: &str| {
        compare::measure(&compare::Options {
            common: common(sizes),
            bits_per_key: Some(bits.to_vec()),
            keys: Some(vec![keys.to_owned()]),
            ..Default::default()
        })
    };
    let mut rows = compared(&[256 << 10, 8 << 20], &[8.0, 10.0, 12.0, 16.0, 20.0], "u64")?;
    if !tiny {
        rows.extend(compared(&[256 << 20], &[10.0], "u64")?);
    }
    rows.extend(compared(&[256 << 10], &[10.0], "32B")?);
    rows.extend(kinds::measure(&kinds::Options {
        common: common(&[256 << 10, 64 << 20]),
        ..Default::default()
    })?);
    rows.extend(dialects::measure(&dialects::Options {
        common: common(&[256 << 10, 8 << 20, 64 << 20]),
        ..Default::default()
    })?);
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(2).unwrap_or("unknown");
    let _ = write!(machine, "\n{minutes:.0} minutes; load of the last 15 minutes: {load}");
    Ok(Results { machine, minutes, rows })
}

/// Replaces what stands between the markers of each table.
fn write(results: &Results, path: &Path) -> Result<(), Box<dyn Error>> {
    let rows = &results.rows;
    let mut page = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let of = |command: &str, keys: &str, bits: Option<f64>| -> Vec<&Row> {
        rows.iter()
            .filter(|row| row.command == command && row.keys == keys)
            .filter(|row| bits.is_none_or(|bits| row.size.bits_per_key == bits))
            .collect()
    };
    let speeds = &[Mode::Single, Mode::Present, Mode::Batch, Mode::Build];
    let lookups = &[Mode::Single, Mode::Batch, Mode::Build];
    let mut removals = speeds.to_vec();
    removals.push(Mode::Remove);
    for (name, table) in [
        ("machine", format!("```text\n{}\n```\n", results.machine)),
        ("losses", lost(rows)),
        ("fast", table(&of("compare", "u64", Some(10.0)), lookups)),
        ("fast-16", table(&of("compare", "u64", Some(16.0)), lookups)),
        ("fast-32B", table(&of("compare", "32B", None), lookups)),
        ("compact", table(&of("kinds compact", "u64", None), speeds)),
        ("dynamic", table(&of("kinds dynamic", "u64", None), &removals)),
        ("dialects", originals(rows)),
    ] {
        let (begin, end) = (format!("<!-- bench {name} -->\n"), format!("<!-- end {name} -->"));
        let missing = || format!("{}: no markers for the table {name}", path.display());
        let start = page.find(&begin).ok_or_else(missing)? + begin.len();
        let len = page[start..].find(&end).ok_or_else(missing)?;
        page.replace_range(start..start + len, &format!("\n{table}\n"));
    }
    std::fs::write(path, page)?;
    Ok(())
}

/// One table for each rate, if the sizes are made for rates, with one row for each filter and one column for each size.
fn table(rows: &[&Row], modes: &[Mode]) -> String {
    let made_for_rates = rows.first().is_some_and(|row| row.command.starts_with("kinds"));
    let mut rates: Vec<f64> = Vec::new();
    let mut text = String::new();
    for row in rows {
        let rate = if made_for_rates { row.size.fpr } else { 0.0 };
        if !rates.contains(&rate) {
            rates.push(rate);
        }
    }
    for rate in rates {
        let rows: Vec<&Row> =
            rows.iter().filter(|row| !made_for_rates || row.size.fpr == rate).copied().collect();
        let words: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
        if made_for_rates {
            let _ = writeln!(text, "Made for a rate of {}: {}.\n", percent(rate), words.join(" / "));
        } else {
            let _ = writeln!(text, "{}.\n", capitalised(&words.join(" / ")));
        }
        let mut sizes: Vec<u64> = rows.iter().map(|row| row.size.bytes).collect();
        sizes.dedup();
        sizes.sort_unstable();
        sizes.dedup();
        let _ = write!(
            text,
            "| filter | rate | bits per key |{}",
            if made_for_rates { " of log2(1/rate) |" } else { "" }
        );
        for size in &sizes {
            let members = rows.iter().find(|row| row.size.bytes == *size).map_or(0, |row| row.size.members);
            let _ = write!(text, " {}, {} keys |", harness::bytes(*size), rounded(members));
        }
        let _ = writeln!(text, "\n|{}", "---|".repeat(sizes.len() + 3 + usize::from(made_for_rates)));
        let mut names: Vec<&str> = Vec::new();
        rows.iter().for_each(|row| {
            if !names.contains(&row.filter.as_str()) {
                names.push(&row.filter);
            }
        });
        for name in names {
            let of: Vec<&&Row> = rows.iter().filter(|row| row.filter == name).collect();
            // The figures of the largest size, where chance has the least part in them.
            let last = of.iter().rev().find(|row| row.fpr.is_some());
            let shown = |value: Option<String>| value.unwrap_or("–".to_owned());
            let _ = write!(
                text,
                "| {} | {} | {} |",
                name.replace('<', "&lt;"),
                shown(last.and_then(|row| row.fpr).map(percent)),
                shown(last.and_then(|row| row.bits).map(|bits| format!("{bits:.2}")))
            );
            if made_for_rates {
                let _ = write!(
                    text,
                    " {} |",
                    shown(last.and_then(|row| harness::overhead(row)).map(|x| format!("{x:.2}")))
                );
            }
            for size in &sizes {
                let cells: Vec<String> = modes
                    .iter()
                    .map(|mode| {
                        let row = of.iter().find(|row| row.size.bytes == *size && row.mode == *mode);
                        shown(row.map(|row| speed(row.median)))
                    })
                    .collect();
                let _ = write!(text, " {} |", cells.join(" / "));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// Every race of the kind fast that a filter with nearly its rate wins, and every one with up to 1.3 times its rate.
fn lost(rows: &[Row]) -> String {
    let rows: Vec<Row> = rows.iter().filter(|row| row.command == "compare").cloned().collect();
    let mut text = "| lookups | filter size | keys | bits per key | faster filter | its rate, ours | its speed, ours | ratio |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for loss in losses(&rows, 1.3) {
        let (ours, theirs) = (loss.ours, loss.theirs);
        let rate = |row: &Row| row.fpr.map_or("–".to_owned(), percent);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {}, {} | {}, {} | {:.2} |",
            ours.mode.name(),
            harness::bytes(ours.size.bytes),
            ours.keys,
            ours.size.bits_per_key,
            theirs.filter.replace('<', "&lt;"),
            rate(theirs),
            rate(ours),
            speed(theirs.median),
            speed(ours.median),
            ours.median / theirs.median
        );
    }
    text
}

/// The speed of each dialect divided by that of the fastest library that has the same answers.
fn originals(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.command.starts_with("dialects")).collect();
    let mut text = "| dialect | filter size | library | single | present | batch | build |\n|---|---|---|---|---|---|---|\n".to_owned();
    let of_ours = rows.iter().filter(|row| ours::is_ours(&row.filter) && row.mode == Mode::Single);
    for ours in of_ours {
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.races(ours) && !ours::is_ours(&row.filter)) {
            names.push(&row.filter);
        }
        for name in names {
            let find = |filter: &str, mode: Mode| {
                let same =
                    |row: &&&Row| row.command == ours.command && row.size == ours.size && row.mode == mode;
                rows.iter().filter(same).find(|row| row.filter == filter).map(|row| row.median)
            };
            let ratio = |mode| {
                let both = find(&ours.filter, mode).zip(find(name, mode));
                both.map_or("–".to_owned(), |(ours, theirs)| {
                    format!("{}: {:.2}", speed(ours), ours / theirs)
                })
            };
            let _ = writeln!(
                text,
                "| {} | {} | {name} | {} | {} | {} | {} |",
                ours.command.trim_start_matches("dialects "),
                harness::bytes(ours.size.bytes),
                ratio(Mode::Single),
                ratio(Mode::Present),
                ratio(Mode::Batch),
                ratio(Mode::Build)
            );
        }
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Three digits are all that a measurement is worth.
fn speed(mops: f64) -> String {
    if mops < 10.0 { format!("{mops:.1}") } else { format!("{mops:.0}") }
}

fn percent(rate: f64) -> String {
    let percent = 100.0 * rate;
    let digits = (2 - percent.log10().floor() as i32).clamp(0, 9) as usize;
    format!("{percent:.digits$} %")
}

fn rounded(keys: u64) -> String {
    match keys {
        0..=9_999 => keys.to_string(),
        10_000..=999_999 => format!("{}k", (keys + 500) / 1000),
        _ => format!("{:.1}M", keys as f64 / 1e6),
    }
}
