#![allow(unsafe_code)]
//! A filter in a C program's hands: the numbers of its struct, and memory that several threads may be using.
//!
//! [`Filter`](crate::Filter) validates once and owns or borrows its bits; a C library gets a struct anew with every call. [`Raw`]
//! is what such a call can do with it: test a key, or insert one, after one comparison of the numbers.

use super::SEED;
use crate::bits::shared;
use crate::hash::murmur2_libbloom_from;
#[cfg(target_arch = "x86_64")]
use crate::kernel::gather::{self, Array, Gather};
use crate::probe;
use core::marker::PhantomData;
use core::sync::atomic::AtomicU8;

pub use crate::bits::shared::Writers;

/// A key as C hands it over: where it begins, and a signed length.
///
/// A negative length means no bytes, but goes into the hash as it is.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    start: *const u8,
    len: i32,
    bytes: PhantomData<&'a [u8]>,
}

impl Key<'_> {
    /// The key at `start`; `None` for a null pointer to a positive number of bytes.
    ///
    /// # Safety
    /// If `len` is positive and `start` not null, `len` bytes are readable there as long as the key is used.
    #[inline(always)]
    pub unsafe fn new(start: *const u8, len: i32) -> Option<Self> {
        if start.is_null() && is_positive(len) {
            return None;
        }
        Some(Key { start, len, bytes: PhantomData })
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        if self.len <= 0 {
            return &[];
        }
        // SAFETY: `new` was promised that many readable bytes, and `start` is not null, or it would have refused.
        unsafe { core::slice::from_raw_parts(self.start, self.len as usize) }
    }

    /// The two hashes; the second is seeded with the first.
    #[inline(always)]
    fn hash(&self) -> [u32; 2] {
        hash(self.bytes(), self.len)
    }
}

/// Apart, because it is only asked for a null pointer: a whole `bloom_check` takes some eleven nanoseconds, and each comparison shows.
#[cold]
fn is_positive(len: i32) -> bool {
    len > 0
}

#[inline(always)]
fn hash(bytes: &[u8], len: i32) -> [u32; 2] {
    let a = murmur2_libbloom_from(SEED ^ len as u32, bytes);
    [a, murmur2_libbloom_from(a ^ len as u32, bytes)]
}

/// A filter of libbloom 1.6, whose sums of hashes wrap at 2^32.
pub type Raw1<'a> = Raw<'a, true>;

/// A filter of libbloom 2.0, whose sums do not.
pub type Raw2<'a> = Raw<'a, false>;

/// The bits and the numbers of a filter; see [`Raw1`] and [`Raw2`].
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a, const WRAPS: bool> {
    bits: &'a [AtomicU8],
    bit_len: u64,
    probes: u32,
}

impl<'a, const WRAPS: bool> Raw<'a, WRAPS> {
    /// The filter with these numbers; `None` if there are no bits, or fewer than `bit_len`. Without wrapping, `probes` may not be over
    /// 255.
    #[inline(always)]
    pub fn new(bits: &'a [AtomicU8], bit_len: u64, probes: u32) -> Option<Self> {
        let inside = bit_len.wrapping_sub(1) >> 3 < bits.len() as u64;
        (inside && (WRAPS || probes <= u8::MAX.into())).then_some(Raw { bits, bit_len, probes })
    }

    /// One if the key may be present, else zero: an int, as C returns it.
    #[inline(always)]
    pub fn may_contain(&self, key: Key<'_>) -> i32 {
        let Raw { bits, bit_len, probes } = *self;
        #[cfg(target_arch = "x86_64")]
        if Gather::known().is_some() {
            // SAFETY: the CPU can; `new` has compared the numbers; bits and key are live.
            return unsafe {
                gather_test::<WRAPS>(bits.as_ptr(), bits.len(), bit_len, key.start, key.len, probes)
            };
        }
        // SAFETY: as above.
        unsafe { first_test::<WRAPS>(bits.as_ptr(), bits.len(), bit_len, key.start, key.len, probes) }
    }

    /// Inserts the key; true if at least one of its bits was clear.
    ///
    /// Of several threads that insert the same key at the same moment, more than one may be told so.
    #[inline(always)]
    pub fn insert(&self, key: Key<'_>, writers: Writers) -> bool {
        let mut clear = 0;
        match writers {
            Writers::One => self.walk(key.hash(), |at| clear |= shared::set(self.bits, at, Writers::One)),
            Writers::Many => self.walk(key.hash(), |at| clear |= shared::set(self.bits, at, Writers::Many)),
        }
        clear != 0
    }

