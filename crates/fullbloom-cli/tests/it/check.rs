//! `check`: which keys are selected, what is printed, how it ends.

use crate::common::{Dir, leveldb_filter, lines, run};

/// A filter of `a` and `b` in which `x` and `y` are surely absent.
fn filter(dir: &Dir) -> String {
    leveldb_filter(dir, "f", &["a", "b"])
}

#[test]
fn maybe_present_keys_are_printed_in_order_and_as_they_came() {
    let dir = Dir::new();
    let out = run(&["check", &filter(&dir), "--dialect", "leveldb"], b"x\nb\na\ny\nb").exits(0);
    assert_eq!(out.text(), "b\na\nb\n");
    assert!(out.err.is_empty(), "{out:?}");
}

#[test]
fn nothing_selected_is_exit_code_1() {
    let dir = Dir::new();
    let filter = filter(&dir);
    let check = |more: &[&str], stdin: &[u8]| {
        let mut args = vec!["check", &filter, "--dialect", "leveldb"];
        args.extend(more);
        run(&args, stdin)
    };
    assert_eq!(check(&[], b"x\ny\n").exits(1).text(), "");
    assert_eq!(check(&[], b"").exits(1).text(), "");
    assert_eq!(check(&["-v"], b"a\nb\n").exits(1).text(), "");
    assert_eq!(check(&["-c"], b"x\n").exits(1).text(), "0\n");
    assert_eq!(check(&["-q"], b"x\n").exits(1).text(), "");
    assert_eq!(check(&["--answers"], b"x\n").exits(1).text(), "0\n");
    assert_eq!(check(&["--answers"], b"x\na\n").exits(0).text(), "0\n1\n");
}

#[test]
fn inverted_selection_and_counts_go_together_as_in_grep() {
    let dir = Dir::new();
    let filter = filter(&dir);
    let keys = b"x\na\ny\n";
    for (option, printed) in [("-v", "x\ny\n"), ("-c", "1\n"), ("-vc", "2\n"), ("-q", ""), ("-vq", "")] {
        let out = run(&["check", &filter, "--dialect", "leveldb", option], keys).exits(0);
        assert_eq!(out.text(), printed, "{option}");
    }
}

#[test]
fn answers_and_the_other_forms_exclude_each_other() {
    let dir = Dir::new();
    let filter = filter(&dir);
    for option in ["-v", "-c", "-q"] {
        run(&["check", &filter, "--dialect", "leveldb", "--answers", option], b"a\n")
            .fails_with("cannot be used with");
    }
    run(&["check", &filter, "--dialect", "leveldb", "-c", "-q"], b"a\n").fails_with("cannot be used with");
}

#[test]
fn quiet_stops_reading_at_the_first_selected_key() {
    let dir = Dir::new();
    let filter = filter(&dir);
    let text = format!("a\n{}zz\n", "00\n".repeat(400_000)); // a hex error far behind
    let out = run(&["check", &filter, "--dialect", "leveldb", "--hex", "-vq"], text.as_bytes());
    out.fails_with("line 1,"); // 'a' alone is no hex
    let text = format!("{}zz\n", "00\n".repeat(400_000));
    run(&["check", &filter, "--dialect", "leveldb", "--hex", "-vq"], text.as_bytes()).exits(0);
}

#[test]
fn what_was_selected_before_an_error_is_printed() {
    let dir = Dir::new();
    let filter = filter(&dir);
    let keys = dir.file("keys", "a\n");
    let out = run(
        &["check", &filter, "--dialect", "leveldb", "--hex", "-v", "-"],
        ("00\n".repeat(5000) + "0\n00\n").as_bytes(),
    );
    assert_eq!(out.fails_with("line 5001").text().lines().count(), 5000, "the keys before the bad one");
    let missing = dir.arg("missing");
    run(&["check", &filter, "--dialect", "leveldb", &keys, &missing], b"")
        .fails_with("missing: cannot read keys");
}

#[test]
fn every_key_of_a_large_input_is_answered_once() {
    let dir = Dir::new();
    let keys = dir.file("keys", lines(100_000));
    let filter = dir.arg("f");
    run(&["build", "--dialect", "leveldb", "--bits-per-key", "16", "-q", "-o", &filter, &keys], b"").exits(0);
    let out = run(&["check", &filter, "--dialect", "leveldb", &keys], b"").exits(0);
    assert_eq!(out.text(), lines(100_000));
    let out = run(&["check", &filter, "--dialect", "leveldb", "--answers", &keys, "--map"], b"").exits(0);
    assert_eq!(out.text(), "1\n".repeat(100_000));
}

#[test]
fn bytes_after_the_filter_are_a_warning_and_change_no_answer() {
    let dir = Dir::new();
    let (whole, padded) = (dir.arg("nb-1-big-Filter.db"), dir.arg("nb-2-big-Filter.db"));
    run(&["build", "--dialect", "cassandra", "-q", "-o", &whole], b"a\nb\n").exits(0);
    let mut bytes = dir.read("nb-1-big-Filter.db");
    bytes.extend_from_slice(&[0xff; 24]);
    dir.file("nb-2-big-Filter.db", &bytes);
    let keys = b"a\nx\ny\nb\n";
    let sound = run(&["check", &whole, "--answers"], keys).exits(0);
    assert!(!sound.err.contains("follow"), "{sound:?}");
    for more in [&[][..], &["--map"]] {
        let out = run(&[&["check", &padded, "--answers"], more].concat(), keys).exits(0);
        assert_eq!(out.out, sound.out);
        assert!(out.err.starts_with("warning: ") && out.err.contains("24 bytes follow"), "{out:?}");
    }
}

