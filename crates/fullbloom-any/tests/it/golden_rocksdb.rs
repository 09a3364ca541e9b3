//! RocksDB's full filters, byte for byte and answer for answer, against the output of RocksDB itself.

use crate::common::view;
use fullbloom::{SizeError, sizing};
use fullbloom_any as any;
use fullbloom_core::sizing::MillibitsPerKey;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::Format;
use fullbloom_dialects::hash::bloom32_rocksdb;
use fullbloom_dialects::rocksdb::{Builder, FilterType, FullFilter, MemoryBalance, Policy};
use fullbloom_dialects::{Name, RocksDb, RocksDbLegacy, RocksDbRibbon};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, keys, sha256_hex};

fn kind(record: &Value) -> FilterType {
    match record.text("impl") {
        "legacy" => FilterType::Legacy,
        "fastlocal" => FilterType::FastLocal,
        "ribbon" => FilterType::Ribbon,
        other => panic!("there is no kind {other}"),
    }
}

fn name(kind: FilterType) -> Name {
    match kind {
        FilterType::Legacy => Name::RocksDbLegacy,
        FilterType::FastLocal => Name::RocksDb,
        FilterType::Ribbon => Name::RocksDbRibbon,
    }
}

fn keys_of(record: &Value) -> Vec<Vec<u8>> {
    let keys = record.get("keys").map_or_else(|| record.hex_list("keys_hex"), keys::of_rule);
    assert_eq!(keys::sha256_of(&keys), record.text("keys_sha256"));
    keys
}

fn flag(record: &Value, name: &str) -> bool {
    record.field(name).as_bool().expect("a flag")
}

/// The cases for which RocksDB built a filter, each with its policy.
fn built_cases(file: &Value) -> impl Iterator<Item = (&Value, Policy)> {
    file.list("cases").iter().filter(|record| record.get("no_filter").is_none()).map(|record| {
        let policy = Policy::new(kind(record), record.real("bits_per_key")).expect("a filter");
        (record, policy)
    })
}

fn assert_bytes(record: &Value, bytes: &[u8]) {
    assert_eq!(bytes.len() as u64, record.count("filter_len"), "{}", record.text("id"));
    if record.get("filter_hex").is_some() {
        assert_eq!(bytes, record.hex("filter_hex"), "{}", record.text("id"));
    }
    assert_eq!(sha256_hex(bytes), record.text("filter_sha256"), "{}", record.text("id"));
}

#[test]
fn every_filter_is_built_byte_for_byte_and_answers_as_rocksdbs_reader() {
    let file = vectors::json("rocksdb/raw_filters.json");
    let mut compared = 0;
    for (record, policy) in built_cases(&file) {
        let bits = MillibitsPerKey::new(policy.bits_per_key()).unwrap();
        assert_eq!(u64::from(bits.millibits()), record.count("millibits_per_key"));
        assert_eq!(u64::from(bits.whole_bits()), record.count("whole_bits_per_key"));
        let mut builder = Builder::new(policy);
        if flag(record, "detect_filter_construct_corruption") {
            builder = builder.with_corruption_detection();
        }
        let keys = keys_of(record);
        for key in &keys {
            builder.add(key);
        }
        assert_eq!(builder.entries(), record.count("hash_entries"), "{record}");
        let optimized = flag(record, "optimize_filters_for_memory");
        let built = if optimized {
            builder.build_with_len(record.count("filter_len")).expect("a length of RocksDB's")
        } else {
            builder.build().expect("a filter")
        };
        let bytes = built.encode();
        assert_eq!(bytes.len() as u64, built.encoded_len());
        if keys.is_empty() {
            // 7.8.3 printed a bare trailer; since 9.6 there are zero bytes.
            assert!(bytes.is_empty() && matches!(built, FullFilter::Nothing), "{record}");
            assert!(record.count("filter_len") <= 5);
            continue;
        }
        assert_bytes(record, &bytes);
        builder.verify(&bytes).expect("every hash is found");
        assert!(keys.iter().all(|key| built.may_contain(key)), "{record}");
        let stored = match record.text("stored_kind") {
            "legacy" => Name::RocksDbLegacy,
            "fl" => Name::RocksDb,
            "ribbon" => Name::RocksDbRibbon,
            other => panic!("{other}"),
        };
        assert_eq!(built.dialect(), Some(stored));
        assert_eq!(fullbloom_dialects::rocksdb::sniff(&bytes), Some(stored), "{record}");
        let read = FullFilter::read(&bytes);
        let probes = keys::of_rule(record.field("probes"));
        let answers: Vec<bool> = probes.iter().map(|key| read.may_contain(key)).collect();
        assert_eq!(answers, record.answers("probe_answers"), "{record}");
        let mut batch = vec![false; probes.len()];
        read.may_contain_batch_into(&probes, &mut batch).unwrap();
        assert_eq!(batch, answers, "{record}");
        compared += 1;
    }
    assert_eq!(compared, 298);
}

