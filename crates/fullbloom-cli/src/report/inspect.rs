//! The page of `inspect`: what its JSON says, with drawings.

use super::draw::{self, Bar, Curve, Point};
use super::html::{Page, Remark};
use crate::text;
use fullbloom::dialect::Name;
use fullbloom_ops::Code;
use fullbloom_ops::filter::{bits_per_estimated_key, fill_along};
use fullbloom_ops::plan;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// More filters than this are not drawn one by one.
const MOST_STRIPS: usize = 40;
/// More bars than this are unreadable.
const MOST_BARS: usize = 40;
/// More rows than this make no table for people; the JSON has all.
const MOST_ROWS: usize = 2000;

/// The numbers of one filter.
struct Row<'a> {
    entry: &'a Value,
    name: String,
    bits_per_key: Option<f64>,
    fpr: Option<f64>,
    bytes: u64,
    /// What is wrong with it.
    problems: Vec<&'a Value>,
}

/// The page of what `inspect --json` prints about these places.
pub fn of_inspection(seen: &Value, places: &[PathBuf]) -> Page {
    let empty = Vec::new();
    let list = |name: &str| seen[name].as_array().unwrap_or(&empty);
    let mut problems: HashMap<&str, Vec<&Value>> = HashMap::new();
    for problem in list("problems") {
        problems.entry(problem["place"].as_str().unwrap_or_default()).or_default().push(problem);
    }
    let rows: Vec<Row<'_>> = list("places").iter().map(|entry| Row::of(entry, &mut problems)).collect();
    let elsewhere =
        list("problems").iter().filter(|p| problems.contains_key(p["place"].as_str().unwrap_or_default()));
    let elsewhere: Vec<&Value> = elsewhere.collect();
    let sums = [&seen["summary"]["tables"], &seen["summary"]["levels"]];
    let sums: Vec<&Value> = sums.iter().filter_map(|sums| sums.as_array()).flatten().collect();
    let title = match rows.as_slice() {
        [row] => row.name.clone(),
        rows => {
            let mut names: Vec<String> =
                places.iter().take(3).map(|path| path.display().to_string()).collect();
            if places.len() > 3 {
                names.push(format!("{} more", places.len() - 3));
            }
            format!("{} filters of {}", rows.len(), names.join(", "))
        }
    };
    let mut page = Page::new(&title, &subtitle(&rows));
    page.figures(&figures(&rows, &seen["summary"]));
    page.remarks(&remarks(&rows, &elsewhere));
    draw_rates(&mut page, &rows);
    draw_fill(&mut page, &rows);
    draw_sizes(&mut page, &rows, &sums);
    totals(&mut page, &sums);
    filters(&mut page, &rows);
    page
}

impl<'a> Row<'a> {
    fn of(entry: &'a Value, problems: &mut HashMap<&str, Vec<&'a Value>>) -> Row<'a> {
        let path = entry["path"].as_str().unwrap_or("?");
        let file = path.rsplit('/').next().unwrap_or(path);
        let name = match (entry["table"].as_str(), entry["generation"].as_str()) {
            (Some(table), Some(generation)) => format!("{table} {generation}"),
            _ => file.to_owned(),
        };
        let (bits, keys) = (entry["bits"].as_u64(), entry["estimated_keys"].as_f64());
        let recorded = entry["bits_per_key"].as_f64();
        let estimated = bits.and_then(|bits| bits_per_estimated_key(bits, keys));
        Row {
            entry,
            name,
            bits_per_key: recorded.or(estimated),
            fpr: entry["expected_fpr"].as_f64(),
            bytes: entry["bytes"].as_u64().unwrap_or(0),
            problems: problems.remove(path).unwrap_or_default(),
        }
    }

    fn dialect(&self) -> Option<Name> {
        self.entry["dialect"].as_str()?.parse().ok()
    }

    fn keys(&self) -> Option<u64> {
        self.entry["keys"].as_u64().or_else(|| self.entry["estimated_keys"].as_u64())
    }

    /// The share of set bits from the first to the last; `None` if there is no array to be read.
    fn fill_along(&self) -> Option<Vec<f64>> {
        let parts = fill_along(Path::new(self.entry["path"].as_str()?), self.dialect()?);
        Some(parts).filter(|parts| !parts.is_empty())
    }
}

