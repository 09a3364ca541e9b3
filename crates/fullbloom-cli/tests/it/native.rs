//! `build`, `check`, `inspect` and `plan` with the filter of our own.

use crate::common::{Dir, lines, run};

use serde_json::Value;
use std::io::Write;

fn good_lines(count: usize) -> String {
    (0..count).map(|i| format!("good{i}\n")).collect()
}

#[test]
fn a_filter_without_a_dialect_is_native_and_is_read_without_one() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("f.bloom"), lines(3000));
    let built = run(&["build", "-o", &filter, "--json"], text.as_bytes()).exits(0).json();
    assert_eq!((&built["dialect"], &built["keys"]), (&Value::from("native"), &Value::from(3000)));
    assert!(dir.read("f.bloom").starts_with(b"\x89FBLOOM\n"));
    for map in [&[][..], &["--map"]] {
        let check = [&["check", &filter][..], map].concat();
        assert_eq!(run(&check, text.as_bytes()).exits(0).text(), text);
    }
    let absent = good_lines(100_000);
    let passed: u64 = run(&["check", "-c", &filter], absent.as_bytes()).text().trim().parse().unwrap();
    assert!((700..1100).contains(&passed), "{passed} of 100,000 at one in a hundred");
}

#[test]
fn a_pipe_and_a_file_and_a_packed_file_of_the_same_keys_give_the_same_bytes() {
    let dir = Dir::new();
    let text = lines(50_000);
    let plain = dir.file("keys", &text);
    let packed = dir.file("keys.zst", zstd(text.as_bytes()));
    let from_file = run(&["build", "--fpr", "1e-4", "-o", "-", &plain], b"").exits(0).out;
    assert_eq!(run(&["build", "--fpr", "1e-4", "-o", "-"], text.as_bytes()).exits(0).out, from_file);
    assert_eq!(run(&["build", "--fpr", "1e-4", "-o", "-", &packed], b"").exits(0).out, from_file);
    let said = run(&["build", "--fpr", "1e-4", "--expected-keys", "50k", "-o", "-"], text.as_bytes());
    assert_eq!(said.exits(0).out, from_file);
    let filter = fullbloom::Filter::decode(&from_file).unwrap();
    assert_eq!(filter.expected_keys(), 50_000);
}

#[test]
fn more_keys_than_are_kept_in_memory_give_the_same_bytes_from_a_file_and_from_a_pipe() {
    let dir = Dir::new();
    // 17 million keys, all but the last the empty one; 16 million hashes are kept in memory.
    let text = ["\n".repeat((17 << 20) - 1), "last\n".to_owned()].concat();
    let keys = dir.file("keys", &text);
    let said = run(&["build", "--expected-keys", "17825792", "-o", "-", &keys], b"").exits(0).out;
    let filter = fullbloom::Filter::decode(&said).unwrap();
    assert_eq!((filter.expected_keys(), filter.keys()), (17 << 20, 2));
    assert!(run(&["build", "-o", "-", &keys], b"").exits(0).out == said, "counted, and read again");
    assert!(run(&["build", "-o", "-"], text.as_bytes()).exits(0).out == said, "kept in a temporary file");
}

/// A zstd frame of stored blocks: what the format calls raw.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

