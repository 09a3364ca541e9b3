//! The engines' own files: tables, filter blocks, manifests, and the components of Cassandra's sstables.

use fullbloom_sstable::{bti, index, scylla, statistics, toc};
use fullbloom_table::filter::{Family, Holds, PartitionedBlock, PerBlock, Question};
use fullbloom_table::manifest::Manifest;
use fullbloom_table::{EnginePrefix, FilterSize, Limits, Table, TableOptions};

/// Compressed blocks may be this large in the fuzzed tables; a few are held at a time.
const BLOCK_LEN: u64 = 1 << 20;
pub const TABLE_ALLOWANCE: u64 = 12 * BLOCK_LEN;

/// A whole table, its checksums unchecked: everything the command does with one.
pub fn table(data: &[u8]) {
    let options = TableOptions {
        limits: Limits { block_len: BLOCK_LEN, ratio: 32768 },
        skip_checksums: true,
        prefix_extractor: Some(EnginePrefix::Capped(4).into()),
        ..TableOptions::default()
    };
    let Ok(table) = Table::new(data, options) else { return };
    let _ = (table.inspect(), table.range_deletions());
    if let Ok(filter) = table.filter() {
        for question in [Question::Get, Question::Seek, Question::SeekBack] {
            for key in [&b""[..], b"key", &[0xff; 40]] {
                let _ = filter.may_match(question, key);
            }
        }
    }
    let _ = table.verify(10);
    let _ = table.rebuild_filter();
    for size in [FilterSize::AsBefore, FilterSize::BitsPerKey(10.0)] {
        let Ok(filter) = table.make_filter(size) else { continue };
        let mut written = Vec::new();
        if table.write_with(&filter, &mut written).is_ok() {
            assert_eq!(
                written.len() == data.len(),
                filter.fits_in_place(),
                "in place, and only there, nothing moves"
            );
        }
    }
}

/// Filter blocks by themselves: the first byte says how they are read.
pub fn filter_blocks(data: &[u8]) {
    let [kind, block @ ..] = data else { return };
    let family = if kind & 1 == 0 { Family::LevelDb } else { Family::RocksDb };
    let filter = PerBlock::new(block, family);
    for place in [0, 2047, 1 << 20, u64::MAX] {
        for key in [&b""[..], b"key"] {
            let answer = filter.may_contain(place, key);
            if let Ok(strict) = PerBlock::decode(block, family, 0) {
                assert_eq!(strict.may_contain(place, key), answer);
            }
        }
    }
    let Ok(top) = PartitionedBlock::new(block, 0, Holds::default(), kind & 2 != 0, kind & 4 != 0) else {
        return;
    };
    for question in [Question::Get, Question::Seek, Question::SeekBack] {
        let _ = top.partition_for(question, b"key");
    }
    let mut partitions = top.partitions();
    while let Ok(true) = partitions.advance() {}
}

pub fn manifest(data: &[u8]) {
    let _ = Manifest::decode(data);
}

pub fn cassandra_index(data: &[u8]) {
    for layout in [index::Layout::Position, index::Layout::Promoted, index::Layout::Vint] {
        let mut keys = 0;
        for entry in index::Entries::new(data, layout) {
            if entry.is_err() {
                break;
            }
            keys += 1;
        }
        assert!(keys <= data.len());
    }
}

pub fn cassandra_statistics(data: &[u8]) {
    for layout in [statistics::Layout::Plain, statistics::Layout::Checked] {
        let _ = statistics::validation(data, layout);
        let _ = statistics::partitions(data, layout);
    }
}

pub fn scylla_db(data: &[u8]) {
    let Ok(read) = scylla::ScyllaDb::decode(data) else { return };
    for digest in [None, Some(7)] {
        let Ok(written) = scylla::with_filter_digest(data, digest) else { continue };
        let again = scylla::ScyllaDb::decode(&written).expect("what we wrote can be read");
        assert_eq!(again.filter_digest(), digest.filter(|_| read.digests.is_some()));
    }
}

pub fn cassandra_bti(data: &[u8]) {
    let _ = bti::key_in_rows(data, 0);
    let Ok(partitions) = bti::PartitionIndex::decode(data) else { return };
    for (found, partition) in partitions.partitions().enumerate() {
        if partition.is_err() || found > 10 * data.len() {
            break;
        }
    }
}

pub fn cassandra_toc(data: &[u8]) {
    let _ = toc::decode(data);
}