fn subtitle(rows: &[Row<'_>]) -> String {
    match rows {
        [row] => {
            let about =
                row.dialect().map_or("not known".to_owned(), |name| format!("{name}, {}", name.about()));
            let how = row.entry["recognised"].as_str().map_or(String::new(), |how| format!(", {how}"));
            format!("{} — {about}{how}", row.entry["path"].as_str().unwrap_or_default())
        }
        _ => {
            let mut names: Vec<&str> = rows.iter().filter_map(|row| row.entry["dialect"].as_str()).collect();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        }
    }
}

fn figures(rows: &[Row<'_>], summary: &Value) -> Vec<(String, &'static str)> {
    let of_all = |name: &str| summary[name].as_u64().unwrap_or(0);
    let (keys, bytes) = (of_all("keys"), of_all("bytes"));
    if let [row] = rows {
        let mut figures = Vec::new();
        if let Some(fpr) = row.fpr {
            figures.push((text::rate(fpr), "expected rate"));
        }
        if let Some(bits) = row.bits_per_key {
            figures.push((text::decimal(bits, 2), "bits per key"));
        }
        if let Some(fill) = row.entry["fill"].as_f64() {
            figures.push((text::rate(fill), "of the bits are set"));
        }
        figures.push((text::bytes(bytes), "in the file"));
        match (row.entry["keys"].as_u64(), row.entry["estimated_keys"].as_u64()) {
            (Some(keys), _) => figures.push((grouped(keys), "keys")),
            (None, Some(keys)) => figures.push((grouped(keys), "keys, estimated")),
            _ => {}
        }
        if let Some(probes) = probes(row.entry) {
            figures.push((probes, "probes"));
        }
        return figures;
    }
    let wrong = rows.iter().filter(|row| row.problems.iter().any(|p| p["severity"] == "error")).count();
    let keys = match keys {
        0 => (grouped(of_all("estimated_keys")), "keys, estimated"),
        _ => (grouped(keys), "keys counted"),
    };
    vec![
        (grouped(of_all("filters")), "filters"),
        keys,
        (text::bytes(bytes), "of filters"),
        (grouped(wrong as u64), "with errors"),
    ]
}

/// The probes; of partitions with different numbers, from the fewest to the most.
fn probes(entry: &Value) -> Option<String> {
    let most = entry["probes"].as_u64()?;
    match entry["fewest_probes"].as_u64() {
        Some(fewest) if fewest != most => Some(format!("{fewest} to {most}")),
        _ => Some(most.to_string()),
    }
}

/// 1 234 567, as far as a line cannot break in it.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// The problems, the worst first; notes only of a single filter.
fn remarks(rows: &[Row<'_>], elsewhere: &[&Value]) -> Vec<Remark> {
    let part = |problem: &Value, name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let remark = |problem: &Value, place: &str| Remark {
        severity: part(problem, "severity"),
        text: format!("{place}: {}", part(problem, "message")),
        next: next_step(problem),
    };
    let mut remarks: Vec<Remark> = elsewhere
        .iter()
        .filter(|problem| problem["severity"] != "note")
        .map(|problem| remark(problem, &part(problem, "place")))
        .collect();
    for row in rows {
        let shown = row.problems.iter().filter(|problem| rows.len() == 1 || problem["severity"] != "note");
        remarks.extend(shown.map(|problem| remark(problem, &row.name)));
    }
    let rank = |severity: &str| ["error", "warning"].iter().position(|s| *s == severity).unwrap_or(2);
    remarks.sort_by_key(|remark| rank(&remark.severity));
    remarks.truncate(MOST_ROWS);
    remarks
}

/// What to do about a problem: its hint, or what helps against its code.
fn next_step(problem: &Value) -> String {
    let hint = problem["hint"].as_str().map(str::to_owned);
    let code = Code::ALL.iter().find(|code| problem["code"] == code.as_str());
    hint.or_else(|| code?.next_step().map(str::to_owned)).unwrap_or_default()
}

/// Curves of the dialects there are, at most three, and the filters on them.
fn draw_rates(page: &mut Page, rows: &[Row<'_>]) {
    let mut dialects: Vec<(Name, u64, usize)> = Vec::new();
    for (name, keys) in rows.iter().filter_map(|row| Some((row.dialect()?, row.keys().unwrap_or(0)))) {
        match dialects.iter_mut().find(|(known, _, _)| *known == name) {
            Some((_, most, count)) => (*most, *count) = (keys.max(*most), *count + 1),
            None => dialects.push((name, keys, 1)),
        }
    }
    dialects.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    dialects.truncate(3);
    let mut curves: Vec<Curve> = dialects.iter().map(|(name, keys, _)| own_curve(*name, *keys)).collect();
    curves.push(textbook());
    let points: Vec<Point> = rows
        .iter()
        .filter_map(|row| {
            let (bits_per_key, fpr, dialect) = (row.bits_per_key?, row.fpr?, row.dialect()?);
            let curve = dialects.iter().position(|(name, _, _)| *name == dialect).unwrap_or(3);
            Some(Point { name: row.name.clone(), bits_per_key, fpr, curve })
        })
        .collect();
    if points.is_empty() {
        return;
    }
    let said = "Each point is a filter as it is now. Above its curve it holds more keys than it was made for; below, fewer.";
    page.section("Rate against bits per key", said, &draw::rates(&curves, &points));
}

/// The rate at each number of bits by the dialect's own rule, for the same number of keys.
pub fn own_curve(dialect: Name, keys: u64) -> Curve {
    Curve { name: dialect.to_string(), points: plan::rate_curve(dialect, keys), dashed: false }
}

/// The best a Bloom filter can do.
pub fn textbook() -> Curve {
    let points = (0..=160).map(|i| f64::from(i) / 4.0).map(|bits| (bits, plan::textbook_fpr(bits))).collect();
    Curve { name: "textbook Bloom filter".to_owned(), points, dashed: true }
}

fn draw_fill(page: &mut Page, rows: &[Row<'_>]) {
    if let [row] = rows {
        if let Some(parts) = row.fill_along() {
            let said = "The share of set bits from the first to the last. An undamaged filter with many keys is filled evenly; a gap is damage.";
            page.section("Fill along the filter", said, &draw::fill(&parts));
        }
        return;
    }
    // Those with problems first, then the largest.
    let mut order: Vec<&Row<'_>> = rows.iter().collect();
    order.sort_by_key(|row| (row.problems.is_empty(), std::cmp::Reverse(row.bytes)));
    let drawn: Vec<(String, Vec<f64>, f64)> = order
        .iter()
        .take(MOST_STRIPS)
        .filter_map(|row| Some((row.name.clone(), row.fill_along()?, row.entry["fill"].as_f64()?)))
        .collect();
    if drawn.is_empty() {
        return;
    }
    let said = match drawn.len() < rows.len() {
        true => format!(
            "{} of {}: those with problems, then the largest. An undamaged filter with many keys is filled evenly; a gap is damage.",
            drawn.len(),
            rows.len()
        ),
        false => {
            "From the first bit to the last. An undamaged filter with many keys is filled evenly; a gap is damage."
                .to_owned()
        }
    };
    page.section("Fill along the filters", &said, &draw::strips(&drawn));
}

/// By table or level where there are sums, else by file.
fn draw_sizes(page: &mut Page, rows: &[Row<'_>], tables: &[&Value]) {
    if rows.len() < 2 {
        return;
    }
    let (title, mut bars): (&str, Vec<Bar>) = if tables.len() > 1 {
        let each = |sum: &&Value| {
            let bytes = sum["bytes"].as_u64().unwrap_or(0);
            Bar { name: group_name(sum), value: bytes as f64, said: text::bytes(bytes), colour: 0 }
        };
        let by_level = tables.iter().any(|sum| !sum["column_family"].is_null());
        (if by_level { "Size by level" } else { "Size by table" }, tables.iter().map(each).collect())
    } else {
        let each = |row: &Row<'_>| Bar {
            name: row.name.clone(),
            value: row.bytes as f64,
            said: text::bytes(row.bytes),
            colour: 0,
        };
        ("Size by filter", rows.iter().map(each).collect())
    };
    let all = bars.len();
    if all > MOST_BARS {
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        bars.truncate(MOST_BARS);
    }
    let said = if all > MOST_BARS { format!("The largest {MOST_BARS} of {all}.") } else { String::new() };
    page.section(title, &said, &draw::bars(&bars));
}

fn group_name(sum: &Value) -> String {
    let part = |name: &str| sum[name].as_str().unwrap_or("?").to_owned();
    if sum["column_family"].is_null() {
        return format!("{}.{}", part("keyspace"), part("table"));
    }
    let level = sum["level"].as_u64().map_or("no level".to_owned(), |level| format!("level {level}"));
    match sum["column_family"].as_str() {
        Some("" | "default") | None => level,
        Some(family) => format!("{family}, {level}"),
    }
}

fn totals(page: &mut Page, tables: &[&Value]) {
    if tables.is_empty() {
        return;
    }
    let number = |value: &Value| value.as_u64().map_or("-".to_owned(), grouped);
    let rows: Vec<Vec<String>> = tables
        .iter()
        .map(|sum| {
            let filters = if sum["sstables"].is_null() { &sum["tables"] } else { &sum["sstables"] };
            vec![
                group_name(sum),
                number(filters),
                number(&sum["keys"]),
                sum["bits_per_key"].as_f64().map_or("-".into(), |bits| text::decimal(bits, 1)),
                sum["bytes"].as_u64().map_or("-".into(), text::bytes),
                sum["useless_reads"].as_f64().map_or("-".into(), |reads| text::decimal(reads, 4)),
            ]
        })
        .collect();
    page.table("Totals", &["", "filters", "keys", "bits/key", "size", "useless reads"], &[], &rows);
}

fn filters(page: &mut Page, rows: &[Row<'_>]) {
    // Problems come first: the end of a wide table is out of sight on a small screen.
    let titles =
        ["filter", "problems", "dialect", "keys", "bits/key", "probes", "fill", "expected rate", "size"];
    let none = || "-".to_owned();
    let cells = |row: &Row<'_>| {
        let codes: Vec<&str> = row.problems.iter().filter_map(|problem| problem["code"].as_str()).collect();
        vec![
            row.name.clone(),
            codes.join(", "),
            row.entry["dialect"].as_str().map_or_else(none, str::to_owned),
            row.entry["keys"].as_u64().map_or_else(none, grouped),
            row.bits_per_key.map_or_else(none, |bits| text::decimal(bits, 1)),
            probes(row.entry).unwrap_or_else(none),
            row.entry["fill"].as_f64().map_or_else(none, text::rate),
            row.fpr.map_or_else(none, text::rate),
            text::bytes(row.bytes),
        ]
    };
    let shown: Vec<Vec<String>> = rows.iter().take(MOST_ROWS).map(cells).collect();
    let title = match rows.len() > MOST_ROWS {
        true => format!("The first {MOST_ROWS} of {} filters", rows.len()),
        false => "Filters".to_owned(),
    };
    page.table(&title, &titles, &["dialect", "problems"], &shown);
}