#[test]
fn the_named_builders_write_the_same_bytes_and_the_named_views_read_them() {
    let file = vectors::json("rocksdb/raw_filters.json");
    let plain = |(record, _): &(&Value, Policy)| !flag(record, "optimize_filters_for_memory");
    for (record, policy) in built_cases(&file).filter(plain) {
        let requested = name(policy.filter_type());
        let target = sizing::Target::BitsPerKey(record.real("bits_per_key"));
        // The expected number of keys does not matter: RocksDB counts them.
        let request = sizing::Request { expected_keys: 1_000_000, target };
        let mut builder = any::Builder::new(requested, &request).expect("a builder");
        let keys = keys_of(record);
        let refs: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        builder.add_batch(refs.as_slice());
        let filter = builder.build().expect("a filter");
        let bytes = filter.encode();
        assert_eq!(bytes.len() as u64, filter.encoded_len());
        if keys.is_empty() {
            assert!(bytes.is_empty() && !filter.may_contain(b"") && filter.dialect() == requested);
            continue;
        }
        assert_bytes(record, &bytes);
        let read = view(requested, &bytes, None).expect("its own bytes");
        assert_eq!(read.dialect(), filter.dialect());
        assert_eq!(read.dialect() == Name::RocksDb, record.text("stored_kind") == "fl", "{record}");
        let probes = keys::of_rule(record.field("probes"));
        let answers: Vec<bool> = probes.iter().map(|key| read.may_contain(key)).collect();
        assert_eq!(answers, record.answers("probe_answers"), "{record}");
        let geometry = read.geometry();
        assert!(view(requested, &bytes, Some((geometry.bit_len, geometry.probes))).is_ok());
        assert!(view(requested, &bytes, Some((geometry.bit_len, geometry.probes + 1))).is_err());
    }
}

#[test]
fn below_half_a_bit_per_key_there_is_no_filter() {
    let file = vectors::json("rocksdb/raw_filters.json");
    let none: Vec<&Value> = file.list("cases").iter().filter(|r| r.get("no_filter").is_some()).collect();
    assert_eq!(none.len(), 9);
    for record in none {
        let bits_per_key = record.real("bits_per_key");
        let refused = SizeError::NoFilter { bits_per_key };
        assert_eq!(Policy::new(kind(record), bits_per_key), Err(refused.clone()));
        let target = sizing::Target::BitsPerKey(bits_per_key);
        let request = sizing::Request { expected_keys: record.count("num_keys"), target };
        assert_eq!(any::Builder::new(name(kind(record)), &request).err(), Some(refused));
    }
}

#[test]
fn strict_decoding_accepts_every_filter_and_gives_its_bytes_back() {
    fn round_trip<D: Format>(bytes: &[u8]) {
        assert_eq!(Filter::<D>::decode(bytes).expect("whole").encode(), bytes);
        assert_eq!(Filter::<D>::view(bytes).expect("whole").encode(), bytes);
    }
    let file = vectors::json("rocksdb/raw_filters.json");
    for (record, policy) in built_cases(&file) {
        let mut builder = Builder::new(policy);
        keys_of(record).iter().for_each(|key| builder.add(key));
        let bytes = builder.build().expect("a filter").encode();
        match FullFilter::read(&bytes) {
            FullFilter::Legacy(_) => round_trip::<RocksDbLegacy>(&bytes),
            FullFilter::FastLocal(_) => round_trip::<RocksDb>(&bytes),
            FullFilter::Ribbon(_) => round_trip::<RocksDbRibbon>(&bytes),
            FullFilter::Nothing => assert!(bytes.is_empty()),
            FullFilter::Everything => panic!("{record}"),
        }
    }
}

#[test]
fn contents_made_by_hand_are_answered_as_rocksdbs_reader_does() {
    let file = vectors::json("rocksdb/reader_corner_cases.json");
    let probes: Vec<Vec<u8>> = file.list("probes").iter().map(|v| from_hex(v.as_str().unwrap())).collect();
    let records = file.list("cases");
    assert_eq!(records.len(), 83);
    for record in records {
        let content = record.hex("contents");
        let filter = FullFilter::read(&content);
        let answers: Vec<bool> = probes.iter().map(|key| filter.may_contain(key)).collect();
        assert_eq!(answers, record.answers("answers"), "{record}");
        let kind = match &filter {
            FullFilter::Nothing => "false",
            FullFilter::Everything => "true",
            FullFilter::Legacy(_) => "legacy",
            FullFilter::FastLocal(_) => "fl",
            FullFilter::Ribbon(_) => "ribbon",
        };
        // A Ribbon filter without a segment matches every key; the vectors name it by its marker.
        if record.text("name") != "ribbon_b2_len10_s3" {
            assert_eq!(kind, record.text("kind"), "{record}");
        }
    }
}

