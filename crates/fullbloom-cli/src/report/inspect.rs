//! The page of `inspect`: its report, with drawings.

use super::draw::{self, Bar, Curve, Point};
use super::html::{Cell, Page, Remark};
use crate::hints;
use crate::render;
use crate::text;
use fullbloom_dialects::Name;
use fullbloom_ops::database::LevelTotals;
use fullbloom_ops::filter::bits_per_estimated_key;
use fullbloom_ops::inspect::InspectSummary;
#[cfg(feature = "parquet")]
use fullbloom_ops::parquet::ColumnTotals;
use fullbloom_ops::sstable::TableTotals;
use fullbloom_ops::table::TableRecord;
use fullbloom_ops::{Code, Found, InspectReport, Inspected, Problem, Severity, plan};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;

/// More filters than this are not drawn one by one.
const MOST_STRIPS: usize = 40;
/// More bars than this are unreadable.
const MOST_BARS: usize = 40;
/// More rows than this make no table for people; the JSON has all.
const MOST_ROWS: usize = 10_000;

/// The numbers of one filter.
#[derive(Default)]
struct Row<'a> {
    path: &'a str,
    name: String,
    /// The table of Cassandra or the level that it belongs to.
    group: Option<String>,
    dialect: Option<Name>,
    /// How the dialect was detected.
    recognised: Option<&'a str>,
    keys: Option<u64>,
    estimated_keys: Option<u64>,
    bits_per_key: Option<f64>,
    /// Of partitions with different numbers, from the fewest to the most.
    probes: Option<String>,
    fill: Option<f64>,
    fpr: Option<f64>,
    bytes: u64,
    /// The share of set bits from the first to the last; empty if there is no array to be read.
    strip: &'a [f64],
    /// What is wrong with it.
    problems: &'a [Problem],
}

/// The sums over the sstables of a table, or the tables of a level.
struct Group {
    name: String,
    filters: u64,
    keys: u64,
    bits_per_key: Option<f64>,
    bytes: u64,
    useless_reads: f64,
}

/// The page of what `inspect` found in these places.
pub fn of_inspection(seen: &InspectReport, places: &[PathBuf]) -> Page {
    let rows: Vec<Row<'_>> = seen.found.iter().map(Row::of).collect();
    let groups: Vec<Group> = seen
        .summary
        .tables
        .iter()
        .map(|sums| Group::of_table(sums, &seen.summary.tables))
        .chain(seen.summary.levels.iter().map(Group::of_level))
        .collect();
    #[cfg(feature = "parquet")]
    let groups: Vec<Group> = groups.into_iter().chain(columns(&seen.summary.columns)).collect();
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
    page.figures(&figures(&rows, &seen.summary));
    page.remarks(&remarks(&rows, &seen.problems));
    page.paragraph(&render::sampled(seen));
    draw_rates(&mut page, &rows);
    draw_fill(&mut page, &rows);
    draw_sizes(&mut page, &rows, &groups, !seen.summary.levels.is_empty());
    totals(&mut page, &groups);
    filters(&mut page, &rows);
    page
}

