//! `bloom_check`'s lookup: with gathers where the CPU has them, else position by position.
//!
//! Every function here takes the same six arguments, all in registers, so that a C function can end in a jump
//! to it.

use super::{Key, Raw};
use crate::bits;
#[cfg(target_arch = "x86_64")]
use fullbloom_dialects::kernel::gather::{Array, Gather, all_set};
#[cfg(target_arch = "x86_64")]
use fullbloom_dialects::libbloom::hashes::hash_with_len;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU8;

/// The function type of all lookups.
#[cfg(target_arch = "x86_64")]
type Lookup = unsafe extern "C" fn(*const AtomicU8, usize, u64, *const u8, i32, u32) -> i32;

/// One if the key may be present, else zero.
///
/// # Safety
/// `bits` is valid for `len` atomic bytes, `bit_len` is 1 to eight times that; the key is as for
/// [`Key::new`].
#[inline(always)]
pub(super) unsafe fn may_contain<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if Gather::known().is_some() {
        // SAFETY: `Gather::known` says that the CPU can gather. The promise of `may_contain`, passed on:
        // `bits` is valid for `len` atomic bytes, and the key for its length.
        return unsafe { gather::<WRAPS>(bits, len, bit_len, key, key_len, probes) };
    }
    // SAFETY: The promise of `may_contain`, passed on: `bits` is valid for `len` atomic bytes, and the key
    // for its length.
    unsafe { first::<WRAPS>(bits, len, bit_len, key, key_len, probes) }
}

/// Position by position, on any CPU: the definition.
///
/// # Safety
/// As [`may_contain`].
#[inline(never)]
pub(super) unsafe extern "C" fn walk<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    // SAFETY: `walk` demands what `may_contain` does: `bits` is valid for `len` atomic bytes.
    let bits = unsafe { std::slice::from_raw_parts(bits, len) };
    let key = Key { start: key, len: key_len, bytes: PhantomData };
    let mut all = 1;
    Raw::<WRAPS> { bits, bit_len, probes }.walk(key.hash(), |at| all &= bits::get(bits, at));
    all.into()
}

/// The first lookup of the process finds out what the CPU can do. Later ones come here on CPUs that do not
/// gather.
///
/// # Safety
/// As [`may_contain`].
#[cold]
unsafe extern "C" fn first<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if Gather::get().is_some() {
        // SAFETY: `Gather::get` has found that the CPU can gather. The promise of `may_contain`, passed on:
        // `bits` is valid for `len` atomic bytes, and the key for its length.
        return unsafe { gather::<WRAPS>(bits, len, bit_len, key, key_len, probes) };
    }
    // SAFETY: The promise of `may_contain`, passed on: `bits` is valid for `len` atomic bytes, and the key
    // for its length.
    unsafe { walk::<WRAPS>(bits, len, bit_len, key, key_len, probes) }
}

/// Eight positions at a time.
///
/// A core can begin little of the next key before the hash of this one is known, so a loop over the words of
/// the key, with its branches, costs as much as the lookup. For keys of up to eight whole words the loop is
/// unrolled; the most common length, eight bytes, comes first.
///
/// # Safety
/// As [`may_contain`], and the CPU can gather.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
unsafe extern "C" fn gather<const WRAPS: bool>(
    bits: *const AtomicU8,
    len: usize,
    bit_len: u64,
    key: *const u8,
    key_len: i32,
    probes: u32,
) -> i32 {
    if key_len == 8 {
        // SAFETY: The key has eight bytes, as the branch says. The promise of `may_contain`, passed on:
        // `bits` is valid for `len` atomic bytes, and the key for its length.
        return unsafe { gather_known::<WRAPS, 8>(bits, len, bit_len, key, key_len, probes) };
    }
    // SAFETY: The promise of `may_contain`, passed on: `bits` is valid for `len` atomic bytes, and the key
    // for its length.
    unsafe { gather_other::<WRAPS>(bits, len, bit_len, key, key_len, probes) }
}

/// # Safety
/// As [`gather`].
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
    let lookup: Lookup = match key_len {
        4 => gather_known::<WRAPS, 4>,
        12 => gather_known::<WRAPS, 12>,
        16 => gather_known::<WRAPS, 16>,
        20 => gather_known::<WRAPS, 20>,
        24 => gather_known::<WRAPS, 24>,
        28 => gather_known::<WRAPS, 28>,
        32 => gather_known::<WRAPS, 32>,
        _ => gather_any::<WRAPS>,
    };
    // SAFETY: The key has the length that was matched, or any for `gather_any`. The promise of `may_contain`,
    // passed on: `bits` is valid for `len` atomic bytes, and the key for its length.
    unsafe { lookup(bits, len, bit_len, key, key_len, probes) }
}

/// # Safety
/// As [`gather`], and the key has `LEN` bytes.
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
    // SAFETY: `may_contain` demands that `bits` is valid for `len` bytes and `bit_len` is 1 to eight times
    // that.
    match unsafe { Array::compared(bits.cast(), len, bit_len) } {
        Some(array) => {
            // SAFETY: the key has this many bytes.
            let hash = hash_with_len(unsafe { &*key.cast::<[u8; LEN]>() }, LEN as u32);
            all_set::<WRAPS>(array, hash, probes).into()
        }
        // SAFETY: The promise of `may_contain`, passed on: `bits` is valid for `len` atomic bytes, and the
        // key for its length.
        None => unsafe { walk::<WRAPS>(bits, len, bit_len, key, LEN as i32, probes) },
    }
}

/// # Safety
/// As [`gather`].
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
    // SAFETY: `may_contain` demands that `bits` is valid for `len` bytes and `bit_len` is 1 to eight times
    // that.
    match unsafe { Array::compared(bits.cast(), len, bit_len) } {
        Some(array) => {
            let hash = Key { start: key, len: key_len, bytes: PhantomData }.hash();
            all_set::<WRAPS>(array, hash, probes).into()
        }
        // SAFETY: The promise of `may_contain`, passed on: `bits` is valid for `len` atomic bytes, and the
        // key for its length.
        None => unsafe { walk::<WRAPS>(bits, len, bit_len, key, key_len, probes) },
    }
}
