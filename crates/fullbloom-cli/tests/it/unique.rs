//! `unique`: first occurrences, in order, with and without a state between runs.

use crate::common::{self, Dir, command, finish, lines, run};
use std::process::Stdio;

#[test]
fn every_key_is_printed_once_in_the_order_of_its_first_coming() {
    let text = "b\na\nb\n\na\nc\n\nlast";
    for args in [&["unique"][..], &["unique", "--expected-keys", "10"], &["unique", "--fpr", "1e-9"]] {
        assert_eq!(run(args, text.as_bytes()).exits(0).text(), "b\na\n\nc\nlast\n");
    }
    assert_eq!(run(&["unique", "-c"], text.as_bytes()).exits(0).text(), "5\n");
    assert_eq!(run(&["unique", "--null"], b"b\0a\nc\0b\0x").exits(0).out, b"b\0a\nc\0x\0");
    assert_eq!(run(&["unique", "--hex"], b"0A\n0a\n0b\n").exits(0).text(), "0A\n0b\n");
    run(&["unique"], b"").exits(1);
    run(&["unique", "--hex"], b"00\nzz\n").fails_with("line 2");
}

#[test]
fn many_keys_in_many_blocks_come_out_as_from_an_exact_set() {
    let dir = Dir::new();
    // Every key twice, the second time far from the first.
    let text = lines(150_000).repeat(2);
    let keys = dir.file("keys", &text);
    assert_eq!(run(&["unique", "--fpr", "1e-9", &keys], b"").exits(0).text(), lines(150_000));
    assert_eq!(run(&["unique", "--fpr", "1e-9"], text.as_bytes()).exits(0).text(), lines(150_000));
    assert_eq!(run(&["unique", "--fpr", "1e-9", &keys, &keys], b"").exits(0).text(), lines(150_000));
}

#[test]
fn the_state_is_made_kept_and_known_in_the_next_run() {
    let dir = Dir::new();
    let state = dir.arg("seen.bloom");
    let args = ["unique", "--state", &state, "--expected-keys", "1000"];
    assert_eq!(run(&args, b"a\nb\n").exits(0).text(), "a\nb\n");
    let first = dir.read("seen.bloom");
    assert_eq!(run(&args, b"b\nc\na\n").exits(0).text(), "c\n");
    assert_ne!(dir.read("seen.bloom"), first);
    let out = run(&["unique", "--state", &state], b"a\nb\nc\n").exits(1);
    assert!(out.out.is_empty() && out.err.is_empty(), "{out:?}");
    assert_eq!(dir.names(), ["seen.bloom"]);
    assert_eq!(run(&["check", &state], b"a\nb\nc\nd\n").exits(0).text(), "a\nb\nc\n");
    let out = run(&["unique", "--state", &state, "--expected-keys", "5k", "--fpr", "1e-9"], b"d\n").exits(0);
    assert!(out.err.contains("--expected-keys does not change"), "{out:?}");
    assert!(out.err.contains("--fpr does not change"), "{out:?}");
    let coarse = dir.arg("coarse.bloom");
    run(&["build", "-q", "-o", &coarse, "--expected-keys", "100"], b"a\n").exits(0);
    let out = run(&["unique", "--state", &coarse], b"b\n").exits(0);
    assert!(out.err.contains("is not printed"), "{out:?}");
}

#[test]
fn a_state_needs_a_place_and_a_filter_that_takes_keys() {
    let dir = Dir::new();
    let state = dir.arg("s");
    let keys = dir.file("keys", "a\nb\n");
    run(&["unique", "--state", &keys, "--expected-keys", "5", &keys], b"").fails_with("is a key file");
    run(&["unique", "--state", &keys], b"a\n").fails_with("is not a native filter");
    run(&["unique", "--state", "-"], b"a\n").fails_with("--state: is a file");
    run(&["unique", "--state", &dir.arg("no/s"), "--expected-keys", "5"], b"").fails_with("cannot save");
    run(&["build", "-q", "-o", &state, "--deletable"], b"x\n").exits(0);
    run(&["unique", "--state", &state], b"a\n").fails_with("is a deletable filter");
    run(&["build", "-q", "-o", &state, "--except", &keys], b"x\n").exits(0);
    run(&["unique", "--state", &state], b"a\n").fails_with("with exceptions");
    for fpr in ["0", "1", "nan", "-1"] {
        run(&["unique", "--fpr", fpr], b"a\n")
            .fails_with(&format!("native: fpr {}", fpr.replace("nan", "NaN")));
    }
}

