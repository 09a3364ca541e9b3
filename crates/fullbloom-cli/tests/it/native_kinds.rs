//! Dynamic filters from the command line: built, changed, merged, converted, verified, refused.

use crate::common::{self, Dir, lines, run};

#[test]
fn a_dynamic_filter_is_built_grows_and_is_verified() {
    let dir = Dir::new();
    let (filter, keys) = (dir.arg("g.bloom"), dir.file("keys", lines(3_000)));
    let args = ["build", "--dynamic", "--fpr", "1e-4", "--label", "mine", "-o", &filter, "--json"];
    let told = run(&args, lines(1_000).as_bytes()).exits(0).json();
    assert_eq!((told["kind"].as_str(), told["keys"].as_u64()), (Some("dynamic"), Some(1_000)));
    let args = ["build", "-q", "--dynamic", "--expected-keys", "500", "--up-to", "5k", "-o", &filter];
    run(&args, lines(1_000).as_bytes()).exits(0);
    let out = run(&["insert", &filter, &keys], b"").exits(0);
    assert!(out.text().contains("3000 keys inserted, ") && out.err.is_empty(), "{out:?}");
    let out = run(&["verify", &filter, "--keys", &keys, "--json"], b"").exits(0).json();
    assert_eq!(out["places"][0]["missing"], 0);
    assert!(out["places"][0]["measured_fpr"].as_f64().unwrap() < 0.01);
    let text = run(&["inspect", &filter], b"").exits(0);
    assert!(text.text().contains("1 % up to 5000 keys"), "{text:?}");
    run(&["build", "--dynamic", "--bits-per-key", "10", "-o", &filter], b"a\n").fails_with("give --fpr");
    run(&["build", "--dynamic", "--fpr", "1", "-o", &filter], b"a\n").fails_with("fpr 1");
    run(&["build", "--up-to", "10", "-o", &filter], b"a\n").fails_with("only dynamic filters");
    let out =
        run(&["build", "--dynamic", "--dialect", "leveldb", "--bits-per-key", "10", "-o", &filter], b"a\n");
    out.fails_with("--dynamic: ");
}

#[test]
fn a_dynamic_filter_is_identical_only_to_one_of_the_same_keys() {
    let dir = Dir::new();
    let (filter, all, half) = (dir.arg("f"), dir.file("all", lines(1_000)), dir.file("half", lines(500)));
    let rebuilt = |keys: &str, code| {
        let told = run(&["verify", &filter, "--keys", keys, "--json"], b"").exits(code).json();
        told["places"][0]["rebuilt"].as_str().unwrap().to_owned()
    };
    for kind in ["--dynamic", "--deletable"] {
        run(&["build", "-q", kind, "-o", &filter, &all], b"").exits(0);
        assert_eq!([rebuilt(&all, 0), rebuilt(&half, 1)], ["identical", "differs"], "{kind}");
    }
    let rest: String = lines(1_000).lines().skip(500).map(|line| format!("{line}\n")).collect();
    run(&["remove", "-q", &filter], rest.as_bytes()).exits(0);
    assert_eq!([rebuilt(&half, 0), rebuilt(&all, 1)], ["identical", "differs"]);
    // When each key came cannot be known.
    let _ = std::fs::remove_file(&filter);
    run(&["unique", "-c", "--expire", "1d", "--state", &filter, &half], b"").exits(0);
    assert_eq!(rebuilt(&half, 0), "impossible");
}

#[test]
fn a_dynamic_filter_becomes_a_fast_one() {
    let dir = Dir::new();
    let (filter, fast) = (dir.arg("g.bloom"), dir.arg("p.bloom"));
    run(&["build", "-q", "--deletable", "-o", &filter], lines(50).as_bytes()).exits(0);
    run(&["convert", "-q", &filter, "--to", "native", "-o", &fast], b"").exits(0);
    assert_eq!(run(&["check", "-c", &fast], lines(50).as_bytes()).exits(0).text(), "50\n");
    let told = run(&["inspect", "--json", &fast], b"").exits(0).json();
    assert_eq!(told["places"][0]["kind"], "fast");
    run(&["convert", &fast, "--to", "native", "-o", &filter], b"").fails_with("it is native already");
}

