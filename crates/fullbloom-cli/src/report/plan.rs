//! The page of `plan`: what its JSON says, with drawings.

use super::draw::{self, Bar, Point};
use super::html::Page;
use super::inspect::{grouped, own_curve, textbook};
use crate::text;
use fullbloom::dialect::Name;
use serde_json::Value;

/// The page of what `plan --json` prints, in each of its three forms.
pub fn of_plan(planned: &Value) -> Page {
    match planned["summary"]["engine"].as_str() {
        Some("cassandra") => of_sstables(planned),
        Some(_) => of_levels(planned),
        None => of_dialects(planned),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn rows(planned: &Value) -> &[Value] {
    list(&planned["rows"])
}

fn bytes(value: &Value) -> String {
    value.as_u64().map_or("-".to_owned(), text::bytes)
}

fn decimal(value: &Value, decimals: usize) -> String {
    value.as_f64().map_or("-".to_owned(), |value| text::decimal(value, decimals))
}

fn rate(value: &Value) -> String {
    value.as_f64().map_or("-".to_owned(), text::rate)
}

fn bar(name: String, value: &Value, colour: usize) -> Bar {
    Bar { name, value: value.as_f64().unwrap_or(0.0), said: bytes(value), colour }
}

/// One filter in every dialect.
fn of_dialects(planned: &Value) -> Page {
    let keys = planned["summary"]["expected_keys"].as_u64().unwrap_or(0);
    let mut page =
        Page::new(&format!("A filter of {} keys", grouped(keys)), "by the sizing rule of each dialect");
    let possible: Vec<&Value> =
        list(&planned["places"]).iter().filter(|row| !row["bits"].is_null()).collect();
    let points: Vec<Point> = possible
        .iter()
        .filter_map(|row| {
            Some(Point {
                name: row["dialect"].as_str()?.to_owned(),
                bits_per_key: row["bits_per_key"].as_f64()?,
                fpr: row["expected_fpr"].as_f64()?,
                curve: usize::from(possible.len() > 1),
            })
        })
        .collect();
    if !points.is_empty() {
        let mut curves = vec![textbook()];
        if let (1, Some(name)) = (points.len(), points[0].name.parse::<Name>().ok()) {
            curves.insert(0, own_curve(name, keys));
        }
        let said = "Each point is a dialect; its name shows when the pointer rests on it.";
        page.section("Rate against bits per key", said, &draw::rates(&curves, &points));
        let name = |row: &Value| row["dialect"].as_str().unwrap_or("?").to_owned();
        let bars: Vec<Bar> = possible.iter().map(|row| bar(name(row), &row["bytes"], 0)).collect();
        page.section("Size by dialect", "", &draw::bars(&bars));
    }
    let cells: Vec<Vec<String>> = list(&planned["places"])
        .iter()
        .map(|row| {
            vec![
                row["dialect"].as_str().unwrap_or("?").to_owned(),
                bytes(&row["bytes"]),
                decimal(&row["bits_per_key"], 2),
                row["probes"].as_u64().map_or("-".into(), |probes| probes.to_string()),
                rate(&row["expected_fpr"]),
                note(planned, row),
            ]
        })
        .collect();
    page.table(
        "Plans",
        &["dialect", "size", "bits/key", "probes", "expected rate", "note"],
        &["note"],
        &cells,
    );
    page
}

/// What is wrong with a dialect.
fn note(planned: &Value, row: &Value) -> String {
    let of_row = list(&planned["problems"]).iter().filter(|problem| problem["place"] == row["dialect"]);
    let messages: Vec<&str> = of_row.filter_map(|problem| problem["message"].as_str()).collect();
    messages.join("; ")
}

/// The tables of a data directory at several rates.
fn of_sstables(report: &Value) -> Page {
    let planned = &report["summary"];
    let title = format!("What other rates cost {}", planned["from"].as_str().unwrap_or("?"));
    let mut page = Page::new(&title, "filters of Cassandra, sized for the keys that are there");
    page.figures(&[
        (grouped(planned["keys"].as_u64().unwrap_or(0)), "keys"),
        (bytes(&planned["now"]["memory_bytes"]), "of memory now"),
        (decimal(&planned["now"]["useless_reads"], 4), "useless reads now, summed up"),
    ]);
    let points: Vec<Point> = rows(planned)
        .iter()
        .filter_map(|row| {
            Some(Point {
                name: format!("bloom_filter_fp_chance {}", row["fpr"]),
                bits_per_key: row["bits_per_key"].as_f64()?,
                fpr: row["expected_fpr"].as_f64()?,
                curve: 0,
            })
        })
        .collect();
    let said = "Each point is a rate that can be set; the expected rate differs because the numbers of bits are whole.";
    page.section(
        "Rate against bits per key",
        said,
        &draw::rates(&[own_curve(Name::Cassandra, 100_000), textbook()], &points),
    );
    let mut bars = vec![bar("now".to_owned(), &planned["now"]["memory_bytes"], 1)];
    bars.extend(rows(planned).iter().map(|row| bar(row["fpr"].to_string(), &row["memory_bytes"], 0)));
    page.section("Memory by rate", "", &draw::bars(&bars));
    let titles = ["rate", "bits/key", "probes", "in memory", "on disk", "expected rate", "useless reads"];
    let cells = |rows: &[Value]| -> Vec<Vec<String>> {
        rows.iter()
            .map(|row| {
                vec![
                    row["fpr"].to_string(),
                    decimal(&row["bits_per_key"], 1),
                    row["probes"].to_string(),
                    bytes(&row["memory_bytes"]),
                    bytes(&row["bytes"]),
                    rate(&row["expected_fpr"]),
                    decimal(&row["useless_reads"], 4),
                ]
            })
            .collect()
    };
    let with_now = |planned: &Value| {
        let now = &planned["now"];
        let mut all = vec![vec![
            "now".to_owned(),
            decimal(&now["bits_per_key"], 1),
            "-".to_owned(),
            bytes(&now["memory_bytes"]),
            bytes(&now["bytes"]),
            "-".to_owned(),
            decimal(&now["useless_reads"], 4),
        ]];
        all.extend(cells(rows(planned)));
        all
    };
    let tables = list(&report["places"]);
    if tables.len() > 1 {
        page.table("All tables", &titles, &[], &with_now(planned));
    }
    for table in tables {
        let part = |name: &str| table[name].as_str().unwrap_or("?").to_owned();
        let name = format!("{}.{}, {} keys", part("keyspace"), part("table"), table["keys"]);
        page.table(&name, &titles, &[], &with_now(table));
    }
    page
}

/// The levels of a database.
fn of_levels(report: &Value) -> Page {
    let planned = &report["summary"];
    let title = format!("Filters for {}", planned["from"].as_str().unwrap_or("?"));
    let budget = planned["memory"].as_u64();
    let subtitle = match budget {
        Some(memory) => format!("{} split over the levels", text::bytes(memory)),
        None => "by bits per key".to_owned(),
    };
    let mut page = Page::new(&title, &subtitle);
    if budget.is_some() {
        let (equal, optimal) = (&planned["equal"], &planned["optimal"]);
        page.figures(&[
            (decimal(&equal["useless_reads"], 4), "useless reads per lookup, equal bits"),
            (decimal(&optimal["useless_reads"], 4), "useless reads per lookup, optimal split"),
            (bytes(&equal["bytes"]), "for equal bits"),
            (bytes(&optimal["bytes"]), "for the optimal split"),
        ]);
    }
    let now: u64 = list(&report["places"]).iter().filter_map(|level| level["now"]["bytes"].as_u64()).sum();
    let mut sizes = vec![bar("now".to_owned(), &now.into(), 1)];
    sizes.extend(
        rows(planned)
            .iter()
            .map(|row| bar(format!("{} bits/key", decimal(&row["bits_per_key"], 1)), &row["bytes"], 0)),
    );
    page.section("Size by bits per key", "The same bits per key on all levels.", &draw::bars(&sizes));
    for family in planned["column_families"].as_array().into_iter().flatten() {
        let of_family =
            list(&report["places"]).iter().filter(|level| level["column_family"] == family["name"]);
        let levels: Vec<&Value> = of_family.collect();
        let row = |name: String, row: &Value| {
            vec![name, bytes(&row["bytes"]), rate(&row["expected_fpr"]), decimal(&row["useless_reads"], 4)]
        };
        let reads: f64 = levels.iter().filter_map(|level| level["now"]["useless_reads"].as_f64()).sum();
        let size: u64 = levels.iter().filter_map(|level| level["now"]["bytes"].as_u64()).sum();
        let mut usual =
            vec![vec!["now".to_owned(), text::bytes(size), "-".to_owned(), text::decimal(reads, 4)]];
        usual.extend(rows(family).iter().map(|one| row(decimal(&one["bits_per_key"], 1), one)));
        let of =
            |level: &Value| level["level"].as_u64().map_or("no level".to_owned(), |l| format!("level {l}"));
        let family = family["name"].as_str().filter(|name| !name.is_empty()).unwrap_or("tables");
        let mut bars = Vec::new();
        for level in &levels {
            bars.push(bar(format!("{}, now", of(level)), &level["now"]["bytes"], 1));
            if budget.is_some() {
                bars.push(bar(format!("{}, equal", of(level)), &level["equal"]["bytes"], 0));
                bars.push(bar(format!("{}, optimal", of(level)), &level["optimal"]["bytes"], 2));
            }
        }
        page.section(&format!("Size by level: {family}"), "", &draw::bars(&bars));
        let mut titles = vec!["level", "tables", "keys", "bits/key now", "rate now"];
        if budget.is_some() {
            titles.extend(["equal bits/key", "equal rate", "optimal bits/key", "optimal rate"]);
        }
        let cells = |level: &Value| {
            let mut cells = vec![
                of(level),
                level["tables"].to_string(),
                level["keys"].to_string(),
                decimal(&level["now"]["bits_per_key"], 1),
                rate(&level["now"]["expected_fpr"]),
            ];
            for split in ["equal", "optimal"].iter().filter(|_| budget.is_some()) {
                cells.push(decimal(&level[split]["bits_per_key"], 1));
                cells.push(rate(&level[split]["expected_fpr"]));
            }
            cells
        };
        let rows: Vec<Vec<String>> = levels.iter().map(|level| cells(level)).collect();
        page.table(&format!("Levels: {family}"), &titles, &[], &rows);
        let titles = ["bits/key", "size", "expected rate", "useless reads"];
        page.table(&format!("Bits per key: {family}"), &titles, &[], &usual);
    }
    page
}
