//! Sstables made by hand, of every version: found, inspected, verified.

use crate::support::{Table, VERSIONS, family, filter, index, keys, prefix, vint};
use fullbloom_dialects::Name;
use fullbloom_sstable::report::{Recorded, inspect};
use fullbloom_sstable::verify::{Options, verify};
use fullbloom_sstable::{FAMILIES, FilterProblem, Flag, Sstable, pool};
use std::fs;

/// What is wrong with an sstable, without the facts.
fn flags(sstable: &Sstable) -> Vec<&'static str> {
    let name = |flag: &Flag| match flag {
        Flag::Filter(FilterProblem::Missing { .. }) => "filter missing",
        Flag::Filter(FilterProblem::Empty) => "filter empty",
        Flag::Filter(FilterProblem::Unreadable(_)) => "filter unreadable",
        Flag::Filter(FilterProblem::Truncated { .. }) => "truncated",
        Flag::Filter(FilterProblem::Trailing { .. }) => "trailing bytes",
        Flag::Filter(_) => "malformed",
        Flag::Mislabelled { .. } => "mislabelled",
        Flag::KeysMissing { .. } => "keys missing",
        Flag::Keys(_) => "keys unreadable",
        Flag::IndexOutOfOrder { .. } => "index out of order",
        Flag::Statistics(_) => "statistics unreadable",
        Flag::Toc(_) => "toc unreadable",
        Flag::ComponentsMissing(_) => "components missing",
        Flag::IndexShort(_) => "index short",
        Flag::NotListed => "not listed",
        _ => "another",
    };
    inspect(sstable).flags.iter().map(name).collect()
}

const QUICK: Options = Options { absent_keys: 2000, examples: 3 };