impl<'a> Row<'a> {
    fn of(found: &'a Found<Inspected>) -> Row<'a> {
        let path = found.record.path();
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let row = Row { path, name, problems: &found.problems, ..Row::default() };
        match &found.record {
            Inspected::Filter(record) => Row {
                dialect: Some(record.dialect),
                recognised: record.recognised.as_deref(),
                keys: record.keys,
                estimated_keys: whole(record.estimated_keys),
                bits_per_key: record.bits_per_key(),
                probes: Some(record.probes.to_string()),
                fill: Some(record.fill),
                fpr: Some(record.expected_fpr),
                bytes: record.bytes,
                strip: &record.strip,
                ..row
            },
            Inspected::Table(record) => Row {
                group: level_of(record),
                dialect: record.dialect,
                recognised: record.recognised,
                keys: record.keys,
                estimated_keys: whole(record.estimated_keys),
                bits_per_key: record
                    .bits_per_key
                    .or_else(|| bits_per_estimated_key(record.bits?, record.estimated_keys)),
                probes: record.probes.map(|most| match record.fewest_probes {
                    Some(fewest) if fewest != most => format!("{fewest} to {most}"),
                    _ => most.to_string(),
                }),
                fill: record.fill,
                fpr: record.expected_fpr,
                bytes: record.bytes.unwrap_or(0),
                strip: &record.strip,
                ..row
            },
            Inspected::Sstable(record) => Row {
                name: match &record.table {
                    Some(table) => format!("{table} {}", record.generation),
                    None => row.name,
                },
                group: Some(record.table_name()),
                dialect: Some(record.dialect),
                recognised: Some(record.recognised),
                keys: record.keys,
                estimated_keys: whole(record.estimated_keys),
                bits_per_key: record.known_bits_per_key(),
                probes: record.probes.map(|probes| probes.to_string()),
                fill: record.fill,
                fpr: record.expected_fpr,
                bytes: record.bytes.unwrap_or(0),
                strip: &record.strip,
                ..row
            },
            #[cfg(feature = "parquet")]
            Inspected::Column(record) => Row {
                name: format!("{} row group {}", row.name, record.row_group),
                group: Some(format!("column {}", record.column)),
                dialect: Some(record.dialect),
                estimated_keys: whole(record.estimated_keys),
                bits_per_key: bits_per_estimated_key(record.bits, record.estimated_keys),
                probes: Some(record.probes.to_string()),
                fill: Some(record.fill),
                fpr: Some(record.expected_fpr),
                bytes: record.bytes,
                ..row
            },
            _ => row,
        }
    }
}

/// The column family and level of a table, where the MANIFEST has them.
fn level_of(record: &TableRecord) -> Option<String> {
    let family = record.column_family.as_ref()?.as_deref()?;
    Some(format!("{family}, level {}", record.level??))
}

/// The nearest whole number, if it fits.
fn whole(number: Option<f64>) -> Option<u64> {
    number.filter(|number| (0.0..1e18).contains(number)).map(|number| number.round() as u64)
}

impl Group {
    fn of_table(sums: &TableTotals, tables: &[TableTotals]) -> Group {
        Group {
            name: sums.name_among(tables),
            filters: sums.sstables,
            keys: sums.keys,
            bits_per_key: sums.bits_per_key,
            bytes: sums.bytes,
            useless_reads: sums.useless_reads,
        }
    }

    fn of_level(sums: &LevelTotals) -> Group {
        let level = sums.level.map_or("no level".to_owned(), |level| format!("level {level}"));
        Group {
            name: match sums.column_family.as_str() {
                "" | "default" => level,
                family => format!("{family}, {level}"),
            },
            filters: sums.tables,
            keys: sums.keys,
            bits_per_key: sums.bits_per_key,
            bytes: sums.bytes,
            useless_reads: sums.useless_reads,
        }
    }
}

/// The columns of Parquet files that have filters.
#[cfg(feature = "parquet")]
fn columns(columns: &[ColumnTotals]) -> impl Iterator<Item = Group> + '_ {
    columns.iter().filter(|column| column.filters > 0).map(|column| Group {
        name: format!("column {}", column.column),
        filters: column.filters,
        keys: column.values,
        bits_per_key: None,
        bytes: column.bytes,
        useless_reads: column.useless_reads,
    })
}