#[test]
fn keys_are_removed_and_nothing_is_if_one_is_absent() {
    let dir = Dir::new();
    let filter = dir.arg("r.bloom");
    let args = ["build", "--deletable", "--fpr", "1e-6", "-o", &filter, "--json"];
    let told = run(&args, lines(1_000).as_bytes()).exits(0).json();
    assert_eq!((told["kind"].as_str(), told["mode"].as_str()), (Some("dynamic"), Some("counting")));
    let before = dir.read("r.bloom");
    let out = run(&["remove", &filter], b"key1\nkey2\nkey1\nnever\n").exits(1);
    assert_eq!(out.text(), "0 keys removed, 2 not in the filter\n");
    assert!(out.err.contains("\"key1\", \"never\""), "{out:?}");
    assert_eq!(dir.read("r.bloom"), before);
    let out = run(&["remove", "--force", &filter], b"key1\nkey2\nkey1\nnever\n").exits(1);
    assert_eq!(out.text(), "2 keys removed, 2 not in the filter\n");
    assert_eq!(run(&["check", &filter], b"key0\nkey1\nkey2\nkey3\n").exits(0).text(), "key0\nkey3\n");
    assert_eq!(run(&["remove", "-v", &filter], b"key1\nnever").exits(1).text(), "key1\nnever\n");
    assert_eq!(run(&["insert", "--json", &filter], b"key1\nkey2\n").exits(0).json()["new"], 2);
    assert_eq!(dir.read("r.bloom"), before, "the same keys, the same bytes");
    assert_eq!(run(&["remove", "-q", &filter], lines(1_000).as_bytes()).exits(0).text(), "");
    run(&["check", &filter], lines(1_000).as_bytes()).exits(1);
    // Nothing to do: nothing is written.
    let empty = dir.read("r.bloom");
    run(&["remove", &filter], b"key1\n").exits(1);
    run(&["remove", &filter], b"").exits(0);
    assert_eq!(dir.read("r.bloom"), empty);
    assert_eq!(dir.names(), ["r.bloom"]);
}

#[test]
fn only_deletable_filters_are_removed_from_and_only_filters_that_take_keys_inserted_into() {
    let dir = Dir::new();
    let (fast, keys) = (dir.arg("p.bloom"), dir.file("keys", "a\nb\n"));
    run(&["build", "-q", "-o", &fast, &keys], b"").exits(0);
    let out = run(&["remove", &fast], b"a\n").fails_with("is a fast filter");
    assert!(out.err.contains("hint: fullbloom build --deletable"), "{out:?}");
    let out = run(&["insert", &fast], lines(50).as_bytes()).exits(0);
    let first = out.err.find("already holds");
    assert!(first < out.err.find("more than the 2 "), "{out:?}");
    assert_eq!(out.err.matches("hint: build --dynamic").count(), 1, "{out:?}");
    assert_eq!(run(&["check", "-c", &fast], lines(50).as_bytes()).exits(0).text(), "50\n");
    run(&["build", "-q", "-o", &fast, &keys, "--except", &dir.file("good", "x\n")], b"").exits(0);
    run(&["insert", &fast], b"c\n").fails_with("with exceptions");
    run(&["insert", &keys], b"c\n").fails_with("is not a native filter");
    run(&["insert", &keys, &keys], b"").fails_with("is a key file");
    for command in ["insert", "remove"] {
        run(&[command, "no-such-filter"], b"").fails_with("no-such-filter: ");
    }
    let mut damaged = dir.read("p.bloom");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let damaged = dir.file("damaged", damaged);
    let out = run(&["insert", &damaged], b"a\n").exits(2);
    assert_eq!(out.err.matches("damaged: ").count(), 1, "{out:?}");
    run(&["insert", "-"], b"").fails_with("");
    run(&["remove", &fast, "--hex"], b"zz\n").fails_with("");
    let secret = dir.arg("secret");
    let args = ["build", "-q", "--deletable", "--fpr", "1e-9", "--secret", &secret, "-o", &fast, &keys];
    run(&args, b"").exits(0);
    run(&["remove", &fast], b"a\n").fails_with("keyed");
    assert_eq!(
        run(&["remove", &fast, "--secret", &secret], b"a\n").exits(0).text(),
        "1 key removed, 0 not in the filter\n"
    );
    run(&["check", &fast], b"a\n").fails_with("keyed");
    assert_eq!(run(&["check", &fast, "--secret", &secret], b"a\nb\n").exits(0).text(), "b\n");
}

