//! `Filter.db` of the four plain families, damaged: refused, or answered from the existing bytes; never a
//! panic, a read past the end, or memory for words that do not exist.

use fullbloom::internal::cassandra::{Family, V1, V2, V3, V4, Words};
use fullbloom::{DecodeError, Filter, View};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{self, byte_changes, patched};
use fullbloom_testkit::naive::{self, Naive};

const KEYS: [&[u8]; 5] = [b"", b"a", b"key-7", b"\xff\xfe\xfd", b"sixteen bytes...and a tail\x80"];

/// Three words, five probes.
fn small<F: Family>() -> Vec<u8> {
    let mut filter = Filter::<Words<F>>::with_fpr(15, 0.01).unwrap();
    assert_eq!(filter.geometry().bit_len, 192);
    filter.extend(KEYS);
    filter.encode()
}

/// The two numbers of the header, if they exist.
fn header(bytes: &[u8]) -> Option<(i32, i32)> {
    let number = |at: usize| bytes.get(at..at + 4).map(|b| i32::from_be_bytes(b.try_into().unwrap()));
    Some((number(0)?, number(4)?))
}

/// Compares verdict and answers with the rules, restated here: strict decoding accepts 1 to 21 probes and
/// exactly the existing words. Cassandra ignores what follows them, and matches every key with zero or fewer
/// probes.
fn judge<F: Family>(bytes: &[u8], family: naive::Family) {
    let ((strict, copy, engine), peak) = peak_of(|| {
        (
            Filter::<Words<F>>::view(bytes),
            Filter::<Words<F>>::decode(bytes),
            View::<Words<F>>::compatible(bytes),
        )
    });
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    assert_eq!(strict.is_ok(), copy.is_ok());
    if bytes.is_empty() {
        // The always-present filter.
        assert!(KEYS.iter().all(|key| strict.as_ref().unwrap().may_contain(key)));
        assert!(KEYS.iter().all(|key| engine.as_ref().unwrap().may_contain(key)));
        return;
    }
    let have = bytes.len() as i64 - 8;
    let usable = header(bytes).filter(|&(k, words)| k <= 21 && words >= 1 && have >= 8 * i64::from(words));
    let sound = usable.filter(|&(k, words)| k >= 1 && have == 8 * i64::from(words));
    assert_eq!(strict.is_ok(), sound.is_some(), "{bytes:x?}: {:?}", strict.map(|view| view.geometry()));
    assert_eq!(engine.is_ok(), usable.is_some(), "{bytes:x?}: {:?}", engine.map(|view| view.geometry()));
    let Some((k, words)) = usable else { return };
    let oracle = Naive::from_array(family, words as usize * 64, k.max(0) as u32, &bytes[8..]);
    let engine = engine.unwrap();
    assert!(engine.geometry().probes <= 21, "a query must end soon");
    for key in KEYS {
        let expected = oracle.may_contain(key);
        assert_eq!(engine.may_contain(key), expected, "{bytes:x?}");
        if let (Ok(view), Ok(copy)) = (&strict, &copy) {
            assert_eq!(view.may_contain(key), expected, "{bytes:x?}");
            assert_eq!(copy.may_contain(key), expected, "{bytes:x?}");
        }
    }
}

fn every_damage<F: Family>(family: naive::Family) {
    damage::every_form(&small::<F>(), 0..8, 0xff, |bytes| judge::<F>(bytes, family));
}

#[test]
fn every_cut_change_and_extension_is_refused_or_answered_by_the_rules() {
    every_damage::<V4>(naive::Family::Cassandra);
    every_damage::<V3>(naive::Family::Cassandra3);
    every_damage::<V2>(naive::Family::Cassandra2);
    every_damage::<V1>(naive::Family::Cassandra1);
}

#[test]
fn extreme_numbers_in_the_header_are_refused_by_name() {
    let file = small::<V4>();
    let decode = |bytes: &[u8]| Filter::<Words<V4>>::view(bytes).map(drop).unwrap_err();
    for probes in [0, -1, 22, i32::MAX, i32::MIN] {
        let error = decode(&patched(&file, 0, &probes.to_be_bytes()));
        let named =
            matches!(error, DecodeError::Value { field: "probes", at: 0, got, .. } if got == probes.into());
        assert!(named, "{probes}: {error:?}");
    }
    for words in [0, -1, i32::MIN] {
        let error = decode(&patched(&file, 4, &words.to_be_bytes()));
        let named =
            matches!(error, DecodeError::Value { field: "words", at: 4, got, .. } if got == words.into());
        assert!(named, "{words}: {error:?}");
    }
}

#[test]
fn twelve_bytes_that_claim_16_gb_are_refused_without_memory_for_them() {
    let bytes = [&5i32.to_be_bytes()[..], &i32::MAX.to_be_bytes(), &[0; 4]].concat();
    let claimed = DecodeError::Truncated { field: "bits", at: 8, need: 17_179_869_176, have: 4 };
    let (error, peak) = peak_of(|| Filter::<Words<V4>>::decode(&bytes).map(drop).unwrap_err());
    assert_eq!((error, peak), (claimed.clone(), 0));
    let (error, peak) = peak_of(|| View::<Words<V3>>::compatible(&bytes).map(drop).unwrap_err());
    assert_eq!((error, peak), (claimed, 0));
}

/// The file has no checksum: a bit that flips from one to zero loses the keys that use it, undetected.
#[test]
fn a_lost_bit_loses_its_keys_and_cannot_be_seen() {
    let file = small::<V4>();
    let mut unseen = 0;
    for (at, changed) in byte_changes(&file, 0..8).filter(|(at, _)| *at >= 8) {
        let view = Filter::<Words<V4>>::view(&changed).unwrap();
        let cleared = changed[at] < file[at];
        let lost = KEYS.iter().filter(|key| !view.may_contain(key)).count();
        assert_eq!(lost > 0, cleared, "byte {at}");
        unseen += lost;
    }
    assert!(unseen > 0);
}
