//! Databases of LevelDB and RocksDB: inspected, verified, planned for.

use crate::common::{Dir, run};
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::fs;

/// A copy of one of the databases that the real engines made.
fn database(engine: &str) -> Dir {
    let dir = Dir::new();
    for entry in fs::read_dir(vectors::root().join("databases").join(engine)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    dir
}

fn tables(dir: &Dir) -> Vec<String> {
    dir.names().into_iter().filter(|name| name.ends_with("sst") || name.ends_with("ldb")).collect()
}

fn entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list.as_array().unwrap().iter().find(|e| e["path"].as_str().unwrap().ends_with(name));
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

/// The codes of the problems of the table of this name.
fn codes<'a>(report: &'a Value, name: &str) -> Vec<&'a str> {
    let problems = report["problems"].as_array().unwrap().iter();
    let of_table = problems.filter(|problem| problem["place"].as_str().unwrap().ends_with(name));
    of_table.map(|problem| problem["code"].as_str().unwrap()).collect()
}

#[test]
fn real_databases_are_listed_by_column_family_and_level() {
    let rocksdb = database("rocksdb");
    let seen = run(&["inspect", "--json", &rocksdb.arg("")], b"").exits(0).json();
    let place = |e: &Value| {
        let family = e["column_family"].as_str().unwrap().to_owned();
        (family, e["level"].as_u64().unwrap(), e["keys"].as_u64().unwrap())
    };
    let places: Vec<_> = seen["places"].as_array().unwrap().iter().map(place).collect();
    // Levels as `ldb manifest_dump` has them.
    let expected = [("default", 6, 3777), ("default", 6, 2223), ("users", 0, 1793), ("users", 0, 207)];
    assert_eq!(places, expected.map(|(family, level, keys)| (family.to_owned(), level, keys)));
    for entry in seen["places"].as_array().unwrap() {
        assert_eq!((entry["dialect"].as_str(), entry["kind"].as_str()), (Some("rocksdb"), Some("full")));
        assert!(entry["bits_per_key"].as_f64().unwrap() >= 10.0, "{entry}");
    }
    let level = &seen["summary"]["levels"][0];
    assert_eq!((&level["level"], &level["tables"], &level["keys"]), (&6.into(), &2.into(), &6000.into()));
    // Below level 0 a lookup asks one table at most; on level 0 each.
    assert!(level["useless_reads"].as_f64().unwrap() < 0.011, "{level}");
    assert!(seen["summary"]["levels"][1]["useless_reads"].as_f64().unwrap() > 0.0115, "{seen}");

    let leveldb = database("leveldb");
    let seen = run(&["inspect", "--json", &leveldb.arg("")], b"").exits(0).json();
    let levels: Vec<_> = seen["places"].as_array().unwrap().iter().map(|e| e["level"].as_u64()).collect();
    assert_eq!(levels, [0, 0, 0, 0, 1, 2].map(Some));
    let text = run(&["inspect", &leveldb.arg("")], b"").exits(0);
    assert!(text.text().contains("6 tables, levels from MANIFEST-000014"), "{text:?}");
}

#[test]
fn real_databases_verify_and_a_changed_byte_does_not_stop_the_rest() {
    for engine in ["rocksdb", "leveldb"] {
        let dir = database(engine);
        let found = run(&["verify", "--json", "--absent", "1000", &dir.arg("")], b"").exits(0).json();
        for file in found["places"].as_array().unwrap() {
            assert_eq!((&file["missing"], &file["rebuilt_identical"]), (&0.into(), &true.into()), "{file}");
        }
        let name = tables(&dir)[1].clone();
        let mut bytes = dir.read(&name);
        bytes[300] ^= 1; // in a data block
        dir.file(&name, &bytes);
        let found = run(&["verify", "--json", "--absent", "1000", &dir.arg("")], b"").exits(1).json();
        assert_eq!(entry(&found["places"], &name)["keys"], Value::Null);
        assert_eq!(codes(&found, &name), ["checksum"]);
        assert_eq!(found["places"].as_array().unwrap().len(), tables(&dir).len());
    }
}

