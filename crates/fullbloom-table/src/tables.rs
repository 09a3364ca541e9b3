//! The read path of a log-structured store: memory first, then tables, newest first, each behind its filter.
//!
//! ```text
//!   get(key) ─► memory ─► immutable, newest first ─► level 0, newest first ─► level 1 ─► level 2 …
//!                                                      │ each table whose range covers the key:
//!                                                      ▼
//!                                      filter ─ no ─► next table                (useful)
//!                                        └─ maybe ─► index ─► data block ─ found (true positive)
//!                                                                      └─ not there (false positive)
//! ```
//!
//! For authors of engines, in two cases. A read-only reader of a LevelDB or RocksDB database adds the
//! database's tables by level ([`Tables::add_to_level`]) and looks keys up. An engine under development uses
//! [`Tables`] as its read path until it has its own, and afterwards as the reference that its own is compared
//! with: same answers, same [`ReadCounts`], which count what filters save the way RocksDB's tickers do. The
//! log, background flushing and compaction are left to the engine. `examples/read_path.rs` shows what each
//! kind of filter saves.

use crate::error::{Problem, TableError};
use crate::filter::{HashedKey, KeptContent, Question, TableFilter};
use crate::internal_key::ValueType;
use crate::keys::RangeDeletion;
use crate::lookup::Found;
use crate::memtable::MemTable;
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tables whose filters are asked for their cache lines before the first of them is tested.
const TOGETHER: usize = 16;

/// What filters did for lookups, by count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCounts {
    /// Lookups that reached the table.
    pub lookups: u64,
    /// Lookups that the filter answered with "no".
    pub useful: u64,
    /// Lookups that the filter answered with "maybe". A table without a filter has none.
    pub positives: u64,
    /// Positives that found the key.
    pub true_positives: u64,
    /// Data blocks searched.
    pub blocks_read: u64,
    /// Data blocks not searched because of the filter.
    pub blocks_spared: u64,
    /// Their bytes, by the mean size of the table's data blocks.
    pub bytes_spared: u64,
}

impl ReadCounts {
    /// Positives that did not find the key.
    pub fn false_positives(&self) -> u64 {
        self.positives - self.true_positives
    }

    /// The measured rate: of the lookups for absent keys, the share that passed. As RocksDB's tickers give
    /// it.
    pub fn measured_fpr(&self) -> Option<f64> {
        let absent = self.false_positives() + self.useful;
        (absent > 0).then(|| self.false_positives() as f64 / absent as f64)
    }

    fn add(&mut self, other: &ReadCounts) {
        self.lookups += other.lookups;
        self.useful += other.useful;
        self.positives += other.positives;
        self.true_positives += other.true_positives;
        self.blocks_read += other.blocks_read;
        self.blocks_spared += other.blocks_spared;
        self.bytes_spared += other.bytes_spared;
    }
}

/// A table at its level.
#[derive(Debug)]
pub struct Member<S> {
    table: Table<S>,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    range_deletions: Vec<RangeDeletion>,
    mean_block: u64,
    lookups: AtomicU64,
    useful: AtomicU64,
    positives: AtomicU64,
    true_positives: AtomicU64,
    blocks_read: AtomicU64,
}

impl<S: Source> Member<S> {
    fn new(table: Table<S>) -> Result<Option<Member<S>>, TableError> {
        let range_deletions = table.range_deletions()?;
        let points = table.key_range()?;
        let starts = range_deletions.iter().map(|range| &range.start).min().cloned();
        let ends = range_deletions.iter().map(|range| &range.end).max().cloned();
        let (smallest, largest) = match (points, starts.zip(ends)) {
            (Some((a, b)), Some((c, d))) => (a.min(c), b.max(d)),
            (Some(range), None) | (None, Some(range)) => range,
            (None, None) => return Ok(None),
        };
        let (mut blocks, mut bytes) = (0u64, 0u64);
        let mut walk = table.data_blocks()?;
        while let Some(handle) = walk.advance()? {
            blocks += 1;
            bytes += handle.size;
        }
        drop(walk);
        Ok(Some(Member {
            table,
            smallest,
            largest,
            range_deletions,
            mean_block: bytes / blocks.max(1),
            lookups: AtomicU64::new(0),
            useful: AtomicU64::new(0),
            positives: AtomicU64::new(0),
            true_positives: AtomicU64::new(0),
            blocks_read: AtomicU64::new(0),
        }))
    }

    /// The table, as it was opened.
    pub fn table(&self) -> &Table<S> {
        &self.table
    }

