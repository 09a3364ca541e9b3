//! Encoded filters of every dialect.

use fullbloom::DecodeError;
use fullbloom_any::StoredFilter;
use fullbloom_any::sniff as sniffing;
use fullbloom_any::{AnyFilter, ReadOptions};
use fullbloom_compact::CompactFilter;
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_dialects::hash;
use fullbloom_dialects::rocksdb;
use fullbloom_dynamic::{DynamicFilter, Mode};
use fullbloom_testkit::naive::hash::bloom32;
use fullbloom_testkit::rocksdb as oracle;
use std::path::Path;

/// Keys that are asked of whatever was read: lengths on all sides of the hashes' classes.
const KEYS: [&[u8]; 6] =
    [b"", b"a", b"12345678", b"sixteen bytes, ok", b"a key of thirty-three bytes, so long", &[0xff; 300]];

/// Strict reading, through the two ways there are; what is accepted answers the same alone and in batches,
/// and says the same bytes when it is encoded.
pub fn read(name: Name, data: &[u8]) {
    // Two bytes give the geometry of dialects whose bytes hold nothing but bits.
    let geometry = match (name, data) {
        (name, [probes, odd, bits @ ..]) if name.is_raw() => {
            Some(((8 * bits.len() as u64).saturating_sub(u64::from(*odd)), u32::from(*probes), bits))
        }
        _ => None,
    };
    let (bytes, geometry) = match geometry {
        Some((bit_len, probes, bits)) => (bits, Some((bit_len, probes))),
        None => (data, None),
    };
    let Ok(filter) = view(name, bytes, geometry) else { return };
    let together = filter.may_contain_batch(&KEYS);
    let alone = KEYS.map(|key| filter.may_contain(key));
    assert_eq!(together, alone);
    let shape = filter.geometry();
    assert!(shape.bit_len <= 8 * bytes.len() as u64, "{shape:?}");
    assert!((0.0..=1.0).contains(&filter.fill()));
    // Some dialects find their rate by filling or asking filters, which takes a while.
    if data.ends_with(b"rate") {
        assert!(!filter.expected_fpr().is_nan());
    }
    let _ = (filter.estimated_keys(), filter.doubt());
    if name != Name::Native {
        let mut again = Vec::with_capacity(bytes.len());
        filter.write_to(&mut again).expect("memory takes everything");
        let same = match name {
            // A BitSet has no zeros at its end.
            Name::JavaLsm => bytes.starts_with(&again),
            // libbloom saves its struct as it lies in memory, with a pointer and padding that mean nothing.
            Name::Libbloom => again.len() == bytes.len(),
            _ => again == bytes,
        };
        assert!(same, "other bytes");
    }
}

/// The file with right checksums: of the front, and of the data if it is one chunk.
fn resealed(data: &[u8]) -> Option<Vec<u8>> {
    let mut file = data.to_vec();
    let front = u32::from_le_bytes(file.get(16..20)?.try_into().ok()?) as usize;
    if !(64..=file.len()).contains(&front) {
        return None;
    }
    let word = |file: &[u8], at: usize| {
        file.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
    };
    for entry in (64..front.saturating_sub(31)).step_by(32).take(16) {
        let (kind, at, len) =
            (word(&file, entry)? as u32, word(&file, entry + 8)? as usize, word(&file, entry + 16)?);
        if kind == 4 && len == 4 && at.checked_add(4).is_some_and(|end| end <= front) {
            let sum = crc32c::crc32c(&file[front..]).to_le_bytes();
            file[at..at + 4].copy_from_slice(&sum);
        }
    }
    let sum = crc32c::crc32c(&file[12..front]).to_le_bytes();
    file[8..12].copy_from_slice(&sum);
    Some(file)
}

