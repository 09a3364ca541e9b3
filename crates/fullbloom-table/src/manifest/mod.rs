//! The MANIFEST of a database of LevelDB or RocksDB: its tables and their levels.
//!
//! It is a log of changes; their sum is the state of the database. Tables that no longer belong to it may
//! still be in its directory, and new ones may not be in the log yet.

mod edit;
mod log;

pub use edit::ManifestFile;

use crate::error::Problem;
use edit::Edit;
pub(crate) use log::Records;
#[cfg(test)]
pub(crate) use log::write as write_records;
use std::collections::BTreeMap;

/// The state that a MANIFEST describes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// The comparator's name, of the default column family.
    pub comparator: Option<String>,
    /// Column families by number; LevelDB has one.
    pub families: Vec<Family>,
    /// LevelDB's log before the last, if it was still being written to tables; 0 for none.
    pub previous_log: u64,
    /// The number of records that were read.
    pub records: u64,
}

/// The tables of one column family.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// Its number; the default one is 0.
    pub id: u32,
    /// The name of the column family.
    pub name: String,
    /// Write-ahead logs with smaller numbers hold nothing of it that is not in tables.
    pub log_number: u64,
    /// Its tables by level and number.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// Reads the bytes of a MANIFEST. An unfinished record at the end is ignored, as the engines do.
    ///
    /// ```
    /// use fullbloom_table::manifest::Manifest;
    ///
    /// let empty = Manifest::decode(b"")?;
    /// assert_eq!(empty.families[0].name, "default");
    /// # Ok::<(), fullbloom_table::Problem>(())
    /// ```
    pub fn decode(bytes: &[u8]) -> Result<Manifest, Problem> {
        let mut state = State::default();
        state.families.insert(0, FamilyState { name: "default".to_owned(), ..FamilyState::default() });
        let (mut records, mut count) = (Records::new(bytes), 0);
        let mut group = Vec::new();
        while let Some(record) = records.next()? {
            count += 1;
            let edit = Edit::decode(&record.bytes, record.at)?;
            match edit.group {
                None => state.apply(edit),
                // A group that is cut off by the end of the log is ignored.
                Some(left) => {
                    group.push(edit);
                    if left == 0 {
                        group.drain(..).for_each(|edit| state.apply(edit));
                    }
                }
            }
        }
        let families = state.families.into_iter().map(|(id, FamilyState { name, log_number, files })| {
            let mut files: Vec<ManifestFile> = files.into_values().collect();
            files.sort_by_key(|file| (file.level, file.number));
            Family { id, name, log_number, files }
        });
        let (comparator, previous_log) = (state.comparator, state.previous_log);
        Ok(Manifest { comparator, families: families.collect(), previous_log, records: count })
    }

    /// Whether the write-ahead log of this number may hold writes that are in no table: the engines read it
    /// when they open the database.
    pub fn needs_log(&self, number: u64) -> bool {
        number == self.previous_log || self.families.iter().any(|family| family.log_number <= number)
    }
}

/// A column family while the log is read.
#[derive(Default)]
struct FamilyState {
    name: String,
    log_number: u64,
    files: BTreeMap<u64, ManifestFile>,
}

#[derive(Default)]
struct State {
    comparator: Option<String>,
    previous_log: u64,
    families: BTreeMap<u32, FamilyState>,
}

