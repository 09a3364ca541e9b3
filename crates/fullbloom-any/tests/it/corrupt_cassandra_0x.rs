//! The Java object stream of Cassandra 0.x, damaged: every byte of the class descriptions is checked, and no
//! word count is trusted before the words exist.

use crate::corrupt_formats::small;
use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{Cassandra0, Cassandra07};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::patched;

/// Offsets in the file.
const STREAM: usize = 4;
const WORDS: usize = 72;

#[test]
fn a_broken_class_description_is_refused_at_the_byte_that_is_wrong() {
    let file = small::<Cassandra07>(10, 0.01);
    for at in STREAM..WORDS {
        let error = Filter::<Cassandra07>::view(&patched(&file, at, &[!file[at]])).map(drop).unwrap_err();
        let expected = DecodeError::Magic { field: "java.util.BitSet stream", at: at as u64 };
        assert_eq!(error, expected);
    }
}

#[test]
fn word_and_probe_counts_at_their_extremes_are_refused_without_memory_for_them() {
    let file = small::<Cassandra0>(10, 0.01);
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
