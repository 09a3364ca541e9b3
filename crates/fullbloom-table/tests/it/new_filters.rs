//! Filters rebuilt in tables that RocksDB and LevelDB wrote: after damage, at other sizes, and where there
//! was none.

use crate::common::{self, keys_of};
use fullbloom_dialects::Name;
use fullbloom_table::filter::build::{FilterBlockBuilder, FilterOptions, Finished, Layout, Partitioning};
use fullbloom_table::filter::{Family, FullBlock, HashedKey, Holds, Policy, Question};
use fullbloom_table::metaindex::FilterLayout;
use fullbloom_table::writer::{IndexLayout, TableWriter, WriterOptions};
use fullbloom_table::{EnginePrefix, FilterSize, NewFilter, PrefixExtractor, Role, Table, TableOptions};
use std::sync::Arc;

fn written(table: &Table<&[u8]>, filter: &NewFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    let len = table.write_with(filter, &mut bytes).unwrap();
    assert_eq!(len, bytes.len() as u64);
    bytes
}

fn open<'a>(bytes: &'a [u8], what: &str) -> Table<&'a [u8]> {
    Table::new(bytes, TableOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"))
}

/// Every place of the filter's own bytes, partitions or the one block.
fn places(table: &Table<&[u8]>) -> Vec<std::ops::Range<usize>> {
    let mut places = Vec::new();
    let mut add = |offset: u64, size: u64| places.push(offset as usize..(offset + size) as usize);
    let filter = table.filter().unwrap();
    match table.metaindex().filter.as_ref() {
        Some(entry) if entry.layout != FilterLayout::Partitioned => {
            add(entry.handle.offset, entry.handle.size);
        }
        _ => filter
            .for_each_partition(|_, handle, _| {
                add(handle.offset, handle.size);
                Ok(())
            })
            .unwrap(),
    }
    places
}

#[test]
fn a_sound_filter_made_as_before_leaves_the_file_as_it_is() {
    for golden in common::all() {
        let table = golden.table();
        if table.metaindex().filter.is_none() {
            let refusal = table.make_filter(FilterSize::AsBefore).unwrap_err().to_string();
            assert!(refusal.contains("has no filter"), "{}: {refusal}", golden.name);
            continue;
        }
        let filter = table.make_filter(FilterSize::AsBefore).unwrap();
        assert!(filter.fits_in_place(), "{}", golden.name);
        assert!(written(&table, &filter) == golden.bytes, "{}", golden.name);
    }
}

#[test]
fn a_damaged_filter_comes_back_byte_for_byte() {
    let mut mended = 0;
    for golden in common::all() {
        let table = golden.table();
        let places = places(&table);
        for place in &places {
            // The end of a filter says what it is; without it the bits per key cannot be told.
            let mut damaged = golden.bytes.clone();
            let inside = place.start..place.start.max(place.end.saturating_sub(5));
            if inside.len() < 8 || table.metaindex().filter.as_ref().unwrap().layout == FilterLayout::PerBlock
            {
                continue;
            }
            damaged[inside.start + inside.len() / 2] ^= 0x5a;
            damaged[inside.start] ^= 0xff;
            let damaged_table = open(&damaged, &golden.name);
            // Without checksums nothing shows.
            let seen = damaged_table.verify(0).is_err();
            assert!(seen || damaged_table.footer().checksum.as_str() == "none", "{}", golden.name);
            let filter = damaged_table.make_filter(FilterSize::AsBefore).unwrap();
            assert!(written(&damaged_table, &filter) == golden.bytes, "{}", golden.name);
            mended += 1;
            if mended % 7 != 0 {
                break; // one partition of most tables
            }
        }
    }
    assert!(mended > 20, "{mended}");
}

