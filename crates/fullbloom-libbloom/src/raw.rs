//! A filter in the hands of a C program: the numbers of its struct, and memory that several threads may be
//! using.
//!
//! [`fullbloom::Filter`] validates once and owns or borrows its bits. A C library gets a struct with every
//! call; [`Raw`] tests or inserts one key after a single comparison of the struct's numbers.
//!
//! | file | what |
//! |---|---|
//! | `raw.rs` | [`Key`] and [`Raw`]: insert, and the walk over the positions |
//! | `raw/lookup.rs` | the lookup, with gathers where the CPU has them |

mod lookup;

use crate::bits::{self, Writers};
use fullbloom_dialects::libbloom::hashes::hash_with_len;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU8;

/// A key as a C caller gives it: a pointer and a signed length.
///
/// A negative length means no bytes, but is mixed into the hash as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    start: *const u8,
    len: i32,
    bytes: PhantomData<&'a [u8]>,
}

impl Key<'_> {
    /// The key at `start`; `None` for a null pointer with a positive length.
    ///
    /// # Safety
    /// If `len` is positive and `start` not null, `len` bytes are readable there as long as the key is used.
    #[inline(always)]
    pub(crate) unsafe fn new(start: *const u8, len: i32) -> Option<Self> {
        if start.is_null() && is_positive(len) {
            return None;
        }
        Some(Key { start, len, bytes: PhantomData })
    }

    /// The two hashes; the second is seeded with the first.
    #[inline(always)]
    fn hash(&self) -> [u32; 2] {
        let bytes = if self.len <= 0 {
            &[]
        } else {
            // SAFETY: `new` was promised that many readable bytes, and refused a null `start`.
            unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
        };
        hash_with_len(bytes, self.len as u32)
    }
}

/// A function of its own, called for null pointers only: a whole `bloom_check` takes about eleven
/// nanoseconds, and every comparison shows.
#[cold]
fn is_positive(len: i32) -> bool {
    len > 0
}

/// A filter of libbloom 1.6, whose sums of hashes wrap at 2^32.
pub(crate) type Raw1<'a> = Raw<'a, true>;

/// A filter of libbloom 2.0, whose sums do not.
pub(crate) type Raw2<'a> = Raw<'a, false>;

/// The bits and the numbers of a filter; see [`Raw1`] and [`Raw2`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a, const WRAPS: bool> {
    bits: &'a [AtomicU8],
    bit_len: u64,
    probes: u32,
}

impl<'a, const WRAPS: bool> Raw<'a, WRAPS> {
    /// The filter with these numbers; `None` if `bit_len` is zero or more than there are bits. Without
    /// wrapping, `probes` must be at most 255.
    #[inline(always)]
    pub(crate) fn new(bits: &'a [AtomicU8], bit_len: u64, probes: u32) -> Option<Self> {
        let inside = bit_len.wrapping_sub(1) >> 3 < bits.len() as u64;
        (inside && (WRAPS || probes <= u8::MAX.into())).then_some(Raw { bits, bit_len, probes })
    }

    /// One if the key may be present, else zero: an int, as C returns it.
    #[inline(always)]
    pub(crate) fn may_contain(&self, key: Key<'_>) -> i32 {
        let Raw { bits, bit_len, probes } = *self;
        // SAFETY: `new` has compared the numbers; bits and key are live.
        unsafe {
            lookup::may_contain::<WRAPS>(bits.as_ptr(), bits.len(), bit_len, key.start, key.len, probes)
        }
    }

    /// Inserts the key; true if at least one of its bits was clear.
    ///
    /// When several threads insert the same key at the same moment, more than one of them may get true.
    #[inline(always)]
    pub(crate) fn insert(&self, key: Key<'_>, writers: Writers) -> bool {
        let mut clear = 0;
        match writers {
            Writers::One => self.walk(key.hash(), |at| clear |= bits::set(self.bits, at, Writers::One)),
            Writers::Many => self.walk(key.hash(), |at| clear |= bits::set(self.bits, at, Writers::Many)),
        }
        clear != 0
    }

    /// Visits every position. The numbers may differ with each call, so it does not pay to compute a
    /// reciprocal of `bit_len`.
    #[inline(always)]
    fn walk(&self, [a, b]: [u32; 2], visit: impl FnMut(u64)) {
        let Raw { bit_len, probes, .. } = *self;
        let reduce = |sum: u32| u64::from(sum) % bit_len;
        match WRAPS {
            true => fullbloom_dialects::probe::wrapping32_by(a, b, probes, reduce).for_each(visit),
            false => fullbloom_dialects::probe::stepping_reduced(reduce(a), reduce(b), probes, bit_len)
                .for_each(visit),
        }
    }
}

#[cfg(test)]
mod tests;
