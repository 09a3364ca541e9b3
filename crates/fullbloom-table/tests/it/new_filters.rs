//! Filters rebuilt in tables that RocksDB and LevelDB wrote: after damage, at other sizes, and where there
//! was none.

use crate::common::{self, keys_of};
use fullbloom_table::filter::Question;
use fullbloom_table::metaindex::FilterLayout;
use fullbloom_table::{FilterSize, NewFilter, Role, Table, TableOptions};

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
