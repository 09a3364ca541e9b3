//! The Java object stream of Cassandra 0.x, damaged: every byte of the class descriptions is checked, and no
//! word count is trusted before the words exist.

use fullbloom::dialect::{Cassandra0, Cassandra07};
use fullbloom::filter::{Format, Insert, Size};
use fullbloom::{DecodeError, Filter};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{self, byte_changes, patched};
use fullbloom_testkit::naive::{Family, Naive};

const KEYS: [&[u8]; 4] = [b"", b"a", b"key-7", "grün 😀".as_bytes()];

/// Offsets in the file.
const STREAM: usize = 4;
const WORDS: usize = 72;
const ARRAY: usize = 76;

fn small<D: Size + Insert + Format>() -> Vec<u8> {
    let mut filter = Filter::<D>::with_fpr(10, 0.01).unwrap();
    assert_eq!(filter.geometry().bit_len, 128);
    filter.extend(KEYS);
    filter.encode()
}

/// Valid means: 1 to 21 probes, the stream header of a good file, exactly the existing words, and the end
/// marker.
fn judge<D: Format>(bytes: &[u8], good: &[u8], family: Family) {
    let ((view, copy), peak) = peak_of(|| (Filter::<D>::view(bytes), Filter::<D>::decode(bytes)));
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    let number = |at: usize| bytes.get(at..at + 4).map(|b| i32::from_be_bytes(b.try_into().unwrap()));
    let sound = number(0).zip(number(WORDS)).filter(|&(probes, words)| {
        (1..=21).contains(&probes)
            && bytes[STREAM..WORDS] == good[STREAM..WORDS]
            && words >= 1
            && bytes.len() as i64 == ARRAY as i64 + 8 * i64::from(words) + 1
            && bytes.last() == Some(&0x78)
    });
    assert_eq!(view.is_ok(), sound.is_some(), "{bytes:x?}");
    assert_eq!(copy.is_ok(), sound.is_some(), "{bytes:x?}");
    let Some((probes, words)) = sound else { return };
    let oracle = Naive::from_array(family, words as usize * 64, probes as u32, &bytes[ARRAY..]);
    for key in KEYS {
        assert_eq!(view.as_ref().unwrap().may_contain(key), oracle.may_contain(key), "{bytes:x?}");
        assert_eq!(copy.as_ref().unwrap().may_contain(key), oracle.may_contain(key), "{bytes:x?}");
    }
}

fn every_damage<D: Size + Insert + Format>(family: Family) {
    let file = small::<D>();
    damage::every_form(&file, 0..ARRAY, 0x78, |bytes| judge::<D>(bytes, &file, family));
    for (_, changed) in byte_changes(&file, file.len() - 1..file.len()) {
        judge::<D>(&changed, &file, family);
    }
}

#[test]
fn every_cut_change_and_extension_is_refused_or_answered_by_the_rules() {
    every_damage::<Cassandra07>(Family::Cassandra07);
    every_damage::<Cassandra0>(Family::Cassandra0);
}

#[test]
fn a_broken_class_description_is_refused_at_the_byte_that_is_wrong() {
    let file = small::<Cassandra07>();
    for at in STREAM..WORDS {
        let error = Filter::<Cassandra07>::view(&patched(&file, at, &[!file[at]])).map(drop).unwrap_err();
        let expected = DecodeError::Magic { field: "java.util.BitSet stream", at: at as u64 };
        assert_eq!(error, expected);
    }
}

#[test]
fn word_and_probe_counts_at_their_extremes_are_refused_without_memory_for_them() {
    let file = small::<Cassandra0>();
    let decode = |bytes: &[u8]| peak_of(|| Filter::<Cassandra0>::decode(bytes).map(drop).unwrap_err());
    for words in [0, -1, i32::MIN, i32::MAX, 33_554_432] {
        let (error, peak) = decode(&patched(&file, WORDS, &words.to_be_bytes()));
        assert!(matches!(error, DecodeError::Value { field: "words", at: 72, .. }), "{words}: {error:?}");
        assert_eq!(peak, 0);
    }
    let (error, peak) = decode(&patched(&file, WORDS, &33_554_431i32.to_be_bytes()));
    assert!(matches!(error, DecodeError::Truncated { field: "bits", need: 268_435_448, .. }), "{error:?}");
    assert_eq!(peak, 0);
    for probes in [0, -1, 22, i32::MAX, i32::MIN] {
        let (error, _) = decode(&patched(&file, 0, &probes.to_be_bytes()));
        assert!(matches!(error, DecodeError::Value { field: "probes", at: 0, .. }), "{probes}: {error:?}");
    }
}
