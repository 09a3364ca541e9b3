//! java-lsm-tree's raw bits with numbers given by the caller: nothing in the bytes can be checked. Bytes that
//! cannot be a `BitSet` of that size are refused; all others are answered from the existing bits.

use crate::corrupt_formats::{keys, small};
use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{JavaLsm, Name};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::naive::{Family, Naive};

fn file() -> Vec<u8> {
    small::<JavaLsm>(10, 0.01)
}

/// As the original reads them, any bytes are 9585 bits; further bytes are ignored.
#[test]
fn any_bytes_are_restored_as_the_original_does() {
    for restored in [&file()[..], &[0xff; 2000], &[]] {
        let oracle = Naive::from_array(Family::JavaLsm, 9585, 6, restored);
        let view = JavaLsm::as_restored_by_original(restored);
        assert!(keys(Name::JavaLsm).all(|key| view.may_contain(key) == oracle.may_contain(key)));
    }
}

#[test]
fn invalid_numbers_are_refused() {
    let bytes = file();
    for bits in [1 << 31, 1 << 32, u64::MAX] {
        assert!(
            matches!(Filter::<JavaLsm>::view_exact(&bytes, bits, 6), Err(DecodeError::Geometry(_))),
            "{bits}"
        );
    }
    let longer = [&bytes[..], &[0; 3]].concat();
    let error = Filter::<JavaLsm>::view_exact(&longer, 95, 6).map(drop).unwrap_err();
    assert_eq!(error, DecodeError::Trailing { at: 12, extra: longer.len() as u64 - 12 });
}

/// Two numbers given by the caller may describe 256 MiB; a view allocates none of it.
#[test]
fn a_view_of_few_bytes_as_many_bits_takes_no_memory() {
    let bytes = file();
    let (view, peak) = peak_of(|| Filter::<JavaLsm>::view_exact(&bytes, i32::MAX as u64, 6).unwrap());
    assert_eq!(peak, 0);
    assert!(!view.may_contain(b"absent"));
}
