//! Plans without data.

use fullbloom::sizing::Target;
use fullbloom_dialects::Name;
use fullbloom_ops::{Wish, plan};

/// Bytes, bits per key and rate of the compact filter of a million keys.
fn compact(wish: Wish) -> Option<(u64, f64, f64)> {
    let report = plan(&[Name::Native], 1_000_000, wish, None).unwrap();
    report.found[0].record.compact.map(|row| (row.bytes, row.bits_per_key.unwrap(), row.expected_fpr))
}

#[test]
fn a_compact_filter_fills_the_memory_and_the_bits_that_it_may_take() {
    let (room, _, asked) = compact(Wish::Target(Target::Fpr(0.01))).unwrap();
    let (bytes, _, fpr) = compact(Wish::Memory(room)).unwrap();
    assert!(bytes <= room && bytes * 1000 > room * 995, "{bytes} of {room} bytes");
    assert!((fpr / asked - 1.0).abs() < 0.03, "{fpr} instead of {asked}");
    let (_, bits, fpr) = compact(Wish::Target(Target::BitsPerKey(10.0))).unwrap();
    assert!(bits <= 10.0 && bits > 9.95, "{bits} bits per key");
    assert!(fpr < 0.0017, "{fpr}");
}

#[test]
fn a_compact_filter_that_does_not_fit_is_not_planned() {
    assert_eq!(compact(Wish::Memory(1_000)), None);
    assert_eq!(compact(Wish::Target(Target::BitsPerKey(1.0))), None);
}
