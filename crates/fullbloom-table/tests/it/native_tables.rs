//! Tables and filter blocks with filters of our own.

use fullbloom_dialects::Name;
use fullbloom_dialects::rocksdb::reservation::BUCKET;
use fullbloom_table::filter::build::{FilterBlockBuilder, FilterOptions, Finished, Layout, Partitioning};
use fullbloom_table::filter::{Family, FullBlock, Holds, Policy, Question};
use fullbloom_table::writer::{IndexLayout, TableWriter, WriterOptions};
use fullbloom_table::{BlockCache, EnginePrefix, Rebuilt, Table, TableOptions};

fn key(i: u32) -> Vec<u8> {
    format!("user{:04}/{:03}", i / 10, i % 10).into_bytes()
}

fn table(layout: Layout, holds: Holds, keys: u32) -> Table<Vec<u8>> {
    let policy = Policy::new(Name::Native, 12.0).unwrap();
    let filter = Some(FilterOptions { layout, holds, detect_corruption: true, ..FilterOptions::new(policy) });
    let index = IndexLayout::TwoLevel { target: 1000 };
    let options = WriterOptions { filter, index, ..WriterOptions::default() };
    let mut writer = TableWriter::new(Vec::new(), options).unwrap();
    for i in 0..keys {
        writer.put(&key(i), b"value").unwrap();
    }
    Table::new(writer.finish().unwrap().into_inner(), TableOptions::default()).unwrap()
}

#[test]
fn full_and_partitioned_native_filters_find_every_key_and_keep_their_rate() {
    let partitions =
        |with_index| Layout::Partitioned(Partitioning { target: 2000, deviation: 10, with_index });
    let both = |whole_keys| Holds::with_prefixes(whole_keys, EnginePrefix::Fixed(8));
    for layout in [Layout::Full, partitions(false), partitions(true)] {
        for holds in [Holds::default(), both(true), both(false)] {
            let table = table(layout, holds.clone(), 5000);
            let found = table.verify(20_000).unwrap();
            assert!(found.is_sound(), "{layout:?} {holds:?}: {found:?}");
            assert!(matches!(found.rebuilt, Rebuilt::Identical { .. }), "{layout:?} {holds:?}: {found:?}");
            let inspected = table.inspect().unwrap();
            assert_eq!(inspected.dialect, Some(Name::Native));
            assert_eq!(inspected.policy.as_deref(), Some("fullbloom.native"));
            if let (Some(measured), true) = (found.measured_fpr(), holds.whole_keys) {
                assert!(
                    measured < 1.5 * inspected.expected_fpr + 0.001,
                    "{measured} for {}",
                    inspected.expected_fpr
                );
            }
            let filter = table.filter().unwrap();
            let passed =
                |i: &u32| filter.may_match(Question::Seek, format!("zz{i:06}/000").as_bytes()).unwrap();
            let passed = (0..100).filter(passed).count();
            assert!(
                if holds.prefixes.is_some() { passed < 10 } else { passed == 100 },
                "{passed} absent prefixes"
            );
        }
    }
}

#[test]
fn a_damaged_native_block_lets_every_key_pass() {
    let options = FilterOptions::new(Policy::new(Name::Native, 10.0).unwrap());
    let mut builder = FilterBlockBuilder::new(options).unwrap();
    for i in 0..100 {
        builder.add(&key(i)).unwrap();
    }
    let Finished::Block(mut block) = builder.finish().unwrap() else { panic!("one block") };
    let ask = |block: &[u8], key: &[u8]| {
        FullBlock::new(block, Family::Native, Holds::default()).may_match(Question::Get, key)
    };
    assert!(ask(&block, &key(7)) && !ask(&block, b"absent"));
    block[20] ^= 1;
    assert!(ask(&block, b"absent"));
    assert!(ask(&block[..10], b"absent"));
}

#[test]
fn builders_charge_the_cache_while_they_collect() {
    for dialect in [Name::RocksDb, Name::Native] {
        let cache = BlockCache::new(64 << 20);
        let policy = Policy::new(dialect, 10.0).unwrap();
        let options = FilterOptions { reservation: Some(cache.clone()), ..FilterOptions::new(policy) };
        let mut builder = FilterBlockBuilder::new(options).unwrap();
        for i in 0..200_000 {
            builder.add(&key(i)).unwrap();
        }
        assert!(cache.reserved() >= 5 * BUCKET, "{dialect}: {} bytes for 1.6 MB of hashes", cache.reserved());
        builder.finish().unwrap();
        assert_eq!(cache.reserved(), 0, "{dialect}");
    }
}
