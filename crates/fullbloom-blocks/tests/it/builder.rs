//! The three verbs: `add`, `add_with_prefix`, `finish`.

use crate::{FULL, build, keys, options};
use fullbloom_blocks::{
    BlockError, EnginePrefix, FilterBlockBuilder, Holds, Layout, Partitioning, PrefixExtractor, Rules,
};
use fullbloom_dialects::{Name, SizeError};
use std::collections::BTreeSet;

const EXTRACTOR: EnginePrefix = EnginePrefix::Fixed(8);

#[test]
fn a_prefix_from_the_caller_gives_the_bytes_of_one_from_the_extractor() {
    let layouts =
        [Layout::Full, Layout::Partitioned(Partitioning { target: 256, ..Partitioning::default() })];
    let full = FULL.iter().flat_map(|dialect| layouts.iter().map(move |layout| (*dialect, *layout)));
    for (dialect, layout) in full.chain([(Name::RocksDbBlock, Layout::PerBlock)]) {
        for rules in [Rules::Since9_6, Rules::Of9_5, Rules::UpTo9_4] {
            for whole_keys in [true, false] {
                let holds = Holds::with_prefixes(whole_keys, EXTRACTOR);
                let mut options = options(dialect, &holds, layout);
                options.rules = rules;
                let extracted = build(options.clone(), |builder, key| builder.add(key).unwrap());
                let given = build(options, |builder, key| {
                    builder.add_with_prefix(key, EXTRACTOR.prefix(key)).unwrap();
                });
                assert_eq!(extracted, given, "{dialect} {layout:?} {rules:?} {whole_keys}");
            }
        }
    }
}

#[test]
fn versions_of_a_key_and_prefixes_of_neighbours_are_stored_once() {
    let keys = keys();
    let prefixes: BTreeSet<&[u8]> = keys.iter().filter_map(|key| EXTRACTOR.prefix(key)).collect();
    let distinct = keys.iter().collect::<BTreeSet<_>>().len() + prefixes.len();
    assert!(keys.len() > 1600 && distinct == 1230 + 400);
    for dialect in FULL {
        let holds = Holds::with_prefixes(true, EXTRACTOR);
        let (_, entries) =
            build(options(dialect, &holds, Layout::Full), |builder, key| builder.add(key).unwrap());
        assert_eq!(entries, distinct as u64, "{dialect}");
    }
}

#[test]
fn leveldbs_filters_refuse_prefixes() {
    let options = options(Name::LevelDb, &Holds::default(), Layout::PerBlock);
    let mut builder = FilterBlockBuilder::new(options).unwrap();
    builder.start_block(0).unwrap();
    let refused = builder.add_with_prefix(b"user/1", Some(b"user/")).unwrap_err();
    assert!(matches!(refused, BlockError::Size(SizeError::Unsupported { .. })), "{refused}");
    builder.add(b"user/1").unwrap();
    assert!(builder.finish().unwrap().into_block().is_some());
}