impl State {
    fn apply(&mut self, edit: Edit) {
        if edit.family == 0 && edit.comparator.is_some() {
            self.comparator = edit.comparator;
        }
        if let Some(name) = edit.family_added {
            self.families.insert(edit.family, FamilyState { name, ..FamilyState::default() });
        }
        if edit.family_dropped {
            self.families.remove(&edit.family);
        }
        self.previous_log = edit.previous_log.unwrap_or(self.previous_log);
        // Changes of a dropped family have no effect.
        let Some(family) = self.families.get_mut(&edit.family) else { return };
        family.log_number = edit.log_number.unwrap_or(family.log_number);
        let files = &mut family.files;
        for (level, number) in edit.deleted {
            if files.get(&number).is_some_and(|file| file.level == level) {
                files.remove(&number);
            }
        }
        files.extend(edit.added.into_iter().map(|file| (file.number, file)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_varint;

    fn fields(fields: &[(u64, &[u64])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, values) in fields {
            put_varint(&mut out, *number);
            values.iter().for_each(|value| put_varint(&mut out, *value));
        }
        out
    }

    fn text(out: &mut Vec<u8>, text: &[u8]) {
        put_varint(out, text.len() as u64);
        out.extend_from_slice(text);
    }

    /// A new file in one of its forms, with keys `a` and `z`.
    fn file(form: u64, level: u64, number: u64) -> Vec<u8> {
        let mut out = fields(&[(form, &[level, number])]);
        if form == 102 {
            put_varint(&mut out, 1);
        }
        put_varint(&mut out, 1000 + number);
        text(&mut out, b"a\0\0\0\0\0\0\0\x01");
        text(&mut out, b"z\0\0\0\0\0\0\0\x01");
        if form != 7 {
            out.extend([1, 2]);
        }
        if form == 103 {
            for (part, bytes) in [(5, &[7][..]), (65, &[2]), (13, b"unknown")] {
                put_varint(&mut out, part);
                text(&mut out, bytes);
            }
            out.push(1);
        }
        out
    }

    fn levels(manifest: &Manifest) -> Vec<(String, u32, u64)> {
        let each = |family: &Family| {
            let name = family.name.clone();
            family.files.iter().map(|f| (name.clone(), f.level, f.number)).collect::<Vec<_>>()
        };
        manifest.families.iter().flat_map(each).collect()
    }

    #[test]
    fn files_come_go_and_move_between_levels_in_every_form() {
        let mut first = fields(&[(2, &[3]), (3, &[9]), (4, &[100]), (9, &[0])]);
        first.push(1);
        text(&mut first, b"leveldb.BytewiseComparator");
        let records = [
            first,
            [file(7, 0, 5), file(7, 0, 6), fields(&[(5, &[1])]), vec![9], b"k\0\0\0\0\0\0\0\x01".to_vec()]
                .concat(),
            [fields(&[(6, &[0, 5])]), file(7, 1, 5)].concat(),
            [fields(&[(6, &[0, 6])]), file(100, 1, 7), file(102, 2, 8), file(103, 6, 9)].concat(),
            fields(&[(6, &[3, 7])]), // not on that level
        ];
        let manifest = Manifest::decode(&log::write(&records)).unwrap();
        assert_eq!(manifest.comparator.as_deref(), Some("leveldb.BytewiseComparator"));
        let name = || "default".to_owned();
        assert_eq!(levels(&manifest), [(name(), 1, 5), (name(), 1, 7), (name(), 2, 8), (name(), 6, 9)]);
        let files = &manifest.families[0].files;
        assert_eq!((files[2].path_id, files[3].path_id), (1, 2));
        assert_eq!(
            (files[3].file_len, &*files[3].smallest, &*files[3].largest),
            (1009, &b"a"[..], &b"z"[..])
        );
        assert_eq!(manifest.records, 5);
        let needed: Vec<u64> = (0..6).filter(|number| manifest.needs_log(*number)).collect();
        assert_eq!(needed, [0, 3, 4, 5], "from log 3 on; 0 stands for no previous log");
    }

    #[test]
    fn column_families_have_their_own_files_until_they_are_dropped() {
        let mut add = fields(&[(200, &[1]), (201, &[])]);
        text(&mut add, b"users");
        let mut gone = fields(&[(200, &[2]), (201, &[])]);
        text(&mut gone, b"gone");
        let records = [
            add,
            gone,
            [file(103, 0, 5), fields(&[(200, &[1])])].concat(),
            [file(103, 0, 6), fields(&[(200, &[2])])].concat(),
            file(103, 0, 7),
            fields(&[(200, &[2]), (202, &[])]),
            [file(103, 0, 8), fields(&[(200, &[2])])].concat(),
        ];
        let manifest = Manifest::decode(&log::write(&records)).unwrap();
        assert_eq!(levels(&manifest), [("default".into(), 0, 7), ("users".into(), 0, 5)]);
    }

    #[test]
    fn fields_that_may_be_ignored_are_and_others_are_refused() {
        let mut ignored = Vec::new();
        for number in [8193u64, 8198, 8199, 8200, 8201, 8202, 8203, 9000, 1 << 13 | 1 << 20] {
            put_varint(&mut ignored, number);
            text(&mut ignored, b"whatever it is");
        }
        // Blob files and logs, in the forms without a length.
        for number in [400, 8194] {
            ignored.extend(fields(&[(number, &[1, 2, 3])]));
            text(&mut ignored, b"crc32c");
            text(&mut ignored, b"");
            put_varint(&mut ignored, 2);
            text(&mut ignored, b"a part");
            ignored.push(0);
        }
        ignored.extend(fields(&[
            (401, &[1, 2, 3, 0]),
            (8195, &[1, 2, 3, 0]),
            (8196, &[4, 2, 77, 1]),
            (8197, &[4]),
        ]));
        ignored.extend(file(103, 0, 5));
        let manifest = Manifest::decode(&log::write(&[ignored])).unwrap();
        assert_eq!(levels(&manifest).len(), 1);
        for unknown in [8, 11, 101, 204, 301, 402] {
            let refused = Manifest::decode(&log::write(&[fields(&[(unknown, &[])])])).unwrap_err();
            assert!(refused.to_string().contains("field number"), "{refused}");
        }
        let mut must_be_known = file(103, 0, 5);
        must_be_known.pop();
        put_varint(&mut must_be_known, 66);
        text(&mut must_be_known, b"x");
        must_be_known.push(1);
        assert!(Manifest::decode(&log::write(&[must_be_known])).is_err());
    }

    #[test]
    fn a_group_counts_whole_or_not_at_all() {
        let edit = |number, left| [file(103, 0, number), fields(&[(300, &[left])])].concat();
        let whole = Manifest::decode(&log::write(&[edit(5, 1), edit(6, 0)])).unwrap();
        assert_eq!(levels(&whole).len(), 2);
        let cut = Manifest::decode(&log::write(&[file(103, 0, 4), edit(5, 1)])).unwrap();
        assert_eq!(levels(&cut).len(), 1);
    }

    #[test]
    fn every_cut_and_every_changed_byte_of_a_record_is_survived() {
        let record = [file(7, 0, 5), file(103, 1, 6), fields(&[(200, &[1]), (6, &[0, 5])])].concat();
        for cut in 0..record.len() {
            let _ = Manifest::decode(&log::write(&[record[..cut].to_vec()]));
            for flip in [1u8, 0x80, 0xff] {
                let mut changed = record.clone();
                changed[cut] ^= flip;
                let _ = Manifest::decode(&log::write(&[changed]));
            }
        }
        let huge = fields(&[(7, &[0, 1, 1, u64::from(u32::MAX)])]);
        assert!(Manifest::decode(&log::write(&[huge])).unwrap_err().to_string().contains("first key"));
    }
}