fn subtitle(rows: &[Row<'_>]) -> String {
    match rows {
        [row] => {
            let about =
                row.dialect.map_or("not known".to_owned(), |name| format!("{name}, {}", name.about()));
            let how = row.recognised.map_or(String::new(), |how| format!(", {how}"));
            format!("{} — {about}{how}", row.path)
        }
        _ => {
            let mut names: Vec<&str> =
                rows.iter().filter_map(|row| row.dialect).map(|name| name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        }
    }
}

fn figures(rows: &[Row<'_>], summary: &InspectSummary) -> Vec<(String, &'static str)> {
    if let [row] = rows {
        let mut figures = Vec::new();
        if let Some(fpr) = row.fpr {
            figures.push((text::rate(fpr), "expected rate"));
        }
        if let Some(bits) = row.bits_per_key {
            figures.push((text::decimal(bits, 2), "bits per key"));
        }
        if let Some(fill) = row.fill {
            figures.push((text::rate(fill), "of the bits are set"));
        }
        figures.push((text::bytes(summary.bytes), "in the file"));
        match (row.keys, row.estimated_keys) {
            (Some(keys), _) => figures.push((grouped(keys), "keys")),
            (None, Some(keys)) => figures.push((grouped(keys), "keys, estimated")),
            _ => {}
        }
        if let Some(probes) = &row.probes {
            figures.push((probes.clone(), "probes"));
        }
        return figures;
    }
    let with = |severity| {
        let worst =
            |row: &&Row<'_>| row.problems.iter().map(|problem| problem.severity).max() == Some(severity);
        grouped(rows.iter().filter(worst).count() as u64)
    };
    let keys = match summary.keys {
        0 => (grouped(summary.estimated_keys), "keys, estimated"),
        keys => (grouped(keys), "keys counted"),
    };
    vec![
        (grouped(summary.filters), "filters"),
        keys,
        (text::bytes(summary.bytes), "of filters"),
        (with(Severity::Error), "with errors"),
        (with(Severity::Warning), "with warnings"),
    ]
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

/// The problems, the worst first; notes only of a single filter. Problems of one code in one table are one
/// remark, with their number.
fn remarks(rows: &[Row<'_>], elsewhere: &[Problem]) -> Vec<Remark> {
    let of_rows =
        rows.iter().flat_map(|row| row.problems.iter().map(|problem| (row.group.as_deref(), problem)));
    let shown = elsewhere
        .iter()
        .map(|problem| (None, problem))
        .chain(of_rows)
        .filter(|(_, problem)| rows.len() == 1 || problem.severity > Severity::Note);
    let mut equal: Vec<(Option<&str>, &Problem, u64)> = Vec::new();
    let mut places: HashMap<(Option<&str>, Code), usize> = HashMap::new();
    for (group, problem) in shown {
        let place = *places.entry((group, problem.code)).or_insert(equal.len());
        match equal.get_mut(place) {
            Some((_, _, count)) => *count += 1,
            None => equal.push((group, problem, 1)),
        }
    }
    equal.sort_by_key(|(_, problem, count)| (Reverse(problem.severity), Reverse(*count)));
    equal.iter().map(|(group, problem, count)| remark(*group, problem, *count)).collect()
}

/// Equal problems of a table: the first of them, and how many there are.
fn remark(group: Option<&str>, problem: &Problem, count: u64) -> Remark {
    let group = group.map_or(String::new(), |group| format!("{group}: "));
    let more = match count {
        1 => String::new(),
        count => format!(" ({}, and {} more)", problem.code, grouped(count - 1)),
    };
    Remark {
        severity: problem.severity,
        text: format!("{group}{}: {}{more}", problem.place, problem.message),
        next: hints::of(problem).unwrap_or_default(),
    }
}

/// Curves of the dialects there are, at most three, and the filters on them.
fn draw_rates(page: &mut Page, rows: &[Row<'_>]) {
    let mut dialects: Vec<(Name, u64, usize)> = Vec::new();
    for (name, keys) in
        rows.iter().filter_map(|row| Some((row.dialect?, row.keys.or(row.estimated_keys).unwrap_or(0))))
    {
        match dialects.iter_mut().find(|(known, _, _)| *known == name) {
            Some((_, most, count)) => (*most, *count) = (keys.max(*most), *count + 1),
            None => dialects.push((name, keys, 1)),
        }
    }
    dialects.sort_by_key(|(_, _, count)| Reverse(*count));
    dialects.truncate(3);
    let mut curves: Vec<Curve> = dialects.iter().map(|(name, keys, _)| own_curve(*name, *keys)).collect();
    curves.push(textbook());
    let points: Vec<Point> = rows
        .iter()
        .filter_map(|row| {
            let (bits_per_key, fpr, dialect) = (row.bits_per_key?, row.fpr?, row.dialect?);
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
        if !row.strip.is_empty() {
            let said = "The share of set bits from the first to the last. An undamaged filter with many keys is filled evenly; a gap is damage.";
            page.section("Fill along the filter", said, &draw::fill(row.strip));
        }
        return;
    }
    // Those with problems first, then the largest.
    let mut order: Vec<&Row<'_>> = rows.iter().collect();
    order.sort_by_key(|row| (row.problems.is_empty(), Reverse(row.bytes)));
    let drawn: Vec<(String, Vec<f64>, f64)> = order
        .iter()
        .take(MOST_STRIPS)
        .filter(|row| !row.strip.is_empty())
        .filter_map(|row| Some((row.name.clone(), row.strip.to_vec(), row.fill?)))
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
fn draw_sizes(page: &mut Page, rows: &[Row<'_>], groups: &[Group], by_level: bool) {
    if rows.len() < 2 {
        return;
    }
    let bar = |name: &str, bytes: u64| Bar {
        name: name.to_owned(),
        value: bytes as f64,
        said: text::bytes(bytes),
        colour: 0,
    };
    let (title, mut bars): (&str, Vec<Bar>) = if groups.len() > 1 {
        let bars = groups.iter().map(|group| bar(&group.name, group.bytes)).collect();
        (if by_level { "Size by level" } else { "Size by table" }, bars)
    } else {
        ("Size by filter", rows.iter().map(|row| bar(&row.name, row.bytes)).collect())
    };
    let all = bars.len();
    if all > MOST_BARS {
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        bars.truncate(MOST_BARS);
    }
    let said = if all > MOST_BARS { format!("The largest {MOST_BARS} of {all}.") } else { String::new() };
    page.section(title, &said, &draw::bars(&bars));
}

fn totals(page: &mut Page, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    let cells = |group: &Group| {
        vec![
            group.name.clone().into(),
            Cell::count(group.filters),
            Cell::count(group.keys),
            Cell::decimal(group.bits_per_key, 1),
            Cell::bytes(group.bytes),
            Cell::decimal(Some(group.useless_reads), 4),
        ]
    };
    let rows: Vec<Vec<Cell>> = groups.iter().map(cells).collect();
    page.table("Totals", &["", "filters", "keys", "bits/key", "size", "useless reads"], &[], &rows);
}

fn filters(page: &mut Page, rows: &[Row<'_>]) {
    // Problems come first: the end of a wide table is out of sight on a small screen.
    let titles = [
        "filter",
        "table",
        "problems",
        "dialect",
        "keys",
        "bits/key",
        "probes",
        "fill",
        "expected rate",
        "size",
        "path",
    ];
    let text = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
    let cells = |row: &&Row<'_>| {
        let codes: Vec<&str> = row.problems.iter().map(|problem| problem.code.as_str()).collect();
        let most_probes = row.probes.as_ref().and_then(|probes| probes.rsplit(' ').next()?.parse().ok());
        vec![
            row.name.clone().into(),
            text(row.group.clone()),
            codes.join(", ").into(),
            text(row.dialect.map(|name| name.to_string())),
            Cell::number(row.keys, grouped, |keys| keys as f64),
            Cell::decimal(row.bits_per_key, 1),
            Cell::number(most_probes, |_: f64| row.probes.clone().unwrap_or_default(), |probes| probes),
            Cell::rate(row.fill),
            Cell::rate(row.fpr),
            Cell::bytes(row.bytes),
            row.path.to_owned().into(),
        ]
    };
    let mut order: Vec<&Row<'_>> = rows.iter().collect();
    let title = match rows.len() > MOST_ROWS {
        true => {
            order.sort_by_key(|row| Reverse(row.problems.iter().map(|problem| problem.severity).max()));
            order.truncate(MOST_ROWS);
            format!("The worst {MOST_ROWS} of {} filters", rows.len())
        }
        false => "Filters".to_owned(),
    };
    let shown: Vec<Vec<Cell>> = order.iter().map(cells).collect();
    page.table(&title, &titles, &["table", "dialect", "problems", "path"], &shown);
}