#[test]
fn filters_of_one_form_are_merged_and_others_refused() {
    let dir = Dir::new();
    let out = dir.arg("out");
    let build = |name: &str, extra: &[&str], keys: &str| {
        let path = dir.arg(name);
        let args = [&["build", "-q", "--expected-keys", "500", "-o", &path], extra].concat();
        run(&args, keys.as_bytes()).exits(0);
        path
    };
    let (g1, g2) = (build("g1", &["--dynamic"], &lines(900)), build("g2", &["--dynamic"], "x\ny\n"));
    let told = run(&["merge", "--json", &g1, &g2, "-o", &out], b"").exits(0).json();
    assert_eq!(told["kind"], "dynamic");
    assert_eq!(run(&["check", "-c", &out], (lines(900) + "x\ny\n").as_bytes()).exits(0).text(), "902\n");
    let (r1, r2) = (build("r1", &["--deletable"], "a\nb\n"), build("r2", &["--deletable"], "b\nc\n"));
    run(&["merge", "-q", &r1, &r2, "-o", &out], b"").exits(0);
    run(&["remove", "-q", &out], b"b\n").exits(0);
    assert_eq!(run(&["check", &out], b"a\nb\nc\nd\n").exits(0).text(), "a\nb\nc\n", "b was in both");
    run(&["remove", "-q", &out], b"b\n").exits(0);
    assert_eq!(run(&["check", &out], b"a\nb\nc\nd\n").exits(0).text(), "a\nc\n");
    let fast = build("p", &[], "a\n");
    run(&["merge", &fast, &r1, "-o", &out], b"").fails_with("is a dynamic filter, ");
    run(&["merge", &g1, &fast, "-o", &out], b"").fails_with("is a fast filter, ");
    let turning = dir.arg("t");
    run(&["unique", "-c", "--expire", "1d", "--state", &turning], b"a\n").exits(0);
    run(&["insert", "-q", &turning], b"b\n").exits(0);
    assert_eq!(run(&["check", &turning], b"a\nb\nc\n").exits(0).text(), "a\nb\n");
    assert_eq!(run(&["verify", &turning], b"").exits(0).code, 0);
}

#[test]
fn two_who_change_one_filter_take_turns_and_lose_no_key() {
    let dir = Dir::new();
    let (filter, seen) = (dir.arg("g.bloom"), dir.arg("seen.bloom"));
    run(&["build", "-q", "--dynamic", "-o", &filter], b"first\n").exits(0);
    run(&["unique", "-c", "--state", &seen], b"first\n").exits(0);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let keys: String = (0..20_000).map(|i| format!("{part} {i}\n")).collect();
            let (filter, seen) = (&filter, &seen);
            scope.spawn(move || {
                run(&["insert", filter], keys.as_bytes()).exits(0);
                run(&["unique", "-c", "--state", seen], keys.as_bytes()).exits(0);
            });
        }
    });
    let all: String = (0..4).flat_map(|part| (0..20_000).map(move |i| format!("{part} {i}\n"))).collect();
    assert_eq!(run(&["check", "-c", &filter], all.as_bytes()).exits(0).text(), "80000\n");
    assert_eq!(run(&["unique", "-c", "--state", &seen], all.as_bytes()).exits(1).text(), "0\n");
}