#[test]
fn tables_that_are_cut_gone_or_not_of_the_database_are_told() {
    let dir = database("rocksdb");
    let names = tables(&dir);
    let bytes = dir.read(&names[0]);
    dir.file(&names[0], &bytes[..bytes.len() / 2]);
    fs::remove_file(dir.path(&names[1])).unwrap();
    dir.file("000099.sst", b"half a table");
    let seen = run(&["inspect", "--json", &dir.arg("")], b"").exits(1).json();
    assert_eq!(codes(&seen, &names[0]), ["length-differs", "table-unreadable"]);
    assert_eq!(codes(&seen, "000099.sst"), ["not-in-manifest"]);
    assert_eq!(codes(&seen, &names[1]), ["table-missing"]);
    assert!(codes(&seen, &names[2]).is_empty());
    let text = run(&["inspect", "--summary", &dir.arg("")], b"").exits(1);
    assert!(text.text().contains(&names[1]), "{text:?}");
    run(&["verify", &dir.arg("")], b"").exits(1);
    run(&["plan", "--from", &dir.arg("")], b"").exits(1);

    // What never belonged to it does no harm.
    let dir = database("rocksdb");
    dir.file("000099.sst", b"half a table");
    run(&["inspect", &dir.arg("")], b"").exits(0);
    let verified = run(&["verify", &dir.arg("")], b"").exits(0);
    assert!(verified.text().contains("not in the MANIFEST"), "{verified:?}");
}

