//! Rebuilt filters: in the right family, at the right size, in the right place.

use crate::support::{Table, VERSIONS, family, filter, index, keys};
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_files::replace::Output;
use fullbloom_sstable::rebuild::{Before, Rate, first_clash, propose};
use fullbloom_sstable::report::inspect;
use fullbloom_sstable::verify::{Options, verify};
use fullbloom_sstable::{Evidence, FilterProblem, Flag, RebuildError};
use std::fs;

const IN_PLACE: Output = Output::InPlace { backup: true };

#[test]
fn at_the_same_rate_every_version_gets_its_own_bytes_back() {
    let keys = keys(120);
    for version in VERSIONS {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        let sstable = table.one();
        let original = fs::read(sstable.path("Filter.db")).unwrap();
        let rate = if version >= "ka" { Rate::Recorded } else { Rate::Fpr(0.01) };
        for rate in [rate, Rate::Geometry] {
            let proposal = propose(&sstable, rate).unwrap();
            assert_eq!((proposal.keys, proposal.after.dialect), (120, family(version)));
            let rebuilt = proposal.build().unwrap();
            assert_eq!(rebuilt.encode().unwrap(), original, "{version}");
            assert_eq!(rebuilt.filter().dialect(), family(version));
        }
    }
}

#[test]
fn another_rate_has_another_size_and_all_the_keys() {
    let keys = keys(1000);
    let table = Table::new();
    table.add("nb", 1, &keys, 0.01);
    let sstable = table.one();
    let proposal = propose(&sstable, Rate::Fpr(0.1)).unwrap();
    let before = proposal.before.unwrap();
    assert_eq!((before.geometry.bit_len, before.file_bytes), (10_048, 1264));
    assert_eq!((proposal.after.geometry.bit_len, proposal.after.encoded_len), (5056, 640));
    assert_eq!(proposal.fpr, Some(0.1));
    let written = proposal.build().unwrap().save(&IN_PLACE).unwrap();
    assert_eq!(fs::metadata(written.path.unwrap()).unwrap().len(), 640);
    let result = verify(&table.one(), Options::default());
    assert!(result.is_well());
    assert!((0.07..0.1).contains(&result.measured_fpr().unwrap()));
    let kept = fs::read(&written.backups[0]).unwrap();
    assert_eq!(kept, filter(Name::Cassandra, 1000, 0.01, &keys));
    assert_eq!(table.sstables().len(), 1, "the backup is no component");
    let by_bits = propose(&sstable, Rate::BitsPerKey(15.0)).unwrap();
    assert_eq!(
        (by_bits.after.geometry.bit_len, by_bits.after.geometry.probes, by_bits.fpr),
        (15_040, 10, None)
    );
}

#[test]
fn damage_of_every_kind_is_repaired() {
    let keys = keys(200);
    let original = filter(Name::Cassandra3, 200, 0.01, &keys);
    let mut flipped = original.clone();
    flipped[20] = 0;
    let mut longer = original.clone();
    longer.push(0);
    let swapped = filter(Name::Cassandra, 200, 0.01, &keys);
    for bytes in [&flipped[..], &original[..50], &longer, &swapped, b"", b"nonsense that is no filter"] {
        let table = Table::new();
        table.add("me", 1, &keys, 0.01);
        table.put("me", 1, "Filter.db", bytes);
        assert!(!verify(&table.one(), Options::default()).is_well());
        let sstable = table.one();
        propose(&sstable, Rate::Recorded).unwrap().build().unwrap().save(&IN_PLACE).unwrap();
        assert_eq!(fs::read(table.path("me", 1, "Filter.db")).unwrap(), original);
        assert!(verify(&table.one(), Options::default()).is_well());
        assert!(inspect(&table.one()).flags.is_empty());
    }
    let table = Table::new();
    table.add("me", 1, &keys, 0.01);
    fs::remove_file(table.path("me", 1, "Filter.db")).unwrap();
    let sstable = table.one();
    let proposal = propose(&sstable, Rate::Recorded).unwrap();
    assert!(matches!(proposal.problem, Some(FilterProblem::Missing { listed: Some(true) })));
    assert_eq!(proposal.before, None::<Before>);
    assert_eq!(proposal.build().unwrap().save(&IN_PLACE).unwrap().backups, [] as [std::path::PathBuf; 0]);
    assert!(verify(&table.one(), Options::default()).is_well());
}