#[test]
fn keys_are_removed_though_nobody_reads_which_were_not_in() {
    let dir = Dir::new();
    let filter = dir.arg("r.bloom");
    run(&["build", "-q", "--deletable", "--fpr", "1e-6", "-o", &filter], lines(1_000).as_bytes()).exits(0);
    let absent: String = (0..100_000).map(|i| format!("absent {i}\n")).collect();
    let keys = dir.file("keys", absent + &lines(500));
    let mut command = common::command(&["remove", "--force", "-v", &filter, &keys]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(common::wait(&mut child), 1);
    assert_eq!(run(&["check", "-c", &filter], lines(1_000).as_bytes()).exits(0).text(), "500\n");
}

#[test]
fn a_state_far_ahead_of_the_clock_is_left_alone() {
    let dir = Dir::new();
    let state = dir.arg("s.bloom");
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(30 * 86_400);
    let expiry =
        fullbloom_dynamic::Expiry::of(fullbloom_dynamic::Keep::Time(std::time::Duration::from_secs(60)));
    let options =
        fullbloom_dynamic::DynamicOptions::new(100, 1e-6).mode(fullbloom_dynamic::Mode::Expiring(expiry));
    let mut filter = fullbloom_dynamic::DynamicFilter::new(options).unwrap();
    filter.set_key_type(Some(fullbloom::typed::KeyType::Bytes));
    filter.advance(ahead).unwrap();
    dir.file("s.bloom", filter.encode());
    let before = dir.read("s.bloom");
    for command in [&["unique", "--state"][..], &["insert"]] {
        run(&[command, &[&state]].concat(), b"a\n").fails_with("clocks");
    }
    assert_eq!(dir.read("s.bloom"), before);
}

#[test]
fn a_filter_with_room_takes_keys_and_says_when_the_room_is_gone() {
    let dir = Dir::new();
    let filter = dir.arg("p.bloom");
    for kind in [&[][..], &["--deletable"]] {
        let args = [&["build", "-q", "--expected-keys", "60", "-o", &filter], kind].concat();
        run(&args, lines(50).as_bytes()).exits(0);
        let out = run(&["insert", &filter], b"one\n").exits(0);
        assert_eq!((out.text(), out.err.as_str()), ("1 key inserted, 1 new\n", ""), "there is room");
        let told = run(&["insert", "--json", &filter], b"a\nb\n").exits(0).json();
        assert_eq!((told["overfull"].as_bool(), told["inserted"].as_u64()), (Some(false), Some(2)));
        let more: String = (0..30).map(|i| format!("more {i}\n")).collect();
        let out = run(&["insert", &filter], more.as_bytes()).exits(0);
        assert!(out.err.contains("more than the 60"), "{out:?}");
        assert!(out.err.contains("\nhint: build --dynamic"), "{out:?}");
        let told = run(&["insert", "--json", &filter], b"last\n").exits(0).json();
        assert_eq!(told["overfull"], true);
        let seen = run(&["inspect", "--json", &filter], b"").exits(1).json();
        assert_eq!(told["expected_fpr"], seen["places"][0]["expected_fpr"]);
    }
}

#[test]
fn keys_that_are_numbers_are_inserted_removed_and_made_unique_as_they_were_built() {
    let dir = Dir::new();
    let (filter, state) = (dir.arg("r.bloom"), dir.arg("s.bloom"));
    let numbers: String = (0..100).map(|i| format!("{i}\n")).collect();
    let typed = ["--key-type", "long"];
    let args = ["build", "-q", "--deletable", "--fpr", "1e-6", "-o", &filter];
    run(&[&args, &typed[..]].concat(), numbers.as_bytes()).exits(0);
    let out = run(&[&["remove", &filter], &typed[..]].concat(), b"7\n+8\n").exits(0);
    assert_eq!(out.text(), "2 keys removed, 0 not in the filter\n");
    run(&["remove", &filter], b"9\n").fails_with("of type long");
    run(&[&["insert", "-q", &filter], &typed[..]].concat(), b"7\n").exits(0);
    assert_eq!(run(&[&["check", &filter], &typed[..]].concat(), b"7\n8\n9\n").exits(0).text(), "7\n9\n");
    run(&[&["insert", &filter], &typed[..]].concat(), b"seven\n").fails_with("line 1");
    let unique = [&["unique", "--state", &state], &typed[..]].concat();
    assert_eq!(run(&unique, b"1\n+1\n2\n").exits(0).text(), "1\n2\n");
    assert_eq!(run(&[&["check", &state], &typed[..]].concat(), b"2\n3\n").exits(0).text(), "2\n");
}

#[test]
fn a_compact_filter_is_built_checked_inspected_and_verified() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("c.bloom"), lines(20_000));
    let keys = dir.file("keys", &text);
    let args = ["build", "--compact", "--fpr", "1e-4", "--label", "mine", "-o", &filter, "--json", &keys];
    let built = run(&args, b"").exits(0).json();
    assert_eq!(built["kind"], "compact");
    assert_eq!((&built["keys"], &built["new_keys"]), (&20_000.into(), &20_000.into()));
    assert_eq!(run(&["check", &filter], text.as_bytes()).exits(0).text(), text);
    run(&["check", "-q", &filter], b"absent\n").exits(1);
    let seen = run(&["inspect", "--json", &filter], b"").exits(0).json();
    assert_eq!(seen["places"][0]["kind"], "compact");
    assert!(run(&["inspect", &filter], b"").exits(0).text().contains("compact: 13 columns"));
    run(&["verify", &filter, "--keys", &keys], b"").exits(0);

    // The same bytes from another order, with duplicates, in little memory.
    let reversed: String =
        text.lines().rev().chain(text.lines().take(100)).map(|key| format!("{key}\n")).collect();
    let args = ["build", "--compact", "--fpr", "1e-4", "--label", "mine", "--memory", "16MiB", "-o", "-"];
    assert!(run(&args, reversed.as_bytes()).exits(0).out == dir.read("c.bloom"), "the bytes differ");

    let refused = run(&["insert", &filter], b"new\n").exits(2).err;
    assert!(refused.contains("at once"), "{refused}");
    let refused =
        run(&["build", "--compact", "--bits-per-key", "10", "-o", &dir.arg("d.bloom"), &keys], b"").exits(2);
    assert!(refused.err.contains("give --fpr"), "{}", refused.err);
}

