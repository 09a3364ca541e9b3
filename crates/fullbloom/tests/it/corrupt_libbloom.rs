//! libbloom's save file and 1.6's raw bits, damaged or with false numbers: whatever the header says, nothing
//! outside the bytes is read.

use fullbloom::dialect::{Libbloom, Libbloom1};
use fullbloom::filter::Format;
use fullbloom::{DecodeError, Filter};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{self, byte_changes, patched, prefixes};
use fullbloom_testkit::naive::{Family, Naive};
use fullbloom_testkit::vectors;

const KEYS: [&[u8]; 4] = [b"", b"a", b"key1", b"hello"];
const HEADER: usize = 75;

/// A file written by libbloom: 1442 bits, two probes.
fn small() -> Vec<u8> {
    vectors::bytes("libbloom/v2_e.bloom")
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Valid means: magic, struct size 64, major 2, ready, bits if there are probes, room for them in the bytes,
/// and exactly the existing bytes. All other header fields may have any value.
fn judge(bytes: &[u8]) {
    let ((view, copy), peak) =
        peak_of(|| (Filter::<Libbloom>::view(bytes), Filter::<Libbloom>::decode(bytes)));
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    let sound = bytes.len() >= HEADER && {
        let (bits, array, probes) = (u64_at(bytes, 19), u64_at(bytes, 27), bytes[35]);
        bytes.starts_with(b"libbloom2\x40\x00")
            && bytes[51] != 0
            && bytes[52] == 2
            && (bits > 0 || probes == 0)
            && u128::from(bits) <= u128::from(array) * 8
            && (bytes.len() - HEADER) as u64 == array
    };
    assert_eq!(view.is_ok(), sound, "{:x?}", &bytes[..bytes.len().min(HEADER)]);
    assert_eq!(copy.is_ok(), sound);
    let (Ok(view), Ok(copy)) = (view, copy) else { return };
    let (bits, probes) = (u64_at(bytes, 19) as usize, u32::from(bytes[35]));
    let oracle = Naive::from_array(Family::Libbloom, bits, probes, &bytes[HEADER..]);
    for key in KEYS {
        assert_eq!(view.may_contain(key), oracle.may_contain(key), "{:x?}", &bytes[..HEADER]);
        assert_eq!(copy.may_contain(key), oracle.may_contain(key), "{:x?}", &bytes[..HEADER]);
    }
    // Numbers that are inconsistent are reported as doubtful: nothing else detects a flipped bit in them.
    let same_numbers = bytes[11..15] == small()[11..15] && bytes[19..36] == small()[19..36];
    let same_rate = bytes[43..51] == small()[43..51];
    if same_numbers && same_rate {
        assert_eq!(view.dialect().doubt(), None);
    } else if same_rate {
        assert!(view.dialect().doubt().is_some(), "{:x?}", &bytes[..HEADER]);
    }
}

#[test]
fn every_cut_change_and_extension_is_refused_or_answered_by_the_rules() {
    damage::every_form(&small(), 0..HEADER, 0, judge);
}

#[test]
fn lengths_that_lie_are_refused_without_memory_for_them() {
    let file = small();
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
    let file = small();
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
    let changed = patched(&small(), 43, &f64::NAN.to_le_bytes());
    let mut filter = Filter::<Libbloom>::decode(&changed).unwrap();
    assert!(filter.dialect().doubt().is_some());
    let other = Filter::<Libbloom>::view(&changed).unwrap();
    assert!(filter.merge(&other).is_err());
    assert_eq!(filter.encode()[HEADER..], changed[HEADER..]);
}

#[test]
fn raw_bits_of_1_6_must_have_exactly_the_length_that_is_given() {
    let mut filter = Filter::<Libbloom1>::with_fpr(1000, 0.5).unwrap();
    filter.extend(KEYS);
    let (bytes, bits, probes) = (filter.encode(), 1442, 2);
    assert_eq!((filter.geometry().bit_len, filter.geometry().probes), (bits, probes));
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
    assert!(matches!(Filter::<Libbloom1>::view(&bytes), Err(DecodeError::Unknown { .. })));
    for (_, changed) in byte_changes(&bytes, 0..0) {
        let oracle = Naive::from_array(Family::Libbloom1, 1442, 2, &changed);
        let view = Filter::<Libbloom1>::view_exact(&changed, bits, probes).unwrap();
        assert!(KEYS.iter().all(|key| view.may_contain(key) == oracle.may_contain(key)));
    }
}
