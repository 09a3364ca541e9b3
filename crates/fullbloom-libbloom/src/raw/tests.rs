use super::*;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Insert, Size};
use fullbloom_dialects::{Libbloom, Libbloom1};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

fn key(bytes: &[u8]) -> Key<'_> {
    // SAFETY: pointer and length of a live slice.
    unsafe { Key::new(bytes.as_ptr(), bytes.len() as i32) }.unwrap()
}

fn zeroed(len: usize) -> Vec<AtomicU8> {
    (0..len).map(|_| AtomicU8::new(0)).collect()
}

fn equals_filter<D: Size + Insert, const WRAPS: bool>(expected_keys: u64, fpr: f64) {
    let mut filter = Filter::<D>::with_fpr(expected_keys, fpr).unwrap();
    let geometry = filter.geometry();
    let bits = zeroed(filter.bits().len());
    let raw = Raw::<WRAPS>::new(&bits, geometry.bit_len, geometry.probes).unwrap();
    let bytes: Vec<u8> = (0..=255).map(|i: u8| i.wrapping_mul(151)).collect();
    for len in (0..70).chain([255]) {
        for start in 0..8usize.min(256 - len) {
            let (bytes, writers) =
                (&bytes[start..start + len], [Writers::One, Writers::Many][(start + len) % 2]);
            assert_eq!(raw.may_contain(key(bytes)), i32::from(filter.may_contain(bytes)), "{len}");
            assert_eq!(raw.insert(key(bytes), writers), filter.insert(bytes), "{len}");
            assert!(!raw.insert(key(bytes), writers));
            assert_eq!(raw.may_contain(key(bytes)), 1);
            // SAFETY: the arguments are those of live values.
            let walked = unsafe {
                lookup::walk::<WRAPS>(
                    bits.as_ptr(),
                    bits.len(),
                    geometry.bit_len,
                    bytes.as_ptr(),
                    len as i32,
                    geometry.probes,
                )
            };
            assert_eq!(walked, 1);
        }
    }
    assert!(bits.iter().map(|b| b.load(Relaxed)).eq(filter.bits().iter().copied()));
}

#[test]
fn raw_and_filter_set_the_same_bits_and_give_the_same_answers() {
    for fpr in [0.3, 0.1, 0.01, 0.004, 1e-5, 1e-9] {
        equals_filter::<Libbloom1, true>(1000, fpr);
        equals_filter::<Libbloom, false>(1000, fpr);
    }
}

#[test]
fn numbers_that_reach_outside_the_bits_are_refused() {
    let bits = zeroed(4);
    for bit_len in [0, 33, 1 << 32, u64::MAX] {
        assert!(Raw1::new(&bits, bit_len, 1).is_none(), "{bit_len}");
        assert!(Raw2::new(&bits, bit_len, 1).is_none(), "{bit_len}");
    }
    for bit_len in 1..=32 {
        let raw = Raw1::new(&bits, bit_len, 1000).unwrap();
        raw.insert(key(b"a"), Writers::One);
        assert_eq!(raw.may_contain(key(b"a")), 1);
    }
    assert!(Raw2::new(&bits, 32, 256).is_none());
}

#[test]
fn a_negative_length_reads_nothing_and_counts_in_the_hash() {
    let bits = zeroed(1000);
    let raw = Raw2::new(&bits, 8000, 7).unwrap();
    // SAFETY: no bytes are promised.
    let [none, minus] = [0, -1].map(|len| unsafe { Key::new(std::ptr::null(), len) }.unwrap());
    assert!(raw.insert(none, Writers::One));
    assert_eq!((raw.may_contain(none), raw.may_contain(minus)), (1, 0));
    assert_eq!(raw.may_contain(key(b"")), 1);
    // SAFETY: no bytes are promised.
    assert!(unsafe { Key::new(std::ptr::null(), 1) }.is_none());
}

#[test]
fn two_writers_in_the_same_bytes_lose_no_bit() {
    // Plain writes lose keys here as soon as the threads really run side by side.
    const ROUNDS: usize = 1000;
    let bits = zeroed(256);
    let raw = Raw2::new(&bits, 2048, 1).unwrap();
    let keys = |thread: u32| (0..300u32).map(move |i| (thread << 16 | i).to_le_bytes());
    let arrived = AtomicUsize::new(0);
    let meet = |number: usize| {
        arrived.fetch_add(1, SeqCst);
        for spins in 0.. {
            if arrived.load(SeqCst) >= 2 * number {
                break;
            }
            if spins > 10_000 {
                std::thread::yield_now(); // fewer cores than threads
            }
        }
    };
    let insert_all = |thread, round| {
        meet(2 * round + 1);
        keys(thread).for_each(|bytes| {
            raw.insert(key(&bytes), Writers::Many);
        });
        meet(2 * round + 2);
    };
    let mut lost = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS).for_each(|round| insert_all(0, round)));
        for round in 0..ROUNDS {
            bits.iter().for_each(|byte| byte.store(0, Relaxed));
            insert_all(1, round);
            lost += (0..2).flat_map(keys).filter(|bytes| raw.may_contain(key(bytes)) == 0).count();
        }
    });
    assert_eq!(lost, 0);
}