#[test]
fn vints_are_written_as_they_are_read() {
    // The examples of the format: one byte up to 127, nine from 2^56 on.
    for (value, bytes) in [
        (0, &[0][..]),
        (127, &[0x7f]),
        (128, &[0x80, 0x80]),
        (16_383, &[0xbf, 0xff]),
        (16_384, &[0xc0, 0x40, 0]),
        (1 << 56, &[0xff, 1, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        assert_eq!(vint(value), bytes, "{value}");
    }
}

#[test]
fn a_sound_sstable_of_every_version_has_its_numbers_and_no_flags() {
    let keys = keys(300);
    for version in VERSIONS {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let sstable = table.one();
        assert_eq!((sstable.version.as_str(), sstable.dialect), (version, family(version)));
        let inspection = inspect(&sstable);
        assert_eq!(inspection.keys, Some(300), "{version}");
        assert!(inspection.flags.is_empty(), "{version}: {:?}", inspection.flags);
        let facts = inspection.filter.unwrap();
        assert_eq!((facts.bits, facts.probes, facts.memory_bytes), (3072, 5, 384), "{version}");
        assert_eq!(inspection.bits_per_key(), Some(10.24));
        assert!(facts.expected_fpr < 0.01 && (facts.estimated_keys.unwrap() - 300.0).abs() < 30.0);
        match inspection.recorded {
            Recorded::Found(found) => assert!(version >= "ka" && found.fpr == 0.01, "{version}"),
            Recorded::NotRead => assert!(version < "ka", "{version}"),
            other => panic!("{version}: {other:?}"),
        }
    }
}

#[test]
fn every_key_of_every_version_is_found_and_the_rebuilt_filter_has_the_same_bytes() {
    let keys = keys(300);
    for version in VERSIONS {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let result = verify(&table.one(), Options::default());
        assert!(result.is_well(), "{version}: {result:?}");
        assert_eq!((result.keys, result.missing, result.rebuilt_identical), (300, Some(0), Some(true)));
        // 100,000 probes at about 0.0095 (3072 bits for 300 keys): three sigma are 0.0009.
        let measured = result.measured_fpr().unwrap();
        assert!((0.0065..0.0125).contains(&measured), "{version}: {measured}");
    }
}

#[test]
fn versions_c_and_d_are_said_to_be_unreadable_and_never_guessed() {
    for version in ["c", "d"] {
        let table = Table::new();
        table.add(version, 1, &keys(10), 0.01);
        let inspection = inspect(&table.one());
        assert_eq!(inspection.keys, None);
        assert!(inspection.filter.is_some());
        assert_eq!(flags(&table.one()), ["keys unreadable"]);
        let result = verify(&table.one(), QUICK);
        assert!(result.keys_error.is_some() && !result.is_well());
        assert_eq!((result.missing, result.rebuilt_identical), (None, None));
    }
}

#[test]
fn the_content_of_each_family_under_the_letters_of_another_is_found_out() {
    let keys = keys(200);
    for version in ["b", "e", "hf", "lb", "me", "nb"] {
        for content in FAMILIES.into_iter().filter(|content| *content != family(version)) {
            let table = Table::new();
            table.add(version, 1, &keys, 0.01);
            table.put(version, 1, "Filter.db", &filter(content, 200, 0.01, &keys));
            let inspection = inspect(&table.one());
            let found = inspection.flags.iter().find_map(|flag| match flag {
                Flag::Mislabelled { says, reads_as, asked } => Some((*says, reads_as.clone(), *asked)),
                _ => None,
            });
            assert_eq!(found, Some((family(version), vec![content], 200)), "{version} holds {content}");
            let result = verify(&table.one(), QUICK);
            assert_eq!(result.reads_as, [content], "{version} holds {content}");
            assert!(!result.is_well() && result.missing != Some(0));
        }
    }
}

#[test]
fn a_filter_that_is_not_there_is_told_by_what_the_toc_says() {
    for (toc, name, well) in [
        (Some("Filter.db\nIndex.db\n"), "Filter.db is missing, though TOC.txt lists it", false),
        (Some("Index.db\n"), "no Filter.db: the sstable was written without one", true),
        (None, "Filter.db is missing", false),
    ] {
        let table = Table::new();
        table.add("nb", 1, &keys(20), 0.01);
        fs::remove_file(table.path("nb", 1, "Filter.db")).unwrap();
        fs::remove_file(table.path("nb", 1, "TOC.txt")).unwrap();
        if let Some(toc) = toc {
            table.put("nb", 1, "TOC.txt", toc.as_bytes());
        }
        let inspection = inspect(&table.one());
        assert_eq!((inspection.keys, inspection.filter, inspection.filter_bytes), (Some(20), None, None));
        assert!(inspection.flags[0].to_string().starts_with(name), "{}", inspection.flags[0]);
        let result = verify(&table.one(), QUICK);
        assert!(matches!(result.problem, Some(FilterProblem::Missing { .. })));
        assert_eq!(result.is_well(), well);
        assert_eq!((result.keys, result.missing, result.rebuilt_identical), (20, None, None));
    }
}

#[test]
fn every_cut_of_a_filter_is_reported_and_never_taken_for_another_family() {
    let keys = keys(20);
    for version in ["b", "e", "hb", "jb", "mc", "nb"] {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let whole = fs::read(table.path(version, 1, "Filter.db")).unwrap();
        for cut in 0..whole.len() {
            table.put(version, 1, "Filter.db", &whole[..cut]);
            let expected = if cut == 0 { "filter empty" } else { "truncated" };
            assert_eq!(flags(&table.one())[0], expected, "{version} cut at {cut}");
            assert_eq!(inspect(&table.one()).filter_bytes, Some(cut as u64));
            assert!(!verify(&table.one(), QUICK).is_well());
        }
    }
}

#[test]
fn bytes_after_the_filter_are_reported_and_the_filter_is_asked_all_the_same() {
    let keys = keys(20);
    for version in ["hb", "jb", "mc", "nb"] {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let mut bytes = fs::read(table.path(version, 1, "Filter.db")).unwrap();
        bytes.extend_from_slice(b"xyz");
        table.put(version, 1, "Filter.db", &bytes);
        let inspection = inspect(&table.one());
        let at = bytes.len() as u64 - 3;
        assert!(
            matches!(inspection.flags[..], [Flag::Filter(FilterProblem::Trailing { at: a, extra: 3 })] if a == at)
        );
        assert_eq!(inspection.filter.unwrap().probes, 5);
        let result = verify(&table.one(), QUICK);
        assert_eq!((result.missing, result.rebuilt_identical), (Some(0), Some(false)));
        assert!(!result.is_well());
    }
}

#[test]
fn a_head_that_cassandra_never_writes_is_reported() {
    let table = Table::new();
    table.add("nb", 1, &keys(20), 0.01);
    let whole = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    for (at, value) in [(3, 0), (3, 22), (0, 0x80), (4, 0x80)] {
        let mut bytes = whole.clone();
        bytes[at] = value;
        table.put("nb", 1, "Filter.db", &bytes);
        assert_eq!(flags(&table.one())[0], "malformed", "byte {at} = {value}");
    }
}

#[test]
fn each_bit_lost_is_noticed() {
    let keys = keys(40);
    let table = Table::new();
    table.add("nb", 1, &keys, 0.01);
    let whole = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    let mut lost = 0;
    for at in 8 * 8..whole.len() * 8 {
        let mut bytes = whole.clone();
        if bytes[at / 8] >> (at % 8) & 1 == 0 {
            continue;
        }
        bytes[at / 8] ^= 1 << (at % 8);
        table.put("nb", 1, "Filter.db", &bytes);
        let result = verify(&table.one(), Options { absent_keys: 0, examples: 100 });
        assert!(result.missing > Some(0), "bit {at}");
        assert_eq!(result.examples.len() as u64, result.missing.unwrap());
        assert!(result.examples.iter().all(|key| keys.contains(key)));
        assert_eq!((result.rebuilt_identical, result.measured_fpr()), (Some(false), None));
        assert!(result.reads_as.is_empty());
        lost += 1;
    }
    assert!(lost > 100);
    assert!(flags(&table.one()).contains(&"keys missing"));
}

#[test]
fn each_bit_too_many_is_noticed_too() {
    let table = Table::new();
    table.add("nb", 1, &keys(40), 0.01);
    let mut bytes = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    let clear = bytes[8..].iter().position(|byte| *byte != 0xff).unwrap() + 8;
    bytes[clear] = 0xff;
    table.put("nb", 1, "Filter.db", &bytes);
    let result = verify(&table.one(), QUICK);
    assert_eq!((result.missing, result.rebuilt_identical), (Some(0), Some(false)));
    assert!(!result.is_well());
}

#[test]
fn absent_keys_that_an_index_really_has_do_not_count_as_false_positives() {
    // The first of the keys the rate is measured with.
    let known = Options { absent_keys: 1, examples: 0 };
    let mut key = b"fullbloom absent ".to_vec();
    let number = 0xff51_afd7_ed55_8ccdu64;
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key.extend_from_slice(format!("{:016x}", number ^ number >> 33).as_bytes());
    let table = Table::new();
    table.add("nb", 1, &[key], 0.01);
    let result = verify(&table.one(), known);
    assert_eq!((result.missing, result.absent.unwrap().asked), (Some(0), 0));
    assert_eq!(result.measured_fpr(), None);
}

#[test]
fn an_index_that_ends_early_is_told_with_the_place_and_no_filter_is_called_well() {
    let keys = keys(8);
    for version in ["b", "jb", "nb"] {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let whole = index(version, &keys);
        // Cuts between entries cannot be seen: the format has no count. They show in the filter, which has
        // more keys.
        let starts: Vec<usize> = (0..=keys.len()).map(|n| index(version, &keys[..n]).len()).collect();
        for cut in 0..whole.len() {
            table.put(version, 1, "Index.db", &whole[..cut]);
            let (inspection, result) = (inspect(&table.one()), verify(&table.one(), QUICK));
            assert!(!result.is_well(), "{version} cut at {cut}");
            if starts.contains(&cut) {
                assert_eq!((inspection.keys.is_some(), result.rebuilt_identical), (true, Some(false)));
                continue;
            }
            assert_eq!(inspection.keys, None);
            let said = inspection.flags[0].to_string();
            assert!(said.contains("Index.db") && said.contains("at byte"), "{said}");
            assert_eq!((result.missing, result.rebuilt_identical), (Some(0), None));
            assert_eq!(result.keys, starts.iter().filter(|start| **start <= cut).count() as u64 - 1);
        }
    }
}

#[test]
fn no_changed_byte_of_any_component_stops_a_look() {
    let keys = keys(7);
    for version in ["b", "jb", "mc", "nb"] {
        for component in ["Index.db", "Filter.db", "Statistics.db", "TOC.txt"] {
            let table = Table::new();
            table.add(version, 1, &keys, 0.01);
            let whole = fs::read(table.path(version, 1, component)).unwrap();
            for at in 0..whole.len() {
                for flip in [1, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= flip;
                    table.put(version, 1, component, &bytes);
                    let sstable = table.one();
                    let keys = inspect(&sstable).keys;
                    let result = verify(&sstable, Options { absent_keys: 10, examples: 1 });
                    assert!(keys.is_none_or(|keys| keys == result.keys), "{version} {component} byte {at}");
                    assert!(component == "Index.db" || result.keys == 7);
                }
            }
        }
    }
}

#[test]
fn entries_out_of_order_are_remarked() {
    let keys = keys(10);
    let table = Table::new();
    table.add("nb", 1, &keys, 0.01);
    let mut bytes = index("nb", &keys[..5]);
    bytes.extend(index("nb", &keys[5..]));
    table.put("nb", 1, "Index.db", &bytes);
    let inspection = inspect(&table.one());
    assert!(matches!(inspection.flags[..], [Flag::IndexOutOfOrder { entries: 1 }]));
    assert_eq!(inspection.keys, Some(10));
}

#[test]
fn statistics_that_are_damaged_or_gone_leave_the_rest_readable() {
    let table = Table::new();
    table.add("nb", 1, &keys(10), 0.01);
    table.put("nb", 1, "Statistics.db", b"nonsense");
    assert_eq!(flags(&table.one()), ["statistics unreadable"]);
    fs::remove_file(table.path("nb", 1, "Statistics.db")).unwrap();
    let inspection = inspect(&table.one());
    assert!(matches!(inspection.recorded, Recorded::Missing));
    assert!(matches!(&inspection.flags[..], [Flag::ComponentLost("Statistics.db")]));
}

#[test]
fn a_filter_that_the_toc_does_not_list_is_remarked() {
    let table = Table::new();
    table.add("nb", 1, &keys(10), 0.01);
    table.put("nb", 1, "TOC.txt", b"Index.db\nStatistics.db\n");
    assert_eq!(flags(&table.one()), ["not listed"]);
    table.put("nb", 1, "TOC.txt", b"\xff\xfe");
    assert_eq!(flags(&table.one()), ["toc unreadable"]);
}

#[test]
fn a_damaged_sstable_among_many_never_stops_the_rest() {
    let table = Table::new();
    for generation in 1..=40 {
        table.add("nb", generation, &keys(100), 0.01);
    }
    table.put("nb", 7, "Filter.db", b"\0\0\0\x05\0\0");
    table.put("nb", 9, "Index.db", b"\xff\xff");
    fs::remove_file(table.path("nb", 11, "Filter.db")).unwrap();
    let sstables = table.sstables();
    let inspections = pool::in_order(&sstables, 4, inspect);
    let flagged = sstables.iter().zip(&inspections).filter(|(_, i)| !i.flags.is_empty());
    assert_eq!(flagged.map(|(s, _)| s.id.as_str()).collect::<Vec<_>>(), ["7", "9", "11"]);
}

#[cfg(unix)]
#[test]
fn pipes_and_directories_in_place_of_components_are_refused_without_waiting() {
    let table = Table::new();
    table.add("nb", 1, &keys(10), 0.01);
    let path = table.path("nb", 1, "Filter.db");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(flags(&table.one())[0], "filter unreadable");
        fs::remove_file(&path).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_eq!(flags(&table.one())[0], "filter unreadable");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    assert_eq!(flags(&table.one())[0], "filter missing");
}

#[test]
fn an_empty_sstable_is_no_reason_to_stumble() {
    let table = Table::new();
    table.add("nb", 1, &[], 0.01);
    let inspection = inspect(&table.one());
    assert_eq!((inspection.keys, inspection.bits_per_key()), (Some(0), None));
    assert!(inspection.flags.is_empty());
    assert!(verify(&table.one(), QUICK).is_well());
}

#[test]
fn names_of_all_ages_are_understood() {
    assert_eq!(family("a"), Name::Cassandra0);
    assert_eq!(prefix("hb", 3), "ks-table-hb-3-");
    let table = Table::new();
    table.add("e", 5, &keys(3), 0.01);
    let sstable = table.one();
    // Before 1.1 the directory was that of the keyspace.
    assert_eq!(sstable.table.as_deref(), Some("Standard1"));
    assert_eq!(sstable.keyspace.as_deref(), Some("table-1b255f4def2540a60000000000000005"));
}