#[test]
fn a_dynamic_filter_becomes_a_compact_one() {
    let dir = Dir::new();
    let (dynamic, compact, text) = (dir.arg("d.bloom"), dir.arg("c.bloom"), lines(20_000));
    run(&["build", "-q", "--dynamic", "--fpr", "1e-5", "--label", "mine", "-o", &dynamic], text.as_bytes())
        .exits(0);
    run(&["convert", "-q", &dynamic, "--to", "native", "--compact", "-o", &compact], b"").exits(0);
    assert_eq!(run(&["check", &compact], text.as_bytes()).exits(0).text(), text);
    let seen = run(&["inspect", "--json", &compact], b"").exits(0).json();
    let place = &seen["places"][0];
    assert_eq!((&place["kind"], &place["label"]), (&"compact".into(), &"mine".into()));
    let rate = place["expected_fpr"].as_f64().unwrap();
    let of_dynamic = run(&["inspect", "--json", &dynamic], b"").exits(0).json()["places"][0]["expected_fpr"]
        .as_f64()
        .unwrap();
    assert!((rate / (1e-5 + of_dynamic) - 1.0).abs() < 0.004, "the rates of both: {rate}, {of_dynamic}");
    let small = dir.arg("s.bloom");
    run(&["convert", "-q", &dynamic, "--to", "native", "--compact", "--fpr", "0.01", "-o", &small], b"")
        .exits(0);
    assert_eq!(run(&["check", &small], text.as_bytes()).exits(0).text(), text);
    assert!(dir.read("s.bloom").len() * 2 < dir.read("c.bloom").len());
    let refused =
        run(&["convert", &compact, "--to", "native", "--compact", "-o", &dir.arg("x")], b"").exits(2).err;
    assert!(refused.contains("compact filter cannot"), "{refused}");
    run(&["convert", &dynamic, "--to", "native", "--fpr", "0.01", "-o", &dir.arg("x")], b"")
        .fails_with("--compact");
    run(&["convert", &dynamic, "--to", "cassandra", "--compact", "-o", &dir.arg("x")], b"")
        .fails_with("only dynamic");
}

#[test]
fn a_compact_filter_has_exceptions() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("c.bloom"), lines(5000));
    let keys = dir.file("keys", &text);
    let good: String = (0..50_000).map(|i| format!("good{i}\n")).collect();
    let known = dir.file("good", &good);
    run(&["build", "-q", "--compact", "--except", &known, "-o", &filter, &keys], b"").exits(0);
    run(&["check", "-q", &filter], good.as_bytes()).exits(1);
    assert_eq!(run(&["check", &filter], text.as_bytes()).exits(0).text(), text);
}

#[test]
fn a_dynamic_filter_shows_neither_fill_nor_probes() {
    let dir = Dir::new();
    for (kind, shown) in [("--dynamic", false), ("--deletable", false), ("--compact", true)] {
        let filter = dir.arg("f.bloom");
        run(&["build", "-q", kind, "-o", &filter], lines(1_000).as_bytes()).exits(0);
        let text = run(&["inspect", &filter], b"").exits(0);
        let has = |name: &str| text.text().lines().any(|line| line.starts_with(&format!("  {name} ")));
        assert_eq!((has("fill"), has("probes")), (shown, shown), "{kind}: {text:?}");
    }
}