#[test]
fn known_good_keys_are_never_printed_and_keys_always_are() {
    let dir = Dir::new();
    let (filter, keys, good) =
        (dir.arg("f"), dir.file("keys", lines(5000)), dir.file("good", good_lines(200_000)));
    let plain = run(&["build", "-q", "-o", &filter, &keys], b"").exits(0);
    assert!(plain.err.is_empty());
    let passed: u64 = run(&["check", "-c", &filter, &good], b"").text().trim().parse().unwrap();
    assert!(passed > 1000, "{passed} of 200,000 without exceptions");
    let built = run(&["build", "--json", "-o", &filter, &keys, "--except", &good], b"").exits(0).json();
    assert!(built["exceptions"]["bytes"].as_u64().unwrap() > 0, "{built}");
    assert_eq!(run(&["check", "-c", &filter, &good], b"").exits(1).text(), "0\n");
    assert_eq!(run(&["check", "-c", &filter, &keys], b"").exits(0).text(), "5000\n");
    // From a pipe, which must then be kept; and a key that is on both sides is a key, if that is said.
    let both = lines(5000);
    let args = ["build", "-q", "-o", &filter, "--except", &good, "--except", &keys, "--keys-win"];
    run(&args, both.as_bytes()).exits(0);
    assert_eq!(run(&["check", "-c", &filter, &keys], b"").exits(0).text(), "5000\n");
    assert_eq!(run(&["check", "-c", &filter, &good], b"").exits(1).text(), "0\n");
    let seen = run(&["inspect", &filter], b"").exits(0);
    assert!(seen.text().contains("\n  exceptions      "), "{seen:?}");
    run(&["build", "-o", &filter, "--except", "-"], b"a\n").fails_with("--except: standard input");
    run(&["build", "--force", "-o", &good, "--except", &good], b"a\n").fails_with("known-good");
    run(&["build", "-o", &filter, "--except", &dir.arg("missing")], b"a\n")
        .fails_with("missing: cannot read keys");
}

#[test]
fn a_keyed_filter_is_asked_with_its_secret_only() {
    let dir = Dir::new();
    let (filter, secret, text) = (dir.arg("f"), dir.arg("secret"), lines(100));
    // Each run draws another secret: the rate is so low that an absent key matches with none of them.
    let build = ["build", "-q", "--fpr", "1e-12", "-o", &filter, "--secret"];
    run(&[&build[..], &[&secret]].concat(), text.as_bytes()).exits(0);
    let made = String::from_utf8(dir.read("secret")).unwrap();
    assert!(made.len() == 33 && made.trim_end().chars().all(|c| c.is_ascii_hexdigit()), "{made:?}");
    let check = ["check", &filter, "--secret", &secret];
    assert_eq!(run(&check, text.as_bytes()).exits(0).text(), text);
    run(&check, b"other\n").exits(1);
    let keys = dir.file("keys", &text);
    let verify = ["verify", "--json", &filter, "--keys", &keys, "--secret", &secret];
    let verified = run(&verify, b"").exits(0).json();
    assert_eq!(verified["places"][0]["rebuilt_identical"], true, "{verified}");
    let locked = run(&["check", &filter], text.as_bytes()).fails_with("its secret is not");
    assert!(locked.err.contains("hint: ") && locked.err.contains("--secret FILE"), "{locked:?}");
    let other = dir.file("other", "00112233445566778899aabbccddeeff\n");
    run(&["check", &filter, "--secret", &other], b"a\n").fails_with("not the filter's secret");
    let bad = dir.file("bad", "00112233\n");
    run(&["check", &filter, "--secret", &bad], b"a\n").fails_with("not a secret: 32 hex digits");
    run(&["check", &filter, "--secret", &dir.arg("none")], b"a\n").fails_with("cannot read the secret");
    // What can be told without the secret is told.
    let seen = run(&["inspect", "--json", &filter], b"").exits(0).json();
    let seen = &seen["places"][0];
    assert_eq!((&seen["keyed"], &seen["secret_stored"]), (&Value::from(true), &Value::from(false)));
    // The same secret and keys are the same filter; another secret is another.
    let first = dir.read("f");
    run(&[&build[..], &[&secret]].concat(), text.as_bytes()).exits(0);
    assert_eq!(dir.read("f"), first);
    run(&[&build[..], &[&other]].concat(), text.as_bytes()).exits(0);
    assert_ne!(dir.read("f"), first);
}

