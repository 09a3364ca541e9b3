//! `dcso` and `poppy`: sizes, hashes, positions, files, counts, merges and answers are those of the
//! originals.

use fullbloom_core::keys::KeyHashOf;
use fullbloom_dialects::Filter;
use fullbloom_dialects::dcso::params as dcso_params;
use fullbloom_dialects::filter::Format;
use fullbloom_dialects::hash::{fnv1_64, wyhash_poppy};
use fullbloom_dialects::poppy::{self, Params};
use fullbloom_dialects::poppy::{Opt, TooManyKeys};
use fullbloom_dialects::{Dcso, Poppy};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, sha256_hex};
use std::collections::BTreeMap;

const OPTS: [Opt; 4] = [Opt::None, Opt::Space, Opt::Speed, Opt::Best];

fn rate(record: &Value) -> f64 {
    f64::from_bits(record.hex_int("p_bits"))
}

/// A list of keys, which may refer to another record's list.
fn keys(file: &Value, record: &Value, list: &str) -> Vec<Vec<u8>> {
    let field = record.field(list);
    if let Some(reference) = field.as_str() {
        let (list, name) = reference.strip_prefix("as ").and_then(|r| r.split_once(" of ")).unwrap();
        let other = file.list("filters").iter().find(|r| r.text("file") == name).unwrap();
        return keys(file, other, list);
    }
    let key = |text: &str| if text == "78*65535" { vec![b'x'; 65_535] } else { from_hex(text) };
    record.list(list).iter().map(|v| key(v.as_str().unwrap())).collect()
}

fn check_answers<D: Format>(file: &Value, record: &Value, bytes: &[u8]) {
    let view = Filter::<D>::view(bytes).unwrap();
    let answers = record.answers("answers");
    assert!(!answers.is_empty());
    for (key, answer) in keys(file, record, "probes_hex").iter().zip(answers) {
        assert_eq!(view.may_contain(key), answer, "{key:x?} in {}", record.text("name"));
    }
    assert_eq!(view.encode(), bytes);
    assert_eq!(Filter::<D>::decode(bytes).unwrap().encode(), bytes);
}

#[test]
fn dcso_files_counts_and_answers_are_the_originals() {
    let file = vectors::json("dcso/v1_filters.json");
    assert_eq!(file.list("filters").len(), 32);
    let mut by_name: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for record in file.list("filters") {
        let name = record.text("name");
        let mut filter = Filter::<Dcso>::with_fpr(record.count("n"), rate(record)).unwrap();
        assert_eq!(filter.geometry().bit_len, record.count("m"), "{name}");
        assert_eq!(u64::from(filter.geometry().probes), record.count("k"), "{name}");
        match name {
            "joined" => {
                filter = Filter::decode(&by_name["join-left"]).unwrap();
                filter.merge(&Filter::<Dcso>::view(&by_name["join-right"]).unwrap()).unwrap();
            }
            // Behaviour of poppy alone with version 1: it estimates the count of a union, and refuses keys.
            "joined-by-poppy" | "over-capacity-poppy" => continue,
            _ => {
                for key in keys(&file, record, "keys_hex") {
                    let before = filter.count();
                    let changed = filter.insert(&key);
                    assert_eq!(filter.count() - before, u64::from(changed));
                }
                let data = record.hex("data_hex");
                filter = filter.with_data(&data).unwrap();
                assert_eq!(filter.data(), data);
            }
        }
        assert_eq!(filter.count(), record.count("N"), "{name}");
        let bytes = filter.encode();
        assert_eq!(bytes.len() as u64, record.count("plain_len"), "{name}");
        assert_eq!(sha256_hex(&bytes), record.text("plain_sha256"), "{name}");
        assert_eq!(filter.dialect().doubt(), None, "{name}");
        check_answers::<Dcso>(&file, record, &bytes);
        by_name.insert(name, bytes);
    }
    assert_eq!(by_name["sha1-uppercase"], vectors::bytes("dcso/v1_sha1.bloom"));
}