#[test]
fn sizes_and_rates_are_rocksdbs() {
    let file = vectors::json("rocksdb/sizes.json");
    let rows = file.list("rows");
    assert_eq!(rows.len(), 819);
    for row in rows {
        let policy = Policy::new(kind(row), row.real("bits_per_key")).unwrap();
        let (keys, space) = (row.count("num_entries"), row.count("calculate_space"));
        assert_eq!(policy.content_len(keys), space, "{row}");
        if let Some(bytes) = row.get("bytes") {
            let keys = policy.approximate_keys(bytes.as_u64().unwrap());
            assert_eq!(keys, row.count("approximate_num_entries"), "{row}");
        }
        let ours = policy.estimated_fpr(keys, space);
        match row.field("estimated_fp_rate_at_that_size").as_f64() {
            Some(theirs) => assert!((ours - theirs).abs() <= 1e-12 * theirs.abs(), "{ours} {row}"),
            None => assert!(keys == 0 && ours == 0.0, "{row}"),
        }
    }
    let file = vectors::json("rocksdb/raw_filters.json");
    for (record, policy) in built_cases(&file) {
        let keys = record.count("hash_entries");
        if keys > 0 && !flag(record, "optimize_filters_for_memory") {
            let ours = policy.estimated_fpr(keys, record.count("filter_len"));
            let theirs = record.real("estimated_fp_rate");
            assert!((ours - theirs).abs() <= 1e-12 * theirs, "{ours} {record}");
        }
    }
}

#[test]
fn the_numbers_that_rocksdb_publishes_for_its_own_formats_hold() {
    let file = vectors::json("rocksdb/published_schema_checks.json");
    let mut compared = 0;
    for record in file.list("cases") {
        let bits_per_key = record.real("bits_per_key");
        let mut check = |field: &str, policy: Policy| {
            let Some(published) = record.get(field) else { return };
            let mut builder = Builder::new(policy);
            for key in record.count("first_key") as u32..record.count("end_key") as u32 {
                builder.add(&key.to_le_bytes());
            }
            let built = builder.build().expect("a filter");
            assert_eq!(
                Some(u64::from(bloom32_rocksdb(&built.encode()))),
                published.as_u64(),
                "{field} {record}"
            );
            if let FullFilter::Ribbon(filter) = &built {
                assert_eq!(u64::from(filter.dialect().seed()), record.count("ribbon_seed"), "{record}");
                compared += 1;
            }
            compared += 1;
        };
        let legacy = Policy::new(FilterType::Legacy, bits_per_key).unwrap();
        for line_len in [64, 128, 256] {
            check(&format!("legacy_line{line_len}"), legacy.with_line_len(line_len).unwrap());
        }
        check("fastlocal", Policy::new(FilterType::FastLocal, bits_per_key).unwrap());
        check("ribbon", Policy::new(FilterType::Ribbon, bits_per_key).unwrap());
    }
    assert_eq!(compared, 79);
}

/// The usable sizes reported by glibc 2.36: the first request was mapped and fills its pages; the later ones
/// came from the heap, because freeing the first one raised the threshold.
#[test]
fn lengths_for_memory_follow_the_allocator_and_the_balance() {
    let file = vectors::json("rocksdb/optimize_for_memory_large.json");
    let balance = MemoryBalance::default();
    for (i, record) in file.list("sequence").iter().enumerate() {
        assert_eq!(balance.get(), record.int("balance_before"), "{record}");
        let policy = Policy::new(FilterType::FastLocal, record.real("bits_per_key")).unwrap();
        let keys = keys::of_rule(record.field("keys"));
        assert_eq!(policy.content_len(keys.len() as u64), record.count("target_len"));
        let usable = |request: u64| {
            if i == 0 {
                (request + 16).next_multiple_of(4096) - 16
            } else {
                (request + 8).next_multiple_of(16) - 8
            }
        };
        let mut builder = Builder::new(policy);
        keys.iter().for_each(|key| builder.add(key));
        let bytes = builder.build_for_memory(&balance, &usable).expect("a filter").encode();
        assert_eq!(bytes.len() as u64, record.count("filter_len"), "{record}");
        assert_eq!(u64::from(bytes[bytes.len() - 3]), record.count("num_probes"), "{record}");
        assert_eq!(sha256_hex(&bytes), record.text("filter_sha256"), "{record}");
        // With the recorded length, the bytes are the same.
        keys.iter().for_each(|key| builder.add(key));
        assert_eq!(builder.build_with_len(record.count("filter_len")).expect("a filter").encode(), bytes);
    }
}
