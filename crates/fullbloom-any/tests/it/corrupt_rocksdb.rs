//! Damaged and forged full filters: the compatible reader answers as the model of RocksDB's reader does,
//! strict decoding refuses, and neither panics.

use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::Format;
use fullbloom_dialects::hash::{bloom32_rocksdb, xxph3_rocksdb};
use fullbloom_dialects::rocksdb::{Builder, FilterType, FullFilter, Policy};
use fullbloom_dialects::rocksdb::{MATCHES_EVERYTHING, sniff};
use fullbloom_dialects::{LevelDb, Name, RocksDb, RocksDbLegacy, RocksDbRibbon};
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::rocksdb::may_match;

/// Keys of several lengths, including the empty key.
fn probes() -> Vec<Vec<u8>> {
    let mut stream = SplitMix::new(3);
    (0..24).map(|i| stream.bytes(i * i / 8)).collect()
}

/// The answers of the compatible reader, compared with the model's. If strict decoding accepts the bytes for
/// a dialect, the filter must give the same answers.
fn check(content: &[u8], probes: &[Vec<u8>]) {
    let filter = FullFilter::read(content);
    let answers: Vec<bool> = probes.iter().map(|key| filter.may_contain(key)).collect();
    let model = probes.iter().map(|key| may_match(content, bloom32_rocksdb(key), xxph3_rocksdb(key)));
    assert!(model.eq(answers.iter().copied()), "{content:x?}");
    strict::<RocksDbLegacy>(content, probes, &answers);
    strict::<RocksDb>(content, probes, &answers);
    strict::<RocksDbRibbon>(content, probes, &answers);
}