/// A write-ahead log of these writes to the default column family: tag, key, and the value or the end of a range.
fn log(first: u64, writes: &[(u8, &str, Option<&str>)]) -> Vec<u8> {
    let mut batch = first.to_le_bytes().to_vec();
    batch.extend_from_slice(&(writes.len() as u32).to_le_bytes());
    for (tag, key, more) in writes {
        batch.push(*tag);
        for text in [Some(*key), *more].into_iter().flatten() {
            batch.push(text.len() as u8); // shorter than 128
            batch.extend_from_slice(text.as_bytes());
        }
    }
    let sum = crc32c(&[&[1][..], &batch].concat()).rotate_right(15).wrapping_add(0xa282_ead8);
    [&sum.to_le_bytes()[..], &(batch.len() as u16).to_le_bytes(), &[1], &batch].concat()
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

#[test]
fn writes_that_are_only_in_the_log_are_seen() {
    for engine in ["leveldb", "rocksdb"] {
        let dir = database(engine);
        let path = dir.arg("");
        // Logs that are empty, or older than the MANIFEST's log number, hold nothing new.
        dir.file("000099.log", b"");
        dir.file("000001.log", b"in tables already");
        let keys = |more: &[&str]| run(&[&["keys", &path], more].concat(), b"").exits(0);
        let before = keys(&["--live"]);
        let deleted = before.text().lines().next().unwrap().to_owned();
        run(&["which", "-e", "only in the log", &path], b"").exits(1);
        dir.file(
            "000099.log",
            log(1 << 40, &[(1, "only in the log", Some("v")), (0, &deleted, None), (2, "merged", Some("+"))]),
        );
        let found = run(&["which", "-e", "only in the log", &path], b"").exits(0);
        assert!(found.text().contains("000099.log (written, and in no table yet)"), "{found:?}");
        assert!(run(&["which", "-e", "nowhere", &path], b"").text().contains("no       "), "{engine}");
        let all = keys(&[]);
        assert!(all.text().ends_with("merged\nonly in the log\n") && all.err.contains("deletion"), "{all:?}");
        let mut expected: Vec<&str> = before
            .text()
            .lines()
            .filter(|key| *key != deleted)
            .chain(["merged", "only in the log"])
            .collect();
        let live = keys(&["--live"]);
        let mut found: Vec<&str> = live.text().lines().collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
        let seen = run(&["inspect", "--json", &path], b"").exits(0).json();
        let log = &seen["summary"]["databases"][0]["logs"][0];
        assert_eq!(
            (&log["writes"], &log["deletions"], &log["unread_from"]),
            (&3.into(), &1.into(), &Value::Null)
        );
        assert_eq!(seen["problems"].as_array().unwrap().last().unwrap()["code"], "unflushed");
    }
}

#[test]
fn a_torn_log_is_read_to_its_last_whole_write_and_that_is_said() {
    let dir = database("rocksdb");
    let path = dir.arg("");
    let whole =
        [log(1 << 40, &[(1, "first", Some("v"))]), log((1 << 40) + 1, &[(1, "torn", Some("v"))])].concat();
    for cut in 1..20 {
        dir.file("000099.log", &whole[..whole.len() - cut]);
        let keys = run(&["keys", "--live", &path], b"").exits(0);
        assert!(keys.text().lines().any(|key| key == "first"), "{keys:?}");
        assert!(
            !keys.text().lines().any(|key| key == "torn") && keys.err.contains("as after a crash"),
            "{keys:?}"
        );
    }
    // What is not read may hold any key: the answer is no "no".
    let answer = run(&["which", "-e", "torn", &path], b"").exits(0);
    assert!(
        answer.text().contains("maybe    ") && answer.text().contains("its end is not read"),
        "{answer:?}"
    );
    for garbage in [vec![9; 3000], b"not a log".to_vec(), vec![0xff; 40_000]] {
        dir.file("000099.log", garbage);
        for command in [&["keys"][..], &["keys", "--live"], &["which", "-e", "k"], &["inspect"]] {
            let out = run(&[command, &[&path]].concat(), b"").exits(0);
            assert!(format!("{}{}", out.text(), out.err).contains("000099.log"), "{out:?}");
        }
    }
}

#[test]
fn ranges_and_keys_that_are_deleted_are_not_alive() {
    let dir = database("rocksdb");
    let path = dir.arg("");
    let live = || -> Vec<String> {
        run(&["keys", "--live", &path], b"").text().lines().map(str::to_owned).collect()
    };
    let before = live();
    let in_range = |key: &String| ("key00000100".."key00000200").contains(&key.as_str());
    assert!(before.iter().filter(|key| in_range(key)).count() > 50, "{before:?}");
    dir.file(
        "000099.log",
        log(1 << 40, &[(0xf, "key00000100", Some("key00000200")), (1, "key00000150", Some("again"))]),
    );
    let after = live();
    let expected: Vec<String> =
        before.iter().filter(|key| !in_range(key) || *key == "key00000150").cloned().collect();
    assert_eq!(after, expected);
    // Only a database knows it.
    run(
        &["keys", "--live", &dir.arg(&dir.names().into_iter().find(|name| name.ends_with(".sst")).unwrap())],
        b"",
    )
    .fails_with("only a database knows");
    fs::remove_file(dir.path("CURRENT")).unwrap();
    run(&["keys", "--live", &path], b"").exits(2);
}

#[test]
fn a_database_that_has_only_a_log_is_read() {
    let dir = Dir::new();
    dir.file("000003.log", log(1, &[(1, "one", Some("v")), (1, "two", Some("v"))]));
    let path = dir.arg("");
    dir.file("CURRENT", "MANIFEST-000001\n");
    dir.file("MANIFEST-000001", "");
    assert_eq!(run(&["keys", "--live", &path], b"").exits(0).text(), "one\ntwo\n");
    run(&["which", "-e", "two", &path], b"").exits(0);
    run(&["which", "-e", "three", &path], b"").exits(1);
    let seen = run(&["inspect", "--json", &path], b"").exits(0).json();
    assert_eq!(seen["summary"]["databases"][0]["logs"][0]["writes"], 2);
}

#[test]
fn keys_says_that_deleted_keys_are_among_them() {
    let table = vectors::root().join("rocksdb/tables/r783_flush_versions.sst");
    let out = run(&["keys", table.to_str().unwrap()], b"").exits(0);
    assert!(out.err.contains("133 deletions"), "{}", out.err);
    let out = run(&["keys", &database("leveldb").arg("")], b"").exits(0);
    assert_eq!(out.err, "", "nothing is deleted there");
}

#[test]
fn without_a_sound_manifest_the_tables_are_listed_by_file() {
    let dir = database("leveldb");
    let manifest = dir.names().into_iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    let mut bytes = dir.read(&manifest);
    bytes[20] ^= 1;
    dir.file(&manifest, &bytes);
    let text = run(&["inspect", &dir.arg("")], b"").exits(1);
    assert!(text.text().contains("levels are unknown: ") && text.text().contains("checksum"), "{text:?}");
    fs::remove_file(dir.path("CURRENT")).unwrap();
    fs::remove_file(dir.path(&manifest)).unwrap();
    let seen = run(&["inspect", "--json", &dir.arg("")], b"").exits(0).json();
    assert_eq!(seen["places"].as_array().unwrap().len(), 6);
    assert_eq!(seen["summary"]["levels"][0]["level"], Value::Null);
    run(&["verify", &dir.arg("")], b"").exits(0);
}

#[test]
fn a_directory_of_all_kinds_of_tables_names_what_is_old_and_what_has_no_filter() {
    let path = vectors::root().join("rocksdb/tables");
    let seen = run(&["inspect", "--json", path.to_str().unwrap()], b"").exits(1).json();
    let of = |name: &str| codes(&seen, name);
    assert_eq!(of("r783_nofilter.sst"), ["no-filter"]);
    assert_eq!(of("r629_blockbased_fv1_zlib.sst"), ["old-kind", "old-format"]);
    assert_eq!(of("r783_full_fv4_lz4.sst"), ["old-kind"]);
    assert!(of("r783_ribbon_fv5_lz4.sst").is_empty());
    assert!(of("ldb123_table_plain.ldb").is_empty(), "LevelDB has no newer kind");
}

#[test]
fn a_budget_is_split_so_that_fewer_tables_are_read_in_vain() {
    for engine in ["rocksdb", "leveldb"] {
        let dir = database(engine);
        let planned =
            run(&["plan", "--from", &dir.arg(""), "--memory", "7KiB", "--json"], b"").exits(0).json();
        let planned = &planned["summary"];
        for split in ["equal", "optimal"] {
            assert!(planned[split]["bytes"].as_u64().unwrap() <= 7 << 10, "{planned}");
        }
        let families = planned["column_families"].as_array().unwrap();
        let reads = |split: &str| {
            families.iter().map(|family| family[split]["useless_reads"].as_f64().unwrap()).sum::<f64>()
        };
        // A lookup reads one column family, so there is a sum over all of them only where there is one.
        assert_eq!(planned["optimal"]["useless_reads"].is_null(), families.len() > 1);
        assert!(reads("optimal") <= reads("equal"), "{engine}");
        let ten = planned["rows"].as_array().unwrap().iter().find(|row| row["bits_per_key"] == 10.0).unwrap();
        assert!((7_000..13_000).contains(&ten["bytes"].as_u64().unwrap()), "{ten}");
        run(&["plan", "--from", &dir.arg(""), "--fpr", "0.01"], b"").exits(0);
    }
    // The rates of LevelDB's filters are measured, which takes a second: the text is the same for both engines.
    let dir = database("rocksdb");
    let text = run(&["plan", "--from", &dir.arg(""), "--memory", "7KiB"], b"").exits(0);
    assert!(text.text().contains("useless reads"), "{text:?}");
    run(&["plan", "--from", &dir.arg("")], b"").exits(0);
}

#[test]
fn a_database_without_tables_is_told() {
    let dir = Dir::new();
    dir.file("CURRENT", "MANIFEST-000001\n");
    dir.file("MANIFEST-000001", "");
    for command in [&["inspect"][..], &["verify"], &["plan", "--from"]] {
        let path = dir.arg("");
        let args = [command, &[path.as_str()]].concat();
        run(&args, b"").fails_with("cannot find tables");
    }
}

#[test]
fn the_plan_of_a_leveldb_database_is_what_a_database_with_these_filters_has() {
    let lines: String = (0..60_000).map(|i| format!("user{:012}\t{:020}\n", i * 7, i)).collect();
    let dirs: Vec<(&str, Dir)> = ["6", "10", "16"]
        .map(|bits| {
            let dir = Dir::new();
            let table = dir.arg("000005.ldb");
            let build = ["table", "build", "--engine", "leveldb", "--bits-per-key", bits, "-o", &table];
            run(&build, lines.as_bytes()).exits(0);
            (bits, dir)
        })
        .into();
    let planned = run(&["plan", "--from", &dirs[1].1.arg(""), "--json"], b"").exits(0).json();
    for (bits, dir) in &dirs {
        let real = run(&["inspect", "--json", &dir.arg("")], b"").exits(0).json();
        let real = &real["summary"]["levels"][0];
        let rows = planned["summary"]["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["bits_per_key"] == bits.parse::<f64>().unwrap()).unwrap();
        assert_eq!(row["bytes"], real["bytes"], "{bits} bits: offsets and rounding are known");
        let (plan, real) = (row["expected_fpr"].as_f64().unwrap(), real["expected_fpr"].as_f64().unwrap());
        assert!((plan / real - 1.0).abs() < 0.05, "{bits} bits: {plan} planned, {real} real");
    }
    // The same for a database that LevelDB made.
    let real = database("leveldb");
    let planned = run(&["plan", "--from", &real.arg(""), "--json"], b"").exits(0).json();
    let now: u64 =
        planned["places"].as_array().unwrap().iter().map(|l| l["now"]["bytes"].as_u64().unwrap()).sum();
    let rows = planned["summary"]["rows"].as_array().unwrap();
    let ten = rows.iter().find(|row| row["bits_per_key"] == 10.0).unwrap();
    assert_eq!(ten["bytes"].as_u64().unwrap(), now);
}