#[test]
fn a_keyed_state_needs_its_secret() {
    let dir = Dir::new();
    let (state, secret) = (dir.arg("s"), dir.file("secret", "000102030405060708090a0b0c0d0e0f"));
    let args = ["unique", "--state", &state, "--expected-keys", "100", "--secret", &secret];
    assert_eq!(run(&args, b"a\n").exits(0).text(), "a\n");
    assert_eq!(run(&args, b"a\nb\n").exits(0).text(), "b\n");
    run(&["unique", "--state", &state], b"a\n").fails_with("keyed");
    run(&["check", &state], b"a\n").fails_with("keyed");
    assert_eq!(run(&["check", &state, "--secret", &secret], b"a\nc\n").exits(0).text(), "a\n");
}

#[test]
fn more_keys_than_planned_are_told_with_the_rate_they_lead_to() {
    let out =
        run(&["unique", "--expected-keys", "100", "--fpr", "1e-3", "-c"], lines(2000).as_bytes()).exits(0);
    assert!(out.err.contains("more than the 100"), "{out:?}");
    assert!(out.err.contains("one new key in "), "{out:?}");
    let enough = run(&["unique", "--expected-keys", "2000", "-c"], lines(2000).as_bytes()).exits(0);
    assert!(enough.err.is_empty() && enough.text() == "2000\n", "{enough:?}");
    let repeated = run(&["unique", "--expected-keys", "100"], lines(100).repeat(50).as_bytes()).exits(0);
    assert!(repeated.err.is_empty(), "{repeated:?}");
}

#[test]
fn keys_that_were_not_printed_are_not_remembered() {
    let dir = Dir::new();
    let state = dir.arg("s");
    let args = ["unique", "--state", &state, "--expected-keys", "1M"];
    run(&args, format!("first\n{}", lines(5000)).as_bytes()).exits(0);
    let before = dir.read("s");
    // Nobody reads.
    let text = lines(200_000);
    let mut child = command(&args).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || std::io::Write::write_all(&mut stdin, text.as_bytes()));
        assert_eq!(common::wait(&mut child), 2);
    });
    assert_eq!(dir.read("s"), before, "after a closed pipe");
    #[cfg(target_os = "linux")]
    {
        let mut full = command(&args);
        full.stdout(Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()));
        finish(full, b"second\n").fails_with("standard output: cannot write");
        assert_eq!(dir.read("s"), before, "after a full disk");
    }
    run(&[&args[..], &["--hex"]].concat(), b"00\nzz\n").fails_with("line 2");
    assert_eq!(dir.read("s"), before, "after a wrong key");
    #[cfg(unix)]
    {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fullbloom")]).args(args);
        limited.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(limited, b"second\n").fails_with("s: cannot save");
        assert_eq!((dir.read("s"), dir.names()), (before.clone(), vec!["s".to_owned()]), "after a full disk");
    }
    assert_eq!(run(&args, b"first\nsecond\n").exits(0).text(), "second\n");
}

#[test]
fn a_state_with_another_rate_is_reported_and_keeps_its_own() {
    let dir = Dir::new();
    let state = dir.arg("state.bloom");
    run(&["unique", "--state", &state, "--fpr", "1e-4"], lines(100).as_bytes()).exits(0);
    let later = run(&["unique", "--state", &state, "--fpr", "1e-9"], lines(200).as_bytes()).exits(0);
    assert!(later.err.contains("rate of 0.01 %"), "{}", later.err);
    assert_eq!(later.text().lines().count(), 100);

    // A filter that was built for something else: its rate is far above that of a state.
    let built = dir.arg("built.bloom");
    run(&["build", "-q", "--fpr", "0.05", "-o", &built], lines(100).as_bytes()).exits(0);
    let unique = run(&["unique", "--state", &built], lines(100).as_bytes());
    assert!(unique.err.contains("is not printed"), "{}", unique.err);
}