fn strict<D: Format>(content: &[u8], probes: &[Vec<u8>], answers: &[bool]) {
    match Filter::<D>::view(content) {
        Ok(view) => {
            assert!(probes.iter().map(|key| view.may_contain(key)).eq(answers.iter().copied()));
            assert_eq!(view.encode(), content, "strict decoding dropped bytes");
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

fn filled_with(byte: u8, data_len: usize, trailer: [u8; 5]) -> Vec<u8> {
    let mut content = vec![byte; data_len];
    content.extend(trailer);
    content
}

#[test]
fn every_marker_byte_means_what_it_means_to_rocksdb_over_both_fills() {
    let probes = probes();
    for marker in 0..=255u8 {
        for rest in [[0, 6, 0, 0], [1, 0, 0, 0], [7, 2, 0, 0]] {
            let [a, b, c, d] = rest;
            for fill in [0x00, 0xff] {
                for data_len in [64, 128] {
                    let content = filled_with(fill, data_len, [marker, a, b, c, d]);
                    check(&content, &probes);
                    let reserved = marker == 0 || (0x80..=0xfd).contains(&marker);
                    let filter = FullFilter::read(&content);
                    assert_eq!(
                        matches!(filter, FullFilter::Everything),
                        reserved || filter.dialect().is_none()
                    );
                    if reserved {
                        assert_eq!(sniff(&content), None);
                    }
                }
            }
        }
    }
}

#[test]
fn every_value_of_every_trailer_byte_is_answered_as_the_model_answers() {
    let probes = probes();
    let mut stream = SplitMix::new(11);
    let trailers = [[6, 3, 0, 0, 0], [0xff, 0, 6, 0, 0], [0xfe, 9, 2, 0, 0], [0xfe, 9, 24, 0, 0]];
    for trailer in trailers {
        let data = stream.bytes(192);
        for i in 0..5 {
            for value in 0..=255u8 {
                let mut content = data.clone();
                let mut trailer = trailer;
                trailer[i] = value;
                content.extend(trailer);
                check(&content, &probes);
            }
        }
    }
}

#[test]
fn every_length_up_to_200_is_answered_as_the_model_answers() {
    let probes = probes();
    let mut stream = SplitMix::new(12);
    for len in 0..=200usize {
        for marker in [0, 1, 6, 30, 31, 127, 128, 0xfd, 0xfe, 0xff] {
            for count in [0, 1, 2, 3, 0x0001_0001, 0x8000_0001] {
                let mut content = stream.bytes(len);
                if let Some(trailer) = content.last_chunk_mut::<5>() {
                    let [a, b, c, d] = u32::to_le_bytes(count);
                    *trailer = match marker {
                        0xff => [0xff, 0, (count & 0xff) as u8, 0, 0],
                        0xfe => [0xfe, d, a, b, c],
                        _ => [marker, a, b, c, d],
                    };
                }
                check(&content, &probes);
            }
        }
    }
}

/// The expected result of strict decoding for `data_len` bytes and a count of lines or blocks.
fn legacy_is_whole(data_len: usize, lines: u32) -> bool {
    lines != 0 && data_len != 0 && (0..32).any(|log2| u64::from(lines) << log2 == data_len as u64)
}

#[test]
fn every_pair_of_length_and_line_count_gets_the_models_verdict() {
    let probes = probes();
    let data = SplitMix::new(13).bytes(1024);
    for data_len in 0..=1024usize {
        for lines in 0..=64u32 {
            let mut content = data[..data_len].to_vec();
            content.push(5);
            content.extend(lines.to_le_bytes());
            let verdict = Filter::<RocksDbLegacy>::view(&content).is_ok();
            assert_eq!(verdict, legacy_is_whole(data_len, lines), "{data_len} bytes, {lines} lines");
            if data_len % 37 == 0 || verdict {
                check(&content, &probes);
            }
        }
    }
}

#[test]
fn every_pair_of_length_and_block_count_gets_the_models_verdict() {
    let probes = probes();
    let data = SplitMix::new(14).bytes(1024);
    for data_len in 0..=1024usize {
        for count in 0..=64u8 {
            // FastLocalBloom stores no count: the same number is used as its probes.
            let mut content = data[..data_len].to_vec();
            content.extend([0xff, 0, count, 0, 0]);
            let whole = data_len != 0 && data_len % 64 == 0 && (1..=30).contains(&count);
            assert_eq!(Filter::<RocksDb>::view(&content).is_ok(), whole, "{data_len} bytes, {count} probes");
            if data_len % 37 == 0 || whole {
                check(&content, &probes);
            }
            // Ribbon: whole segments, two blocks or more, and at most a third more than 32 columns.
            let mut content = data[..data_len].to_vec();
            content.extend([0xfe, 1, count, 0, 0]);
            let most = usize::from(count) * 512 * 4 / 3;
            let whole = data_len != 0 && data_len % 16 == 0 && count >= 2 && data_len <= most;
            assert_eq!(
                Filter::<RocksDbRibbon>::view(&content).is_ok(),
                whole,
                "{data_len} bytes, {count} blocks"
            );
            if data_len % 37 == 0 || whole {
                check(&content, &probes);
            }
        }
    }
}

#[test]
fn a_ribbon_filter_may_be_a_third_longer_than_its_columns_and_no_more() {
    let content = |data_len| filled_with(0x5a, data_len, [0xfe, 1, 3, 0, 0]);
    let most = 3 * 512 / 3 * 4;
    assert!(Filter::<RocksDbRibbon>::view(&content(most)).is_ok());
    let refused = Filter::<RocksDbRibbon>::view(&content(most + 16)).unwrap_err();
    assert_eq!(
        refused,
        DecodeError::Mismatch { field: "blocks", at: most as u64 + 18, got: 3, expected: 5 },
        "five blocks would be the fewest"
    );
}

/// RocksDB reads past the end in both cases: less than a block of data, and a number of lines whose product
/// with 64 wraps to the length.
#[test]
fn bytes_that_send_rocksdb_out_of_bounds_match_every_key() {
    for data_len in 1..64 {
        let content = filled_with(0, data_len, [0xff, 0, 6, 0, 0]);
        assert!(matches!(FullFilter::read(&content), FullFilter::Everything));
        assert!(Filter::<RocksDb>::view(&content).is_err());
    }
    for lines in [0x8000_0001u32, 0x4000_0001, 0x0400_0001] {
        let [a, b, c, d] = lines.to_le_bytes();
        let content = filled_with(0, 64, [6, a, b, c, d]);
        assert_eq!(lines.wrapping_mul(64), 64);
        assert!(matches!(FullFilter::read(&content), FullFilter::Everything));
        assert!(Filter::<RocksDbLegacy>::view(&content).is_err());
    }
}

#[test]
fn stubs_match_nothing_to_the_reader_and_are_refused_by_strict_decoding() {
    for len in 0..=5 {
        for byte in [0x00, 0x06, 0xff, 0xfe] {
            let stub = vec![byte; len];
            assert!(matches!(FullFilter::read(&stub), FullFilter::Nothing));
            let truncated = DecodeError::Truncated { field: "trailer", at: 0, need: 6, have: len as u64 };
            assert_eq!(Filter::<RocksDb>::view(&stub).unwrap_err(), truncated);
            assert_eq!(Filter::<RocksDbLegacy>::view(&stub).unwrap_err(), truncated);
            assert_eq!(Filter::<RocksDbRibbon>::view(&stub).unwrap_err(), truncated);
            assert_eq!(sniff(&stub), None);
        }
    }
    assert!(matches!(FullFilter::read(&MATCHES_EVERYTHING), FullFilter::Everything));
    assert!(Filter::<RocksDbLegacy>::view(&MATCHES_EVERYTHING).is_err());
}

#[test]
fn refusals_name_the_field_and_its_offset() {
    let refused = |trailer| Filter::<RocksDb>::view(&filled_with(0, 64, trailer)).unwrap_err().to_string();
    assert_eq!(
        refused([6, 0, 6, 0, 0]),
        "marker at byte 64: 6 is not allowed (expected 255, FastLocalBloom)"
    );
    assert_eq!(refused([0xff, 1, 6, 0, 0]), "sub_implementation at byte 65: 1 is not allowed (expected 0)");
    assert_eq!(refused([0xff, 0, 31, 0, 0]), "probes at byte 66: 31 is not allowed (expected 1..=30)");
    assert_eq!(
        refused([0xff, 0, 0x26, 0, 0]),
        "block_size at byte 66: 1 is not allowed (expected 0, blocks of 64 bytes)"
    );
    assert_eq!(refused([0xff, 0, 6, 0, 9]), "seed at byte 68: 9 is not allowed (expected 0)");
}

#[test]
fn every_prefix_of_a_filter_is_refused_or_is_no_filter_with_other_answers() {
    let probes = probes();
    for kind in [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon] {
        let mut builder = Builder::new(Policy::new(kind, 10.0).unwrap());
        (0..1200u32).for_each(|i| builder.add(&i.to_be_bytes()));
        let content = builder.finish().unwrap();
        for len in 0..content.len() {
            let cut = &content[..len];
            check(cut, &probes);
            // The bytes that become the trailer are bits; none of these happens to be a valid trailer.
            assert!(
                Filter::<RocksDb>::view(cut).is_err() && Filter::<RocksDbRibbon>::view(cut).is_err(),
                "{kind:?} {len}"
            );
            assert_eq!(sniff(cut), None, "{kind:?} {len}");
        }
    }
}

#[test]
fn what_rocksdb_reads_but_never_writes_is_doubted() {
    let doubt =
        |trailer| Filter::<RocksDbLegacy>::view(&filled_with(0, 192, trailer)).unwrap().dialect().doubt();
    assert_eq!(doubt([30, 3, 0, 0, 0]), None);
    let probes = doubt([31, 3, 0, 0, 0]).unwrap().cause.to_string();
    assert_eq!(probes, "probes at byte 192: 31 is not allowed (expected 1..=30, as RocksDB writes)");
    let lines = |lines: u8| doubt([6, lines, 0, 0, 0]).map(|doubt| doubt.cause.to_string());
    assert!(lines(6).unwrap().contains("lines at byte 193: 6 is not allowed (expected an odd number"));
    // 3 lines of 64 bytes; 192 is not a multiple of other odd numbers with a power of two as quotient.
    assert_eq!(lines(3), None);
    let short =
        Filter::<RocksDbLegacy>::view(&filled_with(0, 32, [6, 1, 0, 0, 0])).unwrap().dialect().doubt();
    assert!(short.unwrap().cause.to_string().contains("lines of 64, 128 or 256 bytes"));
}

#[test]
fn sniffing_distinguishes_the_three_kinds_and_per_block_filters() {
    let mut stream = SplitMix::new(15);
    for keys in [1u32, 10, 100, 1000, 5000] {
        for (kind, name) in
            [(FilterType::Legacy, Name::RocksDbLegacy), (FilterType::FastLocal, Name::RocksDb)]
        {
            let mut builder = Builder::new(Policy::new(kind, 12.0).unwrap());
            (0..keys).for_each(|_| builder.add(&stream.bytes(12)));
            let content = builder.finish().unwrap();
            assert_eq!(sniff(&content), Some(name));
            // As a per-block filter it would have zero probes, which matches every key.
            assert!(Filter::<LevelDb>::view(&content).is_err());
        }
        let mut filter = Filter::<LevelDb>::with_bits_per_key(keys.into(), 12.0).unwrap();
        (0..keys).for_each(|_| {
            filter.insert(stream.bytes(12));
        });
        assert_eq!(sniff(&filter.encode()), None);
    }
}