#[test]
fn a_filter_of_the_trie_format_is_made_from_its_partitions() {
    for compressed in [false, true] {
        let table = Table::new();
        table.add_bti(1, &keys(500), 0.01, compressed);
        let original = fs::read(table.path("da", 1, "Filter.db")).unwrap();
        table.put("da", 1, "Filter.db", b"");
        let sstable = table.one();
        let rebuilt = propose(&sstable, Rate::Recorded).unwrap().build().unwrap();
        assert_eq!(rebuilt.encode().unwrap(), original);
    }
}

#[test]
fn an_index_that_cannot_be_read_to_the_end_makes_no_filter() {
    let keys = keys(50);
    let table = Table::new();
    table.add("nb", 1, &keys, 0.01);
    let whole = index("nb", &keys);
    table.put("nb", 1, "Index.db", &whole[..whole.len() - 1]);
    let error = propose(&table.one(), Rate::Recorded).unwrap_err();
    assert!(matches!(error, RebuildError::Keys(_)), "{error}");
    fs::remove_file(table.path("nb", 1, "Index.db")).unwrap();
    let error = propose(&table.one(), Rate::Recorded).unwrap_err();
    assert_eq!(error.to_string(), "the keys cannot be read: Index.db is missing");
    let table = Table::new();
    table.add("d", 1, &keys, 0.01);
    assert!(matches!(propose(&table.one(), Rate::Fpr(0.01)), Err(RebuildError::Keys(_))));
}

#[test]
fn rates_that_make_no_filter_are_refused() {
    let table = Table::new();
    table.add("nb", 1, &keys(10), 0.01);
    let sstable = table.one();
    assert!(matches!(propose(&sstable, Rate::Fpr(1.0)), Err(RebuildError::NoFilter)));
    for fpr in [0.0, -1.0, 2.0, f64::NAN, 1e-9] {
        assert!(matches!(propose(&sstable, Rate::Fpr(fpr)), Err(RebuildError::Size(_))), "{fpr}");
    }
    assert!(matches!(propose(&sstable, Rate::BitsPerKey(9.5)), Err(RebuildError::Size(_))));
    table.put("nb", 1, "Statistics.db", b"?");
    assert!(matches!(propose(&sstable, Rate::Recorded), Err(RebuildError::NoRate { .. })));
    table.put("nb", 1, "Filter.db", b"?");
    assert!(matches!(propose(&sstable, Rate::Geometry), Err(RebuildError::NoRate { .. })));
    let old = Table::new();
    old.add("jb", 1, &keys(10), 0.01);
    let error = propose(&old.one(), Rate::Recorded).unwrap_err();
    assert!(error.to_string().contains("before version ka"), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let table = Table::new();
    table.add("nb", 1, &keys(10), 0.01);
    let sstable = table.one();
    let rebuilt = propose(&sstable, Rate::Fpr(0.1)).unwrap().build().unwrap();
    let none = table.root.path().join("none");
    assert!(rebuilt.save(&Output::Into(none)).is_err());
    let before = fs::read(sstable.path("Filter.db")).unwrap();
    assert!(AnyFilter::decode(&before, &Name::Cassandra.into()).is_ok());
    assert_eq!(before, filter(Name::Cassandra, 10, 0.01, &keys(10)));
}

#[test]
fn two_sstables_of_one_name_are_not_written_to_one_directory() {
    let table = Table::new();
    table.add("nb", 1, &keys(3), 0.01);
    table.add("nb", 2, &keys(3), 0.01);
    let into = Output::Into(table.root.path().to_owned());
    assert!(first_clash(&table.sstables(), &into).is_none());
    let other = table.root.path().join("ks/other");
    fs::create_dir(&other).unwrap();
    fs::copy(table.path("nb", 2, "Index.db"), other.join("nb-2-big-Index.db")).unwrap();
    let sstables = table.sstables();
    assert_eq!(first_clash(&sstables, &into).unwrap().id, "2");
    assert!(first_clash(&sstables, &IN_PLACE).is_none());
}

#[test]
fn what_is_asked_of_the_backup_is_that_cassandra_does_not_see_it() {
    let table = Table::new();
    table.add("ka", 1, &keys(3), 0.01);
    let sstable = table.one();
    let rebuilt = propose(&sstable, Rate::Fpr(0.1)).unwrap().build().unwrap();
    let backup = &rebuilt.save(&IN_PLACE).unwrap().backups[0];
    let name = backup.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, "ks+table+ka+1+Filter.db.backup");
    let error = fullbloom_dialects::cassandra::descriptor::Descriptor::parse(backup).unwrap_err();
    assert!(!error.is_unknown_version());
}

