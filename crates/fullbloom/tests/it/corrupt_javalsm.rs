//! java-lsm-tree's raw bits with numbers given by the caller: nothing in the bytes can be checked. Bytes that
//! cannot be a `BitSet` of that size are refused; all others are answered from the existing bits.

use fullbloom::dialect::JavaLsm;
use fullbloom::{DecodeError, Filter};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage;
use fullbloom_testkit::naive::{Family, Naive};

const KEYS: [&[u8]; 4] = [b"", b"a", b"key1", "grün 😀".as_bytes()];

fn small() -> Vec<u8> {
    let mut filter = Filter::<JavaLsm>::with_fpr(10, 0.01).unwrap();
    assert_eq!((filter.geometry().bit_len, filter.geometry().probes), (95, 6));
    filter.extend(KEYS);
    filter.encode()
}

fn judge(bytes: &[u8], bits: u64, probes: u32) {
    let (view, peak) = peak_of(|| Filter::<JavaLsm>::view_exact(bytes, bits, probes));
    assert!(peak <= 65_536, "{peak}");
    let fits = bytes.len() as u64 <= bits.div_ceil(8);
    let sound = fits && bits < 1 << 31 && (bits > 0 || probes == 0);
    assert_eq!(view.is_ok(), sound, "{} bytes as {bits} bits", bytes.len());
    let Ok(view) = view else { return };
    let oracle = Naive::from_array(Family::JavaLsm, bits as usize, probes, bytes);
    let copy = view.try_clone().unwrap();
    for key in KEYS {
        assert_eq!(view.may_contain(key), oracle.may_contain(key), "{bytes:x?}");
        assert_eq!(copy.may_contain(key), oracle.may_contain(key), "{bytes:x?}");
    }
}

#[test]
fn every_cut_and_change_is_answered_from_the_bits_that_are_there() {
    let bytes = small();
    // Missing bytes are zero: BitSet itself drops them.
    damage::every_form(&bytes, 0..bytes.len(), 0xff, |bytes| judge(bytes, 95, 6));
    // As the original reads them, any bytes are 9585 bits; further bytes are ignored.
    for restored in [&bytes[..], &[0xff; 2000], &[]] {
        let oracle = Naive::from_array(Family::JavaLsm, 9585, 6, restored);
        let view = JavaLsm::as_restored_by_original(restored);
        assert!(KEYS.iter().all(|key| view.may_contain(key) == oracle.may_contain(key)));
    }
}

#[test]
fn invalid_numbers_are_refused() {
    let bytes = small();
    for bits in [0, 1, 8, 88, 89, 95, 96, 97, 1000] {
        for probes in [0, 1, 6, 30] {
            judge(&bytes, bits, probes);
        }
    }
    for bits in [1 << 31, 1 << 32, u64::MAX] {
        assert!(
            matches!(Filter::<JavaLsm>::view_exact(&bytes, bits, 6), Err(DecodeError::Geometry(_))),
            "{bits}"
        );
    }
    assert!(matches!(Filter::<JavaLsm>::view(&bytes), Err(DecodeError::Unknown { .. })));
    let longer = [&bytes[..], &[0; 3]].concat();
    let error = Filter::<JavaLsm>::view_exact(&longer, 95, 6).map(drop).unwrap_err();
    assert_eq!(error, DecodeError::Trailing { at: 12, extra: longer.len() as u64 - 12 });
}

/// Two numbers given by the caller may describe 256 MiB; a view allocates none of it.
#[test]
fn a_view_of_few_bytes_as_many_bits_takes_no_memory() {
    let bytes = small();
    let (view, peak) = peak_of(|| Filter::<JavaLsm>::view_exact(&bytes, i32::MAX as u64, 6).unwrap());
    assert_eq!(peak, 0);
    assert!(!view.may_contain(b"absent"));
}
