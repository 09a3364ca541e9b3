//! Filters converted without their keys, filter files verified with keys, how files are recognised, and the
//! benchmark.

use crate::common::{Dir, lines, run};
use fullbloom_testkit::vectors;

fn built(dir: &Dir, name: &str, args: &[&str], keys: &str) -> String {
    let path = dir.arg(name);
    run(&[&["build", "-q", "--force", "-o", &path], args].concat(), keys.as_bytes()).exits(0);
    path
}

#[test]
fn cassandra_3_and_4_are_made_of_each_other_and_others_say_what_is_needed() {
    let dir = Dir::new();
    let three = built(&dir, "me-1-big-Filter.db", &["--dialect", "cassandra-3"], &lines(500));
    let four = dir.arg("nb-1-big-Filter.db");
    let made = run(&["convert", &three, "--to", "cassandra", "-o", &four], b"").exits(0);
    assert!(made.text().contains("cassandra, Cassandra 4.0"), "{made:?}");
    let expected = built(&dir, "nb-2-big-Filter.db", &["--dialect", "cassandra"], &lines(500));
    assert_eq!(dir.read("nb-1-big-Filter.db"), std::fs::read(&expected).unwrap());
    let back = dir.arg("me-3-big-Filter.db");
    run(&["convert", &four, "--to", "cassandra-3", "-o", &back, "--json"], b"").exits(0);
    assert_eq!(dir.read("me-3-big-Filter.db"), dir.read("me-1-big-Filter.db"));

    let before = dir.names();
    for (to, why) in [
        ("cassandra-2", "the keys are needed"),
        ("leveldb", "hash keys differently"),
        ("cassandra-3", "already has this dialect"),
    ] {
        let refused = run(&["convert", &three, "--to", to, "-o", &dir.arg("x")], b"").fails_with(why);
        assert!(to == "cassandra-3" || refused.err.contains("hint: "), "{refused:?}");
    }
    run(&["convert", &dir.arg("none"), "--to", "cassandra", "-o", &dir.arg("x")], b"").fails_with("none");
    run(&["convert", &three, "--to", "cassandra", "-o", &dir.arg("")], b"").fails_with("is a directory");
    run(&["convert", &three, "--to", "cassandra", "--fold", "1", "-o", &dir.arg("x")], b"")
        .fails_with("only native");
    assert_eq!(dir.names(), before);
    let wrong_name =
        run(&["convert", &three, "--to", "cassandra", "-o", &dir.arg("me-9-big-Filter.db")], b"").exits(0);
    assert!(wrong_name.err.contains("under this name"), "{wrong_name:?}");
}

#[test]
fn libbloom_gains_and_loses_its_header_only_where_keys_stay_where_they_are() {
    let dir = Dir::new();
    let usual = built(&dir, "k.libbloom", &["--dialect", "libbloom"], &lines(2000));
    run(&["convert", &usual, "--to", "libbloom-1", "-o", &dir.arg("x")], b"").fails_with("power of two");
    // 2^14 bits and 7 probes are what 2.0 makes of these numbers.
    let sized = ["--dialect", "libbloom-1", "--bits", "16384", "--probes", "7"];
    let raw = built(&dir, "k.bits", &sized, &lines(1500));
    let file = dir.arg("two.libbloom");
    let with = |keys: &str, fpr: &str| {
        let args = ["convert", &raw, "--to", "libbloom", "--expected-keys", keys, "--fpr", fpr, "-o", &file];
        run(&[&args[..], &sized].concat(), b"")
    };
    with("1000", "0.01").fails_with("9585 bits and 7 probes");
    let numbers = (1500..1800).find(|keys: &u32| {
        let fpr = (-16384.5 / f64::from(*keys) * std::f64::consts::LN_2.powi(2)).exp();
        with(&keys.to_string(), &fpr.to_string()).code == 0
    });
    assert!(numbers.is_some(), "no numbers make 16384 bits");
    let verified = run(&["verify", &file, "--keys", "-"], lines(1500).as_bytes()).exits(0);
    assert!(verified.text().contains("rebuilt         identical"), "{verified:?}");
    run(&["convert", &file, "--to", "libbloom-1", "-o", &dir.arg("again.bits"), "-q"], b"").exits(0);
    assert_eq!(dir.read("again.bits"), dir.read("k.bits"));
    let missing = [&["convert", &raw, "--to", "libbloom", "-o", &file][..], &sized].concat();
    run(&missing, b"").fails_with("number of keys");
}

#[test]
fn a_native_filter_is_halved_until_it_fits_and_keeps_its_keys() {
    let dir = Dir::new();
    let large = built(&dir, "large.bloom", &["--expected-keys", "300k"], &lines(20_000));
    let small = dir.arg("small.bloom");
    let made = run(&["convert", &large, "--to", "native", "--memory", "100KiB", "-o", &small, "--json"], b"")
        .exits(0);
    assert!(made.json()["bytes"].as_u64().unwrap() <= 100 << 10, "{made:?}");
    let verified =
        run(&["verify", "--json", &small, "--keys", "-"], lines(20_000).as_bytes()).exits(0).json();
    assert_eq!(
        (&verified["places"][0]["missing"], &verified["places"][0]["rebuilt_identical"]),
        (&0.into(), &true.into())
    );
    run(&["convert", &large, "--to", "native", "-o", &small], b"").fails_with("it is native already");
    run(&["convert", &large, "--to", "native", "--fold", "50", "-o", &small], b"")
        .fails_with("blocks is odd");
    let guarded = built(&dir, "g.bloom", &["--except", &dir.file("good", "good\n")], &lines(2000));
    run(&["convert", &guarded, "--to", "native", "--fold", "1", "-o", &small], b"").fails_with("exceptions");
}