#[test]
fn dcso_filters_of_other_numbers_are_not_joined_and_clearing_keeps_the_data() {
    let file = vectors::json("dcso/v1_filters.json");
    for refused in file.list("join_errors") {
        let side = |name: &str| {
            let side = refused.field(name);
            Filter::<Dcso>::with_fpr(side.count("n"), rate(side)).unwrap()
        };
        assert!(side("left").merge(&side("right")).is_err(), "{refused}");
    }
    let mut filter = Filter::<Dcso>::decode(&vectors::bytes("dcso/v1_data.bloom")).unwrap();
    let data = filter.data().to_vec();
    assert!(!data.is_empty() && filter.count() > 0);
    filter.clear().unwrap();
    assert_eq!((filter.count(), filter.count_ones(), filter.data()), (0, 0, &data[..]));
    let mut sum = Filter::<Dcso>::with_fpr(300, 0.001).unwrap();
    sum.insert(b"key");
    let mut bytes = sum.encode();
    bytes[40..48].fill(0xff);
    assert!(sum.merge(&Filter::<Dcso>::view(&bytes).unwrap()).is_err(), "2^64 keys");
    assert_eq!(sum.count(), 1);
}

#[test]
fn dcso_hashes_positions_and_sizes_are_the_originals() {
    let file = vectors::json("dcso/hashes.json");
    let seed = file.hex_int("wyhash_seed");
    for row in file.list("hashes") {
        let key = row.hex("key_hex");
        assert_eq!(fnv1_64(&key), row.hex_int("fnv1_64"), "{row}");
        assert_eq!(wyhash_poppy(&key, seed), row.hex_int("wyhash_seeded"), "{row}");
    }
    for case in file.list("v1_fingerprints") {
        for row in case.list("fingerprints") {
            let mut filter = Filter::<Dcso>::with_fpr(case.count("n"), rate(case)).unwrap();
            filter.insert(row.hex("key_hex"));
            let array = &filter.bits()[8..]; // after the count
            let positions = row.list("indexes").iter().map(|v| v.as_u64().unwrap());
            let mut distinct: Vec<u64> = positions.collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(filter.count_ones(), distinct.len() as u64, "{row}");
            assert!(distinct.iter().all(|at| array[(at >> 3) as usize] >> (at & 7) & 1 == 1), "{row}");
        }
    }
    let sizes = vectors::json("dcso/sizing.json");
    assert_eq!(sizes.list("v1").len(), 357);
    for row in sizes.list("v1").iter().chain(sizes.list("v1_large_formula_only")) {
        assert_eq!(dcso_params(row.count("n"), rate(row)), (row.count("m"), row.count("k")), "{row}");
    }
}

#[test]
fn poppy_sizes_and_headers_are_the_originals() {
    let sizes = vectors::json("dcso/sizing.json");
    assert_eq!(sizes.list("v2").len(), 480);
    for row in sizes.list("v2") {
        let (keys, opt) = (row.count("capacity"), OPTS[row.count("opt") as usize]);
        let Params { probes, buckets, cache_bits } = poppy::params(keys, rate(row), opt);
        assert_eq!(
            (probes, buckets, cache_bits),
            (row.count("k"), row.count("buckets"), row.count("cache_bits")),
            "{row}"
        );
        let Ok(dialect) = Poppy::with_params(keys, rate(row), opt) else {
            assert_eq!(keys, 0, "{row}");
            continue;
        };
        assert_eq!(dialect.encoded_len(), row.count("file_length"), "{row}");
        assert_eq!(dialect.doubt(), None, "{row}");
        if dialect.encoded_len() < 1 << 20 {
            let filter = Filter::from_dialect(dialect).unwrap();
            assert_eq!(filter.encode()[..48], row.hex("first48_hex"), "{row}");
        }
    }
}

