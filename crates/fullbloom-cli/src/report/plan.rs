//! The page of `plan`: its report, with drawings.

use super::draw::{self, Bar, Point};
use super::html::{Cell, Page};
use super::inspect::{grouped, own_curve, textbook};
use crate::render::{gained, reads};
use crate::text;
use fullbloom_dialects::Name;
use fullbloom_ops::database::{DatabasePlanSummary, FamilyNow, FamilyPlan, LevelPlan, UsualRow};
use fullbloom_ops::next::{Next, Step};
#[cfg(feature = "parquet")]
use fullbloom_ops::parquet::{ColumnCost, ColumnPlan, ColumnPlanSummary};
use fullbloom_ops::plan::DialectPlan;
use fullbloom_ops::sstable::rates::Row;
use fullbloom_ops::sstable::{CassandraNow, CassandraPlanSummary, CassandraTablePlan};
use fullbloom_ops::{Found, PlacePlan, PlanReport, Report};

fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn bar(name: String, bytes: u64, colour: usize) -> Bar {
    Bar { name, value: bytes as f64, said: text::bytes(bytes), colour }
}

/// One filter in every dialect.
pub fn of_dialects(planned: &PlanReport) -> Page {
    let keys = planned.summary.expected_keys;
    let mut page =
        Page::new(&format!("A filter of {} keys", grouped(keys)), "by the sizing rule of each dialect");
    let possible: Vec<&DialectPlan> =
        planned.found.iter().map(|found| &found.record).filter(|row| row.bits.is_some()).collect();
    let points: Vec<Point> = possible
        .iter()
        .filter_map(|row| {
            Some(Point {
                name: row.dialect.to_string(),
                bits_per_key: row.bits_per_key?,
                fpr: row.expected_fpr?,
                curve: usize::from(possible.len() > 1),
            })
        })
        .collect();
    if !points.is_empty() {
        let mut curves = vec![textbook()];
        if let ([row], 1) = (possible.as_slice(), points.len()) {
            curves.insert(0, own_curve(row.dialect, keys));
        }
        let said = "Each point is a dialect; its name shows when the pointer rests on it.";
        page.section("Rate against bits per key", said, &draw::rates(&curves, &points));
        let bars: Vec<Bar> =
            possible.iter().map(|row| bar(row.dialect.to_string(), row.bytes.unwrap_or(0), 0)).collect();
        page.section("Size by dialect", "", &draw::bars(&bars));
    }
    let cells = |Found { record, problems }: &Found<DialectPlan>| {
        let notes: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        vec![
            record.dialect.to_string(),
            or_dash(record.bytes, text::bytes),
            or_dash(record.bits_per_key, |bits| text::decimal(bits, 2)),
            or_dash(record.probes, |probes| probes.to_string()),
            or_dash(record.expected_fpr, text::rate),
            notes.join("; "),
        ]
    };
    let cells: Vec<Vec<String>> = planned.found.iter().map(cells).collect();
    page.table(
        "Plans",
        &["dialect", "size", "bits/key", "probes", "expected rate", "note"],
        &["note"],
        &cells,
    );
    page
}

/// The data of a directory.
pub fn of_place(planned: &PlacePlan) -> Page {
    match planned {
        PlacePlan::Sstables(report) => of_sstables(report),
        PlacePlan::Database(report) => of_levels(report),
        #[cfg(feature = "parquet")]
        PlacePlan::Columns(report) => of_columns(report),
    }
}

