//! `build`: what is written, when nothing is, and what is said about it.

use crate::common::{self, Dir, finish, lines, run};
use fullbloom_dialects::Name;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// Arguments that build a filter of about 2,000 keys in any dialect.
fn any_dialect(name: Name) -> [&'static str; 7] {
    ["build", "--dialect", name.as_str(), "--fpr", "0.01", "--expected-keys", "2000"]
}

#[test]
fn every_dialect_is_built_and_finds_every_key_again() {
    let dir = Dir::new();
    let text = lines(2000);
    for name in Name::ALL {
        let filter = dir.arg(name.as_str());
        let args = [&any_dialect(*name)[..], &["--json", "-o", &filter]].concat();
        let built = run(&args, text.as_bytes()).exits(0).json();
        assert_eq!(built["dialect"], name.as_str());
        assert_eq!(built["keys"], 2000);
        assert_eq!(built["bytes"], dir.read(name.as_str()).len());
        let (bits, probes) = (built["bits"].to_string(), built["probes"].to_string());
        let check = ["check", &filter, "--dialect", name.as_str(), "--bits", &bits, "--probes", &probes];
        assert_eq!(run(&check, text.as_bytes()).exits(0).text(), text, "{name}");
    }
}

#[test]
fn the_order_of_keys_and_their_repetition_change_no_classic_filter() {
    for name in Name::ALL {
        let args = [&any_dialect(*name)[..], &["-o", "-"]].concat();
        assert_eq!(run(&args, b"a\nb\nc\n").exits(0).out, run(&args, b"c\na\nb\na\n").exits(0).out, "{name}");
    }
}

#[test]
fn without_a_size_the_rate_is_one_in_a_hundred_and_the_keys_are_counted() {
    let text = lines(5000);
    let said = ["build", "--dialect", "cassandra", "--fpr", "0.01", "--expected-keys", "5k", "-o", "-"];
    let counted = ["build", "--dialect", "cassandra", "-o", "-"];
    assert_eq!(run(&counted, text.as_bytes()).exits(0).out, run(&said, text.as_bytes()).exits(0).out);
}

#[test]
fn where_the_engine_stores_no_filter_nothing_is_written_and_the_code_is_1() {
    let dir = Dir::new();
    let filter = dir.file("f", "old");
    for bits_per_key in ["0.3", "0", "-1"] {
        let args = ["build", "--dialect", "rocksdb-block", "--bits-per-key", bits_per_key, "-o", &filter];
        let out = run(&args, b"a\n").exits(1);
        assert!(out.err.contains("no filter") && out.out.is_empty(), "{out:?}");
    }
    assert_eq!((dir.names(), dir.read("f")), (vec!["f".to_owned()], b"old".to_vec()));
}

#[test]
fn no_keys_are_no_bytes_in_rocksdbs_full_filters_and_that_is_said() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    for dialect in ["rocksdb", "rocksdb-legacy", "rocksdb-ribbon"] {
        let out = run(&["build", "--dialect", dialect, "-q", "-o", &filter], b"").exits(0);
        assert!(out.err.contains("no filter block"), "{out:?}");
        assert!(dir.read("f").is_empty());
        run(&["check", "--dialect", dialect, &filter], b"a\n").exits(1);
    }
}

#[test]
fn too_few_bits_per_key_are_refused_in_the_words_they_were_given_in() {
    for dialect in ["libbloom", "libbloom-1"] {
        let args =
            ["build", "--dialect", dialect, "--bits-per-key", "1e-5", "--expected-keys", "1000", "-o", "-"];
        let out = run(&args, b"").fails_with("bits_per_key 0.00001");
        assert!(!out.err.contains("fpr"), "{out:?}");
    }
}

#[test]
fn cassandras_edges_are_kept() {
    let dir = Dir::new();
    let filter = dir.arg("nb-1-big-Filter.db");
    run(&["build", "--dialect", "cassandra", "--fpr", "1", "-q", "-o", &filter], b"a\n").exits(0);
    assert!(dir.read("nb-1-big-Filter.db").is_empty(), "rate 1 is the always-present filter");
    assert_eq!(run(&["check", &filter], b"anything\n").exits(0).text(), "anything\n");
    run(&["build", "--dialect", "cassandra", "--expected-keys", "0", "-q", "-o", &filter], b"").exits(0);
    assert_eq!(dir.read("nb-1-big-Filter.db").len(), 16);
}