#[test]
fn a_state_without_a_size_grows_and_keeps_its_rate() {
    let dir = Dir::new();
    let state = dir.arg("seen.bloom");
    run(&["unique", "-c", "--state", &state], lines(1000).as_bytes()).exits(0);
    let small = dir.read("seen.bloom").len();
    let text = lines(30_000);
    let out = run(&["unique", "-c", "--state", &state], text.as_bytes()).exits(0);
    assert_eq!((out.text(), out.err.as_str()), ("29000\n", ""));
    assert!(dir.read("seen.bloom").len() > 10 * small);
    assert_eq!(run(&["unique", "-c", "--state", &state], text.as_bytes()).exits(1).text(), "0\n");
    let told = run(&["inspect", "--json", &state], b"").exits(0).json();
    let filter = &told["places"][0];
    assert_eq!((filter["kind"].as_str(), filter["new_keys"].as_u64()), (Some("dynamic"), Some(30_000)));
    assert_eq!((filter["mode"].as_str(), filter["up_to"].as_u64()), (Some("set"), Some(1_000_000_000)));
    assert!(filter["expected_fpr"].as_f64().unwrap() < 1e-6);
    assert_eq!(run(&["check", "-c", &state], text.as_bytes()).exits(0).text(), "30000\n");
    let out = run(&["unique", "--state", &state, "--up-to", "5", "--fpr", "1e-9"], b"x\n").exits(0);
    assert!(
        out.err.contains("--up-to does not change") && out.err.contains("--fpr does not change"),
        "{out:?}"
    );
}

#[test]
fn keys_are_forgotten_after_a_time_and_not_before() {
    let dir = Dir::new();
    let state = dir.arg("turning.bloom");
    let args = ["unique", "--expire", "1s", "--generations", "2", "--state", &state];
    assert_eq!(run(&args, b"a\nb\na\n").exits(0).text(), "a\nb\n");
    let begun = std::time::Instant::now();
    assert_eq!(run(&args[..1], b"a\n").exits(0).text(), "a\n", "without a state nothing is known");
    // The state knows how it forgets.
    let out = run(&["unique", "--state", &state], b"a\nc\n").exits(0);
    if begun.elapsed().as_millis() < 900 {
        assert_eq!((out.text(), out.err.as_str()), ("c\n", ""));
    }
    std::thread::sleep(std::time::Duration::from_millis(1_600));
    assert_eq!(run(&["check", &state], b"a\nb\n").exits(1).text(), "", "forgotten");
    assert_eq!(run(&args, b"a\nb\n").exits(0).text(), "a\nb\n");
    let told = run(&["inspect", "--json", &state], b"").exits(0).json();
    let filter = &told["places"][0];
    let expiry = &filter["expiry"];
    assert_eq!((filter["mode"].as_str(), expiry["remember_ms"].as_u64()), (Some("expiring"), Some(1_000)));
    assert!(expiry["generations"][0]["began"].as_str().unwrap().ends_with(" UTC"));
    let text = run(&["inspect", &state], b"").exits(0);
    assert!(text.text().contains("remembered for 1 s"), "{text:?}");
    let out = run(&["unique", "--expire", "3s", "--state", &state], b"x\n").exits(0);
    assert!(out.err.contains("made with another expiry"), "{out:?}");
}

#[test]
fn keys_are_forgotten_after_a_number_of_others() {
    let dir = Dir::new();
    let state = dir.arg("last.bloom");
    let args = ["unique", "-c", "--expire-keys", "1000", "--generations", "10", "--state", &state];
    assert_eq!(run(&args, lines(5_000).as_bytes()).exits(0).text(), "5000\n");
    let last: String = (4_000..5_000).map(|i| format!("key{i}\n")).collect();
    assert_eq!(run(&args, last.as_bytes()).exits(1).text(), "0\n", "the last thousand are known");
    let before: String = (3_000..3_900).map(|i| format!("key{i}\n")).collect();
    assert_eq!(run(&["check", "-c", &state], before.as_bytes()).exits(1).text(), "0\n", "forgotten");
    let told = run(&["inspect", "--json", &state], b"").exits(0).json();
    assert_eq!(told["places"][0]["expiry"]["remember_keys"], 1_000);
    // Refreshed keys stay.
    let mut stream = String::new();
    (0..30).for_each(|i| stream += &format!("constant\na{i}\nb{i}\nc{i}\n"));
    let count = |refresh: &[&str]| {
        let args = [&["unique", "--expire-keys", "10"], refresh].concat();
        run(&args, stream.as_bytes()).exits(0).text().lines().filter(|line| *line == "constant").count()
    };
    assert_eq!(count(&["--refresh"]), 1);
    assert!((2..=10).contains(&count(&[])), "{}", count(&[]));
}

