//! Two processes that change one filter: no key of either is lost, in dozens of rounds, or hundreds with
//! `FULLBLOOM_TESTS=all`.

use crate::common::{Dir, command, copy_tree, finish, run, wait};
use fullbloom_testkit::steps;
use std::process::Child;
use std::time::{Duration, Instant};

/// On a slow machine a race ends after this time.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs rounds for a bounded time; at least ten of them.
fn rounds(mut round: impl FnMut(u32)) {
    let begun = Instant::now();
    for number in 0..if steps::all() { 200 } else { 40 } {
        if number >= 10 && begun.elapsed() > LONGEST {
            break;
        }
        round(number);
    }
}

/// Starts a command that reads its keys from a file.
fn start(args: &[&str]) -> Child {
    let mut command = command(args);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.spawn().expect("the command starts")
}

/// Both end, each with 0 or 1: a key of the other may be known already.
#[track_caller]
fn both(mut one: Child, mut two: Child) {
    let codes = (wait(&mut one), wait(&mut two));
    assert!(codes.0 < 2 && codes.1 < 2, "{codes:?}");
}

/// All keys of these files are in the filter.
#[track_caller]
fn holds(filter: &str, files: &[&str], round: u32) {
    let args = [&["check", "-v", filter], files].concat();
    let lost = finish(command(&args), b"");
    assert_eq!((lost.code, lost.text()), (1, ""), "round {round}: {lost:?}");
}

fn keys(dir: &Dir, name: &str) -> String {
    dir.file(name, (0..300).map(|i| format!("{name}-{i}\n")).collect::<String>())
}

#[test]
fn two_first_runs_of_unique_with_one_state_lose_no_key() {
    let dir = Dir::new();
    let (a, b) = (keys(&dir, "a"), keys(&dir, "b"));
    rounds(|round| {
        let state = dir.arg(&format!("state-{round}"));
        both(start(&["unique", "--state", &state, &a]), start(&["unique", "--state", &state, &b]));
        holds(&state, &[&a, &b], round);
    });
}

#[test]
fn builds_that_would_make_one_secret_agree_on_it() {
    let dir = Dir::new();
    let keys = keys(&dir, "a");
    rounds(|round| {
        let (secret, one, two) = (dir.arg(&format!("secret-{round}")), dir.arg("one"), dir.arg("two"));
        let build = |filter: &str| start(&["build", "-q", "--secret", &secret, "-o", filter, &keys]);
        both(build(&one), build(&two));
        assert_eq!(dir.read("one"), dir.read("two"), "round {round}");
    });
}

#[test]
fn rebuilds_of_one_database_wait_for_each_other() {
    let dir = Dir::new();
    copy_tree(&fullbloom_testkit::vectors::root().join("databases/rocksdb"), &dir.path("db"));
    dir.file("db/LOCK", ""); // as an engine leaves it
    let rebuild = || start(&["rebuild", &dir.arg("db")]);
    for _ in 0..if steps::all() { 10 } else { 4 } {
        both(rebuild(), rebuild());
    }
    run(&["verify", &dir.arg("db")], b"").exits(0);
}

#[test]
fn a_merge_into_a_filter_beside_an_insert_loses_no_key() {
    let dir = Dir::new();
    let (a, b, c) = (keys(&dir, "a"), keys(&dir, "b"), keys(&dir, "c"));
    let (first, other) = (dir.arg("first.bloom"), dir.arg("other.bloom"));
    for (filter, file) in [(&first, &a), (&other, &b)] {
        run(&["build", "-q", "--expected-keys", "2000", "-o", filter, file], b"").exits(0);
    }
    rounds(|round| {
        let both_of = dir.arg("both.bloom");
        std::fs::copy(dir.path("first.bloom"), dir.path("both.bloom")).unwrap();
        let merge = start(&["merge", &both_of, &other, "-o", &both_of]);
        both(merge, start(&["insert", "-q", &both_of, &c]));
        holds(&both_of, &[&a, &b, &c], round);
    });
}

#[test]
fn a_state_that_is_saved_again_and_again_beside_inserts_loses_no_key() {
    let dir = Dir::new();
    let (a, b, c) = (keys(&dir, "a"), keys(&dir, "b"), keys(&dir, "c"));
    rounds(|round| {
        let state = dir.arg(&format!("state-{round}"));
        run(&["unique", "-c", "--state", &state, &a], b"").exits(0);
        let unique = start(&["unique", "--save-every", "1ms", "--state", &state, &b]);
        both(unique, start(&["insert", "-q", &state, &c]));
        holds(&state, &[&a, &b, &c], round);
    });
}