#[test]
fn a_secret_is_stored_only_when_asked_and_kept_from_others() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("f"), lines(100));
    let out = run(&["build", "-o", &filter, "--keyed"], b"a\n").fails_with("--keyed: no path");
    assert!(out.err.contains("--secret FILE") && out.err.contains("--store-secret"), "{out:?}");
    assert!(dir.names().is_empty());
    let built = run(&["build", "--json", "-o", &filter, "--store-secret"], text.as_bytes()).exits(0).json();
    assert_eq!((&built["keyed"], &built["secret_stored"]), (&Value::from(true), &Value::from(true)));
    assert_eq!(run(&["check", &filter], text.as_bytes()).exits(0).text(), text);
    run(&["build", "-o", &filter, "--keyed", "--seed", "3"], b"").exits(2);
    let secret = dir.arg("secret");
    run(&["build", "-o", &dir.arg("missing/f"), "--secret", &secret], b"a\n").fails_with("cannot save");
    run(&["build", "-o", &filter, "--hex", "--secret", &secret], b"x\n").fails_with("line 1");
    assert!(!dir.path("secret").exists(), "no filter, no secret");
    run(&["build", "-o", &secret, "--secret", &secret], b"a\n").fails_with("file of the secret");
    assert!(!dir.path("secret").exists());
    run(&["check", &filter, "--dialect", "leveldb", "--secret", &dir.file("s", "00".repeat(16))], b"")
        .fails_with("leveldb filter has no secret");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        run(&["build", "-q", "-o", &filter, "--secret", &secret], b"a\n").exits(0);
        let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn seed_and_label_are_kept_and_other_dialects_refuse_what_only_native_has() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "-q", "-o", &filter, "--seed", "17", "--label", "bad \x1b[31mkeys"];
    run(&args, lines(10).as_bytes()).exits(0);
    let seen = run(&["inspect", "--json", &filter], b"").exits(0).json();
    assert_eq!(
        (&seen["places"][0]["seed"], &seen["places"][0]["label"]),
        (&17.into(), &"bad \x1b[31mkeys".into())
    );
    let text = run(&["inspect", &filter], b"").exits(0);
    assert!(text.text().contains("fold64, seed 17") && !text.text().contains('\x1b'), "{text:?}");
    let secret = dir.file("s", "00".repeat(16));
    run(&["check", &filter, "--secret", &secret], b"").fails_with("filter has no secret");
    for option in
        [&["--keyed"][..], &["--seed", "1"], &["--label", "x"], &["--except", &secret], &["--store-secret"]]
    {
        let args = [&["build", "--dialect", "leveldb", "-o", &filter][..], option].concat();
        run(&args, b"a\n")
            .fails_with(&format!("{}: only native filters support this, not leveldb", option[0]));
    }
}

#[test]
fn an_overfull_filter_says_so_when_it_is_built_and_when_it_is_looked_at() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    let args = ["build", "-q", "-o", &filter, "--expected-keys", "1000"];
    let out = run(&args, lines(3000).as_bytes()).exits(0);
    assert!(out.err.contains("more than the 1000"), "{out:?}");
    let seen = run(&["inspect", "--json", &filter], b"").exits(1).json();
    let seen = &seen["places"][0];
    assert_eq!(seen["overfull"], true);
    assert!(seen["expected_fpr"].as_f64().unwrap() > 0.1 && seen["planned_fpr"].as_f64().unwrap() < 0.0101);
    // The same keys again and again are not more keys.
    assert!(run(&args, lines(900).repeat(3).as_bytes()).exits(0).err.is_empty());
}

#[test]
fn the_summary_tells_keys_distinct_keys_bytes_and_rate() {
    let dir = Dir::new();
    let text = lines(20_000).repeat(2);
    let out = run(&["build", "-o", &dir.arg("f")], text.as_bytes()).exits(0);
    assert!(out.text().contains("  keys            40000\n"), "{out:?}");
    let estimate = out.text().lines().find_map(|line| line.trim().strip_prefix("estimated keys")).unwrap();
    let estimate: f64 = estimate.trim().parse().unwrap();
    assert!((19_500.0..20_500.0).contains(&estimate), "{estimate}");
    for name in ["bytes", "expected rate", "layout", "hash"] {
        assert!(out.text().contains(&format!("\n  {name:<15} ")), "{name}: {out:?}");
    }
}