    /// What the filter of this table did for lookups.
    pub fn counts(&self) -> ReadCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (useful, positives) = (get(&self.useful), get(&self.positives));
        ReadCounts {
            lookups: get(&self.lookups),
            useful,
            positives,
            true_positives: get(&self.true_positives),
            blocks_read: get(&self.blocks_read),
            blocks_spared: useful,
            bytes_spared: useful * self.mean_block,
        }
    }

    fn covers(&self, key: &[u8]) -> bool {
        self.smallest[..] <= *key && *key <= self.largest[..]
    }

    /// The newest deletion of a range that covers the key.
    fn range_deletion(&self, key: &[u8]) -> Option<u64> {
        let covering = |range: &&RangeDeletion| range.start[..] <= *key && *key < range.end[..];
        self.range_deletions.iter().filter(covering).map(|range| range.sequence).max()
    }

    /// `kept` is the table's filter, if it is in memory.
    fn find(&self, hashed: &HashedKey<'_>, kept: Option<&KeptContent>) -> Result<Option<Found>, TableError> {
        let (count, key) = (|counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed), hashed.key());
        count(&self.lookups);
        let filter = TableFilter::of(&self.table);
        let maybe = match kept {
            Some(content) => content.may_contain_hashed(hashed),
            // An unreadable filter costs time, but no answer becomes wrong.
            None => filter.ask(Question::Get, hashed).unwrap_or(true),
        };
        if !maybe {
            count(&self.useful);
            return Ok(None);
        }
        let find = self.table.find(key, || _ = count(&self.blocks_read));
        let found = find.map_err(|problem| self.table.error(problem))?;
        if filter.layout().is_some() {
            count(&self.positives);
            if found.is_some() {
                count(&self.true_positives);
            }
        }
        Ok(found)
    }
}

/// In-memory tables and table files, newest first.
///
/// ```
/// use fullbloom_table::writer::WriterOptions;
/// use fullbloom_table::{TableOptions, Tables};
///
/// let mut store = Tables::new();
/// store.put(b"apple", b"red");
/// store.freeze();
/// store.flush(&WriterOptions::default(), &TableOptions::default())?; // the oldest frozen memory becomes a table
/// store.put(b"pear", b"green");
/// store.delete(b"apple");
/// assert_eq!(store.get(b"pear")?, Some(b"green".to_vec()));
/// assert_eq!(store.get(b"apple")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tables<S = Vec<u8>> {
    memory: MemTable,
    /// Memory tables that take no more writes, the newest first.
    immutable: Vec<MemTable>,
    /// Level 0 newest first; from level 1 on by key, without overlap.
    levels: Vec<Vec<Member<S>>>,
}

impl<S: Source> Default for Tables<S> {
    fn default() -> Self {
        Tables::new()
    }
}

impl<S: Source> Tables<S> {
    /// An empty store.
    pub fn new() -> Tables<S> {
        Tables { memory: MemTable::default(), immutable: Vec::new(), levels: vec![Vec::new()] }
    }