/// The tables of a data directory at several rates.
fn of_sstables(report: &Report<CassandraTablePlan, CassandraPlanSummary>) -> Page {
    let planned = &report.summary;
    let title = format!("What other rates cost {}", planned.from);
    let mut page = Page::new(&title, "filters of Cassandra, sized for the keys that are there");
    page.figures(&[
        (grouped(planned.keys), "keys"),
        (text::bytes(planned.now.memory_bytes), "of memory now"),
        (grouped(report.found.len() as u64), "tables"),
    ]);
    let point = |row: &Row| Point {
        name: format!("bloom_filter_fp_chance {}", row.fpr),
        bits_per_key: row.bits_per_key.into(),
        fpr: row.expected_fpr,
        curve: 0,
    };
    let points: Vec<Point> = planned.rows.iter().map(point).collect();
    let said = "Each point is a rate that can be set; the expected rate differs because the numbers of bits are whole.";
    page.section(
        "Rate against bits per key",
        said,
        &draw::rates(&[own_curve(Name::Cassandra, 100_000), textbook()], &points),
    );
    let mut bars = vec![bar("now".to_owned(), planned.now.memory_bytes, 1)];
    bars.extend(planned.rows.iter().map(|row| bar(row.fpr.to_string(), row.memory_bytes, 0)));
    page.section("Memory by rate", "", &draw::bars(&bars));
    let titles = ["rate", "bits/key", "probes", "in memory", "on disk", "expected rate", "useless reads"];
    if report.found.len() > 1 {
        page.table("All tables", &titles, &[], &with_now(&planned.now, &planned.rows));
    }
    steps(&mut page, &planned.next);
    for Found { record: table, .. } in &report.found {
        let name = format!("{}, {} keys", table.name_among(&report.found), table.keys);
        page.table(&name, &titles, &[], &with_now(&table.now, &table.rows));
    }
    page
}

/// The columns of Parquet files at several rates.
#[cfg(feature = "parquet")]
fn of_columns(report: &Report<ColumnPlan, ColumnPlanSummary>) -> Page {
    let planned = &report.summary;
    let mut page = Page::new(&format!("What other rates cost {}", planned.from), "filters of Parquet");
    page.figures(&[
        (grouped(planned.files), "files"),
        (text::bytes(planned.bytes), "of filters now"),
        (grouped(report.found.len() as u64), "columns with filters"),
    ]);
    let bars: Vec<Bar> = report
        .found
        .iter()
        .map(|Found { record, .. }| bar(record.column.clone(), record.now.bytes, 1))
        .collect();
    page.section("Size by column", "", &draw::bars(&bars));
    steps(&mut page, &planned.next);
    for Found { record, .. } in &report.found {
        let mut rows = vec![("now".to_owned(), record.now)];
        rows.extend(record.rows.iter().map(|row| (row.fpr.to_string(), row.cost)));
        let cells = |(rate, cost): &(String, ColumnCost)| {
            vec![rate.clone().into(), Cell::bytes(cost.bytes), Cell::decimal(Some(cost.useless_reads), 4)]
        };
        let rows: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
        page.table(&format!("Column {}", record.column), &["rate", "size", "useless reads"], &[], &rows);
    }
    page
}

/// What to type next.
fn steps(page: &mut Page, next: &Next) {
    if next.steps.is_empty() {
        return;
    }
    let row = |step: &Step| {
        vec![
            step.name.clone().into(),
            step.command.clone().into(),
            gained(std::slice::from_ref(step)).into(),
            Cell::bytes(step.bytes_now),
            Cell::bytes(step.bytes_then),
            Cell::decimal(Some(step.useless_reads_now), 4),
            Cell::decimal(Some(step.useless_reads_then), 4),
        ]
    };
    let rows: Vec<Vec<Cell>> = next.steps.iter().map(row).collect();
    let titles = ["", "command", "gain", "size now", "then", "useless reads now", "then"];
    page.table("What to type next", &titles, &["command", "gain"], &rows);
    page.paragraph(&format!("Then: {}", next.after.join("; ")));
}

/// The filters as they are, then at each rate.
fn with_now(now: &CassandraNow, rows: &[Row]) -> Vec<Vec<String>> {
    let mut all = vec![vec![
        "now".to_owned(),
        or_dash(now.bits_per_key, |bits| text::decimal(bits, 1)),
        "-".to_owned(),
        text::bytes(now.memory_bytes),
        text::bytes(now.bytes),
        "-".to_owned(),
        reads(now.useless_reads),
    ]];
    all.extend(rows.iter().map(|row| {
        vec![
            row.fpr.to_string(),
            row.bits_per_key.to_string(),
            row.probes.to_string(),
            text::bytes(row.memory_bytes),
            text::bytes(row.bytes),
            text::rate(row.expected_fpr),
            reads(row.useless_reads),
        ]
    }));
    all
}