    /// Visits every position. The numbers are new with each call, so there is no time to make a reciprocal of `bit_len`.
    #[inline(always)]
    fn walk(&self, [a, b]: [u32; 2], mut visit: impl FnMut(u64)) {
        let Raw { bit_len, probes, .. } = *self;
        if WRAPS {
            let mut at = a;
            for _ in 0..probes {
                visit(u64::from(at) % bit_len);
                at = at.wrapping_add(b);
            }
        } else {
            probe::stepping_reduced(u64::from(a) % bit_len, u64::from(b) % bit_len, probes, bit_len)
                .for_each(visit);
        }
    }
}

/// Everything a test needs, in six registers, so that a C function can end in a jump to it.
#[cfg(target_arch = "x86_64")]
type Test = unsafe extern "C" fn(*const AtomicU8, usize, u64, *const u8, i32, u32) -> i32;

/// Position by position, on any CPU: the definition.
///
/// # Safety
/// `bits` is valid for `len` atomic bytes, `bit_len` is 1 to eight times that; the key is as for [`Key::new`].
#[inline(never)]
unsafe extern "C" fn walk_test<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    // SAFETY: promised by the caller.
    let bits = unsafe { core::slice::from_raw_parts(bits, len) };
    let key = Key { start: key, len: key_len, bytes: PhantomData };
    let mut all = 1;
    Raw::<WRAPS> { bits, bit_len, probes }.walk(key.hash(), |at| all &= shared::get(bits, at));
    all.into()
}

/// The first test of the process finds out what the CPU can do.
///
/// # Safety
/// As [`walk_test`].
#[cold]
unsafe extern "C" fn first_test<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if Gather::get().is_some() {
        // SAFETY: the CPU can, and the rest is handed on.
        return unsafe { gather_test::<WRAPS>(bits, len, bit_len, key, key_len, probes) };
    }
    // SAFETY: handed on.
    unsafe { walk_test::<WRAPS>(bits, len, bit_len, key, key_len, probes) }
}

/// Eight positions at a time.
///
/// Until its hash is known a core can begin little of the next key, so a loop over the words of the key, with its branches, costs as
/// much as the test. Keys of up to eight whole words have it unrolled; eight bytes, the commonest, come first.
///
/// # Safety
/// As [`walk_test`], and the CPU can gather.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
unsafe extern "C" fn gather_test<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    if key_len == 8 {
        // SAFETY: handed on, with the length just seen.
        return unsafe { gather_known::<WRAPS, 8>(bits, len, bit_len, key, key_len, probes) };
    }
    // SAFETY: handed on.
    unsafe { gather_other::<WRAPS>(bits, len, bit_len, key, key_len, probes) }
}

/// # Safety
/// As [`gather_test`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
#[inline(never)]
unsafe extern "C" fn gather_other<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    let test: Test = match key_len {
        4 => gather_known::<WRAPS, 4>,
        12 => gather_known::<WRAPS, 12>,
        16 => gather_known::<WRAPS, 16>,
        20 => gather_known::<WRAPS, 20>,
        24 => gather_known::<WRAPS, 24>,
        28 => gather_known::<WRAPS, 28>,
        32 => gather_known::<WRAPS, 32>,
        _ => gather_any::<WRAPS>,
    };
    // SAFETY: handed on, with the length that was matched.
    unsafe { test(bits, len, bit_len, key, key_len, probes) }
}

/// # Safety
/// As [`gather_test`], and the key has `LEN` bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
#[inline]
unsafe extern "C" fn gather_known<const WRAPS: bool, const LEN: usize>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    _: i32,
    probes: u32,
) -> i32 {
    // SAFETY: promised by the caller.
    match unsafe { Array::compared(bits.cast(), len, bit_len) } {
        Some(array) => {
            // SAFETY: the key has this many bytes.
            let hash = hash(unsafe { &*key.cast::<[u8; LEN]>() }, LEN as i32);
            gather::all_set::<WRAPS>(array, hash, probes).into()
        }
        // SAFETY: handed on.
        None => unsafe { walk_test::<WRAPS>(bits, len, bit_len, key, LEN as i32, probes) },
    }
}

/// # Safety
/// As [`gather_test`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
unsafe extern "C" fn gather_any<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    // SAFETY: promised by the caller.
    match unsafe { Array::compared(bits.cast(), len, bit_len) } {
        Some(array) => {
            let hash = Key { start: key, len: key_len, bytes: PhantomData }.hash();
            gather::all_set::<WRAPS>(array, hash, probes).into()
        }
        // SAFETY: handed on.
        None => unsafe { walk_test::<WRAPS>(bits, len, bit_len, key, key_len, probes) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;
    use crate::dialect::{Libbloom, Libbloom1};
    use crate::filter::{Insert, Size};
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
                    walk_test::<WRAPS>(
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
}