/// Native files whose checksums are right, so that what is behind them is read.
pub fn native_with_sound_front(data: &[u8]) {
    let Some(file) = resealed(data) else { return };
    let len = file.len() as u64;
    let is_whole = file[24..32] == len.to_le_bytes();
    let options = ReadOptions::from(Name::Native).key_form_applied();
    let Ok(view) = AnyFilter::over(file.clone(), &options, Check::Header) else { return };
    assert!(is_whole, "a file of another length was accepted");
    let is_locked = view.is_locked();
    let answers = KEYS.map(|key| view.may_contain(key));
    if fullbloom_any::verify(&file).is_ok() && !is_locked {
        let copy = StoredFilter::decode(&file).expect("what is sound can be copied");
        let copy = AnyFilter::from(copy);
        assert_eq!(KEYS.map(|key| copy.may_contain(key)), answers);
    }
}

/// Dynamic filters: what is accepted takes keys, has them, says the same bytes again, and gives them back.
pub fn native_dynamic(data: &[u8]) {
    let Some(file) = resealed(data) else { return };
    let Ok(mut filter) = DynamicFilter::decode(&file) else { return };
    let again = filter.encode();
    let read = DynamicFilter::decode(&again).expect("what was written is read");
    assert!(read.encode() == again, "one filter has one encoding");
    if filter.is_locked() {
        return; // inserting needs the secret
    }
    let now = filter.time_millis().saturating_add(u64::from(data[data.len() - 1]) << 5);
    filter.advance_millis(now).expect("memory for a shard");
    for key in KEYS {
        let known = filter.may_contain(key);
        let new = filter.insert(key).expect("memory for a shard");
        assert!(new != known && filter.may_contain(key), "neither new nor known");
        if filter.mode() == Mode::Counting {
            assert_eq!(filter.remove(key), Ok(true), "an inserted key is refused");
            assert_eq!(filter.may_contain(key), known, "a key is lost");
        }
    }
}

/// Compact filters: what is accepted answers batches as single keys, and says the same bytes again.
pub fn native_compact(data: &[u8]) {
    let Some(file) = resealed(data) else { return };
    let Ok(filter) = CompactFilter::decode(&file) else { return };
    if filter.is_locked() {
        return;
    }
    let again = filter.encode();
    let read = CompactFilter::decode(&again).expect("what was written is read");
    assert!(read.encode() == again, "one filter has one encoding");
    let answers = filter.may_contain_batch(&KEYS).expect("keys, not hashes");
    assert_eq!(answers, KEYS.map(|key| filter.may_contain(key)), "a batch is answered otherwise");
    assert!((0.0..=1.0).contains(&filter.expected_fpr()) && (0.0..=1.0).contains(&filter.planned_fpr()));
}

/// The compatible reader of RocksDB's full filters answers as a separate, simple reader does, and what strict
/// decoding accepts answers the same.
pub fn full_filter_beside_the_oracle(data: &[u8]) {
    let filter = rocksdb::FullFilter::read(data);
    for key in KEYS {
        // Ribbon filters have no simple reader; strict and compatible ones must agree on them.
        let answer = filter.may_contain(key);
        if filter.dialect() != Some(Name::RocksDbRibbon) {
            let expected = oracle::may_match(data, bloom32(key, true), hash::xxph3(key, 0));
            assert_eq!(answer, expected, "{key:?}");
        }
        if let Some(Ok(strict)) = filter.dialect().map(|dialect| view(dialect, data, None)) {
            assert_eq!(strict.may_contain(key), answer);
        }
    }
}

/// Recognising a file by its bytes and by names that say little.
pub fn sniff(data: &[u8]) {
    for name in
        [None, Some("filter"), Some("nb-1-big-Filter.db"), Some("Standard1-f-1-Filter.db"), Some("x.bloom")]
    {
        if let Ok(dialect) = sniffing::dialect(name.map(Path::new), data) {
            let _ = view(dialect, data, None);
        }
    }
}

/// Reads bytes by the dialect's name, all of them checked.
fn view(name: Name, bytes: &[u8], geometry: Option<(u64, u32)>) -> Result<AnyFilter, DecodeError> {
    let options = match geometry {
        Some((bit_len, probes)) => ReadOptions::from(name).geometry(bit_len, probes),
        None => name.into(),
    };
    AnyFilter::over(bytes.to_vec(), &options.key_form_applied(), Check::All)
}