#[test]
fn wrong_numbers_are_refused_before_any_key_is_read() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let nowhere = dir.arg("no-such-keys"); // would be told if it were looked for first
    for (dialect, args, part) in [
        ("cassandra", &["--fpr", "nan"][..], "cassandra: fpr NaN"),
        ("cassandra", &["--fpr", "1.5"], "cassandra: fpr 1.5"),
        ("native", &["--fpr", "2"], "2%"),
        ("cassandra", &["--fpr", "0"], "cassandra: fpr 0 cannot"),
        ("cassandra", &["--fpr", "0.00006"], "at most 20 bits"),
        ("cassandra-0", &["--fpr", "1e-300"], "cassandra-0: fpr 1e-300"),
        ("leveldb", &["--fpr=-1e-300"], "leveldb: fpr -1e-300"),
        ("leveldb", &["--fpr", "0"], "leveldb: fpr 0 is"),
        ("leveldb", &["--fpr", "1"], "leveldb: fpr 1 is"),
        ("leveldb", &["--fpr", "-0.5"], "leveldb: fpr -0.5"),
        ("leveldb", &["--bits-per-key", "9.5"], "leveldb: bits_per_key 9.5"),
        ("libbloom", &["--fpr", "nan"], "libbloom: "),
        ("libbloom", &["--bits", "800", "--probes", "3"], "libbloom: its file"),
        ("java-lsm", &["--fpr", "0"], "java-lsm: fpr 0"),
        ("leveldb", &["--bits", "64"], "--probes"),
        ("leveldb", &["--bits", "64", "--probes", "3", "--fpr", "0.1"], "cannot be used with"),
        ("leveldb", &["--fpr", "0.1", "--bits-per-key", "10"], "cannot be used with"),
    ] {
        let args = [&["build", "--dialect", dialect, "-o", &filter, &nowhere], args].concat();
        run(&args, b"").fails_with(part);
    }
    for (args, part) in [
        (["--bits", "0", "--probes", "3"], "leveldb: bits 0"),
        (["--bits", "64", "--probes", "256"], "leveldb: probes 256"),
        (
            ["--expected-keys", "9223372036854775808", "--fpr", "0.01"],
            "leveldb: 9223372036854775808 bits are more",
        ),
    ] {
        run(&[&["build", "--dialect", "leveldb", "-o", &filter], &args[..]].concat(), b"a\n")
            .fails_with(part);
    }
    assert!(dir.names().is_empty());
}

#[test]
fn too_few_keys_for_libbloom_are_refused_with_the_way_out() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let out = run(&["build", "--dialect", "libbloom", "-o", &filter], b"a\n")
        .fails_with("libbloom: expected_keys 1 ");
    assert!(out.err.contains("hint: --expected-keys N"), "{out:?}");
    run(&["build", "--dialect", "libbloom", "--expected-keys", "1000", "-o", &filter], b"a\n").exits(0);
}

#[test]
fn more_keys_than_expected_are_inserted_with_a_warning() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "--dialect", "leveldb", "--expected-keys", "10", "-q", "-o", &filter];
    let out = run(&args, lines(11).as_bytes()).exits(0);
    assert!(out.err.starts_with("warning: 11 keys were inserted where 10 were expected"), "{out:?}");
    assert!(run(&[&args[..], &["--force"]].concat(), lines(10).as_bytes()).exits(0).err.is_empty());
    assert_eq!(
        run(&["check", &filter, "--dialect", "leveldb", "-c"], lines(10).as_bytes()).exits(0).text(),
        "10\n"
    );
    let exact = ["build", "--dialect", "leveldb", "--bits", "64", "--probes", "3", "-q", "-o", "-"];
    assert!(run(&exact, lines(100).as_bytes()).exits(0).err.is_empty(), "nothing was expected");
    let rocksdb = ["build", "--dialect", "rocksdb", "--expected-keys", "10", "--fpr", "0.01", "-o", "-"];
    let out = run(&rocksdb, lines(100).as_bytes()).exits(0);
    assert!(out.err.is_empty() && out.out.len() > 100, "sized by the keys that come: {out:?}");
}

#[test]
fn the_old_filter_is_replaced_whole_or_stays() {
    let dir = Dir::new();
    let filter = dir.file("f", "old");
    run(&["build", "--dialect", "leveldb", "-o", &filter, &dir.arg("missing")], b"").fails_with("missing: ");
    run(&["build", "--dialect", "leveldb", "--hex", "--force", "-o", &filter], b"x\n").fails_with("line 1");
    assert_eq!(dir.read("f"), b"old");
    run(&["build", "--dialect", "leveldb", "--force", "-o", &filter], b"x\n").exits(0);
    assert_eq!((dir.read("f").len(), dir.names()), (9, vec!["f".to_owned()]));
}