#[test]
fn verify_asks_any_filter_file_for_the_keys_given() {
    let dir = Dir::new();
    let keys = dir.file("keys", lines(3000));
    for dialect in [
        "native",
        "libbloom",
        "leveldb",
        "rocksdb",
        "rocksdb-legacy",
        "rocksdb-block",
        "rocksdb-ribbon",
        "cassandra-1",
    ] {
        let filter = built(&dir, "f", &["--dialect", dialect], &lines(3000));
        let args = ["verify", "--json", "--dialect", dialect, &filter, "--keys", &keys];
        let found = &run(&args, b"").exits(0).json()["places"][0];
        assert_eq!((&found["keys"], &found["missing"]), (&3000.into(), &0.into()), "{found}");
        assert_eq!(found["rebuilt_identical"], true, "{found}");
        assert!(found["measured_fpr"].as_f64().unwrap() < 0.02, "{found}");
        let args = ["verify", "--json", "--dialect", dialect, &filter, "--keys", "-"];
        let other = &run(&args, b"another\nkey0\n").exits(1).json()["places"][0];
        assert_eq!(
            (&other["missing"], &other["first_missing"]),
            (&1.into(), &"616e6f74686572".into()),
            "{dialect}"
        );
    }
    let native = built(&dir, "n.bloom", &[], &lines(100));
    let whole = run(&["verify", &native], b"").exits(0);
    assert!(whole.text().contains("every checksum is right"), "{whole:?}");
    let mut bytes = dir.read("n.bloom");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let damaged = dir.file("damaged.bloom", &bytes);
    run(&["verify", &damaged], b"").exits(2);
    run(&["verify", &native, &damaged, "--keys", "-"], b"").fails_with("read once");
    run(&["verify", &native, "--keys", &dir.arg("none")], b"").fails_with("none");
    let report = run(&["verify", "--json", &native, "--keys", &dir.arg("none")], b"").exits(2).json();
    assert_eq!(report["problems"][0]["code"], "key-file-unreadable");
    let table = vectors::root().join("rocksdb/tables/r783_full_fv5_zlib.sst");
    run(&["verify", table.to_str().unwrap(), "--keys", &native], b"").fails_with("--keys");
}

#[test]
fn every_way_a_file_is_recognised_is_said_and_what_is_not_has_candidates() {
    let dir = Dir::new();
    for (name, dialect, how) in [
        ("a.bloom", "native", "by its magic"),
        ("b", "libbloom", "by its magic"),
        ("nb-1-big-Filter.db", "cassandra", "by the sstable version in its name"),
        ("c", "rocksdb", "by the trailer"),
    ] {
        let filter = built(&dir, name, &["--dialect", dialect], &lines(2000));
        let seen = run(&["inspect", &filter], b"").exits(0);
        assert!(seen.text().contains(&format!("recognised      {how}")), "{seen:?}");
        let asked = run(&["check", "--explain", "-c", &filter], b"key1\n").exits(0);
        assert!(asked.err.contains(&format!("{dialect}, {how}")), "{asked:?}");
        let told = run(&["inspect", "--json", "--dialect", dialect, &filter], b"").exits(0).json();
        assert_eq!(told["places"][0]["recognised"], "given by the caller");
    }
    let nameless = built(&dir, "nameless", &["--dialect", "cassandra"], &lines(50));
    for command in ["inspect", "check", "verify"] {
        let refused = run(&[command, &nameless], b"").fails_with("cannot detect the dialect");
        assert!(refused.err.contains("cassandra, cassandra-3, cassandra-2, cassandra-1"), "{refused:?}");
        assert!(!refused.err.contains("libbloom,"), "{refused:?}");
    }
    let nothing = dir.file("nothing", "hello\n\n\u{ff}");
    run(&["inspect", &nothing], b"").fails_with("cannot detect the dialect");
}

#[test]
fn the_benchmark_measures_every_dialect() {
    let out = run(&["bench", "--keys", "1000", "--rounds", "1", "--json"], b"").exits(0).json();
    let rows = out["rows"].as_array().unwrap();
    assert_eq!(rows.len(), fullbloom_dialects::Name::ALL.len());
    for row in rows {
        for work in ["build", "single_absent", "batch_absent", "batch_present"] {
            assert!(row[format!("{work}_mkeys_per_s")].as_f64().unwrap() > 0.0, "{row}");
        }
        assert!(row["measured_fpr"].as_f64().unwrap() < 0.05, "{row}");
    }
    assert!(!out["kernel"].as_str().unwrap().is_empty());
    let text = run(&["bench", "--keys", "1k", "--rounds", "1", "--dialect", "native"], b"").exits(0);
    assert!(text.text().contains("native"), "{text:?}");
    run(&["bench", "--keys", "10"], b"").fails_with("1000 to 100M");
    run(&["bench", "--dialect", "leveldb", "--bits-per-key", "nan"], b"").exits(2);
}
