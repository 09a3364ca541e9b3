//! The HTML pages of `inspect --report`, `plan --report` and `report`.

use crate::common::{Dir, lines, run};
use crate::support;
use fullbloom_testkit::vectors;
use std::fs;
use std::path::Path;

/// A page: whole, with drawings, and with nothing that a browser would have to fetch; its only script is the one
/// that it names the checksum of.
#[track_caller]
fn page(path: &str) -> String {
    let html = fs::read_to_string(path).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"), "{path}");
    let (before, rest) = html.split_once("<script>").expect("the script");
    let (script, after) = rest.split_once("</script>").expect("its end");
    let policy = format!("script-src 'sha256-{}'", sha256_base64(script.as_bytes()));
    assert!(before.contains(&policy), "the page must have {policy}");
    let html = format!("{before}{after}");
    for part in ["<script", "http://", "https://", "src=", "@import", "url(", "NaN", "inf\"", "onload"] {
        assert!(!html.contains(part), "{part} in {path}");
    }
    assert!(html.contains("<svg") && html.contains("prefers-color-scheme:dark") && html.contains("viewport"));
    for tag in ["section", "table", "svg", "div", "span", "ul", "li", "dl", "p", "tr", "td", "th"] {
        let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "<{tag}> in {path}");
    }
    html
}

/// The SHA-256 as browsers want it.
fn sha256_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sum = Vec::new();
    fullbloom_ops::text::decode_hex(fullbloom_testkit::sha256_hex(bytes).as_bytes(), &mut sum).unwrap();
    let mut text = String::new();
    for three in sum.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let known = digit <= three.len();
            text.push(if known { DIGITS[(bits >> (18 - 6 * digit)) as usize & 63].into() } else { '=' });
        }
    }
    text
}

fn pages(dir: &Dir) -> Vec<String> {
    let filter = dir.arg("f.block");
    run(&["build", "-q", "--dialect", "rocksdb", "-o", &filter], lines(5000).as_bytes()).exits(0);
    let table = support::Table::new();
    for generation in 1..=3 {
        table.add("nb", generation, &support::keys(2000), 0.01);
    }
    let mut holes = fs::read(table.path("nb", 2, "Filter.db")).unwrap();
    holes[8..600].fill(0);
    table.put("nb", 2, "Filter.db", &holes);
    let sstables = table.root.path().to_str().unwrap();
    let database = vectors::root().join("databases/rocksdb");
    let database = database.to_str().unwrap();
    let mut made = Vec::new();
    for (name, code, args) in [
        ("filter", 0, &["inspect", &filter][..]),
        ("sstables", 1, &["inspect", sstables]),
        ("database", 0, &["inspect", "--json", database]),
        ("plan", 0, &["plan", "--expected-keys", "1M", "--fpr", "0.01"]),
        ("plan-one", 0, &["plan", "--expected-keys", "1M", "--fpr", "0.01", "--dialect", "native"]),
        ("plan-sstables", 0, &["plan", "--from", sstables]),
        ("plan-database", 0, &["plan", "--from", database, "--memory", "7KiB"]),
    ] {
        let path = dir.arg(&format!("{name}.html"));
        run(&[args, &["--report", &path]].concat(), b"").exits(code);
        made.push(path);
    }
    let nodes = ["one", "two"].map(|node| {
        let args = ["inspect", "--json", sstables, database];
        dir.file(&format!("{node}.json"), &run(&args[..if node == "one" { 3 } else { 4 }], b"").exits(1).out)
    });
    let cluster = dir.arg("cluster.html");
    run(&["report", &nodes[0], &nodes[1], "-o", &cluster], b"").exits(1);
    made.push(cluster);
    made
}

#[test]
fn a_report_overwrites_a_page_and_nothing_else() {
    let dir = Dir::new();
    let (filter, report) = (dir.arg("f.bloom"), dir.arg("r.html"));
    run(&["build", "-q", "-o", &filter], lines(100).as_bytes()).exits(0);
    let before = dir.read("f.bloom");
    run(&["inspect", &filter, "--report", &filter], b"").fails_with("not an HTML page");
    assert!(dir.read("f.bloom") == before);
    for _ in 0..2 {
        run(&["inspect", &filter, "--report", &report], b"").exits(0);
    }
    page(&report);
}

#[test]
fn every_page_stands_alone_and_has_its_drawings() {
    let dir = Dir::new();
    let pages: Vec<String> = pages(&dir).iter().map(|path| page(path)).collect();
    let has =
        |i: usize, parts: &[&str]| parts.iter().for_each(|part| assert!(pages[i].contains(part), "{part}"));
    has(0, &["Rate against bits per key", "this filter: ", "Fill along the filter", "by the trailer"]);
    has(1, &["Fill along the filters", "Size by filter", "their rows are invisible", "key-missing"]);
    has(2, &["Size by level", "users, level 0"]);
    has(3, &["Size by dialect", "rocksdb-ribbon"]);
    has(5, &["Memory by rate", "bloom_filter_fp_chance 0.01"]);
    has(6, &["optimal split", "level 6, optimal"]);
    has(
        7,
        &[
            "2 nodes",
            "Size by table",
            "Tables, by node",
            "ks.table",
            "key-missing 2 times (1 on one, 1 on two)",
        ],
    );
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_work() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    run(&["build", "-q", "-o", &filter], b"a\n").exits(0);
    let before = dir.names();
    run(&["inspect", &filter, "--report", &dir.arg("none/x.html")], b"").fails_with("none/x.html");
    run(&["inspect", &filter, "--report", &dir.arg("")], b"").fails_with("is a directory");
    run(&["inspect", &filter, "--report", "-"], b"").fails_with("--report: ");
    run(&["plan", "--expected-keys", "1M", "--fpr", "0.01", "--report", "/dev/full"], b"")
        .fails_with("not a regular file");
    assert_eq!(dir.names(), before);
}

/// Looks at the pages in a real browser: `FULLBLOOM_CHROMIUM=chromium cargo test -- --ignored`.
#[test]
#[ignore = "needs a browser: FULLBLOOM_CHROMIUM=chromium cargo test -p fullbloom-cli --test it report:: -- --ignored"]
fn a_browser_has_nothing_to_complain_of_at_the_width_of_a_phone_and_of_a_desk() {
    let browser = std::env::var("FULLBLOOM_CHROMIUM").expect("FULLBLOOM_CHROMIUM names the browser");
    let dir = Dir::new();
    for path in pages(&dir) {
        for (width, dark) in [(390, false), (390, true), (1280, false), (1280, true)] {
            let shot = dir.arg("shot.png");
            let out = std::process::Command::new(&browser)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
                .arg(format!("--window-size={width},900"))
                .args(dark.then_some("--blink-settings=preferredColorScheme=0"))
                .arg(format!("--screenshot={shot}"))
                .arg(format!("file://{path}"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(!said.contains("CONSOLE"), "{path}: {said}");
            assert!(Path::new(&shot).exists(), "{path}: {said}");
            fs::remove_file(shot).unwrap();
        }
    }
}
