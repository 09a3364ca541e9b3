//! `leveldb` and `rocksdb-block` bytes from outside: the compatible reader answers as the engine does, and
//! errors name the field.

use crate::corrupt_formats::keys;
use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::leveldb::Compatible;
use fullbloom_dialects::leveldb::policy::{Policy, Signed, Tail, Unsigned};
use fullbloom_testkit::damage;

fn small<T: Tail>() -> Vec<u8> {
    let mut filter = Filter::<Policy<T>>::with_bits_per_key(20, 10.0).unwrap();
    filter.extend(keys(Name::LevelDb));
    filter.encode()
}

/// Compares the engine's answers with the strict reader's, and with the rules where that refuses: with fewer
/// than two bytes nothing matches; a last byte of 0 or over 30 matches every key.
fn judge<T: Tail>(bytes: &[u8]) {
    let view = Filter::<Policy<T>>::view(bytes);
    let engine = Compatible::<Policy<T>>::read(bytes);
    for key in keys(Name::LevelDb) {
        let expected = view.as_ref().map_or(bytes.len() >= 2, |view| view.may_contain(key));
        assert_eq!(engine.may_contain(key), expected, "{bytes:x?}");
    }
}

fn every_damage<T: Tail>() {
    let file = small::<T>();
    damage::every_form(&file, file.len() - 1..file.len(), 0xff, judge::<T>);
}

#[test]
fn every_cut_and_every_changed_byte_has_the_engines_answer() {
    every_damage::<Unsigned>();
    every_damage::<Signed>();
}

/// 256 marker bytes over empty and full arrays of several lengths.
#[test]
fn every_probe_count_over_both_fills_has_the_engines_answer() {
    for probes in 0..=255u8 {
        for (fill, len) in [(0x00, 1usize), (0xff, 1), (0x00, 8), (0xff, 8), (0x00, 127), (0xff, 127)] {
            let mut bytes = vec![fill; len];
            bytes.push(probes);
            judge::<Unsigned>(&bytes);
            judge::<Signed>(&bytes);
            let reserved = probes == 0 || probes > 30;
            assert_eq!(
                Compatible::<Policy<Unsigned>>::read(&bytes).may_contain(b"k"),
                reserved || fill == 0xff
            );
        }
    }
}

#[test]
fn errors_name_the_field_and_where_it_is() {
    let decode = |bytes: &[u8]| Filter::<Policy<Unsigned>>::decode(bytes).map(drop).unwrap_err();
    assert_eq!(decode(b""), DecodeError::Truncated { field: "probes", at: 0, need: 1, have: 0 });
    assert_eq!(decode(b"\x06"), DecodeError::Truncated { field: "bits", at: 0, need: 1, have: 0 });
    let error = decode(&[0, 0, 0, 31]);
    assert!(matches!(error, DecodeError::Value { field: "probes", at: 3, got: 31, .. }), "{error:?}");
}

/// 2^29 bytes are 2^32 bits, one more than 32-bit positions can address. Zero pages cost nothing.
#[test]
fn an_array_beyond_32_bit_positions_is_refused() {
    let mut bytes = vec![0u8; (1 << 29) + 1];
    *bytes.last_mut().unwrap() = 6;
    assert!(matches!(
        Filter::<Policy<Unsigned>>::view(&bytes),
        Err(DecodeError::Value { field: "bits", .. })
    ));
    let view = Filter::<Policy<Unsigned>>::view(&bytes[1..]).unwrap();
    assert_eq!(view.geometry().bit_len, (1 << 32) - 8);
    assert!(!view.may_contain(b"k"));
}