#[test]
fn a_filter_of_another_size_holds_every_key_and_the_rest_of_the_table_is_the_same() {
    for golden in common::all() {
        let table = golden.table();
        let keys = keys_of(&table);
        for size in [FilterSize::BitsPerKey(16.0), FilterSize::BitsPerKey(4.0), FilterSize::Fpr(0.02)] {
            let filter = table.make_filter(size).unwrap_or_else(|e| panic!("{}, {size:?}: {e}", golden.name));
            let bytes = written(&table, &filter);
            let new = open(&bytes, &golden.name);
            let what = || format!("{}, {size:?}", golden.name);
            let found = new.verify(20_000).unwrap_or_else(|e| panic!("{}: {e}", what()));
            assert_eq!((found.keys, found.missing), (keys.len() as u64, 0), "{}", what());
            assert_eq!(keys_of(&new), keys, "{}", what());
            for key in keys.iter().step_by(97) {
                for question in [Question::Get, Question::Seek, Question::SeekBack] {
                    assert!(new.filter().unwrap().may_match(question, key).unwrap(), "{}: {key:?}", what());
                }
            }
            // Data blocks are where they were.
            let data = places(&table).first().map_or(0, |place| place.start);
            assert!(bytes[..data] == golden.bytes[..data], "{}", what());
            let inspection = new.inspect().unwrap();
            let layout = table.metaindex().filter.as_ref().map(|entry| entry.layout);
            if layout.is_some() {
                assert_eq!(inspection.layout, layout, "{}", what());
            }
            // In place nothing but the filter changes.
            if let Some(entries) = new.properties().filter_entries().filter(|_| !filter.fits_in_place()) {
                assert_eq!(entries, filter.entries(), "{}", what());
            }
            if keys.len() > 1000 && size == FilterSize::Fpr(0.02) && inspection.prefix_extractor.is_none() {
                assert!(inspection.expected_fpr < 0.026, "{}: {}", what(), inspection.expected_fpr);
            }
            if !new.properties().is_empty() && !filter.fits_in_place() {
                let len = filter.byte_len();
                let noted = new.properties().number("rocksdb.filter.size").unwrap();
                assert!(noted >= len && noted < len + 1000 + len / 4, "{}: {noted} for {len}", what());
            }
            // And again as it is now: nothing changes.
            let again = new.make_filter(FilterSize::AsBefore).unwrap();
            assert!(again.fits_in_place() && written(&new, &again) == bytes, "{}", what());
        }
    }
}

#[test]
fn every_block_of_the_new_table_has_its_checksum() {
    for golden in common::all() {
        let table = golden.table();
        let bytes = written(&table, &table.make_filter(FilterSize::BitsPerKey(14.0)).unwrap());
        let new = open(&bytes, &golden.name);
        // A changed byte of the new filter is seen.
        let place = places(&new).remove(0);
        let mut damaged = bytes.clone();
        damaged[place.start] ^= 1;
        let seen = open(&damaged, &golden.name).filter().and_then(|filter| {
            filter.block()?;
            filter.for_each_partition(|_, _, _| Ok(()))
        });
        assert!(seen.is_err() || new.footer().checksum.as_str() == "none", "{}", golden.name);
        let metaindex = new.footer().metaindex;
        assert!(new.read_block(metaindex, Role::Metaindex).is_ok());
    }
}

#[test]
fn damage_in_the_data_is_no_filter_made_of_what_is_left() {
    let golden = common::named("r783_full_fv5_zlib.sst");
    let mut bytes = golden.bytes.clone();
    bytes[100] ^= 1;
    let refusal = open(&bytes, "damaged").make_filter(FilterSize::BitsPerKey(10.0)).unwrap_err();
    assert!(refusal.to_string().contains("checksum"), "{refusal}");
}