#[test]
fn places_where_no_filter_can_be_saved_are_refused_before_the_work() {
    let dir = Dir::new();
    let keys = dir.file("keys", "a\n");
    let nested = dir.path("missing/f");
    for (output, part) in [
        (nested.to_str().unwrap(), "cannot save: No such file"),
        (dir.path("").to_str().unwrap(), "cannot save: is a directory"),
        (&*keys, "is a key file"),
    ] {
        run(&["build", "--dialect", "leveldb", "-o", output, &keys], b"").fails_with(part);
    }
    assert_eq!(dir.read("keys"), b"a\n");
    #[cfg(unix)]
    {
        let out = run(&["build", "--dialect", "leveldb", "-o", "/dev/null", &keys], b"")
            .fails_with("not a regular file");
        assert!(out.err.contains("hint: -o -"), "{out:?}");
        std::os::unix::fs::symlink("keys", dir.path("link")).unwrap();
        run(&["build", "--dialect", "leveldb", "-o", &dir.arg("link"), &keys], b"")
            .fails_with("is a key file");
    }
}

#[test]
fn standard_output_takes_the_same_bytes_and_nothing_else() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    run(&["build", "--dialect", "leveldb", "-o", &filter], b"a\nb\n").exits(0);
    let out = run(&["build", "--dialect", "leveldb", "-o", "-"], b"a\nb\n").exits(0);
    assert_eq!(out.out, dir.read("f"));
    assert!(out.err.is_empty());
}

#[test]
fn the_summary_counts_keys_and_can_be_silenced() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "--dialect", "leveldb", "--bits-per-key", "10", "--force", "-o", &filter];
    let out = run(&args, lines(500).as_bytes()).exits(0);
    assert!(out.text().contains("  keys            500\n"), "{out:?}");
    assert!(out.text().contains("  bits            5000\n"), "{out:?}");
    let out = run(&[&args[..], &["-q"]].concat(), lines(500).as_bytes()).exits(0);
    assert!(out.out.is_empty() && out.err.is_empty(), "{out:?}");
    let json = run(&[&args[..], &["--json"]].concat(), b"").exits(0).json();
    assert_eq!(
        (&json["keys"], &json["estimated_keys"], &json["path"]),
        (&Value::from(0), &Value::from(0), &Value::from(filter))
    );
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_is_an_error_that_leaves_the_old_filter_and_nothing_else() {
    let dir = Dir::new();
    let filter = dir.file("f", "old");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fullbloom")]);
    command.args(["build", "--dialect", "cassandra", "--expected-keys", "1M", "--force", "-o", &filter]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, b"a\n").fails_with("f: cannot save");
    assert_eq!((dir.names(), dir.read("f")), (vec!["f".to_owned()], b"old".to_vec()));
}

#[cfg(unix)]
#[test]
fn file_names_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let (keys, filter) =
        (dir.path("").join(OsStr::from_bytes(b"k\xff")), dir.path("").join(OsStr::from_bytes(b"f\xfe")));
    fs::write(&keys, "a\n").unwrap();
    let mut command = common::command(&["build", "--dialect", "leveldb", "-o"]);
    command.arg(&filter).arg(&keys);
    finish(command, b"").exits(0);
    let mut command = common::command(&["check", "--dialect", "leveldb"]);
    command.arg(&filter).arg(&keys);
    assert_eq!(finish(command, b"").exits(0).text(), "a\n");
}

#[test]
fn a_rocksdb_filter_without_keys_is_written_read_and_matches_nothing() {
    let dir = Dir::new();
    for dialect in ["rocksdb", "rocksdb-legacy", "rocksdb-ribbon"] {
        let file = dir.arg("empty");
        let built = run(&["build", "--dialect", dialect, "--bits-per-key", "10", "-o", &file], b"").exits(0);
        assert!(built.err.contains("matches no key"), "{built:?}");
        assert_eq!(dir.read("empty"), b"");
        run(&["check", "--dialect", dialect, &file], b"key\n").exits(1);
        run(&["inspect", "--dialect", dialect, &file], b"").exits(0);
        let refused = run(&["check", &file], b"key\n").exits(2);
        assert!(
            refused.err.contains("dialect rocksdb") && refused.err.contains("--dialect D"),
            "{refused:?}"
        );
    }
    for (bytes, dialect) in [(&b"\xff\0\x06\0\0"[..], "rocksdb"), (b"\x06\0\0\0\0", "rocksdb-legacy")] {
        let file = dir.file("old", bytes);
        run(&["check", &file], b"key\n").exits(1);
        let seen = run(&["inspect", "--json", &file], b"").exits(0).json();
        assert_eq!(seen["places"][0]["dialect"], dialect);
    }
    let damaged = dir.file("damaged", b"\xff\0\x06");
    run(&["check", "--dialect", "rocksdb", &damaged], b"key\n").exits(2);
}

