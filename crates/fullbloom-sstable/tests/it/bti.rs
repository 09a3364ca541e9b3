//! Sstables of the BTI format, made by hand.

use crate::support::bti::{components, partitions};
use crate::support::{Table, keys};
use fullbloom_dialects::hash::murmur3_cassandra;
use fullbloom_sstable::bti::{KeyPlace, PartitionIndex};
use fullbloom_sstable::report::inspect;
use fullbloom_sstable::verify::{Options, verify};
use fullbloom_sstable::{ComponentError, Flag, Keys, Sstable};
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;

const QUICK: Options = Options { absent_keys: 100, examples: 3 };

fn read(sstable: &Sstable) -> Result<Vec<Vec<u8>>, ComponentError> {
    let mut found = Vec::new();
    Keys::open(sstable)?.visit(|batch| {
        found.extend(batch.iter().map(|key| key.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn sorted(mut keys: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    keys.sort();
    keys
}

#[test]
fn all_keys_are_read_in_order_from_rows_and_data_compressed_or_not() {
    for count in [0, 1, 2, 3, 64, 65, 1000, 20_000] {
        for compressed in [false, true] {
            let table = Table::new();
            table.add_bti(1, &keys(count), 0.01, compressed);
            assert_eq!(read(&table.one()).unwrap(), sorted(keys(count)), "{count} {compressed}");
            let inspection = inspect(&table.one());
            assert_eq!(inspection.keys, Some(count as u64));
            assert!(inspection.flags.is_empty(), "{:?}", inspection.flags);
            assert_eq!(inspection.recorded.fpr(), Some(0.01));
            let result = verify(&table.one(), QUICK);
            assert!(result.is_well(), "{result:?}");
            assert_eq!(result.keys, count as u64);
        }
    }
}

#[test]
fn keys_of_many_shapes_need_nodes_of_many_kinds() {
    // Long chains, wide ranges, sparse lists; keys up to the longest, which spans chunks.
    let mut shapes: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
    shapes.extend((0..=255u8).step_by(17).map(|b| vec![7, b, b]));
    shapes.extend((0..3000u16).map(|n| n.wrapping_mul(40_503).to_be_bytes().to_vec()));
    shapes.extend([vec![9; 65_535], [vec![9; 1000], vec![8]].concat(), b"".to_vec()]);
    let shapes: Vec<_> = shapes.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    for compressed in [false, true] {
        let table = Table::new();
        table.add_bti(1, &shapes, 0.01, compressed);
        assert_eq!(read(&table.one()).unwrap(), shapes);
    }
    let made = components(&shapes, false).partitions;
    let index = PartitionIndex::decode(&made).unwrap();
    let rows = index.partitions().filter(|p| matches!(p.as_ref().unwrap().key, KeyPlace::Rows(_))).count();
    assert_eq!(rows, shapes.len() / 3);
}

#[test]
fn large_positions_are_read_at_every_length() {
    let positions: Vec<i64> =
        (0..62).map(|shift| if shift % 2 == 0 { 1 << shift } else { !(1 << shift) }).collect();
    let keys: Vec<_> =
        positions.iter().enumerate().map(|(i, p)| (format!("{i:03}").into_bytes(), *p)).collect();
    let file = partitions(&keys);
    let index = PartitionIndex::decode(&file).unwrap();
    for (partition, position) in index.partitions().zip(positions) {
        let expected = match position {
            0.. => KeyPlace::Rows(position as u64),
            _ => KeyPlace::Data(!position as u64),
        };
        assert_eq!(partition.unwrap().key, expected);
    }
}

#[test]
fn a_changed_byte_is_noticed_unless_it_is_in_a_key_that_keeps_the_byte_of_its_hash() {
    let keys = keys(9);
    let mut passed = 0;
    for compressed in [false, true] {
        for component in ["Partitions.db", "Rows.db", "Data.db", "CompressionInfo.db"] {
            let table = Table::new();
            table.add_bti(1, &keys, 0.01, compressed);
            let path = table.path("da", 1, component);
            let Ok(whole) = fs::read(&path) else { continue };
            assert_eq!(read(&table.one()).unwrap(), sorted(keys.clone()));
            for at in 0..whole.len() {
                for flip in [1, 0x80, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= flip;
                    table.put("da", 1, component, &bytes);
                    inspect(&table.one());
                    let Ok(found) = read(&table.one()) else { continue };
                    // Rows and uncompressed data have no checksum here, and one changed key in 256 keeps the
                    // byte of its hash: only such a key may pass.
                    let plain = component == "Rows.db" || component == "Data.db" && !compressed;
                    let expected = sorted(keys.clone());
                    let wrong: Vec<_> =
                        found.iter().zip(&expected).filter(|(found, key)| found != key).collect();
                    let same_byte = |(found, key): &(&Vec<u8>, &Vec<u8>)| {
                        murmur3_cassandra(found)[1] as u8 == murmur3_cassandra(key)[1] as u8
                    };
                    let place = format!("{component}: byte {at} ^ {flip:#x}");
                    assert_eq!(found.len(), expected.len(), "{place}");
                    assert!(wrong.is_empty() || plain && wrong.len() == 1 && same_byte(&wrong[0]), "{place}");
                    passed += wrong.len();
                }
            }
        }
    }
    assert!(passed <= 5, "{passed} of about 650 changed bytes of keys");
}

#[test]
fn every_cut_of_a_component_is_an_error_or_harmless() {
    let keys = keys(9);
    for component in ["Partitions.db", "Rows.db", "Data.db", "CompressionInfo.db"] {
        let table = Table::new();
        table.add_bti(1, &keys, 0.01, true);
        let path = table.path("da", 1, component);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            table.put("da", 1, component, &whole[..cut]);
            if let Ok(found) = read(&table.one()) {
                assert_eq!(found, sorted(keys.clone()), "{component} cut at {cut}");
                assert!(
                    ["Rows.db", "Data.db"].contains(&component),
                    "only what follows the last key is not needed"
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let table = Table::new();
    table.add_bti(1, &keys(9), 0.01, true);
    let told = |table: &Table| read(&table.one()).unwrap_err().to_string();
    let info = fs::read(table.path("da", 1, "CompressionInfo.db")).unwrap();
    let mut other = info.clone();
    other[2..15].copy_from_slice(b"XYZCompressor");
    table.put("da", 1, "CompressionInfo.db", &other);
    assert_eq!(told(&table), "unknown compressor \"XYZCompressor\"");
    // Lost, though listed: the data must not be taken for uncompressed ones.
    fs::remove_file(table.path("da", 1, "CompressionInfo.db")).unwrap();
    assert_eq!(told(&table), "CompressionInfo.db is missing");
    table.put("da", 1, "CompressionInfo.db", &info);
    for component in ["Rows.db", "Data.db", "Partitions.db"] {
        let path = table.path("da", 1, component);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(told(&table), format!("{component} is missing"));
        let inspection = inspect(&table.one());
        let is_said = |flag: &Flag| matches!(flag, Flag::Keys(_) | Flag::ComponentLost("Partitions.db"));
        assert!(inspection.flags.iter().any(is_said), "{component}");
        let result = verify(&table.one(), QUICK);
        assert!(result.keys_error.is_some() && !result.is_well());
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn a_pointer_to_the_same_partition_twice_is_found_out() {
    // Ten leaves under one node; the fifth pointer is made to lead where the fourth does.
    let keys: Vec<_> = (0..10u8).map(|i| vec![b'a' + i]).collect();
    let table = Table::new();
    table.add_bti(1, &keys, 0.01, false);
    let path = table.path("da", 1, "Partitions.db");
    let whole = fs::read(&path).unwrap();
    let node = (0..whole.len()).find(|at| whole[*at..].starts_with(&[0xa0, b'a', 9]));
    let at = node.expect("a node for a range of ten bytes") + 3;
    let pointer = |bytes: &[u8], i: usize| {
        let word = u16::from_be_bytes([bytes[at + i * 3 / 2], bytes[at + i * 3 / 2 + 1]]);
        if i.is_multiple_of(2) { word >> 4 } else { word & 0xfff }
    };
    let fourth = pointer(&whole, 3);
    let mut bytes = whole.clone();
    bytes[at + 6] = (fourth >> 4) as u8;
    bytes[at + 7] = (fourth << 4) as u8 | bytes[at + 7] & 0xf;
    assert_eq!(pointer(&bytes, 4), fourth);
    fs::write(&path, &bytes).unwrap();
    let told = read(&table.one()).unwrap_err().to_string();
    assert!(told.contains("position of the partition"), "{told}");
}
