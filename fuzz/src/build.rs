//! From keys to bytes and back.

use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, KeyHash};
use fullbloom_any::{AnyFilter, Builder, ReadOptions};
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use std::collections::BTreeSet;

/// The input is a rate or a number of bits, a number of keys and the keys: a filter is built of them,
/// encoded, read again, and must know every key, and answer as before.
pub fn round_trip(name: Name, data: &[u8]) {
    let [kind, size, expected, keys @ ..] = data else { return };
    let by_bits = match name {
        // Bits for a rate are found by filling filters, which takes a while,
        Name::LevelDb | Name::RocksDbBlock => true,
        // or by trying, which takes longer than all the rest.
        Name::RocksDbLegacy | Name::RocksDb | Name::RocksDbRibbon | Name::Native => kind % 32 != 1,
        _ => kind % 2 == 0,
    };
    let target = match by_bits {
        true => Target::BitsPerKey(f64::from(*size) / 8.0),
        false => Target::Fpr(1.0 / (1.0 + f64::from(*size) * f64::from(kind >> 1))),
    };
    let expected_keys = u64::from(*expected) * 16;
    let Ok(mut builder) = Builder::new(name, &Request { expected_keys, target }) else { return };
    // The first byte of a key says how long it is.
    let mut cut: Vec<&[u8]> = Vec::new();
    let mut rest = keys;
    while let [len, tail @ ..] = rest {
        let (key, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        cut.push(key);
        rest = tail;
    }
    builder.add_batch(cut.as_slice());
    let Ok(filter) = builder.build() else { return };
    let bytes = filter.encode();
    // A BitSet has no zeros at its end.
    let (len, most) = (bytes.len() as u64, filter.encoded_len());
    assert!(len == most || name == Name::JavaLsm && len < most, "{len} bytes of {most}");
    let shape = filter.geometry();
    let options = match name {
        Name::Libbloom1 | Name::JavaLsm => ReadOptions::from(name).geometry(shape.bit_len, shape.probes),
        _ => name.into(),
    };
    let read = match AnyFilter::over(bytes.clone(), &options, Check::All) {
        Ok(read) => read,
        // RocksDB stores no filter block for no keys.
        Err(_) if bytes.is_empty() && cut.is_empty() => return,
        Err(refusal) => panic!("what was written is refused: {refusal}"),
    };
    assert!(cut.iter().all(|key| filter.may_contain(key) && read.may_contain(key)), "a key is lost");
    for key in [&b"absent"[..], b"", keys] {
        assert_eq!(filter.may_contain(key), read.may_contain(key));
    }
}

/// The input is a rate, a shift and hashes, eight bytes each: numbers that no hash function would give, so
/// that systems are singular and lines are too full. Every hash is found, also when they come in another
/// order and repeated, and the bytes are the same.
pub fn compact(data: &[u8]) {
    let [rate, shift, numbers @ ..] = data else { return };
    let fpr = 0.5f64.powf(1.0 + f64::from(*rate) * 63.0 / 255.0);
    // The rest of a number is that of the one before: neighbours in a line, or far from each other.
    let hashes: Vec<u64> = numbers
        .chunks(2)
        .scan(0u64, |last, bytes| {
            let number = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            *last = last.wrapping_add(number.rotate_left(u32::from(*shift)));
            Some(*last)
        })
        .collect();
    let hashing = Hashing::default();
    let build = |hashes: &[u64], threads: usize| {
        let mut builder = CompactBuilder::new(fpr).expect("a rate that can be had").threads(threads);
        for some in hashes.chunks(1000) {
            builder.add_batch(&hashing.hashes(some)).expect("memory for hashes");
        }
        builder.build().expect("memory for a filter")
    };
    let filter = build(&hashes, 1);
    let distinct: BTreeSet<u64> = hashes.iter().copied().collect();
    assert_eq!(filter.keys(), distinct.len() as u64);
    let typed: Vec<KeyHash> = hashes.iter().map(|&hash| hashing.from_raw(hash)).collect();
    assert!(typed.iter().all(|&hash| filter.may_contain_hash(hash)), "a key is lost");
    let counted = filter.count_batch(&hashing.hashes(&hashes));
    assert_eq!(counted, Ok(hashes.len() as u64), "a key is lost in a batch");
    let bytes = filter.encode();
    let mut others: Vec<u64> = distinct.into_iter().rev().collect();
    others.extend_from_slice(&hashes[..hashes.len() / 2]);
    assert!(build(&others, 2).encode() == bytes, "the order matters");
    let read = CompactFilter::decode(&bytes).expect("what was written is read");
    assert!(read.encode() == bytes && typed.iter().all(|&hash| read.may_contain_hash(hash)));
}
