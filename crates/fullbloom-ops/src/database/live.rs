//! The keys of a database that are alive: of all tables and logs the newest write decides, and deletions of keys and
//! of ranges count.
//!
//! ```text
//!   tables of a column family ─┐  in the order of their keys   ┌─► newest write of each key ─► no deletion? ─► alive
//!   unflushed writes ──────────┴──────────► merge ─────────────┘          ▲
//!   deleted ranges ───────────────────────────────────────────────────────┘
//! ```

use super::{OwnTables, log};
use crate::key_spec::KeyText;
use crate::keys::{EachKey, KeysFound};
use crate::problem::{Code, Problem};
use crate::table;
use fullbloom_table::internal_key::KeyOrder;
use fullbloom_table::{EnginePrefix, PlainFile, Table, TableEntries, WriteKind};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::path::Path;

/// The newest write of a key in one place.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sequence: u64,
    is_deletion: bool,
}

/// Deleted ranges as pieces that do not overlap: from each key on, the largest sequence number of a range there; 0
/// for none.
#[derive(Debug, Default)]
struct Ranges(Vec<(Vec<u8>, u64)>);

impl Ranges {
    /// Of these ranges: the first key, the first key after it, and the sequence number.
    fn new(ranges: Vec<(Vec<u8>, Vec<u8>, u64)>) -> Ranges {
        // What begins and ends at each key.
        let mut bounds: BTreeMap<Vec<u8>, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
        for (start, end, sequence) in ranges.into_iter().filter(|(start, end, _)| start < end) {
            bounds.entry(start).or_default().0.push(sequence);
            bounds.entry(end).or_default().1.push(sequence);
        }
        let mut open: BTreeMap<u64, usize> = BTreeMap::new();
        let mut pieces = Vec::with_capacity(bounds.len());
        for (key, (begin, end)) in bounds {
            begin.into_iter().for_each(|sequence| *open.entry(sequence).or_default() += 1);
            for sequence in end {
                if let Some(count) = open.get_mut(&sequence) {
                    *count -= 1;
                    if *count == 0 {
                        open.remove(&sequence);
                    }
                }
            }
            pieces.push((key, open.last_key_value().map_or(0, |(sequence, _)| *sequence)));
        }
        Ranges(pieces)
    }

    /// Whether a write of this key is older than a range that it is in.
    fn delete(&self, key: &[u8], sequence: u64) -> bool {
        let behind = self.0.partition_point(|(start, _)| start.as_slice() <= key);
        behind > 0 && self.0[behind - 1].1 > sequence
    }
}

/// The writes of a column family that are in logs only.
#[derive(Debug, Default)]
struct Unflushed {
    keys: BTreeMap<Vec<u8>, Newest>,
    ranges: Vec<(Vec<u8>, Vec<u8>, u64)>,
}

/// A key at the head of a place; the next one in the order of the keys is the greatest, as a heap wants it.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    key: Vec<u8>,
    place: usize,
    descends: bool,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        let order = if self.descends { self.key.cmp(&other.key) } else { other.key.cmp(&self.key) };
        order.then(Reverse(self.place).cmp(&Reverse(other.place)))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Hands out the keys that are alive, of one column family after the other, each in the order of its keys.
pub(crate) fn keys(
    path: &Path,
    own: &OwnTables,
    prefix_extractor: Option<EnginePrefix>,
    found: &mut KeysFound,
    each: &mut EachKey<'_>,
) -> Result<(), Problem> {
    if !own.database.has_levels() {
        let why =
            "which keys are alive is not known without a MANIFEST, which says what belongs to the database";
        return Err(Problem::at(path, Code::ManifestUnreadable, why));
    }
    let mut unflushed: BTreeMap<u32, Unflushed> = BTreeMap::new();
    for log in &own.database.unflushed {
        let (_, unfinished) = log::read(&own.database, log, |write| {
            let family = unflushed.entry(write.family).or_default();
            if write.kind == WriteKind::DeleteRange {
                family.ranges.push((write.key.to_vec(), write.end.to_vec(), write.sequence));
                return;
            }
            let newest = Newest { sequence: write.sequence, is_deletion: write.kind == WriteKind::Delete };
            let known = family.keys.entry(write.key.to_vec()).or_insert(newest);
            if known.sequence <= newest.sequence {
                *known = newest;
            }
        })?;
        unfinished.into_iter().for_each(|problem| found.add(problem));
    }
    for family in &own.database.families {
        let mut tables = Vec::new();
        for listed in &own.database.tables {
            let Some(place) = listed.place.as_ref().filter(|place| place.family == family.name) else {
                continue;
            };
            let open = table::open(&listed.path, prefix_extractor)?;
            let ingested = open.properties().is_external().then_some(place.last_sequence);
            tables.push((listed.path.as_path(), open, ingested));
        }
        let own = unflushed.remove(&family.id).unwrap_or_default();
        if merge(path, &tables, own, found, each)?.is_break() {
            break;
        }
    }
    Ok(())
}