#[test]
fn bits_alone_are_enough_where_the_system_knows_the_probes() {
    let dir = Dir::new();
    let (file, text) = (dir.arg("f"), lines(100));
    // create(100, 1000): 1000 bits are 16 words, and 1000 / 100 * ln 2 rounds to 7 probes.
    for dialect in ["spark", "spark-2"] {
        run(&["build", "-q", "--dialect", dialect, "--bits", "1000", "-o", &file], text.as_bytes()).exits(0);
        let seen = run(&["inspect", "--json", "--dialect", dialect, &file], b"").json();
        let place = &seen["places"][0];
        assert_eq!((&place["bits"], &place["probes"]), (&1024.into(), &7.into()), "{dialect}");
        run(&["build", "-q", "--dialect", dialect, "--bits", "1000", "--probes", "3", "-o", &file], b"a\n")
            .exits(0);
        assert_eq!(
            run(&["inspect", "--json", "--dialect", dialect, &file], b"").json()["places"][0]["bits"],
            1024
        );
    }
    run(&["build", "-q", "--dialect", "parquet", "--bits", "1024", "-o", &file], text.as_bytes()).exits(0);
    assert_eq!(run(&["check", "-c", &file], text.as_bytes()).exits(0).text(), "100\n");
    for dialect in ["native", "guava", "leveldb"] {
        run(&["build", "--dialect", dialect, "--bits", "1024", "-o", &file], b"a\n").fails_with("--probes");
    }
}

#[test]
fn spark_2_takes_any_seed_of_32_bits() {
    let dir = Dir::new();
    let file = dir.arg("f");
    for (seed, bytes) in
        [("-7", (-7i32).to_be_bytes()), ("-2147483648", i32::MIN.to_be_bytes()), ("42", 42i32.to_be_bytes())]
    {
        let build = ["build", "-q", "--dialect", "spark-2", "--seed", seed, "-o", &file];
        run(&build, b"apple\n").exits(0);
        assert_eq!(dir.read("f")[8..12], bytes);
        assert_eq!(
            run(&["check", "--dialect", "spark-2", &file], b"apple\npear\n").exits(0).text(),
            "apple\n"
        );
    }
    run(&["build", "--dialect", "spark-2", "--seed", "2147483648", "-o", &file], b"a\n").fails_with("--seed");
    run(&["build", "--dialect", "spark", "--seed", "1", "-o", &file], b"a\n").fails_with("--seed");
    run(&["build", "--seed", "-1", "-o", &file], b"a\n").fails_with("--seed");
}

#[test]
fn repeated_keys_are_counted_and_said() {
    let text = lines(20_000).repeat(2);
    let dir = Dir::new();
    for (args, said, is_sized) in [
        (&["-o", &dir.arg("f")][..], "40000 keys read, about ", true),
        (&["-o", &dir.arg("f"), "--expected-keys", "20000"], "40000 keys read, about ", false),
        (&["-o", &dir.arg("f"), "--compact"], "40000 keys read, 20000", false),
        (&["-o", &dir.arg("f"), "--dynamic"], "40000 keys read, about ", false),
        (&["-o", &dir.arg("c"), "--dialect", "cassandra"], "40000 keys read, about ", true),
        (&["-o", &dir.arg("r"), "--dialect", "rocksdb"], "40000 keys read, about ", true),
    ] {
        let out = run(&[&["build"], args].concat(), text.as_bytes()).exits(0);
        assert!(out.err.contains(said), "{args:?}: {out:?}");
        assert_eq!(out.err.contains("makes it smaller"), is_sized, "{args:?}: {out:?}");
        let about =
            out.err.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        assert!(about.is_none_or(|about| (19_600.0..20_400.0).contains(&about)), "{out:?}");
        let once = run(&[&["build"], args, &["--force"]].concat(), lines(20_000).as_bytes()).exits(0);
        assert!(!once.err.contains("different"), "{args:?}: {once:?}");
        let quiet = run(&[&["build", "-q"], args, &["--force"]].concat(), text.as_bytes()).exits(0);
        assert!(!quiet.err.contains("different"), "{args:?}: {quiet:?}");
    }
}