#[test]
fn what_makes_no_expiry_is_refused() {
    let dir = Dir::new();
    let state = dir.arg("s");
    for (args, why) in [
        (&["--expire", "0s"][..], "time to remember 0"),
        (&["--expire-keys", "0"], "keys to remember 0"),
        (&["--expire", "5"], "a time is written 7d"),
        (&["--expire", "5d", "--generations", "0"], "generations 0"),
        (&["--expire", "5d", "--generations", "201"], "generations 201"),
        (&["--generations", "5"], "give --expire"),
        (&["--refresh"], "give --expire"),
        (&["--expire", "5d", "--expire-keys", "5"], "cannot be used with"),
        (&["--save-every", "1m"], "--state"),
    ] {
        let out = run(&[&["unique"], args].concat(), b"a\n").exits(2);
        assert!(out.err.contains(why), "{args:?}: {out:?}");
    }
    run(&["unique", "--state", &state, "--expected-keys", "10"], b"a\n").exits(0);
    run(&["unique", "--state", &state, "--expire", "1d"], b"a\n").fails_with("is a filter without expiry");
}

/// A stream that does not end: what was printed is in the state before the end.
#[test]
fn the_state_is_saved_while_keys_come() {
    use std::io::{Read, Write};
    let dir = Dir::new();
    let state = dir.arg("s");
    let args = ["unique", "--state", &state, "--expected-keys", "1000", "--save-every", "1ms"];
    let mut child = command(&args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let begun = std::time::Instant::now();
    // Blocks are read as they come; one of them is saved.
    while !dir.path("s").exists() && begun.elapsed().as_secs() < 20 {
        stdin.write_all(b"early\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(dir.path("s").exists(), "nothing was saved");
    let mut printed = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut printed).unwrap();
    assert_eq!(&printed, b"early\n", "printed before it was saved");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run(&["check", &state], b"early\nlate\n").exits(0).text(), "early\n");
}

/// Ctrl-C is how `tail -F log | fullbloom unique --state S` ends.
#[cfg(unix)]
#[test]
fn a_signal_saves_the_state_and_ends_the_process_as_usual() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::ExitStatusExt;
    for (signal, further) in [
        (Signal::INT, None),
        (Signal::TERM, None),
        (Signal::HUP, None),
        // A terminal and a supervisor may both send one.
        (Signal::INT, Some(Signal::INT)),
        (Signal::TERM, Some(Signal::TERM)),
    ] {
        let dir = Dir::new();
        let state = dir.arg("seen.bloom");
        let mut child = command(&["unique", "--state", &state]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"a\nb\n").unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(printed.by_ref().take(2).map(Result::unwrap).collect::<Vec<_>>(), ["a", "b"]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        if let Some(further) = further {
            let _ = kill_process(Pid::from_child(&child), further); // it may have ended already
        }
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
        drop(stdin);
        assert_eq!(dir.names(), ["seen.bloom"]);
        assert_eq!(run(&["unique", "--state", &state], b"b\nc\na\n").exits(0).text(), "c\n");
    }
}

#[test]
fn a_state_that_is_not_saved_because_nobody_reads_is_an_error() {
    let dir = Dir::new();
    let (state, keys) = (dir.arg("seen.bloom"), dir.file("keys", lines(200_000)));
    let mut unread = command(&["unique", "--state", &state, &keys]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    unread.stdout(Stdio::from(writer));
    let refused = finish(unread, b"").fails_with("was not saved");
    assert!(refused.err.contains("seen.bloom") && refused.err.contains("prints them again"), "{refused:?}");
    assert_eq!(dir.names(), ["keys"]);
    // Without a state there is nothing to lose.
    let mut unread = command(&["unique", &keys]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    unread.stdout(Stdio::from(writer));
    assert_eq!(finish(unread, b"").exits(0).err, "");
}

#[test]
fn known_keys_that_are_refreshed_do_not_make_others_expire() {
    // 10 new keys are remembered; the same three keys come again and again.
    let mut text = String::from("once\n");
    (0..100).for_each(|_| text += "a\nb\nc\n");
    text += "once\n";
    let args = ["unique", "--expire-keys", "10", "--refresh"];
    assert_eq!(run(&args, text.as_bytes()).exits(0).text(), "once\na\nb\nc\n");
}

#[test]
fn keys_are_remembered_for_at_most_one_step_longer() {
    for (expire, step) in [(10, 2), (100, 15), (8, 2), (7, 1), (3, 1)] {
        let gone = (expire..3 * expire + 9).find(|more| {
            let others: String = (0..*more).map(|i| format!("key{i}\n")).collect();
            let text = format!("first\n{others}first\n");
            let args = ["unique", "--expire-keys", &expire.to_string()];
            run(&args, text.as_bytes()).exits(0).text().matches("first").count() == 2
        });
        assert!(gone.is_some_and(|gone| gone <= expire + step), "{expire}: {gone:?}");
    }
}