#[test]
fn an_index_that_was_cut_between_two_entries_is_noticed_by_every_component_that_knows_better() {
    let all = keys(300);
    let summary = |last: &[u8]| {
        let mut out = [0, 0, 0, 128, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 1].to_vec();
        for key in [&all[0][..], last] {
            out.extend_from_slice(&(key.len() as u32).to_be_bytes());
            out.extend_from_slice(key);
        }
        out
    };
    for cut in [0, 150, 299] {
        let table = Table::new();
        table.add("nb", 1, &all, 0.01);
        let short = |table: &Table| {
            let sstable = table.one();
            let proposed = propose(&sstable, Rate::Fpr(0.01)).unwrap().index_short.map(|short| short.by);
            let verified = verify(&table.one(), Options::default());
            assert_eq!(verified.index_short.map(|short| short.by), proposed);
            assert!(proposed.is_none() || !verified.is_well());
            let flagged = inspect(&table.one()).flags.into_iter().find_map(|flag| match flag {
                Flag::IndexShort(short) => Some(short.by),
                _ => None,
            });
            assert_eq!(flagged, proposed);
            proposed
        };
        assert_eq!(short(&table), None);
        table.put("nb", 1, "Index.db", &index("nb", &all[..cut]));
        assert_eq!(short(&table), Some(Evidence::Statistics { partitions: 300 }), "{cut}");
        fs::remove_file(table.path("nb", 1, "Statistics.db")).unwrap();
        table.put("nb", 1, "Summary.db", &summary(&all[299]));
        assert_eq!(short(&table), Some(Evidence::Summary), "{cut}");
        fs::remove_file(table.path("nb", 1, "Summary.db")).unwrap();
        // Without both, the filter's set bits are all there is: one missing key of 300 does not show in them.
        let by_filter = matches!(short(&table), Some(Evidence::Filter { estimated }) if (280.0..320.0).contains(&estimated));
        assert_eq!(by_filter, cut < 200, "{cut}");
    }
}

#[test]
fn an_old_version_without_statistics_is_doubted_by_its_filter_and_sound_ones_are_not() {
    for version in VERSIONS {
        let table = Table::new();
        table.add(version, 1, &keys(300), 0.01);
        let sstable = table.one();
        assert_eq!(propose(&sstable, Rate::Fpr(0.01)).unwrap().index_short, None, "{version}");
        table.put(version, 1, "Index.db", b"");
        let sstable = table.one();
        assert!(propose(&sstable, Rate::Fpr(0.01)).unwrap().index_short.is_some(), "{version}");
    }
}

#[test]
fn a_filter_that_is_right_already_is_left_alone_and_the_toc_lists_a_new_one() {
    let table = Table::new();
    table.add("nb", 1, &keys(100), 0.01);
    let sstable = table.one();
    let rebuilt = propose(&sstable, Rate::Recorded).unwrap().build().unwrap();
    let written = rebuilt.save(&IN_PLACE).unwrap();
    assert_eq!((written.path, written.backups.len(), written.others.len()), (None, 0, 0));
    assert_eq!(fs::read_dir(&table.directory).unwrap().count(), 4);
    for toc in ["Data.db\nIndex.db\nTOC.txt\n", "TOC.txt\nIndex.db\n"] {
        table.put("nb", 1, "TOC.txt", toc.as_bytes());
        fs::remove_file(table.path("nb", 1, "Filter.db")).unwrap();
        let sstable = table.one();
        let rebuilt = propose(&sstable, Rate::Recorded).unwrap().build().unwrap();
        let written = rebuilt.save(&IN_PLACE).unwrap();
        assert_eq!(written.others, [table.path("nb", 1, "TOC.txt")]);
        assert_eq!(table.one().lists("Filter.db"), Some(true));
        assert!(written.path.is_some());
    }
    let toc = fs::read_to_string(table.path("nb", 1, "TOC.txt")).unwrap();
    assert_eq!(toc, "TOC.txt\nIndex.db\nFilter.db\n");
}

#[cfg(unix)]
#[test]
fn a_filter_created_anew_has_the_permissions_of_the_index() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let table = Table::new();
    table.add("nb", 1, &keys(100), 0.01);
    fs::remove_file(table.path("nb", 1, "Filter.db")).unwrap();
    let index = table.path("nb", 1, "Index.db");
    fs::set_permissions(&index, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root may give files away.
    let _ = std::os::unix::fs::chown(&index, Some(1234), Some(1235));
    let sstable = table.one();
    propose(&sstable, Rate::Recorded).unwrap().build().unwrap().save(&IN_PLACE).unwrap();
    let facts = |path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid(), meta.mode())).unwrap();
    assert_eq!(facts(table.path("nb", 1, "Filter.db")), facts(index));
}
