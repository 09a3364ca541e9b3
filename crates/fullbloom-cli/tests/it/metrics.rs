//! The metrics of `inspect` and `verify`.

use crate::common::{Dir, lines, run};
use crate::support::{self, Table};
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every series of a file, by its name and labels as they are written. Panics on text that is not made of
/// gauges with type and help, each family in one piece.
#[track_caller]
fn series(text: &str) -> BTreeMap<String, f64> {
    let text = text.strip_suffix("# EOF\n").expect("the end of the file");
    let mut series = BTreeMap::new();
    let mut families: Vec<&str> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let name = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" gauge"));
        let name = name.unwrap_or_else(|| panic!("no type: {line}"));
        assert!(!families.contains(&name), "{name} is in two pieces");
        families.push(name);
        if let Some(unit) = lines.next_if(|line| line.starts_with("# UNIT ")) {
            let (of, unit) = unit["# UNIT ".len()..].split_once(' ').expect("a unit");
            assert!(of == name && name.ends_with(&format!("_{unit}")), "{unit} of {name}");
        }
        let help = lines.next().and_then(|line| line.strip_prefix(&format!("# HELP {name} ")));
        assert!(
            help.is_some_and(|help| help.ends_with('.') && !help.contains(['\\', '"'])),
            "{name}: {help:?}"
        );
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            assert!(line.starts_with(&format!("{name}{{run=\"")), "{line}");
            let (labels, value) = line.rsplit_once(' ').expect("a value");
            let value: f64 = value.parse().expect("a number");
            assert!(series.insert(labels.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    series
}

/// The series of a command's run over these places.
#[track_caller]
fn measured(command: &str, code: i32, places: &[&str], more: &[&str]) -> BTreeMap<String, f64> {
    let dir = Dir::new();
    let file = dir.arg("x.prom");
    let outcome = run(&[&[command, "-q", "--metrics", &file], places, more].concat(), b"").exits(code);
    assert_eq!(outcome.text(), "");
    assert_eq!(dir.names().iter().filter(|name| !name.contains("lock")).count(), 1, "{:?}", dir.names());
    series(&fs::read_to_string(file).unwrap())
}

fn damaged() -> Table {
    let table = Table::new();
    for generation in 1..=4 {
        table.add("nb", generation, &support::keys(500), 0.01);
    }
    let whole = fs::read(table.path("nb", 2, "Filter.db")).unwrap();
    table.put("nb", 2, "Filter.db", &whole[..100]);
    let mut hole = fs::read(table.path("nb", 3, "Filter.db")).unwrap();
    hole[60..200].fill(0);
    table.put("nb", 3, "Filter.db", &hole);
    table
}

#[test]
fn the_sums_are_those_of_the_json() {
    let table = damaged();
    let sstables = table.root.path().to_str().unwrap();
    let database = vectors::root().join("databases/rocksdb");
    let database = database.to_str().unwrap();
    let json = run(&["inspect", "--json", sstables, database], b"").exits(1).json();
    let series = measured("inspect", 1, &[sstables, database], &[]);
    let (summary, of_table) = (&json["summary"], &json["summary"]["tables"][0]);
    let name = |field: &str| of_table[field].as_str().unwrap_or("?").to_owned();
    let labels = format!("run=\"x\",keyspace=\"{}\",table=\"{}\"", name("keyspace"), name("table"));
    for (metric, field) in [
        ("data_files", "sstables"),
        ("filters", "filters"),
        ("keys", "keys"),
        ("filter_bytes", "bytes"),
        ("filter_memory_bytes", "memory_bytes"),
        ("useless_reads_per_lookup", "useless_reads"),
    ] {
        let value = series[&format!("fullbloom_inspect_{metric}{{{labels}}}")];
        assert_eq!(Some(value), of_table[field].as_f64(), "{metric}");
    }
    for level in summary["levels"].as_array().unwrap() {
        let labels = format!(
            "run=\"x\",database=\"{database}\",column_family=\"{}\",level=\"{}\"",
            level["column_family"].as_str().unwrap(),
            level["level"]
        );
        for (metric, field) in [
            ("data_files", "tables"),
            ("keys", "keys"),
            ("filter_bytes", "bytes"),
            ("expected_false_positive_ratio", "expected_fpr"),
            ("useless_reads_per_lookup", "useless_reads"),
        ] {
            let (value, expected) =
                (series[&format!("fullbloom_inspect_{metric}{{{labels}}}")], level[field].as_f64().unwrap());
            assert!((value - expected).abs() < 1e-12, "{metric} of {labels}: {value}, {expected}");
        }
    }
    let mut codes: BTreeMap<String, f64> = BTreeMap::new();
    for problem in json["problems"].as_array().unwrap() {
        let text = |field: &str| problem[field].as_str().unwrap();
        *codes
            .entry(format!("code=\"{}\",severity=\"{}\"}}", text("code"), text("severity")))
            .or_default() += 1.0;
    }
    assert!(codes.len() >= 2, "{codes:?}");
    for (end, count) in codes {
        let is_code =
            |name: &&String| name.starts_with("fullbloom_inspect_problems{") && name.ends_with(&end);
        assert_eq!(series.keys().filter(is_code).map(|name| series[name]).sum::<f64>(), count, "{end}");
    }
    for (severity, field) in [("error", "errors"), ("warning", "warnings"), ("note", "notes")] {
        let value = series[&format!("fullbloom_inspect_run_problems{{run=\"x\",severity=\"{severity}\"}}")];
        assert_eq!(Some(value), summary[field].as_f64());
    }
    assert_eq!(series["fullbloom_inspect_run_status{run=\"x\"}"], 1.0);
}

#[test]
fn verify_counts_the_keys_that_no_lookup_finds() {
    let table = damaged();
    let sstables = table.root.path().to_str().unwrap();
    let json = run(&["verify", "--json", sstables], b"").exits(1).json();
    let series = measured("verify", 1, &[sstables], &[]);
    let missing = |name: &&String| name.starts_with("fullbloom_verify_missing_keys{");
    let missing: f64 = series.keys().filter(missing).map(|name| series[name]).sum();
    assert_eq!(json["summary"]["missing"].as_f64(), Some(missing));
    assert!(missing > 0.0);
}

#[test]
fn a_table_in_two_directories_is_one_group_and_two_tables_of_one_name_are_two() {
    let dir = Dir::new();
    let copy = |to: &str, generation: u32| {
        let table = Table::new();
        table.add("nb", generation, &support::keys(300), 0.01);
        crate::common::copy_tree(&table.directory, &dir.path(to));
    };
    copy("one/ks/t-11111111111111111111111111111111", 1);
    copy("two/ks/t-11111111111111111111111111111111", 2);
    let files = |series: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
        let of = |name: &String| name.strip_prefix("fullbloom_inspect_data_files").map(str::to_owned);
        series.iter().filter_map(|(name, value)| Some((of(name)?, *value))).collect()
    };
    let (one, two) = (dir.arg("one"), dir.arg("two"));
    let together = measured("inspect", 0, &[&one, &two], &[]);
    assert_eq!(files(&together), [("{run=\"x\",keyspace=\"ks\",table=\"t\"}".to_owned(), 2.0)]);
    copy("one/ks/t-22222222222222222222222222222222", 1);
    let names: Vec<String> =
        files(&measured("inspect", 0, &[&one, &two], &[])).into_iter().map(|(name, _)| name).collect();
    let name = |id: &str| format!("{{run=\"x\",keyspace=\"ks\",table=\"t\",table_id=\"{}\"}}", id.repeat(32));
    assert_eq!(names, [name("1"), name("2")]);
}

