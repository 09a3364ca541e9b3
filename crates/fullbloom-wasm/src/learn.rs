//! Small filters for the pictures: the library's own, with their bits in view.

use crate::json;
use fullbloom::sizing::{Request, Target};
use fullbloom_any::{AnyFilter, Builder, ReadOptions};
use fullbloom_compact::CompactFilter;
use fullbloom_dialects::Name;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// A filter whose array is shown bit by bit.
#[wasm_bindgen]
pub struct Picture {
    filter: AnyFilter,
}

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// The bits of one key.
#[derive(Serialize)]
struct Touched {
    may_contain: bool,
    /// Positions in the order of the probes.
    probes: Vec<u64>,
    /// Whether each of them is set.
    set: Vec<bool>,
}

#[wasm_bindgen]
impl Picture {
    /// A filter of these keys, one on each line, with exactly these bits and probes.
    #[wasm_bindgen(constructor)]
    pub fn new(dialect: &str, bit_len: u32, probes: u32, keys: &str) -> Result<Picture, String> {
        let dialect: Name = dialect.parse().map_err(text)?;
        let keys: Vec<&[u8]> = keys.lines().map(str::as_bytes).collect();
        let target = Target::Exact { bit_len: bit_len.into(), probes };
        let mut builder =
            Builder::new(dialect, &Request { expected_keys: keys.len() as u64, target }).map_err(text)?;
        builder.add_batch(keys.as_slice());
        Ok(Picture { filter: builder.build().map_err(text)? })
    }

    /// The array.
    pub fn bits(&self) -> Vec<u8> {
        self.filter.bits().to_vec()
    }

    /// The expected rate of the array as it is.
    pub fn expected_fpr(&self) -> f64 {
        self.filter.expected_fpr()
    }

    /// Looks up a key.
    pub fn lookup(&self, key: &str) -> String {
        let bits = self.filter.bits();
        let probes = self.filter.probes_of(key.as_bytes()).unwrap_or_default();
        let set = probes.iter().map(|at| bits[(at / 8) as usize] >> (at % 8) & 1 == 1).collect();
        json(&Touched { may_contain: self.filter.may_contain(key.as_bytes()), probes, set })
    }

    /// Clears the bits of a key, which no filter should do: other keys may need them. Only for raw arrays.
    pub fn erase(&mut self, key: &str) -> Result<(), String> {
        let mut bytes = self.filter.encode();
        for at in self.filter.probes_of(key.as_bytes()).unwrap_or_default() {
            bytes[(at / 8) as usize] &= !(1 << (at % 8));
        }
        let shape = self.filter.geometry();
        let options = ReadOptions::from(self.filter.dialect()).geometry(shape.bit_len, shape.probes);
        self.filter = AnyFilter::decode(&bytes, &options).map_err(text)?;
        Ok(())
    }
}

/// What filters save the reads of a store with several sorted tables.
#[derive(Serialize)]
struct Reads {
    /// For each table of the first lookups: whether its filter says "maybe".
    shown: Vec<Vec<bool>>,
    /// Tables read by all lookups.
    with_filters: u64,
    /// Tables that would be read without filters.
    without: u64,
    /// Bytes of all filters.
    filter_bytes: u64,
}

/// Builds RocksDB's filter for each of `tables` tables, and looks up absent keys in all of them.
#[wasm_bindgen]
pub fn reads(tables: u32, keys: u32, bits_per_key: f64, lookups: u32, shown: u32) -> Result<String, String> {
    let target = Target::BitsPerKey(bits_per_key);
    let mut filters = Vec::new();
    for table in 0..tables {
        let mut builder =
            Builder::new(Name::RocksDb, &Request { expected_keys: keys.into(), target }).map_err(text)?;
        (0..keys).for_each(|i| builder.add(format!("user:{table}:{i}").as_bytes()));
        filters.push(builder.build().map_err(text)?);
    }
    let mut reads = Reads {
        shown: Vec::new(),
        with_filters: 0,
        without: u64::from(tables) * u64::from(lookups),
        filter_bytes: filters.iter().map(AnyFilter::encoded_len).sum(),
    };
    for i in 0..lookups {
        let key = format!("absent:{i}");
        let answers: Vec<bool> = filters.iter().map(|filter| filter.may_contain(key.as_bytes())).collect();
        reads.with_filters += answers.iter().filter(|maybe| **maybe).count() as u64;
        if i < shown {
            reads.shown.push(answers);
        }
    }
    Ok(json(&reads))
}

/// Keys of the samples: `user:0` and so on.
const SAMPLE_KEYS: u32 = 3000;

/// A filter file to look at, with the keys `user:0` to `user:2999`. `holed` is one of Cassandra with a tenth
/// of its bits lost, `native-compact` a native one of kind `compact`.
#[wasm_bindgen]
pub fn sample(dialect: &str) -> Result<Vec<u8>, String> {
    if dialect == "native-compact" {
        let keys: Vec<String> = (0..SAMPLE_KEYS).map(|i| format!("user:{i}")).collect();
        return Ok(CompactFilter::build(&keys, 0.01).map_err(text)?.encode());
    }
    let holed = dialect == "holed";
    let name: Name = if holed { Name::Cassandra } else { dialect.parse().map_err(text)? };
    let request = Request { expected_keys: SAMPLE_KEYS.into(), target: Target::Fpr(0.01) };
    let mut builder = Builder::new(name, &request).map_err(text)?;
    (0..SAMPLE_KEYS).for_each(|i| builder.add(format!("user:{i}").as_bytes()));
    let mut bytes = builder.build().map_err(text)?.encode();
    if holed {
        let len = bytes.len();
        bytes[len * 6 / 10..len * 7 / 10].fill(0);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
