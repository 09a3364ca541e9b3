//! RocksDB's FastLocalBloom as a peer: its algorithm for this CPU, and the library where it is installed.

use super::contender::{Contender, Contenders, Size};
use crate::fast_local::{self, Entries, FastLocal};
use crate::keys::Key;
#[cfg(librocksdb)]
use crate::librocksdb;
use crate::memory::{self, Region};
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::RocksDb;
use fullbloom_dialects::filter::Dialect;
use fullbloom_dialects::filter::Size as _;
use std::error::Error;

/// The algorithm, and the library; why others are missing goes to `missing`. Both keep all hashes while they
/// build.
pub fn all<K: Key>(size: Size, missing: &mut Vec<String>) -> Result<Contenders<K>, Box<dyn Error>> {
    let request = Request { expected_keys: size.members, target: Target::BitsPerKey(size.bits_per_key) };
    let probes = RocksDb::size(&request)?.geometry().probes;
    let hashes = size.members * 9;
    let mut found: Contenders<K> = Vec::new();
    match memory::refused(hashes) {
        None => found.push(Box::new(Avx2 {
            bytes: size.bytes as usize,
            probes,
            entries: Entries::new(),
            data: None,
        })),
        Some(why) => missing.push(format!("{}: {why}", fast_local::NAME)),
    }
    #[cfg(librocksdb)]
    match memory::refused(2 * hashes) {
        None => found.push(Box::new(Library {
            bits_per_key: size.bits_per_key,
            builder: None,
            built: None,
            content: None,
        })),
        Some(why) => missing.push(format!("{}: {why}", librocksdb::NAME)),
    }
    Ok(found)
}

struct Avx2 {
    bytes: usize,
    probes: u32,
    entries: Entries,
    data: Option<Region>,
}

impl Avx2 {
    fn reader(&self) -> FastLocal<'_> {
        FastLocal::new(self.data.as_ref().expect("finished"), self.probes)
    }
}

impl<K: Key> Contender<K> for Avx2 {
    fn name(&self) -> String {
        fast_local::NAME.to_owned()
    }

    fn start(&mut self) {
        (self.entries, self.data) = (Entries::new(), None);
    }

    fn insert(&mut self, keys: &[K]) {
        self.entries.collect(keys);
    }

    fn finish(&mut self) {
        let mut data = Region::new(self.bytes).expect("memory for a filter");
        std::mem::replace(&mut self.entries, Entries::new()).build(&mut data, self.probes);
        self.data = Some(data);
    }

    fn count(&self, keys: &[K]) -> usize {
        self.reader().count(keys)
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        self.reader().answer(keys, out);
    }
}

#[cfg(librocksdb)]
struct Library {
    bits_per_key: f64,
    builder: Option<librocksdb::Builder>,
    built: Option<librocksdb::Built>,
    content: Option<Region>,
}

#[cfg(librocksdb)]
impl Library {
    fn reader(&self) -> librocksdb::Reader<'_> {
        librocksdb::Reader::open(self.content.as_ref().expect("finished")).expect("RocksDB reads its filter")
    }
}

#[cfg(librocksdb)]
impl<K: Key> Contender<K> for Library {
    fn name(&self) -> String {
        librocksdb::NAME.to_owned()
    }

    fn start(&mut self) {
        (self.built, self.content) = (None, None);
        self.builder = librocksdb::Builder::new(self.bits_per_key);
    }

    fn insert(&mut self, keys: &[K]) {
        self.builder.as_mut().expect("RocksDB 7 has this policy").add(keys);
    }

    fn finish(&mut self) {
        self.built = self.builder.take().and_then(librocksdb::Builder::finish);
    }

    /// Into the same pages as the others have.
    fn settle(&mut self) {
        let Some(built) = self.built.take() else { return };
        let mut content = Region::new(built.bytes().len()).expect("memory for a filter");
        content.copy_from_slice(built.bytes());
        self.content = Some(content);
    }

    fn count(&self, keys: &[K]) -> usize {
        self.reader().count(keys)
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        self.reader().answer(keys, out);
    }
}