#[test]
fn damage_anywhere_in_the_file_is_refused() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    run(&["build", "-q", "-o", &filter], lines(300).as_bytes()).exits(0);
    let whole = dir.read("f");
    for at in (0..whole.len()).step_by(37) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let damaged = dir.file("damaged", damaged);
        run(&["check", "--dialect", "native", &damaged], b"key1\n").fails_with("damaged: ");
    }
    let cut = dir.file("cut", &whole[..whole.len() - 1]);
    run(&["check", &cut], b"key1\n").fails_with("cut: ");
}

#[test]
fn plan_tells_the_layouts_it_chose_among() {
    let plan = |args: &[&str]| {
        let args = [&["plan", "--dialect", "native", "--expected-keys", "1M", "--json"], args].concat();
        run(&args, b"").exits(0).json()["places"][0].clone()
    };
    let chosen = |row: &Value| -> Value {
        let layouts = row["layouts"].as_array().unwrap();
        layouts.iter().find(|layout| layout["chosen"] == true).unwrap()["lines"].clone()
    };
    assert_eq!(chosen(&plan(&["--fpr", "0.01"])), 1);
    assert_eq!(chosen(&plan(&["--fpr", "5e-4"])), 1);
    assert_eq!(chosen(&plan(&["--fpr", "5e-4", "--prefer", "space"])), 2);
    assert_eq!(chosen(&plan(&["--fpr", "1e-6", "--prefer", "space"])), 4);
    assert_eq!(chosen(&plan(&["--fpr", "1e-6", "--prefer", "speed"])), 1);
    let row = plan(&["--memory", "2MiB"]);
    let bytes = row["bytes"].as_u64().unwrap();
    assert!(bytes <= 2 << 20 && bytes > (2 << 20) * 999 / 1000, "{row}");
    let text = run(&["plan", "--expected-keys", "1M", "--fpr", "1e-6", "--prefer", "space"], b"").exits(0);
    assert!(text.text().contains("4 lines of 512 bits"), "{text:?}");
}

#[test]
fn known_good_keys_are_of_the_type_of_the_keys() {
    let dir = Dir::new();
    let numbers = |range: std::ops::Range<u32>| range.map(|n| format!("{n}\n")).collect::<String>();
    let (filter, keys, good) =
        (dir.arg("f"), dir.file("keys", numbers(0..3000)), dir.file("good", numbers(5000..25_000)));
    let long = ["--key-type", "long"];
    let build = [&["build", "-q", "-o", &filter, &keys, "--except", &good][..], &long].concat();
    run(&build, b"").exits(0);
    assert_eq!(run(&[&["check", "-c", &filter, &good][..], &long].concat(), b"").exits(1).text(), "0\n");
    assert_eq!(run(&[&["check", "-c", &filter, &keys][..], &long].concat(), b"").exits(0).text(), "3000\n");
    let words = dir.file("words", "five\n");
    run(&["build", "-o", &filter, &keys, "--except", &words, "--key-type", "long"], b"")
        .fails_with("words: line 1");
}

#[test]
fn damage_within_a_packed_file_is_found_as_in_a_plain_one() {
    let dir = Dir::new();
    let (filter, text) = (dir.arg("f.bloom"), lines(3000));
    run(&["build", "-q", "-o", &filter], text.as_bytes()).exits(0);
    let sound = dir.read("f.bloom");
    let packed = dir.file("sound.bloom.gz", gzip(&sound));
    assert_eq!(run(&["check", &packed], text.as_bytes()).exits(0).text(), text);
    for at in [300, sound.len() / 2, sound.len() - 1] {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x10;
        let packed = dir.file("damaged.bloom.gz", gzip(&damaged));
        for command in ["check", "inspect", "verify"] {
            run(&[command, &packed], b"").fails_with("checksum");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_filter_whose_bits_are_all_set_has_no_number_of_keys() {
    let dir = Dir::new();
    let (keys, filter) = (dir.file("keys", lines(20_000)), dir.arg("f.bloom"));
    run(&["build", "-q", "--expected-keys", "100", "--fpr", "0.01", "-o", &filter, &keys], b"").exits(0);
    let found = run(&["inspect", "--json", &filter], b"").json();
    assert!(found["places"][0]["new_keys"].is_null(), "{found}");
    assert!(!found.to_string().contains(&u64::MAX.to_string()));
}
