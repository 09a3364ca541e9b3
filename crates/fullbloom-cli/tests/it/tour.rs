//! The commands of docs/tour.md and docs/operators.md, and those of the README with an output, are run and print what the page
//! shows. Every other command of the README, of docs/command.md and of the help is accepted.
//!
//! `FULLBLOOM_TOUR=write cargo test -p fullbloom-cli --test it tour::` rewrites the outputs in the pages.

use crate::common;
use crate::support;
use fullbloom_dialects::Name;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line that stands for any number of lines: what differs from machine to machine.
const ANYTHING: &str = "...";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
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
    for (page, least) in [("docs/tour.md", 30), ("docs/operators.md", 3), ("README.md", 3)] {
        run_page(&root().join(page), least);
    }
}

#[cfg(unix)]
fn run_page(page_path: &Path, least: usize) {
    let page = fs::read_to_string(page_path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    common::copy_tree(&root().join("examples"), &directory.path().join("examples"));
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
    assert!(commands >= least, "only {commands} commands found in {}", page_path.display());
    if std::env::var("FULLBLOOM_TOUR").as_deref() == Ok("write") {
        fs::write(page_path, written).unwrap();
    }
}

/// The calls of the program in a line of a shell, without what comes in and goes out: `zcat f | fullbloom
/// build -o x # why`.
fn calls(line: &str) -> impl Iterator<Item = Vec<&str>> {
    let line = line.split(" #").next().unwrap_or_default();
    line.split(['|', '&']).filter_map(|part| {
        let part = part.split([' ', '\n']).filter(|word| !word.is_empty());
        let mut words: Vec<&str> = part.take_while(|word| !word.starts_with(['<', '>'])).collect();
        (words.first() == Some(&"fullbloom")).then(|| words.split_off(1))
    })
}

/// Lines with those that continue them.
fn joined(text: &str) -> Vec<String> {
    text.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

#[test]
fn every_command_that_the_pages_and_the_help_show_is_understood() {
    let pages = ["README.md", "docs/command.md"].map(|page| fs::read_to_string(root().join(page)).unwrap());
    let blocks = pages.iter().flat_map(|page| page.split("```sh\n").skip(1));
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default());
    let mut lines: Vec<String> = blocks.flat_map(joined).collect();
    let help = |command: &str| {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let text = common::run(&args, b"").exits(0).text().to_owned();
        joined(text.split_once("\nExamples:\n").expect("examples").1)
    };
    let listed = common::run(&["--help"], b"").exits(0).text().to_owned();
    let listed = listed.split_once("\nCommands:\n").expect("commands").1;
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        // What begins further right goes on about the command above it.
        match line.strip_prefix("  ").and_then(|line| line.split(' ').next()) {
            None | Some("" | "help") => {}
            Some(command) => lines.extend(help(command)),
        }
    }
    lines.extend(help("table build"));
    let directory = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for line in &lines {
        for args in calls(line).filter(|args| args[0] != "bench") {
            let mut command = common::command(&args);
            command.current_dir(directory.path());
            let out = common::finish(command, b"");
            assert!(!out.err.contains("Usage: ") && !out.err.contains("invalid value"), "{line}\n{out:?}");
            seen += 1;
        }
    }
    assert!(seen > 90, "only {seen} commands found");
}

/// Made `examples/cassandra`: `cargo test -p fullbloom-cli --test it tour:: -- --ignored`.
#[test]
#[ignore = "writes into the repository: cargo test -p fullbloom-cli --test it tour:: -- --ignored"]
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
    common::copy_tree(&table.directory, &target);
}
