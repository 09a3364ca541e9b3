//! Readers that own their blocks, and partitions that come from the engine's cache.

use crate::{FULL, build, keys, options};
use fullbloom_blocks::internal_key::FOOTER_LEN;
use fullbloom_blocks::{
    BlockError, EnginePrefix, Family, FilterBlockBuilder, Finished, FullBlock, Handle, HashedKey, Holds,
    Layout, PartitionSource, PartitionedBlock, Partitioning, PerBlock, PrefixExtractor, Question,
};
use fullbloom_dialects::Name;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

const EXTRACTOR: EnginePrefix = EnginePrefix::Fixed(8);
const QUESTIONS: [Question; 3] = [Question::Get, Question::Seek, Question::SeekBack];

fn family(dialect: Name) -> Family {
    if dialect == Name::Native { Family::Native } else { Family::RocksDb }
}

#[test]
fn a_block_that_owns_its_bytes_answers_for_keys_prefixes_and_hashes() {
    for dialect in FULL {
        let holds = Holds::with_prefixes(true, EXTRACTOR);
        let (finished, _) =
            build(options(dialect, &holds, Layout::Full), |builder, key| builder.add(key).unwrap());
        let block: Arc<[u8]> = finished.into_block().expect("a full filter").into();
        let filter = FullBlock::new(Arc::clone(&block), family(dialect), holds);
        drop(block);
        for key in keys() {
            assert!(QUESTIONS.iter().all(|question| filter.may_match(*question, &key)), "{dialect}");
            assert!(EXTRACTOR.prefix(&key).is_none_or(|prefix| filter.may_contain(prefix)), "{dialect}");
        }
        let absent = (0..2000).map(|i| format!("user{i:03}!absent"));
        let passed = absent.filter(|key| {
            let hashed = HashedKey::new(key.as_bytes());
            let answer = filter.may_contain(key.as_bytes());
            assert_eq!(answer, filter.may_contain_hashed(&hashed), "{dialect} {key}");
            answer
        });
        assert!(passed.count() < 100, "{dialect}");
    }
}

type Parsed = Arc<FullBlock<Box<[u8]>>>;

/// The partitions of a filter in a file, each parsed once.
struct Cache {
    file: Vec<u8>,
    family: Family,
    holds: Holds,
    parsed: RefCell<BTreeMap<u64, Parsed>>,
    fetched: Cell<u64>,
}

impl PartitionSource for Cache {
    type Bytes = Box<[u8]>;
    type Partition = Parsed;
    type Error = BlockError;

    fn partition(&self, handle: Handle) -> Result<Self::Partition, BlockError> {
        self.fetched.set(self.fetched.get() + 1);
        let read = || {
            let bytes = &self.file[handle.offset as usize..][..handle.size as usize];
            Arc::new(FullBlock::new(bytes.into(), self.family, self.holds.clone()))
        };
        Ok(Arc::clone(self.parsed.borrow_mut().entry(handle.offset).or_insert_with(read)))
    }
}

/// A filter in partitions. `with_index`: the engine cuts them with its index, by the greatest keys allowed.
fn partitioned(dialect: Name, holds: &Holds, with_index: bool) -> (PartitionedBlock<Vec<u8>>, Cache) {
    let target = if dialect == Name::Native { 384 } else { 128 };
    let layout = Layout::Partitioned(Partitioning { target, with_index, ..Partitioning::default() });
    let mut builder = FilterBlockBuilder::new(options(dialect, holds, layout)).unwrap();
    let mut last = Vec::new();
    for key in keys() {
        if builder.wants_cut() && key != last {
            // Between the last key and this one, and after the place where a seek to the prefix begins.
            let between = EXTRACTOR.prefix(&key).filter(|prefix| *prefix > &last[..]);
            builder.cut_before_next(&[between.unwrap_or(&last), &[0; FOOTER_LEN]].concat());
        }
        builder.add(&key).unwrap();
        last = key;
    }
    let finished = builder.finish().unwrap();
    let Finished::Partitions(partitions) = finished else { panic!("a filter in partitions") };
    let (mut file, mut handles) = (Vec::new(), Vec::new());
    for partition in &partitions.partitions {
        handles.push(Handle { offset: file.len() as u64, size: partition.content.len() as u64 });
        file.extend_from_slice(&partition.content);
    }
    assert!(handles.len() > 3, "{dialect}: {} partitions", handles.len());
    let top = partitions.top_level(&handles, 1, true, false);
    let index = PartitionedBlock::new(top, 0, holds.clone(), true, false).expect("a sound index");
    let (parsed, fetched) = (RefCell::default(), Cell::new(0));
    (index, Cache { file, family: family(dialect), holds: holds.clone(), parsed, fetched })
}