#[test]
fn a_cut_filter_is_an_error_whatever_is_missing() {
    let dir = Dir::new();
    let whole = dir.arg("nb-1-big-Filter.db");
    run(&["build", "--dialect", "cassandra", "-q", "-o", &whole], lines(20).as_bytes()).exits(0);
    let bytes = dir.read("nb-1-big-Filter.db");
    for len in 1..bytes.len() {
        let cut = dir.file("nb-2-big-Filter.db", &bytes[..len]);
        run(&["check", &cut], b"key1\n").fails_with("nb-2-big-Filter.db: not a cassandra");
    }
}

#[test]
fn the_dialect_is_told_from_name_and_bytes_or_must_be_given() {
    let dir = Dir::new();
    let libbloom = dir.arg("any-name");
    run(&["build", "--dialect", "libbloom", "--expected-keys", "1000", "-q", "-o", &libbloom], b"a\n")
        .exits(0);
    run(&["check", &libbloom], b"a\n").exits(0);
    for name in ["me-3-big-Filter.db", "ks-table-ka-3-Filter.db", "da-3-bti-Filter.db"] {
        let dialect = match name.as_bytes() {
            [b'm', ..] => "cassandra-3",
            [b'k', ..] => "cassandra-2",
            _ => "cassandra",
        };
        let filter = dir.arg(name);
        run(&["build", "--dialect", dialect, "-q", "-o", &filter], b"a\n").exits(0);
        run(&["check", &filter], b"a\n").exits(0);
    }
    let unknown = dir.file("mystery", [0x55; 100]);
    let out = run(&["check", &unknown], b"a\n").fails_with("mystery: ");
    assert!(out.err.contains("hint: no dialect") && out.err.contains("--dialect D"), "{out:?}");
}

#[test]
fn raw_bits_need_their_two_numbers() {
    let dir = Dir::new();
    let filter = dir.arg("bits");
    let build = ["build", "--dialect", "libbloom-1", "--bits", "8000", "--probes", "5", "-q", "-o", &filter];
    run(&build, b"a\nb\n").exits(0);
    let out = run(&["check", &filter, "--dialect", "libbloom-1"], b"a\n").fails_with("must be given");
    assert!(out.err.contains("hint: ") && out.err.contains("--bits M --probes K"), "{out:?}");
    let args = ["check", &filter, "--dialect", "libbloom-1", "--bits", "8000", "--probes", "5"];
    assert_eq!(run(&args, b"a\nx\nb\n").exits(0).text(), "a\nb\n");
    let args = ["check", &filter, "--dialect", "libbloom-1", "--bits", "0", "--probes", "5"];
    run(&args, b"a\n").fails_with("bits");
    let args = ["check", &filter, "--dialect", "libbloom-1", "--bits", "80000", "--probes", "5"];
    run(&args, b"a\n").fails_with("needs 10000 bytes, 1000 are there");
    run(&["check", &filter, "--dialect", "libbloom-1", "--bits", "8000"], b"a\n").fails_with("--probes");
}

#[test]
fn answers_keep_the_order_of_the_keys_over_many_blocks_and_a_wrong_line_far_into_them_is_named() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let members: String = (0..150_000).map(|i| format!("{:08x}\n", 2 * i)).collect();
    run(&["build", "-q", "--hex", "--fpr", "1e-9", "-o", &filter], members.as_bytes()).exits(0);
    let asked: String = (0..300_000).map(|i| format!("{i:08x}\n")).collect();
    let out = run(&["check", "--hex", "--answers", &filter], asked.as_bytes()).exits(0);
    assert!(out.text() == "1\n0\n".repeat(150_000));
    let out = run(&["check", "--hex", &filter], asked.as_bytes()).exits(0);
    assert!(out.text() == members);
    let wrong = asked.clone() + "xyz\n" + &asked;
    let keys = dir.file("keys", wrong);
    let out = run(&["check", "--hex", "--answers", &filter, &dir.file("first", &asked), &keys], b"")
        .fails_with("keys: line 300001, ");
    assert!(out.text() == "1\n0\n".repeat(300_000), "the answers before it are given");
}

#[test]
fn a_mapped_filter_answers_only_from_parts_whose_checksums_are_right() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("f.bloom"), lines(400_000));
    run(&["build", "-q", "-o", &filter], text.as_bytes()).exits(0);
    let mut bytes = dir.read("f.bloom");
    let at = bytes.len() - 5000; // in the last of several chunks
    bytes[at..at + 4000].fill(0);
    dir.file("f.bloom", &bytes);
    run(&["check", &filter], text.as_bytes()).fails_with("checksum");
    let refused = run(&["check", "--map", "--answers", &filter], text.as_bytes()).fails_with("checksum");
    assert!(refused.err.contains("build it again"), "{refused:?}");
    // A key whose part is undamaged is answered, without the rest being read.
    let answered = (0..20).filter(|i| {
        let done = run(&["check", "--map", &filter, "-e", &format!("key{i}")], b"");
        done.code == 0 || {
            assert_eq!(done.code, 2, "{done:?}");
            false
        }
    });
    assert!(answered.count() >= 5, "one chunk of several is damaged");
}

#[test]
fn keys_where_the_filter_should_be_are_recognised() {
    let dir = Dir::new();
    let keys = dir.file("keys.txt", lines(1000));
    let refused = run(&["check", &keys, &keys], b"").exits(2);
    assert!(refused.err.contains("lines of text"), "{refused:?}");
}
