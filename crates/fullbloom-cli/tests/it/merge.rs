//! `merge`: the keys of several filters in one.

use crate::common::{Dir, leveldb_filter, lines, run};
use fullbloom_dialects::Name;

#[test]
fn every_dialect_that_can_be_merged_finds_the_keys_of_both() {
    let dir = Dir::new();
    let text = lines(2000);
    let (first, second) = text.split_at(text.len() / 2 + text[text.len() / 2..].find('\n').unwrap() + 1);
    for name in Name::ALL {
        let (a, b, both) = (dir.arg("a"), dir.arg("b"), dir.arg("both"));
        let sized_by_keys = matches!(name, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon);
        let mut geometry = vec![];
        for (path, keys) in [(&a, first), (&b, second)] {
            let size: &[&str] = match name {
                Name::RocksDb => &["--bits", "16384", "--probes", "6"],
                Name::RocksDbLegacy => &["--bits", "16896", "--probes", "6"],
                _ => &["--fpr", "0.01", "--expected-keys", "2000"],
            };
            let args =
                [&["build", "--dialect", name.as_str(), "--json", "--force", "-o", path][..], size].concat();
            let built = run(&args, keys.as_bytes()).exits(0).json();
            geometry = vec![
                "--bits".to_owned(),
                built["bits"].to_string(),
                "--probes".into(),
                built["probes"].to_string(),
            ];
        }
        if *name == Name::RocksDbRibbon {
            geometry.clear(); // its length follows from its keys
        }
        let raw = ["--dialect", name.as_str()].map(String::from).into_iter().chain(geometry);
        let raw: Vec<String> = raw.collect();
        let with =
            |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).chain(raw.clone()).collect::<Vec<_>>();
        let merged = run(&with(&["merge", &a, &b, "-q", "--force", "-o", &both]), b"");
        if *name == Name::RocksDbRibbon {
            merged.fails_with("rocksdb-ribbon");
            continue;
        }
        merged.exits(0);
        assert_eq!(run(&with(&["check", &both]), text.as_bytes()).exits(0).text(), text, "{name}");
        // These count their keys, and cannot tell how many two filters share.
        let counting = matches!(*name, Name::Native | Name::Dcso | Name::Poppy);
        if !sized_by_keys && !counting {
            let args =
                ["build", "--dialect", name.as_str(), "-o", "-", "--fpr", "0.01", "--expected-keys", "2000"];
            let built = run(&args, text.as_bytes()).exits(0).out;
            assert!(dir.read("both") == built, "{name}: the same bytes as from all keys");
        }
    }
}

#[test]
fn native_filters_merge_to_the_bits_of_all_their_keys() {
    let dir = Dir::new();
    let (a, b, both, all) = (dir.arg("a"), dir.arg("b"), dir.arg("both"), dir.arg("all"));
    let text = lines(4000);
    let half = text.len() / 2 + text[text.len() / 2..].find('\n').unwrap() + 1;
    let size = ["--expected-keys", "4000", "--label", "kept"];
    for (path, keys) in [(&a, &text[..half]), (&b, &text[half..]), (&all, &text[..])] {
        run(&[&["build", "-q", "-o", path][..], &size].concat(), keys.as_bytes()).exits(0);
    }
    let made = run(&["merge", &a, &b, "-o", &both, "--json"], b"").exits(0).json();
    assert_eq!((&made["label"], &made["new_keys_estimated"]), (&"kept".into(), &true.into()));
    let bits = |path: &str| fullbloom::Filter::load(path).unwrap().bits().to_vec();
    assert!(bits(&both) == bits(&all));
    // Into one of its own sources, which is replaced.
    run(&["merge", &a, &b, "-q", "-o", &a], b"").exits(0);
    assert_eq!(dir.read("a"), dir.read("both"));
    let small = ["build", "-q", "-o", &a, "--expected-keys", "2500"];
    run(&small, &text.as_bytes()[..half]).exits(0);
    run(&["build", "-q", "-o", &b, "--expected-keys", "2500"], &text.as_bytes()[half..]).exits(0);
    let out = run(&["merge", &a, &b, "-q", "-o", &both], b"").exits(0);
    assert!(out.err.contains("more than the 2500"), "{out:?}");
}

#[test]
fn filters_that_do_not_belong_together_are_refused_and_nothing_is_written() {
    let dir = Dir::new();
    let (a, out) = (dir.arg("a"), dir.arg("out"));
    run(&["build", "-q", "-o", &a], lines(1000).as_bytes()).exits(0);
    let build = |name: &str, args: &[&str]| {
        let path = dir.arg(name);
        run(&[&["build", "-q", "-o", &path][..], args].concat(), lines(1000).as_bytes()).exits(0);
        path
    };
    let refused = |other: &str, part: &str| run(&["merge", &a, other, "-o", &out], b"").fails_with(part);
    let differs = refused(&build("larger", &["--expected-keys", "5000"]), "bits is ");
    assert!(differs.err.contains("hint: build"), "{differs:?}");
    refused(&build("seeded", &["--seed", "1"]), "the seed is 0");
    refused(&build("keyed", &["--store-secret"]), "the hash is seeded");
    refused(&build("locked", &["--secret", &dir.arg("secret")]), "its secret is not");
    let good = dir.file("good", "x\n");
    refused(&build("guarded", &["--except", &good]), "has exceptions");
    let level = leveldb_filter(&dir, "level", &["a"]);
    run(&["merge", &a, &level, "-o", &out], b"").fails_with("level: ");
    refused(&dir.arg("missing"), "missing: cannot open");
    let mut damaged = dir.read("larger");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let damaged = dir.file("damaged", damaged);
    run(&["merge", &damaged, "-o", &out], b"").fails_with("checksum");
    run(&["merge", "-o", &out], b"").exits(2);
    assert!(!dir.path("out").exists());
}

#[test]
fn keyed_filters_merge_with_their_secret() {
    let dir = Dir::new();
    let (a, b, secret) = (dir.arg("a"), dir.arg("b"), dir.arg("secret"));
    for (path, key) in [(&a, b"a\n"), (&b, b"b\n")] {
        run(&["build", "-q", "-o", path, "--expected-keys", "100", "--secret", &secret], key).exits(0);
    }
    run(&["merge", &a, &b, "-q", "-o", &a, "--secret", &secret], b"").exits(0);
    assert_eq!(run(&["check", &a, "--secret", &secret], b"a\nb\nc\n").exits(0).text(), "a\nb\n");
    run(&["check", &a], b"a\n").fails_with("keyed");
}