#[test]
fn partitions_from_a_cache_lose_no_key_and_no_prefix_at_their_boundaries() {
    for dialect in FULL {
        for (whole_keys, with_index) in [(true, true), (true, false), (false, true), (false, false)] {
            let holds = Holds::with_prefixes(whole_keys, EXTRACTOR);
            let (index, cache) = partitioned(dialect, &holds, with_index);
            for key in keys() {
                // From before the first key with this prefix, and back from after the last.
                let with = |end: &[u8]| EXTRACTOR.prefix(&key).map(|prefix| [prefix, end].concat());
                let seeks = [(Question::Seek, with(b"")), (Question::SeekBack, with(b"\xff"))];
                let gets = QUESTIONS.map(|question| (question, Some(key.clone())));
                for (question, key) in seeks.into_iter().chain(gets) {
                    let Some(key) = key else { continue };
                    let hashed = HashedKey::new(&key);
                    assert!(
                        index.may_match(question, &key, &cache).unwrap(),
                        "{dialect} {question:?} {key:?}"
                    );
                    assert!(index.may_match_hashed(question, &hashed, &cache).unwrap(), "{dialect}");
                }
            }
            let passed = (0..1000).filter(|i| {
                let key = format!("user{:03}!{i}", i % 400); // no key has this prefix
                index.may_match(Question::Seek, key.as_bytes(), &cache).unwrap()
            });
            assert!(passed.count() < 100, "{dialect}");
        }
    }
}

#[test]
fn a_lookup_that_prefixes_cannot_answer_fetches_no_partition() {
    let holds = Holds::with_prefixes(false, EXTRACTOR);
    let (index, cache) = partitioned(Name::RocksDb, &holds, false);
    for question in QUESTIONS {
        assert!(index.may_match(question, b"a17", &cache).unwrap(), "shorter than a prefix");
    }
    assert_eq!(cache.fetched.get(), 0);
}

#[test]
fn a_partition_without_keys_denies_keys_and_is_not_fetched() {
    let partitions = fullbloom_blocks::Partitions {
        partitions: vec![fullbloom_blocks::Partition { key: vec![0xff; 9], content: Vec::new(), entries: 0 }],
    };
    let top = partitions.top_level(&[Handle::default()], 1, true, false);
    let holds = Holds::with_prefixes(false, EXTRACTOR);
    let index = PartitionedBlock::new(top, 0, holds.clone(), true, false).unwrap();
    let (parsed, fetched) = (RefCell::default(), Cell::new(0));
    let cache = Cache { file: Vec::new(), family: Family::RocksDb, holds, parsed, fetched };
    assert!(!index.may_match(Question::Get, b"user001/01", &cache).unwrap());
    assert!(index.may_match(Question::Get, b"short", &cache).unwrap(), "it has no prefix");
    assert_eq!(cache.fetched.get(), 0);
}

#[test]
fn a_per_block_filter_that_owns_its_bytes_answers_as_a_borrowed_one() {
    for (dialect, family) in [(Name::LevelDb, Family::LevelDb), (Name::RocksDbBlock, Family::RocksDb)] {
        let mut builder =
            FilterBlockBuilder::new(options(dialect, &Holds::default(), Layout::PerBlock)).unwrap();
        for (i, key) in keys().iter().enumerate() {
            builder.start_block(i as u64 / 100 * 4096).unwrap(); // a hundred keys for each block of 4 KiB
            builder.add(key).unwrap();
        }
        let block = builder.finish().unwrap().into_block().expect("a filter block");
        let owned = PerBlock::<Arc<[u8]>>::new(block.as_slice().into(), family);
        let borrowed = PerBlock::decode(&block, family, 0).unwrap();
        for (i, key) in keys().iter().enumerate() {
            let hashed = HashedKey::new(key);
            for offset in (0..14).map(|i| i * 4096) {
                let answer = owned.may_contain(offset, key);
                assert_eq!(answer, borrowed.may_contain(offset, key));
                assert_eq!(answer, owned.may_contain_hashed(offset, &hashed));
                assert!(answer || offset != i as u64 / 100 * 4096, "{dialect}: key {i} is lost");
            }
        }
    }
}
