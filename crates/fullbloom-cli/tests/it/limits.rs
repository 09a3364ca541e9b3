//! Little memory and large numbers: one message and exit code 2, whatever is asked for.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // setrlimit

use crate::common::{Dir, Outcome, command, finish, lines, run};
use fullbloom_dialects::Name;
use fullbloom_testkit::steps::{self, Steps};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;

/// The address space that the command may take: it needs a fifth of it to start.
const SPACE: u64 = 200 << 20;

/// Runs the command with little memory.
pub fn run_small(args: &[&str], stdin: &[u8]) -> Outcome {
    run_within(libc::RLIMIT_AS, SPACE, args, stdin)
}

/// Runs the command with this limit.
fn run_within(resource: libc::__rlimit_resource_t, most: u64, args: &[&str], stdin: &[u8]) -> Outcome {
    let mut command = command(args);
    let set = move || {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the struct outlives the call, which is safe between fork and exec.
        match unsafe { libc::setrlimit(resource, &raw const limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(set) };
    finish(command, stdin)
}

/// It said one thing, and that it failed.
#[track_caller]
fn refused(outcome: Outcome, part: &str, what: &str) {
    let outcome = outcome.fails_with(part);
    assert_eq!(outcome.err.matches("error: ").count(), 1, "{what}: {outcome:?}");
    assert!(!outcome.err.contains("panicked"), "{what}: {outcome:?}");
    // inspect also prints what it knows of a file that it cannot map.
    assert!(outcome.out.is_empty() || what.contains("inspect"), "{what}: {outcome:?}");
}

/// What makes a filter of more than the memory, in this dialect; `None` where none is before its keys are
/// there.
fn large(dialect: Name) -> Option<[&'static str; 4]> {
    match dialect {
        Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon => None, // sized by the keys that come
        Name::Libbloom1 => Some(["--expected-keys", "200M", "--fpr", "0.01"]), // 2^31 bits at most
        Name::LevelDb | Name::RocksDbBlock => Some(["--expected-keys", "400M", "--bits-per-key", "10"]),
        Name::Cassandra0 | Name::Cassandra07 | Name::JavaLsm => {
            Some(["--expected-keys", "200M", "--fpr", "0.01"])
        }
        Name::Parquet => None, // at most 128 MiB
        Name::Orc => Some(["--expected-keys", "200M", "--fpr", "0.01"]),
        _ => Some(["--expected-keys", "1G", "--fpr", "0.01"]),
    }
}

#[test]
fn filters_larger_than_the_memory_are_refused_in_every_dialect_and_small_ones_are_not() {
    let dir = Dir::new();
    let out = dir.arg("f");
    let mut by_memory = 0;
    for dialect in Name::ALL {
        let small = ["build", "-q", "--force", "--dialect", dialect.as_str(), "-o", &out];
        run_small(&small, lines(1000).as_bytes()).exits(0);
        let before = dir.read("f");
        let Some(large) = large(*dialect) else { continue };
        let outcome = run_small(&[&small[..], &large].concat(), b"a\n");
        by_memory += usize::from(outcome.err.contains("memory"));
        refused(outcome, "", dialect.as_str());
        assert!(dir.read("f") == before && dir.names() == ["f"], "{dialect}");
        // What it would be is said all the same.
        run_small(&[&["plan", "--dialect", dialect.as_str()], &large[..]].concat(), b"").exits(0);
    }
    assert!(by_memory >= 18, "{by_memory} refusals for want of memory");
}

#[test]
fn a_compact_build_without_disk_or_memory_says_so_and_leaves_nothing() {
    let dir = Dir::new();
    let out = dir.arg("c.bloom");
    let keys = lines(1_800_000);
    // More hashes than 16 MiB hold go to a file, which must not grow beyond a mebibyte.
    let args = ["build", "-q", "--compact", "--fpr", "1e-3", "--memory", "16MiB", "-o", &out];
    let outcome = run_within(libc::RLIMIT_FSIZE, 1 << 20, &args, keys.as_bytes());
    refused(outcome, "on the disk", "disk");
    assert!(dir.names().is_empty(), "{:?}", dir.names());
    // And less memory than the hashes need.
    let args = ["build", "-q", "--compact", "--fpr", "1e-3", "-o", &out];
    let keys = keys.repeat(2) + &(0..2_000_000).map(|i| format!("{i} more\n")).collect::<String>();
    let outcome = run_within(libc::RLIMIT_AS, 64 << 20, &args, keys.as_bytes());
    refused(outcome, "memory", "memory");
    assert!(dir.names().is_empty(), "{:?}", dir.names());
}

#[test]
fn keys_in_any_number_are_planned_for_or_refused_in_every_dialect() {
    let dir = Dir::new();
    let out = dir.arg("f");
    for dialect in Name::ALL {
        for keys in ["9223372036854775808", "18446744073709551615", "1e18"] {
            for size in [["--fpr", "0.01"], ["--bits-per-key", "10"], ["--fpr", "1e-300"]] {
                let asked = [&["--dialect", dialect.as_str(), "--expected-keys", keys][..], &size].concat();
                let planned = run_small(&[&["plan"], &asked[..]].concat(), b"");
                assert!((0..=2).contains(&planned.code) && !planned.err.contains("panicked"), "{planned:?}");
                if matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon) {
                    continue; // sized by the keys that come
                }
                let built = run_small(&[&["build", "-q", "-o", &out], &asked[..]].concat(), b"a\n");
                refused(built, "", &format!("{asked:?}"));
            }
        }
        run(
            &[
                "plan",
                "--dialect",
                dialect.as_str(),
                "--expected-keys",
                "18446744073709551616",
                "--fpr",
                "0.01",
            ],
            b"",
        )
        .fails_with("");
    }
    assert!(dir.names().is_empty());
}

#[test]
fn files_larger_than_the_memory_are_refused_by_every_command_that_reads_filters() {
    let dir = Dir::new();
    // Nothing but a length: the file takes no place on the disk.
    for name in ["f.bits", "nb-1-big-Filter.db", "f.bloom", "000005.sst", "f.parquet"] {
        File::create(dir.path(name)).unwrap().set_len(1 << 30).unwrap();
    }
    let (bits, keys) = (dir.arg("f.bits"), dir.file("keys", "a\n"));
    let raw = ["--dialect", "libbloom-1", "--bits", "8589934591", "--probes", "7"];
    let out = dir.arg("out");
    for args in [
        &["check", &bits][..],
        &["check", "--map", &bits],
        &["inspect", &bits],
        &["merge", &bits, "-o", &out],
        &["verify", &bits, "--keys", &keys],
    ] {
        refused(run_small(&[args, &raw].concat(), b"a\n"), "memory", &format!("{args:?}"));
    }
    // The end of a table is read first, which needs no memory and shows that this is none.
    let table = dir.arg("000005.sst");
    for args in [&["check", &table][..], &["inspect", &table], &["unique", "--state", &table]] {
        let outcome = run_small(args, b"a\n");
        assert!(matches!(outcome.code, 1 | 2) && !outcome.err.contains("panicked"), "{args:?}: {outcome:?}");
    }
    for name in ["nb-1-big-Filter.db", "f.bloom", "f.parquet"] {
        let file = dir.arg(name);
        for args in [
            &["check", &file][..],
            &["check", "--map", &file],
            &["inspect", &file],
            &["merge", &file, "-o", &out],
            &["convert", &file, "--to", "cassandra", "-o", &out],
            &["unique", "--state", &file],
        ] {
            refused(run_small(args, b"a\n"), "memory", &format!("{args:?}"));
        }
    }
    assert!(!dir.names().contains(&"out".to_owned()));
}

#[test]
fn keys_that_outgrow_the_memory_end_in_one_message() {
    refused(run_small(&["unique", "--expected-keys", "10G"], b"a\n"), "memory", "unique");
    refused(run_small(&["bench", "--keys", "1G"], b""), "1000 to 100M keys", "bench");
}

#[test]
fn a_rate_is_measured_with_any_number_of_keys_in_the_same_memory() {
    let dir = Dir::new();
    let (filter, keys) = (dir.arg("f.bloom"), dir.file("keys", lines(1000)));
    run(&["build", "-q", "-o", &filter, &keys], b"").exits(0);
    let args = ["verify", "--json", "--absent", "4M", &filter, "--keys", &keys];
    let found = run_small(&args, b"").exits(0).json();
    assert_eq!(found["places"][0]["absent_asked"], 4_000_000, "{found}");
}

/// Every command, with the kinds that allocate in their own ways. `OUT` is a new file and `COPY:f` a copy of
/// `f`.
const COMMANDS: [&[&str]; 24] = [
    &["build", "-q", "keys", "-o", "OUT"],
    &["build", "-q", "--dynamic", "keys", "-o", "OUT"],
    &["build", "-q", "--deletable", "keys", "-o", "OUT"],
    &["build", "-q", "--compact", "keys", "-o", "OUT"],
    &["build", "-q", "keys", "--except", "good", "-o", "OUT"],
    &["build", "-q", "keys", "--except", "keys", "--except-wins", "-o", "OUT"],
    &["build", "-q", "keys", "--except", "keys", "--keys-win", "-o", "OUT"],
    &["build", "-q", "--dialect", "cassandra", "keys", "-o", "OUT"],
    &["build", "-q", "--dialect", "rocksdb", "keys", "-o", "OUT"],
    &["merge", "fast", "fast2", "-o", "OUT"],
    &["merge", "dynamic", "dynamic2", "-o", "OUT"],
    &["convert", "dynamic", "--to", "native", "--compact", "-o", "OUT"],
    &["convert", "dynamic", "--to", "native", "-o", "OUT"],
    &["insert", "-q", "COPY:fast", "good"],
    &["insert", "-q", "COPY:dynamic", "more"],
    &["insert", "-q", "COPY:deletable", "more"],
    &["remove", "-q", "COPY:deletable", "keys"],
    &["unique", "--state", "OUT", "keys"],
    &["check", "-c", "fast", "keys"],
    &["check", "-c", "dynamic", "keys"],
    &["verify", "fast", "--keys", "keys"],
    &["verify", "dynamic", "--keys", "keys"],
    &["inspect", "dynamic"],
    &["plan", "--expected-keys", "1M", "--fpr", "0.01"],
];

/// The address space without which the program cannot be loaded, in half megabytes.
fn least() -> u64 {
    let starts = |at: &u64| run_within(libc::RLIMIT_AS, at << 19, &["--version"], b"").code == 0;
    (10..).find(starts).unwrap()
}

/// Runs every command with more and more address space until it succeeds twice, in steps of this many half
/// megabytes: it ends with an error message, or well. Returns how often it ended with an error.
fn walk_the_limit(keys: u64, step: u64, first: impl Fn(u64) -> u64) -> u64 {
    let dir = Dir::new();
    let list = |first: u64| (first..first + keys).map(|i| format!("key-{i}\n")).collect::<String>();
    dir.file("keys", list(0));
    dir.file("more", list(keys));
    dir.file("good", (0..keys / 4).map(|i| format!("good-{i}\n")).collect::<String>());
    for (name, kind, from) in [
        ("fast", "--fpr=0.001", "keys"),
        ("fast2", "--fpr=0.001", "more"),
        ("dynamic", "--dynamic", "keys"),
        ("dynamic2", "--dynamic", "more"),
        ("deletable", "--deletable", "keys"),
    ] {
        run(&["build", "-q", kind, &dir.arg(from), "-o", &dir.arg(name)], b"").exits(0);
    }
    let least = least();
    let mut refused = 0;
    for (number, args) in COMMANDS.iter().enumerate() {
        let (mut done, mut at) = (0, least + first(number as u64));
        while done < 2 {
            let files = ["keys", "more", "good", "fast", "fast2", "dynamic", "dynamic2", "deletable"];
            for name in dir.names().iter().filter(|name| !files.contains(&name.as_str())) {
                std::fs::remove_file(dir.path(name)).unwrap();
            }
            let args: Vec<String> = args
                .iter()
                .map(|arg| match arg.strip_prefix("COPY:") {
                    Some(name) => dir.file("out", dir.read(name)),
                    None if *arg == "OUT" => dir.arg("out"),
                    None if files.contains(arg) => dir.arg(arg),
                    None => (*arg).to_owned(),
                })
                .collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let outcome = run_within(libc::RLIMIT_AS, at << 19, &args, b"");
            match outcome.code {
                0 => done += 1,
                _ => {
                    let message = outcome.err.contains("error: ") && !outcome.err.contains("panicked");
                    assert!(outcome.code == 2 && message, "{args:?} in {at} half megabytes: {outcome:?}");
                    (done, refused) = (0, refused + 1);
                }
            }
            at += step;
            assert!(at < 1_000, "{args:?}: never enough");
        }
    }
    println!("{refused} runs with too little memory");
    refused
}

#[test]
fn with_any_limit_of_memory_every_command_fails_with_a_message_or_succeeds() {
    let steps = Steps::every(6);
    let refused = match steps::all() {
        true => walk_the_limit(300_000, 3, |number| number % 3),
        false => walk_the_limit(100_000, steps.distance(), |number| steps.turn(number, steps.distance())),
    };
    assert!(refused > steps.least(20, 10), "{refused}");
}

#[test]
fn a_thread_that_lacks_memory_for_its_second_stack_is_not_started() {
    let dir = Dir::new();
    let (keys, filter) = (dir.file("keys", lines(50_000)), dir.arg("f.bloom"));
    run(&["build", "-q", &keys, "-o", &filter], b"").exits(0);
    // The stack for the handler of stack overflows takes a few pages, so this walk takes small steps.
    const STEP: u64 = 24 << 10;
    let (steps, least) = (Steps::every(4), least() << 19);
    for number in (0..(10 << 20) / STEP).filter(|number| steps.takes(*number)) {
        let limit = least + number * STEP;
        let outcome = run_within(libc::RLIMIT_AS, limit, &["check", "-c", &filter, &keys], b"");
        let clean = matches!(outcome.code, 0 | 2) && !outcome.err.contains("panicked");
        assert!(clean, "{limit} bytes: {outcome:?}");
    }
}

#[test]
#[ignore = "takes minutes: cargo test --release -p fullbloom-cli --test it limits:: -- --ignored"]
fn with_every_limit_of_memory_every_command_fails_with_a_message_or_succeeds() {
    assert!(walk_the_limit(1_000_000, 1, |_| 0) > 20);
}
