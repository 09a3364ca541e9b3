//! `Filter.db` of the four plain families, damaged: what Cassandra itself would answer, and errors by name.

use crate::corrupt_formats::{keys, small};
use fullbloom::DecodeError;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::words::{Family, V1, V2, V3, V4, Words};
use fullbloom_dialects::{Filter, View};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{self, byte_changes, patched};
use fullbloom_testkit::naive::{self, Naive};

/// Three words, five probes.
fn file<F: Family>() -> Vec<u8> {
    small::<Words<F>>(15, 0.01)
}

/// The two numbers of the header, if they exist.
fn header(bytes: &[u8]) -> Option<(i32, i32)> {
    let number = |at: usize| bytes.get(at..at + 4).map(|b| i32::from_be_bytes(b.try_into().unwrap()));
    Some((number(0)?, number(4)?))
}

/// Compares verdict and answers of the compatible view with Cassandra's rules: it ignores bytes after the
/// words, and matches every key with zero or fewer probes.
fn judge<F: Family>(bytes: &[u8], family: naive::Family) {
    let (engine, peak) = peak_of(|| View::<Words<F>>::compatible(bytes));
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    if bytes.is_empty() {
        // The always-present filter.
        assert!(keys(Name::Cassandra).all(|key| engine.as_ref().unwrap().may_contain(key)));
        return;
    }
    let have = bytes.len() as i64 - 8;
    let usable = header(bytes).filter(|&(k, words)| k <= 21 && words >= 1 && have >= 8 * i64::from(words));
    assert_eq!(engine.is_ok(), usable.is_some(), "{bytes:x?}: {:?}", engine.map(|view| view.geometry()));
    let (Ok(engine), Some((k, words))) = (engine, usable) else { return };
    let oracle = Naive::from_array(family, words as usize * 64, k.max(0) as u32, &bytes[8..]);
    assert!(engine.geometry().probes <= 21, "a query must end soon");
    for key in keys(Name::Cassandra) {
        assert_eq!(engine.may_contain(key), oracle.may_contain(key), "{bytes:x?}");
    }
}

#[test]
fn every_cut_change_and_extension_has_cassandras_answer() {
    fn one<F: Family>(family: naive::Family) {
        damage::every_form(&file::<F>(), 0..8, 0xff, |bytes| judge::<F>(bytes, family));
    }
    one::<V4>(naive::Family::Cassandra);
    one::<V3>(naive::Family::Cassandra3);
    one::<V2>(naive::Family::Cassandra2);
    one::<V1>(naive::Family::Cassandra1);
}

#[test]
fn extreme_numbers_in_the_header_are_refused_by_name() {
    let file = file::<V4>();
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
    let file = file::<V4>();
    let mut unseen = 0;
    for (at, changed) in byte_changes(&file, 0..8).filter(|(at, _)| *at >= 8) {
        let view = Filter::<Words<V4>>::view(&changed).unwrap();
        let cleared = changed[at] < file[at];
        let lost = keys(Name::Cassandra).filter(|key| !view.may_contain(key)).count();
        assert_eq!(lost > 0, cleared, "byte {at}");
        unseen += lost;
    }
    assert!(unseen > 0);
}