/// One typed value of the vectors, as poppy's `insert` hashes it.
fn typed_hash(filter: &Filter<Poppy>, kind: &str, text: &str) -> u64 {
    let number = |bytes: &[u8]| filter.as_view().for_numbers().hash(bytes).to_raw();
    match kind {
        "u8" => number(&text.parse::<u8>().unwrap().to_le_bytes()),
        "u16" => number(&text.parse::<u16>().unwrap().to_le_bytes()),
        "u32" => number(&text.parse::<u32>().unwrap().to_le_bytes()),
        "u64" | "usize" => number(&text.parse::<u64>().unwrap().to_le_bytes()),
        "u128" => number(&text.parse::<u128>().unwrap().to_le_bytes()),
        "i8" => number(&text.parse::<i8>().unwrap().to_le_bytes()),
        "i32" => number(&text.parse::<i32>().unwrap().to_le_bytes()),
        "i64" => number(&text.parse::<i64>().unwrap().to_le_bytes()),
        "bytes" => filter.hash(from_hex(text)).to_raw(),
        _ => filter.hash(text.as_bytes()).to_raw(),
    }
}

#[test]
fn poppy_files_counts_merges_and_answers_are_the_originals() {
    let file = vectors::json("dcso/v2_filters.json");
    assert_eq!(file.list("filters").len(), 38);
    let mut by_file: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut checked = 0;
    for record in file.list("filters") {
        let name = record.text("name");
        let opt = OPTS[record.count("opt") as usize];
        if record.count("capacity") == 0 {
            assert!(Poppy::with_params(0, rate(record), opt).is_err());
            continue;
        }
        let empty = || {
            Filter::from_dialect(Poppy::with_params(record.count("capacity"), rate(record), opt).unwrap())
                .unwrap()
        };
        let decoded = |bytes: &[u8]| Filter::<Poppy>::decode(bytes).unwrap();
        let mut filter = empty();
        if let Some(of) = record.get("of").and_then(Value::as_array) {
            let parts: Vec<_> = of.iter().map(|v| decoded(&by_file[v.as_str().unwrap()])).collect();
            filter = parts[0].try_clone().unwrap();
            match name {
                _ if name.starts_with("union") => {
                    let common = record.text("common_entries").parse().unwrap();
                    assert_eq!(filter.common_keys(&parts[1]), Ok(common), "{name}");
                    filter.merge(&parts[1]).unwrap();
                }
                _ if name.starts_with("intersection") => filter.intersect(&parts[1]).unwrap(),
                _ => filter.clear().unwrap(),
            }
        } else if let Some(parts) = record.get("parts_hex").and_then(Value::as_array) {
            for part in parts {
                let mut one = empty();
                for key in part.as_array().unwrap() {
                    one.try_insert(&from_hex(key.as_str().unwrap())).unwrap();
                }
                filter.merge(&one).unwrap();
            }
        } else if let Some(values) = record.get("typed").and_then(Value::as_array) {
            for pair in values {
                let hash = typed_hash(&filter, pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
                let hash = KeyHashOf::from_raw(hash, filter.dialect());
                assert_eq!(filter.insert_hash(hash), Ok(true), "{pair}");
            }
        } else {
            if let Some(start) = record.get("start") {
                filter = decoded(&by_file[start.as_str().unwrap()]);
            }
            let reported = record.get("inserted").and_then(Value::as_array);
            for (i, key) in keys(&file, record, "keys_hex").iter().enumerate() {
                let got = filter.try_insert(key);
                if let Some(reported) = reported {
                    let expected = reported[i].as_bool().ok_or(TooManyKeys);
                    assert_eq!(got, expected, "{key:x?} in {name}");
                }
            }
            filter = filter.with_data(&record.hex("data_hex")).unwrap();
        }
        assert_eq!(filter.count(), record.count("count"), "{name}");
        let bytes = filter.encode();
        assert_eq!(sha256_hex(&bytes), record.text("sha256"), "{name}");
        if record.get("typed").is_none() {
            check_answers::<Poppy>(&file, record, &bytes);
        }
        by_file.insert(record.text("file"), bytes);
        checked += 1;
    }
    assert_eq!(checked, 36);
    assert_eq!(by_file["files/v2_c1_o3.pop"], vectors::bytes("dcso/v2_c1_o3.pop"));
}

/// The bytes of a damaged file; `(n)` stands for n zeros.
fn unpack(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in text.split_inclusive(')') {
        let (hex, zeros) = piece.split_once('(').unwrap_or((piece, "0)"));
        bytes.extend(from_hex(hex));
        bytes.resize(bytes.len() + zeros.trim_end_matches(')').parse::<usize>().unwrap(), 0);
    }
    bytes
}

/// Where an original answers, we give the same answer or refuse; where it refuses or crashes, we refuse.
fn check_malformed<D: Format>(path: &str, original: &str) -> (u32, Vec<String>) {
    let file = vectors::json(path);
    let probes = file.hex_list("probes_hex");
    let (mut answered, mut stricter) = (0, Vec::new());
    for case in file.list("cases").iter().filter(|case| case.get("gzip") != Some(&Value::Bool(true))) {
        let bytes = unpack(case.text("bytes"));
        let original_answers = case.field(original).get("answers").and_then(Value::as_str);
        match (Filter::<D>::view(&bytes), original_answers) {
            (Ok(view), Some(answers)) => {
                for (key, answer) in probes.iter().zip(answers.chars()) {
                    assert_eq!(view.may_contain(key), answer == '1', "{}", case.text("name"));
                }
                answered += 1;
            }
            (Err(_), Some(_)) => stricter.push(case.text("name").to_owned()),
            (Ok(_), None) => panic!("{} is refused by the original", case.text("name")),
            (Err(error), None) => assert!(!error.to_string().is_empty()),
        }
    }
    (answered, stricter)
}

#[test]
fn damaged_dcso_files_are_refused_or_answered_as_by_the_original() {
    let (answered, stricter) = check_malformed::<Dcso>("dcso/v1_malformed.json", "go");
    let flags: Vec<_> = stricter.iter().filter(|name| !name.starts_with("byte ")).collect();
    assert_eq!(flags, Vec::<&String>::new(), "only reserved flags are refused beyond what Go refuses");
    assert!(answered > 10, "{answered}");
}

#[test]
fn damaged_poppy_files_are_refused_or_answered_as_by_the_original() {
    let (answered, stricter) = check_malformed::<Poppy>("dcso/v2_malformed.json", "poppy");
    let expected = [
        "reserved byte 2 = 9",
        "capacity 0",
        "cache bits one less (same bytes)",
        "cache bits 24, three bytes of cache",
    ];
    assert_eq!(stricter, expected);
    assert!(answered > 8, "{answered}");
}

#[test]
fn numbers_that_do_not_follow_from_each_other_are_doubted() {
    let mut bytes = vectors::bytes("dcso/v1_sha1.bloom");
    bytes[32] ^= 1; // bits
    let view = Filter::<Dcso>::view(&bytes).unwrap();
    // A difference of one may come from another machine's logarithm.
    assert_eq!(view.dialect().doubt(), None);
    bytes[32] ^= 6;
    let doubt = Filter::<Dcso>::view(&bytes).unwrap().dialect().doubt().unwrap();
    assert!(doubt.may_lose_keys && doubt.to_string().contains("bits at byte 32"), "{doubt}");
    let mut bytes = vectors::bytes("dcso/v2_c1_o3.pop");
    bytes[24] += 1; // probes
    let doubt = Filter::<Poppy>::view(&bytes).unwrap().dialect().doubt().unwrap();
    assert!(doubt.to_string().contains("probes at byte 24"), "{doubt}");
}