#[test]
fn single_files_have_series_only_on_request_and_those_with_problems_come_first() {
    let table = damaged();
    let sstables = table.root.path().to_str().unwrap();
    let paths = |more: &[&str]| -> Vec<String> {
        let series = measured("inspect", 1, &[sstables], more);
        let of = |name: &String| {
            Some(name.strip_prefix("fullbloom_inspect_file_filters{run=\"x\",path=\"")?.to_owned())
        };
        series.keys().filter_map(of).collect()
    };
    assert_eq!(paths(&[]), Vec::<String>::new());
    let two = paths(&["--metrics-files", "2"]);
    assert!(
        two.len() == 2
            && two[0].ends_with("nb-2-big-Filter.db\"}")
            && two[1].ends_with("nb-3-big-Filter.db\"}"),
        "{two:?}"
    );
    assert_eq!(paths(&["--metrics-files", "1M"]).len(), 4);
}

#[test]
fn metrics_overwrite_metrics_and_nothing_else() {
    let dir = Dir::new();
    let (filter, metrics) = (dir.arg("f.bloom"), dir.arg("m.prom"));
    run(&["build", "-q", "-o", &filter], lines(100).as_bytes()).exits(0);
    let before = dir.read("f.bloom");
    for command in ["inspect", "verify"] {
        run(&[command, &filter, "--metrics", &filter], b"").fails_with("is not a file of our metrics");
        run(&[command, &filter, "--metrics", "-"], b"").fails_with("--metrics: ");
        run(&[command, &filter, "--metrics", &dir.arg("none/m.prom")], b"").fails_with("none/m.prom");
        run(&[command, &filter, "--metrics-files", "1"], b"").exits(2);
        assert!(dir.read("f.bloom") == before);
        for _ in 0..2 {
            run(&[command, &filter, "--metrics", &metrics], b"").exits(0);
        }
        series(&fs::read_to_string(&metrics).unwrap());
    }
}

