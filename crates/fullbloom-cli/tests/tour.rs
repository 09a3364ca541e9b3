//! Every command of docs/tour.md is run, and prints what the page shows.
//!
//! `FULLBLOOM_TOUR=write cargo test -p fullbloom-cli --test tour` writes the page's outputs anew.

mod common;
#[path = "../../fullbloom-table/tests/cassandra_support/mod.rs"]
mod support;

use fullbloom::dialect::Name;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line that stands for any number of lines: what differs from machine to machine.
const ANYTHING: &str = "...";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Runs a line in a shell, in a copy of what the page speaks of; what it printed, errors included.
fn shell(directory: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_fullbloom"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let out = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .current_dir(directory)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env_remove("COLUMNS")
        .env_remove("FULLBLOOM_KERNEL")
        .output()
        .unwrap();
    // Where the copy is, is nobody's business.
    let place = directory.canonicalize().unwrap();
    String::from_utf8(out.stdout).unwrap().replace(&format!("{}/", place.display()), "")
}

/// Whether what was printed is what is shown.
fn same(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([first, rest @ ..], _) if *first == ANYTHING => {
            (0..=printed.len()).any(|n| same(rest, &printed[n..]))
        }
        ([a, shown @ ..], [b, printed @ ..]) => a == b && same(shown, printed),
        _ => false,
    }
}

#[cfg(unix)]
#[test]
fn every_command_of_the_tour_prints_what_the_page_shows() {
    let page_path = root().join("docs/tour.md");
    let page = fs::read_to_string(&page_path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    copy(&root().join("examples"), &directory.path().join("examples"));
    std::os::unix::fs::symlink(root().join("vectors"), directory.path().join("vectors")).unwrap();

    let mut written = String::new();
    let mut lines = page.lines().peekable();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        while let Some(command) = lines.next_if(|line| *line != "```") {
            let command = command.strip_prefix("$ ").unwrap_or_else(|| panic!("not a command: {command}"));
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                shown.push(line);
            }
            let printed = shell(directory.path(), command);
            let printed: Vec<&str> = printed.lines().collect();
            commands += 1;
            written += &format!("$ {command}\n");
            let kept = shown.contains(&ANYTHING);
            for line in if kept { &shown } else { &printed } {
                written += &format!("{line}\n");
            }
            if std::env::var("FULLBLOOM_TOUR").as_deref() != Ok("write") {
                assert!(
                    same(&shown, &printed),
                    "$ {command}\nprints\n{}\nand not\n{}",
                    printed.join("\n"),
                    shown.join("\n")
                );
            }
        }
    }
    assert!(commands > 20, "only {commands} commands found");
    if std::env::var("FULLBLOOM_TOUR").as_deref() == Ok("write") {
        fs::write(page_path, written).unwrap();
    }
}

/// Made `examples/cassandra`: `cargo test -p fullbloom-cli --test tour -- --ignored`.
#[test]
#[ignore = "writes into the repository: cargo test -p fullbloom-cli --test tour -- --ignored"]
fn make_the_example_sstables() {
    let table = support::Table::new();
    let keys = |range: std::ops::Range<u32>| -> Vec<Vec<u8>> {
        range.map(|i| format!("order-{i:06}").into_bytes()).collect()
    };
    table.add("nb", 1, &keys(0..600), 0.01);
    table.add("nb", 2, &keys(600..900), 0.01);
    // Cut short, with a hole, and in the byte order of another version.
    let whole = fs::read(table.path("nb", 2, "Filter.db")).unwrap();
    table.put("nb", 2, "Filter.db", &whole[..200]);
    table.add("nb", 3, &keys(900..1300), 0.01);
    let mut hole = fs::read(table.path("nb", 3, "Filter.db")).unwrap();
    hole[100..116].fill(0);
    table.put("nb", 3, "Filter.db", &hole);
    table.add("me", 4, &keys(1300..1400), 0.01);
    table.put("me", 4, "Filter.db", &support::filter(Name::Cassandra, 100, 0.01, &keys(1300..1400)));
    let target = root().join("examples/cassandra/shop/orders-5a1c395e0b1f11ef9a3f0242ac120002");
    copy(&table.directory, &target);
}
