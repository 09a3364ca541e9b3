//! libbloom's save file and 1.6's raw bits, damaged or with false numbers: whatever the header says, nothing
//! outside the bytes is read.

use crate::corrupt_formats::small;
use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::Format;
use fullbloom_dialects::{Libbloom, Libbloom1};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{self, patched, prefixes};
use fullbloom_testkit::vectors;

const HEADER: usize = 75;

/// A file written by libbloom: 1442 bits, two probes.
fn written() -> Vec<u8> {
    vectors::bytes("libbloom/v2_e.bloom")
}

/// Numbers that are inconsistent are reported as doubtful: nothing else detects a flipped bit in them.
#[test]
fn changed_numbers_are_doubted() {
    let good = written();
    let mut doubted = 0;
    damage::every_form(&good, 0..HEADER, 0, |bytes| {
        let Ok(view) = Filter::<Libbloom>::view(bytes) else { return };
        let same_numbers = bytes[11..15] == good[11..15] && bytes[19..36] == good[19..36];
        let same_rate = bytes[43..51] == good[43..51];
        if same_rate {
            assert_eq!(view.dialect().doubt().is_none(), same_numbers, "{:x?}", &bytes[..HEADER]);
            doubted += u32::from(!same_numbers);
        }
    });
    assert!(doubted > 500, "{doubted}");
}

#[test]
fn lengths_that_lie_are_refused_without_memory_for_them() {
    let file = written();
    let decode = |bytes: &[u8]| {
        let (error, peak) = peak_of(|| Filter::<Libbloom>::decode(bytes).map(drop).unwrap_err());
        assert_eq!(peak, 0, "{error:?}");
        error
    };
    for claimed in [182, 1 << 31, 1 << 32, 1 << 60, u64::MAX] {
        let error = decode(&patched(&file, 27, &claimed.to_le_bytes()));
        let expected = DecodeError::Truncated { field: "bit array", at: 75, need: claimed, have: 181 };
        assert_eq!(error, expected);
    }
    for bits in [1449, 1 << 32, 1 << 63, u64::MAX, u64::MAX - 6] {
        let error = decode(&patched(&file, 19, &bits.to_le_bytes()));
        let expected = bits.div_ceil(8);
        assert_eq!(error, DecodeError::Mismatch { field: "bytes", at: 27, got: 181, expected });
    }
    let error = decode(&patched(&file, 19, &[0; 8]));
    assert!(matches!(error, DecodeError::Value { field: "bits", at: 19, got: 0, .. }), "{error:?}");
    // Both at once: the largest bit count of a u64, with a byte count that would hold it.
    let both = patched(&patched(&file, 19, &u64::MAX.to_le_bytes()), 27, &(1u64 << 61).to_le_bytes());
    assert!(matches!(decode(&both), DecodeError::Truncated { field: "bit array", .. }));
}

#[test]
fn other_magics_sizes_and_versions_are_refused_where_they_stand() {
    let file = written();
    let decode = |bytes: &[u8]| Filter::<Libbloom>::view(bytes).map(drop).unwrap_err();
    for at in 0..9 {
        let changed = patched(&file, at, &[file[at] ^ 0x20]);
        assert_eq!(decode(&changed), DecodeError::Magic { field: "magic", at: at as u64 });
    }
    for size in [0u16, 56, 63, 65, 0x4000, u16::MAX] {
        let error = decode(&patched(&file, 9, &size.to_le_bytes()));
        assert!(matches!(error, DecodeError::Value { field: "struct size", at: 9, .. }), "{size}: {error:?}");
    }
    for (at, value, name) in [(51, 0, "ready"), (52, 1, "major"), (52, 3, "major")] {
        let error = decode(&patched(&file, at, &[value]));
        let named = matches!(error, DecodeError::Value { field, at: where_, .. } if field == name && where_ == at as u64);
        assert!(named, "{name}: {error:?}");
    }
}

/// A NaN rate makes the stored rate unequal to itself; this must not break anything.
#[test]
fn a_rate_that_is_nan_is_doubted_and_never_merged() {
    let changed = patched(&written(), 43, &f64::NAN.to_le_bytes());
    let mut filter = Filter::<Libbloom>::decode(&changed).unwrap();
    assert!(filter.dialect().doubt().is_some());
    let other = Filter::<Libbloom>::view(&changed).unwrap();
    assert!(filter.merge(&other).is_err());
    assert_eq!(filter.encode()[HEADER..], changed[HEADER..]);
}

#[test]
fn raw_bits_of_1_6_must_have_exactly_the_length_that_is_given() {
    let (bytes, bits, probes) = (small::<Libbloom1>(1000, 0.5), 1442, 2);
    let view = |bytes: &[u8], bits, probes| Filter::<Libbloom1>::view_exact(bytes, bits, probes).map(drop);
    assert_eq!(view(&bytes, bits, probes), Ok(()));
    for cut in prefixes(&bytes) {
        let expected = DecodeError::Truncated { field: "bits", at: 0, need: 181, have: cut.len() as u64 };
        assert_eq!(view(cut, bits, probes), Err(expected));
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(view(&longer, bits, probes), Err(DecodeError::Trailing { at: 181, extra: 1 }));
    for bits in [0, 1 << 31, 1 << 32, u64::MAX] {
        assert!(matches!(view(&bytes, bits, probes), Err(DecodeError::Geometry(_))), "{bits}");
    }
}
