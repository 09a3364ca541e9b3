//! Helpers that several modules use.

use fullbloom::DecodeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_any::{AnyFilter, Builder, ReadOptions};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_testkit::steps;

/// Reads bytes in place, by dialect name.
pub fn view(name: Name, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<AnyFilter, DecodeError> {
    AnyFilter::over(bytes.to_vec(), &options(name, geometry), Check::All)
}

/// Options for reading bytes, with bits and probes if they are known.
pub fn options(name: Name, geometry: Option<(u64, u32)>) -> ReadOptions {
    match geometry {
        Some((bit_len, probes)) => ReadOptions::from(name).geometry(bit_len, probes),
        None => name.into(),
    }
}

/// A small file of the dialect for damaging, and the geometry that it is read with. LevelDB measures its rate
/// with 64 lookups per bit, so few bits are quick.
pub fn seed_file(name: Name, keys: &[&[u8]]) -> (Vec<u8>, Option<(u64, u32)>) {
    let requests = [(100, Target::Fpr(0.3)), (1000, Target::Fpr(0.3)), (1000, Target::BitsPerKey(10.0))];
    let made = |(expected_keys, target)| Builder::new(name, &Request { expected_keys, target }).ok();
    let mut builder = requests.into_iter().find_map(made).unwrap();
    builder.add_batch(keys);
    let filter = builder.build().unwrap();
    (filter.encode(), raw_geometry(&filter))
}

/// Bits and probes of a filter whose format has no header: it is read with the numbers that it was built
/// with.
pub fn raw_geometry(filter: &AnyFilter) -> Option<(u64, u32)> {
    filter.dialect().is_raw().then(|| (filter.geometry().bit_len, filter.geometry().probes))
}

/// How many cases a test takes: `all` of them in the gate, where `FULLBLOOM_TESTS` says so, else `few`.
pub fn cases(all: u64, few: u64) -> u64 {
    if steps::all() { all } else { few }
}