#[test]
fn what_could_not_be_read_is_in_the_metrics_too() {
    let dir = Dir::new();
    let (missing, metrics) = (dir.arg("no-such-file"), dir.arg("m.prom"));
    run(&["inspect", "-q", &missing, "--metrics", &metrics], b"").exits(2);
    let series = series(&fs::read_to_string(&metrics).unwrap());
    assert_eq!(series["fullbloom_inspect_run_status{run=\"m\"}"], 2.0);
    assert_eq!(series["fullbloom_inspect_problems{run=\"m\",code=\"unreadable\",severity=\"error\"}"], 1.0);
}

#[test]
fn the_page_for_operators_lists_every_metric_and_no_other() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md");
    let page = fs::read_to_string(page).unwrap();
    let listed = page.lines().filter(|line| line.starts_with("| `fullbloom_"));
    let mut listed: Vec<&str> = listed
        .flat_map(|line| {
            line.split('|').nth(1).unwrap().split(", ").map(|name| name.trim().trim_matches('`'))
        })
        .collect();
    let table = damaged();
    let sstables = table.root.path().to_str().unwrap();
    let mut written: Vec<String> = Vec::new();
    for command in ["inspect", "verify"] {
        let series = measured(command, 1, &[sstables], &[]);
        written.extend(series.keys().map(|name| name.split('{').next().unwrap().to_owned()));
    }
    listed.sort_unstable();
    written.sort_unstable();
    written.dedup();
    assert_eq!(written, listed);
}

#[test]
fn metrics_and_json_are_written_by_one_run() {
    let table = damaged();
    let dir = Dir::new();
    let metrics = dir.arg("m.prom");
    let args = ["inspect", "--json", table.root.path().to_str().unwrap(), "--metrics", &metrics];
    let json: Value = run(&args, b"").exits(1).json();
    assert_eq!(json["places"].as_array().unwrap().len(), 4);
    assert!(!series(&fs::read_to_string(&metrics).unwrap()).is_empty());
}