type OpenTable<'a> = (&'a Path, Table<PlainFile>, Option<u64>);

/// The order that the keys of all tables have.
fn order(path: &Path, tables: &[OpenTable<'_>]) -> Result<KeyOrder, Problem> {
    let mut all = tables.iter().map(|(_, table, _)| table.order());
    match all.next() {
        None => Ok(KeyOrder::BYTEWISE),
        Some(Some(order)) if order.timestamp == 0 && all.all(|other| other == Some(order)) => Ok(order),
        _ => {
            let why = "which keys are alive is not known: the keys have a comparator or timestamps that fullbloom does not support";
            Err(Problem::at(path, Code::Unsupported, why))
        }
    }
}

/// Merges the tables and the unflushed writes of a column family.
fn merge(
    path: &Path,
    tables: &[OpenTable<'_>],
    unflushed: Unflushed,
    found: &mut KeysFound,
    each: &mut EachKey<'_>,
) -> Result<ControlFlow<()>, Problem> {
    let descends = order(path, tables)?.reverse;
    let mut ranges = unflushed.ranges;
    let mut walks = Vec::new();
    for (path, table, ingested) in tables {
        let failed = |e| table::problem(path, &e);
        for range in table.range_deletions().map_err(failed)? {
            ranges.push((range.start, range.end, ingested.unwrap_or(range.sequence)));
        }
        walks.push(table.entries().map_err(failed)?);
    }
    // Ranges are half open in the order of the keys; where keys descend, their first key is the greater one.
    if descends && !ranges.is_empty() {
        let why = "which keys are alive is not known: deletions of ranges of keys in descending order are not supported";
        return Err(Problem::at(path, Code::Unsupported, why));
    }
    let ranges = Ranges::new(ranges);
    let mut logged: Vec<(Vec<u8>, Newest)> = unflushed.keys.into_iter().collect();
    // The next one is taken from the end.
    if !descends {
        logged.reverse();
    }
    let mut heap = BinaryHeap::new();
    let next = |walk: &mut TableEntries<'_, PlainFile>, place: usize| -> Result<Option<Head>, Problem> {
        let failed = |e| table::problem(tables[place].0, &e);
        Ok(walk.advance().map_err(failed)?.then(|| Head { key: walk.filter_key().to_vec(), place, descends }))
    };
    for (place, walk) in walks.iter_mut().enumerate() {
        heap.extend(next(walk, place)?);
    }
    let of_logs = walks.len();
    heap.extend(logged.last().map(|(key, _)| Head { key: key.clone(), place: of_logs, descends }));
    while let Some(Head { key, place, .. }) = heap.pop() {
        let (mut place, mut newest) = (place, None::<Newest>);
        loop {
            // The first entry of a key is the newest of its table; the others are passed over.
            let mut take = |this: Newest| {
                if newest.is_none_or(|newest| newest.sequence <= this.sequence) {
                    newest = Some(this);
                }
            };
            if place == of_logs {
                logged.pop().into_iter().for_each(|(_, this)| take(this));
                heap.extend(logged.last().map(|(key, _)| Head { key: key.clone(), place, descends }));
            } else {
                let (_, _, ingested) = &tables[place];
                let entry = walks[place].internal_key();
                let sequence = ingested.unwrap_or(entry.sequence);
                take(Newest { sequence, is_deletion: entry.value_type.is_delete() });
                while let Some(head) = next(&mut walks[place], place)? {
                    if head.key != key {
                        heap.push(head);
                        break;
                    }
                }
            }
            match heap.peek() {
                Some(head) if head.key == key => place = heap.pop().map_or(place, |head| head.place),
                _ => break,
            }
        }
        let is_alive =
            newest.is_some_and(|newest| !newest.is_deletion && !ranges.delete(&key, newest.sequence));
        if is_alive {
            found.keys += 1;
            let flow = each(&key, &KeyText::Bytes);
            if flow.is_break() {
                return Ok(flow);
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_deletes_what_is_in_it_and_older() {
        let range =
            |start: &str, end: &str, sequence| (start.as_bytes().to_vec(), end.as_bytes().to_vec(), sequence);
        let ranges = Ranges::new(vec![
            range("b", "f", 10),
            range("d", "h", 20),
            range("d", "e", 5),
            range("x", "x", 9),
            range("z", "y", 9),
        ]);
        for (key, expected) in [
            ("a", 0),
            ("b", 10),
            ("c", 10),
            ("d", 20),
            ("e", 20),
            ("f", 20),
            ("g", 20),
            ("h", 0),
            ("x", 0),
            ("y", 0),
            ("z", 0),
        ] {
            assert!(!ranges.delete(key.as_bytes(), expected), "{key}");
            assert_eq!(ranges.delete(key.as_bytes(), expected.saturating_sub(1)), expected > 0, "{key}");
        }
        assert!(!Ranges::default().delete(b"a", 0));
    }
}