/// Keys belong to partitions by their order: in another one, a key would be looked for where it was not put.
#[test]
fn partitions_of_keys_in_an_unknown_order_are_not_made_anew() {
    let mut bytes = common::named("r783_part_fv2.sst").bytes;
    let name = b"leveldb.BytewiseComparator";
    let at = bytes.windows(name.len()).position(|part| part == name).unwrap();
    bytes[at + name.len() - 1] = b'X';
    let options = TableOptions { skip_checksums: true, ..TableOptions::default() };
    let table = Table::new(&bytes[..], options).unwrap();
    let refusal = table.make_filter(FilterSize::BitsPerKey(10.0)).unwrap_err();
    assert!(refusal.to_string().contains("order of the table's keys"), "{refusal}");
}

/// RocksDB 11.2 walks in total order from a key outside the extractor's domain, so that every such seek must
/// reach the table. Earlier releases did not ask the filter either.
#[test]
fn keys_outside_the_domain_of_the_prefix_extractor_are_never_denied() {
    let partitions = Layout::Partitioned(Partitioning { target: 80, deviation: 10, with_index: false });
    for (layout, whole_keys) in
        [(Layout::Full, true), (Layout::Full, false), (partitions, true), (partitions, false)]
    {
        let holds = Holds::with_prefixes(whole_keys, EnginePrefix::Fixed(6));
        let policy = Policy::new(Name::RocksDb, 10.0).unwrap();
        let filter = Some(FilterOptions { layout, holds, ..FilterOptions::new(policy) });
        let index = match layout {
            Layout::Full => WriterOptions::default().index,
            _ => IndexLayout::TwoLevel { target: 60 },
        };
        let options = WriterOptions { filter, index, block_size: 200, ..WriterOptions::default() };
        let mut writer = TableWriter::new(Vec::new(), options).unwrap();
        // Every other key is too short to have a prefix.
        let mut keys: Vec<String> = (0..200).map(|i| format!("{:04}", i * 3)).collect();
        keys.extend((0..200).map(|i| format!("{:04}:{i}", i * 3)));
        keys.sort();
        keys.iter().for_each(|key| writer.put(key.as_bytes(), b"v").unwrap());
        let table = Table::new(writer.finish().unwrap().into_inner(), TableOptions::default()).unwrap();
        let filter = table.filter().unwrap();
        let may = |question, key: &str| filter.may_match(question, key.as_bytes()).unwrap();
        for question in [Question::Get, Question::Seek, Question::SeekBack] {
            assert!(keys.iter().all(|key| may(question, key)), "{layout:?} {whole_keys} {question:?}");
        }
        // Absent keys outside the domain, inside the range of the table.
        let absent: Vec<String> = (0..199).map(|i| format!("{:04}", i * 3 + 1)).collect();
        for question in [Question::Seek, Question::SeekBack] {
            assert!(absent.iter().all(|key| may(question, key)), "{layout:?} {whole_keys} {question:?}");
        }
        let passed = absent.iter().filter(|key| may(Question::Get, key)).count();
        assert!(if whole_keys { passed < 20 } else { passed == absent.len() }, "{layout:?} {passed}");
        // Absent prefixes are denied.
        let denied = (0..199).filter(|i| !may(Question::Seek, &format!("{:04}:{i}", i * 3 + 1))).count();
        assert!(denied > 150, "{layout:?} {whole_keys} {denied}");
        assert!(table.verify(100).unwrap().is_sound(), "{layout:?} {whole_keys}");
    }
}

/// Up to the first slash; keys without one have no prefix.
#[derive(Debug)]
struct UpToSlash;

impl PrefixExtractor for UpToSlash {
    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        key.iter().position(|byte| *byte == b'/').map(|end| &key[..=end])
    }

    fn name(&self) -> String {
        "test.UpToSlash".to_owned()
    }
}