    /// Sets a key in memory.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.memory.put(key, value);
    }

    /// Marks a key as removed in memory.
    pub fn delete(&mut self, key: &[u8]) {
        self.memory.delete(key);
    }

    /// Makes the memory table immutable and starts an empty one.
    pub fn freeze(&mut self) {
        if !self.memory.is_empty() {
            self.immutable.insert(0, std::mem::take(&mut self.memory));
        }
    }

    /// Drops the oldest immutable memory table, after its table has been added.
    pub fn drop_oldest(&mut self) {
        self.immutable.pop();
    }

    /// Adds a table that is newer than all others.
    pub fn add_newest(&mut self, table: Table<S>) -> Result<(), TableError> {
        if let Some(member) = Member::new(table)? {
            self.levels[0].insert(0, member);
        }
        Ok(())
    }

    /// Adds a table to a level from 1 on: older than all lower-numbered levels, and not overlapping the
    /// others in it.
    pub fn add_to_level(&mut self, level: usize, table: Table<S>) -> Result<(), TableError> {
        if level == 0 {
            return self.add_newest(table);
        }
        let Some(member) = Member::new(table)? else { return Ok(()) };
        while self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        let level = &mut self.levels[level];
        let place = level.partition_point(|other| other.largest < member.smallest);
        if level.get(place).is_some_and(|other| other.smallest <= member.largest) {
            return Err(member.table.error(Problem::Input { why: "tables of one level must not overlap" }));
        }
        level.insert(place, member);
        Ok(())
    }

    /// The tables, in the order in which they are searched.
    pub fn members(&self) -> impl Iterator<Item = &Member<S>> {
        self.levels.iter().flatten()
    }

    /// What the filters of all tables did for lookups.
    pub fn counts(&self) -> ReadCounts {
        self.members().fold(ReadCounts::default(), |mut sum, member| {
            sum.add(&member.counts());
            sum
        })
    }

    /// Bytes of filters read from tables so far.
    pub fn filter_bytes_read(&self) -> u64 {
        let roles = Role::ALL.into_iter().filter(|role| role.is_filter());
        roles.map(|role| self.members().map(|member| member.table.reads(role).bytes).sum::<u64>()).sum()
    }

    /// The newest value of a key; `None` if it is absent or was removed.
    ///
    /// An entry that only its database understands (a merge operand, a blob index …) is an error.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, TableError> {
        for memory in std::iter::once(&self.memory).chain(&self.immutable) {
            if let Some(known) = memory.get(key) {
                return Ok(known.map(<[u8]>::to_vec));
            }
        }
        let hashed = HashedKey::new(key);
        let mut candidates = self.candidates(key);
        loop {
            // Filters outside the caches: their lines arrive together, not one after the other (16 filters of 1.2 MB: in
            // half of the time).
            let mut together = [None; TOGETHER];
            for (place, member) in together.iter_mut().zip(&mut candidates) {
                let kept = TableFilter::of(&member.table).kept();
                if let Some(content) = kept {
                    content.prefetch(&hashed);
                }
                *place = Some((member, kept));
            }
            for (member, kept) in together.into_iter().map_while(|one| one) {
                let deleted = member.range_deletion(key);
                match member.find(&hashed, kept)? {
                    Some(found) if deleted.is_none_or(|deleted| deleted <= found.sequence) => {
                        return value_of(found).map_err(|problem| member.table.error(problem));
                    }
                    // A deletion of the range in this table is newer than everything in those below.
                    _ if deleted.is_some() => return Ok(None),
                    _ => {}
                }
            }
            if together[TOGETHER - 1].is_none() {
                return Ok(None);
            }
        }
    }

    /// The tables whose range covers a key, newest first.
    fn candidates(&self, key: &[u8]) -> impl Iterator<Item = &Member<S>> {
        let levels = self.levels.iter().enumerate().flat_map(move |(number, level)| {
            if number == 0 {
                return &level[..];
            }
            let place = level.partition_point(|member| member.largest[..] < *key);
            &level[place..level.len().min(place + 1)]
        });
        levels.filter(move |member| member.covers(key))
    }
}

fn value_of(found: Found) -> Result<Option<Vec<u8>>, Problem> {
    match found.value_type {
        ValueType::PUT => Ok(Some(found.value)),
        value_type if value_type.is_delete() => Ok(None),
        _ => Err(Problem::Unsupported { what: "an entry that only its database understands", at: 0.into() }),
    }
}

impl Tables<Vec<u8>> {
    /// Writes the oldest immutable memory table as a table in memory, and adds it; false if there is none.
    pub fn flush(
        &mut self,
        writer: &crate::writer::WriterOptions,
        reader: &crate::TableOptions,
    ) -> Result<bool, TableError> {
        let Some(memory) = self.immutable.last() else { return Ok(false) };
        let bytes = memory.write_to(Vec::new(), writer.clone())?.into_inner();
        let member = Member::new(Table::new(bytes, reader.clone())?)?;
        self.immutable.pop();
        self.levels[0].splice(0..0, member);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableOptions;
    use crate::writer::{TableWriter, WriterOptions};
    use std::collections::BTreeMap;

    fn key(i: u64) -> Vec<u8> {
        format!("key{i:06}").into_bytes()
    }

    #[test]
    fn newer_entries_hide_older_ones_wherever_they_are() {
        let mut store = Tables::new();
        let mut expected = BTreeMap::new();
        let mut state = 42u64;
        for step in 0..5000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = key((state >> 33) % 700);
            if state >> 60 < 4 {
                store.delete(&key);
                expected.remove(&key);
            } else {
                let value = step.to_le_bytes();
                store.put(&key, &value);
                expected.insert(key, value.to_vec());
            }
            if step % 700 == 699 {
                store.freeze();
            }
            if step % 1400 == 1399 {
                assert!(store.flush(&WriterOptions::default(), &TableOptions::default()).unwrap());
            }
        }
        assert!(store.members().count() >= 3 && !store.immutable.is_empty() && !store.memory.is_empty());
        for i in 0..800 {
            assert_eq!(store.get(&key(i)).unwrap(), expected.get(&key(i)).cloned(), "{i}");
        }
    }

    fn table(range: std::ops::Range<u64>, value: &[u8]) -> Table<Vec<u8>> {
        let mut writer = TableWriter::new(Vec::new(), WriterOptions::default()).unwrap();
        for i in range {
            writer.put(&key(i), value).unwrap();
        }
        Table::new(writer.finish().unwrap().into_inner(), TableOptions::default()).unwrap()
    }

