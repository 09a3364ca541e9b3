//! What an engine does with rebuilt filters, and how to get the same filters through the engine itself.

use crate::rebuild::{RebuildOptions, Size};
use crate::text;
use fullbloom_dialects::Name;
use fullbloom_files::replace::Output;

/// What a database does with a table that is written into its place: the length is the same.
pub(crate) const IN_PLACE: [&str; 2] = [
    "RocksDB and LevelDB read a filter when they open its table: the database was closed, and takes the new filter \
     when it is opened",
    "the table keeps its length, which the MANIFEST records; a database with file checksums (file_checksum_gen_factory) \
     records those too, and reports a difference",
];

/// What the engines do with a table that was written into another directory.
pub(crate) const ELSEWHERE: [&str; 2] = [
    "a database records the length of each of its tables: a table of another length must not be copied over the old one",
    "RocksDB: ingest it with IngestExternalFile, after its keys were removed from the database. If a database wrote \
     the table (not SstFileWriter), set allow_db_generated_files; all sequence numbers must be 0. LevelDB cannot ingest \
     files",
];

/// What to know before anything is written: what the engine accepts, and how it makes such filters itself.
pub(crate) fn notes(tables: usize, options: &RebuildOptions) -> Vec<String> {
    if tables == 0 || !matches!(options.output, Output::Into(_)) {
        return Vec::new();
    }
    let mut notes: Vec<String> = ELSEWHERE.map(str::to_owned).to_vec();
    notes.extend(through_rocksdb(options.size));
    notes
}

/// How Cassandra makes filters of this size itself; `None` unless a rate was given.
pub(crate) fn through_cassandra(size: Size) -> Option<String> {
    let Size::Fpr(fpr) = size else { return None };
    Some(format!(
        "through the engine instead: ALTER TABLE … WITH bloom_filter_fp_chance = {fpr}, then nodetool upgradesstables -a"
    ))
}

/// The option string for filters of this size.
fn through_rocksdb(size: Size) -> Option<String> {
    let bits = match size {
        Size::BitsPerKey(bits) => bits,
        Size::Fpr(fpr) => {
            let target = fullbloom::sizing::Target::Fpr(fpr);
            let request = fullbloom::sizing::Request { expected_keys: 1_000_000, target };
            let plan = fullbloom_any::plan(Name::RocksDb, &request).ok()?;
            plan.geometry.bit_len as f64 / 1e6
        }
        Size::Recorded | Size::AsBefore => return None,
    };
    let (tenths, whole) = (text::decimal(bits, 1), bits.round().max(1.0));
    Some(format!(
        "through the engine instead: RocksDB with block_based_table_factory={{filter_policy=bloomfilter:{tenths}:false}}, \
         LevelDB with NewBloomFilterPolicy({whole}); then compact the database (CompactRange)"
    ))
}
