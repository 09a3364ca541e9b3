//! Encoded filters of every dialect.

use fullbloom::dialect::Name;
use fullbloom::native::{self, GuardedFilter};
use fullbloom::{any, hash, rocksdb, sniff as sniffing};
use fullbloom_testkit::naive::hash::bloom32;
use fullbloom_testkit::rocksdb as oracle;
use std::path::Path;

/// Keys that are asked of whatever was read: lengths on all sides of the hashes' classes.
const KEYS: [&[u8]; 6] =
    [b"", b"a", b"12345678", b"sixteen bytes, ok", b"a key of thirty-three bytes, so long", &[0xff; 300]];

/// Strict reading, through the two ways there are; what is accepted answers the same alone and in batches, and says
/// the same bytes when it is encoded.
pub fn read(name: Name, data: &[u8]) {
    // Two bytes give the geometry of dialects whose bytes hold nothing but bits.
    let geometry = match (name, data) {
        (Name::Libbloom1 | Name::JavaLsm, [probes, odd, bits @ ..]) => {
            Some(((8 * bits.len() as u64).saturating_sub(u64::from(*odd)), u32::from(*probes), bits))
        }
        _ => None,
    };
    let (bytes, geometry) = match geometry {
        Some((bit_len, probes, bits)) => (bits, Some((bit_len, probes))),
        None => (data, None),
    };
    let Ok(filter) = any::view(name, bytes, geometry) else { return };
    let mut together = [false; KEYS.len()];
    filter.may_contain_batch(&KEYS, &mut together);
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

/// Native files whose front has the right checksum, so that what is behind it is read.
pub fn native_with_sound_front(data: &[u8]) {
    let mut file = data.to_vec();
    let front = file.get(16..20).map(|len| u32::from_le_bytes(len.try_into().expect("four bytes")));
    let Some(front) = front.map(|len| len as usize).filter(|len| (64..=file.len()).contains(len)) else { return };
    let sum = crc32c::crc32c(&file[12..front]).to_le_bytes();
    file[8..12].copy_from_slice(&sum);
    let len = file.len() as u64;
    let is_whole = file[24..32] == len.to_le_bytes();
    let Ok(filter) = GuardedFilter::view(&file) else { return };
    assert!(is_whole, "a file of another length was accepted");
    let answers = KEYS.map(|key| filter.may_contain(key));
    if native::verify(&file).is_ok() && !filter.is_locked() {
        let copy = GuardedFilter::decode(&file).expect("what is sound can be copied");
        assert_eq!(KEYS.map(|key| copy.may_contain(key)), answers);
    }
}

/// The compatible reader of RocksDB's full filters answers as a separate, simple reader does, and what strict decoding
/// accepts answers the same.
pub fn full_filter_beside_the_oracle(data: &[u8]) {
    let filter = rocksdb::FullFilter::read(data);
    for key in KEYS {
        // Ribbon filters have no simple reader; strict and compatible ones must agree on them.
        let answer = filter.may_contain(key);
        if filter.dialect() != Some(Name::RocksDbRibbon) {
            let expected = oracle::may_match(data, bloom32(key, true), hash::xxph3(key, 0));
            assert_eq!(answer, expected, "{key:?}");
        }
        if let Some(dialect) = filter.dialect() {
            if let Ok(strict) = any::view(dialect, data, None) {
                assert_eq!(strict.may_contain(key), answer);
            }
        }
    }
}

/// Recognising a file by its bytes and by names that say little.
pub fn sniff(data: &[u8]) {
    for name in [None, Some("filter"), Some("nb-1-big-Filter.db"), Some("Standard1-f-1-Filter.db"), Some("x.bloom")] {
        if let Ok(dialect) = sniffing::dialect(name.map(Path::new), data) {
            let _ = any::view(dialect, data, None);
        }
    }
}
