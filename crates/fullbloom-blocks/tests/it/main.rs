//! Filter blocks built and asked as an engine does, without a table.

mod builder;
mod readers;

use fullbloom_blocks::{FilterBlockBuilder, FilterOptions, Finished, Holds, Layout, Policy};
use fullbloom_dialects::Name;

/// The dialects of full filters and partitions.
pub(crate) const FULL: [Name; 4] = [Name::RocksDbLegacy, Name::RocksDb, Name::RocksDbRibbon, Name::Native];

/// The keys of a table with 400 users of 3 things each, and some keys outside the domain of the extractor:
/// in order, and every third in two versions.
pub(crate) fn keys() -> Vec<Vec<u8>> {
    let things = (0..400).flat_map(|user| (0..3).map(move |thing| format!("user{user:03}/{thing:02}")));
    let mut keys: Vec<String> = things.chain((0..30).map(|i| format!("a{i:02}"))).collect();
    keys.sort();
    let versions = keys.into_iter().enumerate().flat_map(|(i, key)| vec![key; 1 + usize::from(i % 3 == 0)]);
    versions.map(String::into_bytes).collect()
}

pub(crate) fn options(dialect: Name, holds: &Holds, layout: Layout) -> FilterOptions {
    let policy = Policy::new(dialect, 10.0).expect("ten bits per key");
    FilterOptions { holds: holds.clone(), layout, ..FilterOptions::new(policy) }
}

pub(crate) fn build(options: FilterOptions, add: impl Fn(&mut FilterBlockBuilder, &[u8])) -> (Finished, u64) {
    let mut builder = FilterBlockBuilder::new(options).expect("a dialect of this layout");
    keys().iter().for_each(|key| add(&mut builder, key));
    let entries = builder.entries();
    (builder.finish().expect("a filter"), entries)
}