#[test]
fn an_engine_can_bring_its_own_prefixes() {
    let partitions = Layout::Partitioned(Partitioning { target: 80, deviation: 10, with_index: false });
    for (dialect, layout) in
        [(Name::RocksDb, Layout::Full), (Name::Native, Layout::Full), (Name::RocksDb, partitions)]
    {
        let policy = Policy::new(dialect, 12.0).unwrap();
        let holds = Holds::with_prefixes(true, UpToSlash);
        let filter = Some(FilterOptions { layout, holds, ..FilterOptions::new(policy) });
        let index = match layout {
            Layout::Full => WriterOptions::default().index,
            _ => IndexLayout::TwoLevel { target: 60 },
        };
        let options = WriterOptions { filter, index, block_size: 200, ..WriterOptions::default() };
        let mut writer = TableWriter::new(Vec::new(), options).unwrap();
        for user in 100..200 {
            for item in 0..5 {
                writer.put(format!("u{user}/{item}").as_bytes(), b"v").unwrap();
            }
        }
        let bytes = writer.finish().unwrap().into_inner();
        // The name is in the table; without the extractor, the filter cannot answer for prefixes.
        let may_seek = |options, user: u32| {
            let table = Table::new(&bytes[..], options).unwrap();
            table.filter().unwrap().may_match(Question::Seek, format!("u{user}/9").as_bytes()).unwrap()
        };
        let given = || {
            let prefix_extractor: Option<Arc<dyn PrefixExtractor>> = Some(Arc::new(UpToSlash));
            TableOptions { prefix_extractor, ..TableOptions::default() }
        };
        assert!((100..200).all(|user| may_seek(given(), user)), "{dialect} {layout:?}");
        let passed = (300..400).filter(|user| may_seek(given(), *user)).count();
        assert!(passed < 10, "{dialect} {layout:?}: {passed} absent prefixes");
        assert!((300..400).all(|user| may_seek(TableOptions::default(), user)), "{dialect} {layout:?}");
        assert!(Table::new(&bytes[..], given()).unwrap().verify(100).unwrap().is_sound());
    }
}

#[test]
fn hashed_keys_get_the_answers_of_keys_in_filters_of_every_family() {
    let keys: Vec<String> = (0..2_000).map(|i| format!("{:03}/{i}", i / 10)).collect();
    let extractor = || Holds::with_prefixes(false, UpToSlash);
    let mut blocks = Vec::new();
    for (dialect, family) in [
        (Name::RocksDb, Family::RocksDb),
        (Name::RocksDbLegacy, Family::RocksDb),
        (Name::RocksDbRibbon, Family::RocksDb),
        (Name::Native, Family::Native),
    ] {
        for holds in [Holds::default(), extractor()] {
            let policy = Policy::new(dialect, 10.0).unwrap();
            let options = FilterOptions { holds: holds.clone(), ..FilterOptions::new(policy) };
            let mut builder = FilterBlockBuilder::new(options).unwrap();
            keys.iter().step_by(2).for_each(|key| builder.add(key.as_bytes()).unwrap());
            let Finished::Block(block) = builder.finish().unwrap() else { panic!("one block") };
            blocks.push(FullBlock::new(Arc::<[u8]>::from(block), family, holds));
        }
    }
    blocks.push(FullBlock::new(Arc::from([7; 40]), Family::RocksDb, Holds::default()));
    blocks.push(FullBlock::new(Arc::from([]), Family::RocksDb, Holds::default()));
    blocks.push(FullBlock::new(Arc::from([1, 2, 3]), Family::Native, Holds::default()));
    for question in [Question::Get, Question::Seek] {
        let mut passed = 0;
        let absent: Vec<String> = (0..2_000).map(|i| format!("{:03}x/{i}", i / 10)).collect();
        for key in keys.iter().chain(&absent) {
            let hashed = HashedKey::new(key.as_bytes());
            for block in &blocks {
                let answer = block.may_match(question, key.as_bytes());
                assert_eq!(block.may_match_hashed(question, &hashed), answer, "{block:?} {key}");
                passed += usize::from(answer);
            }
        }
        assert!(passed > keys.len() && passed < 2 * keys.len() * blocks.len(), "{question:?}: {passed}");
    }
}