    #[test]
    fn levels_go_by_range_and_refuse_overlap() {
        let mut store = Tables::new();
        store.add_to_level(2, table(0..1000, b"two")).unwrap();
        store.add_to_level(1, table(500..600, b"one, b")).unwrap();
        store.add_to_level(1, table(100..200, b"one, a")).unwrap();
        store.add_newest(table(150..160, b"zero")).unwrap();
        let error = store.add_to_level(1, table(199..300, b"x")).unwrap_err();
        assert!(error.to_string().contains("overlap"), "{error}");
        for (i, value) in [(155, "zero"), (120, "one, a"), (599, "one, b"), (600, "two"), (0, "two")] {
            assert_eq!(store.get(&key(i)).unwrap(), Some(value.as_bytes().to_vec()), "{i}");
        }
        assert_eq!(store.get(&key(1000)).unwrap(), None);
    }

    #[test]
    fn counts_say_what_filters_saved() {
        let mut store = Tables::new();
        for part in 0..4u64 {
            let mut writer = TableWriter::new(Vec::new(), WriterOptions::default()).unwrap();
            for i in (part..4000).step_by(4) {
                writer.put(&key(i * 10), b"some value").unwrap();
            }
            let bytes = writer.finish().unwrap().into_inner();
            store.add_newest(Table::new(bytes, TableOptions::default()).unwrap()).unwrap();
        }
        let read_before: u64 = store.members().map(|member| member.table().reads(Role::Data).blocks).sum();
        for i in 0..3900 {
            assert!(store.get(&key(i * 10 + 40)).unwrap().is_some());
        }
        let present = store.counts();
        assert_eq!(present.true_positives, 3900);
        for i in 0..3900 {
            assert!(store.get(&key(i * 10 + 45)).unwrap().is_none());
        }
        let all = store.counts();
        assert_eq!(all.lookups, all.useful + all.positives);
        // Without a cache every block that is looked into is read.
        let read: u64 = store.members().map(|member| member.table().reads(Role::Data).blocks).sum();
        assert_eq!(all.blocks_read, read - read_before);
        assert_eq!(all.lookups - present.lookups, 4 * 3900);
        assert_eq!(all.true_positives, 3900);
        let rate = all.measured_fpr().unwrap();
        assert!((0.004..0.016).contains(&rate), "{rate}");
        assert!(all.bytes_spared > 3000 * all.useful, "blocks of about 4 KiB are spared");
        assert!(store.filter_bytes_read() > 0);
    }

    #[test]
    fn a_table_without_a_filter_counts_blocks_but_no_positives() {
        let options = WriterOptions { filter: None, ..WriterOptions::default() };
        let mut writer = TableWriter::new(Vec::new(), options).unwrap();
        (0..100).for_each(|i| writer.put(&key(i * 10), b"").unwrap());
        let mut store = Tables::new();
        let bytes = writer.finish().unwrap().into_inner();
        store.add_newest(Table::new(bytes, TableOptions::default()).unwrap()).unwrap();
        for i in 0..50 {
            assert!(
                store.get(&key(i * 10)).unwrap().is_some() && store.get(&key(i * 10 + 5)).unwrap().is_none()
            );
        }
        let counts = store.counts();
        assert_eq!((counts.lookups, counts.blocks_read), (100, 100));
        assert_eq!((counts.positives, counts.useful, counts.measured_fpr()), (0, 0, None));
    }

    #[test]
    fn a_deleted_range_hides_older_entries_but_not_newer_ones() {
        let mut writer = TableWriter::new(Vec::new(), WriterOptions::default()).unwrap();
        writer
            .add(
                crate::internal_key::InternalKey {
                    user_key: &key(15),
                    sequence: 9,
                    value_type: ValueType::PUT,
                },
                b"newer",
            )
            .unwrap();
        writer
            .add(
                crate::internal_key::InternalKey {
                    user_key: &key(16),
                    sequence: 3,
                    value_type: ValueType::PUT,
                },
                b"older",
            )
            .unwrap();
        writer.delete_range(&key(10), &key(20), 5).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        let mut store = Tables::new();
        store.add_newest(table(0..30, b"below")).unwrap();
        store.add_newest(Table::new(bytes, TableOptions::default()).unwrap()).unwrap();
        let get = |i| store.get(&key(i)).unwrap();
        assert_eq!(get(15), Some(b"newer".to_vec()));
        assert_eq!(get(16), None);
        assert_eq!(get(10), None);
        assert_eq!(get(20), Some(b"below".to_vec()));
        assert_eq!(get(9), Some(b"below".to_vec()));
    }
}
