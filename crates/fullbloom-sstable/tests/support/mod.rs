//! Sstables made by hand: writers of every component, of our own and apart from the readers under test.
#![allow(dead_code)] // each test binary uses a part

pub mod bti;

use flate2::Crc;
use fullbloom::sizing::{Request, Target};
use fullbloom_any::Builder;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_sstable::{Sstable, walk};
use std::fs;
use std::path::{Path, PathBuf};

/// All versions of the BIG format whose keys can be read.
pub const VERSIONS: [&str; 26] = [
    "a", "b", "e", "f", "g", "h", "hb", "hc", "hd", "he", "hf", "ia", "ib", "ic", "ja", "jb", "ka", "la",
    "lb", "ma", "mc", "me", "na", "nb", "oa", "pa",
];

/// The front of a file name of this version.
pub fn prefix(version: &str, generation: u32) -> String {
    match version {
        "a" => format!("Standard1-{generation}-"),
        "da" => format!("da-{generation}-bti-"),
        v if v < "f" => format!("Standard1-{v}-{generation}-"),
        v if v < "la" => format!("ks-table-{v}-{generation}-"),
        v => format!("{v}-{generation}-big-"),
    }
}

/// The family of a version.
pub fn family(version: &str) -> Name {
    let name = format!("{}Filter.db", prefix(version, 1));
    Descriptor::parse(Path::new(&name)).unwrap().dialect
}

/// Different text keys of several lengths.
pub fn keys(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("key {i}{}", "x".repeat(i % 23)).into_bytes()).collect()
}

/// `Filter.db` of these keys, sized for `expected` of them.
pub fn filter(dialect: Name, expected: u64, fpr: f64, keys: &[Vec<u8>]) -> Vec<u8> {
    let request = Request { expected_keys: expected, target: Target::Fpr(fpr) };
    let mut builder = Builder::new(dialect, &request).unwrap();
    for key in keys {
        builder.add(key);
    }
    builder.finish().unwrap()
}

/// Unsigned vint.
pub fn vint(value: u64) -> Vec<u8> {
    let bits = 64 - value.leading_zeros();
    let extra = if bits > 56 { 8 } else { (bits.max(1) - 1) / 7 };
    let bytes = value.to_be_bytes();
    let mut out = bytes[7 - extra.min(7) as usize..].to_vec();
    if extra == 8 {
        out.insert(0, 0xff);
    } else {
        out[0] |= !(0xffu16 >> extra) as u8;
    }
    out
}

/// `Index.db` of these keys; every seventh entry has a promoted index where the version knows them.
pub fn index(version: &str, keys: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let (position, promoted) = (i as u64 * 300, vec![0xab; if i % 7 == 6 { 200 } else { 0 }]);
        out.extend_from_slice(&(key.len() as u16).to_be_bytes());
        out.extend_from_slice(key);
        if version < "ia" {
            out.extend_from_slice(&position.to_be_bytes());
        } else if version < "ma" {
            out.extend_from_slice(&position.to_be_bytes());
            out.extend_from_slice(&(promoted.len() as u32).to_be_bytes());
            out.extend_from_slice(&promoted);
        } else {
            out.extend_from_slice(&vint(position));
            out.extend_from_slice(&vint(promoted.len() as u64));
            out.extend_from_slice(&promoted);
        }
    }
    out
}

pub fn crc(pieces: &[&[u8]]) -> [u8; 4] {
    let mut crc = Crc::new();
    pieces.iter().for_each(|piece| crc.update(piece));
    crc.sum().to_be_bytes()
}

/// `Statistics.db` with a validation part, and behind it the histogram of the sizes of this many partitions.
pub fn statistics(version: &str, fpr: f64, partitions: usize) -> Vec<u8> {
    let mut stats = 3u32.to_be_bytes().to_vec();
    for (size, count) in [(1u64, 0), (100, partitions / 2), (200, partitions - partitions / 2)] {
        stats.extend_from_slice(&size.to_be_bytes());
        stats.extend_from_slice(&(count as u64).to_be_bytes());
    }
    stats.extend_from_slice(&[7; 40]);
    let checked = version >= "na" || version == "da";
    let name = b"org.apache.cassandra.dht.Murmur3Partitioner";
    let mut part = (name.len() as u16).to_be_bytes().to_vec();
    part.extend_from_slice(name);
    part.extend_from_slice(&fpr.to_be_bytes());
    let sums = if checked { 4 } else { 0 };
    let first = 4 + sums + 16 + sums;
    let count = 2u32.to_be_bytes();
    let mut list = Vec::new();
    for (kind, offset) in [(0u32, first), (2, first + part.len() + sums)] {
        list.extend_from_slice(&kind.to_be_bytes());
        list.extend_from_slice(&(offset as u32).to_be_bytes());
    }
    let mut out = count.to_vec();
    let sum = |pieces: &[&[u8]]| if checked { crc(pieces).to_vec() } else { Vec::new() };
    out.extend(sum(&[&count]));
    out.extend_from_slice(&list);
    out.extend(sum(&[&count, &list]));
    out.extend_from_slice(&part);
    out.extend(sum(&[&part]));
    out.extend_from_slice(&stats);
    out.extend(sum(&[&stats]));
    out
}

/// A directory with one table.
pub struct Table {
    pub root: tempfile::TempDir,
    pub directory: PathBuf,
}

impl Table {
    pub fn new() -> Table {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("ks/table-1b255f4def2540a60000000000000005");
        fs::create_dir_all(&directory).unwrap();
        Table { root, directory }
    }

    pub fn path(&self, version: &str, generation: u32, component: &str) -> PathBuf {
        self.directory.join(format!("{}{component}", prefix(version, generation)))
    }

    pub fn put(&self, version: &str, generation: u32, component: &str, bytes: &[u8]) {
        let path = self.path(version, generation, component);
        // Some file systems wait for the disk when a file is cut to nothing and written again, but not for a
        // new one.
        let _ = fs::remove_file(&path);
        fs::write(path, bytes).unwrap();
    }

    /// A sound sstable of the BIG format: filter, index, TOC, and statistics where they are read.
    pub fn add(&self, version: &str, generation: u32, keys: &[Vec<u8>], fpr: f64) {
        self.put(version, generation, "Filter.db", &filter(family(version), keys.len() as u64, fpr, keys));
        self.put(version, generation, "Index.db", &index(version, keys));
        self.put(version, generation, "Statistics.db", &statistics(version, fpr, keys.len()));
        self.put(version, generation, "TOC.txt", b"Filter.db\nIndex.db\nStatistics.db\nTOC.txt\n");
    }

    pub fn sstables(&self) -> Vec<Sstable> {
        walk::walk(self.root.path(), walk::Options::default()).unwrap().sstables
    }

    /// The only sstable.
    pub fn one(&self) -> Sstable {
        let mut sstables = self.sstables();
        assert_eq!(sstables.len(), 1);
        sstables.remove(0)
    }
}