/// The levels of a database.
fn of_levels(report: &Report<LevelPlan, DatabasePlanSummary>) -> Page {
    let planned = &report.summary;
    let title = format!("Filters for {}", planned.from);
    let subtitle = match planned.memory {
        Some(memory) => format!("{} split over the levels", text::bytes(memory)),
        None => "by bits per key".to_owned(),
    };
    let mut page = Page::new(&title, &subtitle);
    if let (Some(equal), Some(optimal)) = (planned.equal, planned.optimal) {
        page.figures(&[
            (text::bytes(equal.bytes), "for equal bits"),
            (text::bytes(optimal.bytes), "for the optimal split"),
        ]);
        if let (Some(equal), Some(optimal)) = (equal.useless_reads, optimal.useless_reads) {
            page.figures(&[
                (text::decimal(equal, 4), "useless reads per lookup, equal bits"),
                (text::decimal(optimal, 4), "useless reads per lookup, optimal split"),
            ]);
        }
    }
    let now = report.found.iter().map(|found| found.record.now.bytes).sum();
    let mut sizes = vec![bar("now".to_owned(), now, 1)];
    let usual =
        |row: &UsualRow| bar(format!("{} bits/key", text::decimal(row.bits_per_key, 1)), row.costs.bytes, 0);
    sizes.extend(planned.rows.iter().map(usual));
    page.section("Size by bits per key", "The same bits per key on all levels.", &draw::bars(&sizes));
    steps(&mut page, &planned.next);
    for family in &planned.column_families {
        let levels = report.found.iter().map(|found| &found.record);
        let levels: Vec<&LevelPlan> = levels.filter(|level| level.column_family == family.name).collect();
        of_family(&mut page, family, &levels);
    }
    page
}

/// The levels of one column family.
fn of_family(page: &mut Page, family: &FamilyPlan, levels: &[&LevelPlan]) {
    let name = if family.name.is_empty() { "tables" } else { &family.name };
    let of = |level: &LevelPlan| level.level.map_or("no level".to_owned(), |level| format!("level {level}"));
    let mut bars = Vec::new();
    for level in levels {
        bars.push(bar(format!("{}, now", of(level)), level.now.bytes, 1));
        if let (Some(equal), Some(optimal)) = (&level.equal, &level.optimal) {
            bars.push(bar(format!("{}, equal", of(level)), equal.bytes, 0));
            bars.push(bar(format!("{}, optimal", of(level)), optimal.bytes, 2));
        }
    }
    page.section(&format!("Size by level: {name}"), "", &draw::bars(&bars));
    let is_split = levels.iter().any(|level| level.equal.is_some());
    let mut titles = vec!["level", "tables", "keys", "bits/key now", "rate now"];
    if is_split {
        titles.extend(["equal bits/key", "equal rate", "optimal bits/key", "optimal rate"]);
    }
    let cells = |level: &&LevelPlan| {
        let mut cells = vec![
            of(level),
            level.tables.to_string(),
            level.keys.to_string(),
            or_dash(level.now.bits_per_key, |bits| text::decimal(bits, 1)),
            text::rate(level.now.expected_fpr),
        ];
        for split in [&level.equal, &level.optimal].into_iter().filter(|_| is_split) {
            cells.push(or_dash(split.as_ref(), |split| text::decimal(split.bits_per_key, 1)));
            cells.push(or_dash(split.as_ref(), |split| text::rate(split.expected_fpr)));
        }
        cells
    };
    let rows: Vec<Vec<String>> = levels.iter().map(cells).collect();
    page.table(&format!("Levels: {name}"), &titles, &[], &rows);
    let now = FamilyNow::of(levels.iter().copied()).costs;
    let mut usual =
        vec![vec!["now".to_owned(), text::bytes(now.bytes), "-".to_owned(), reads(now.useless_reads)]];
    usual.extend(family.rows.iter().map(|row| {
        vec![
            text::decimal(row.bits_per_key, 1),
            text::bytes(row.costs.bytes),
            text::rate(row.expected_fpr),
            reads(row.costs.useless_reads),
        ]
    }));
    let titles = ["bits/key", "size", "expected rate", "useless reads"];
    page.table(&format!("Bits per key: {name}"), &titles, &[], &usual);
}
