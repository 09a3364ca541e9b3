//! Callbacks for LevelDB's C interface, `leveldb_filterpolicy_create`: our filters in LevelDB's tables.
//!
//! LevelDB takes an empty filter for one without keys, and a policy cannot report failure. So if a filter
//! cannot be made, the policy returns bytes that match every key: lookups then read the block, and no key is
//! lost.

use crate::dialect::named;
use crate::keys::{Keys, array, key};
use crate::status::{Error, Status, call};
use fullbloom::SizeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::LevelDb;
use fullbloom_dialects::Name;
use fullbloom_dialects::leveldb::Compatible;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::ptr;

/// Marks a live policy; the letters `fbpolicy`.
const LIVE: u64 = u64::from_be_bytes(*b"fbpolicy");

/// A filter of two bytes, the least LevelDB reads, whose number of probes LevelDB reserves and treats as
/// "every key matches".
const EVERY_KEY: [u8; 2] = [0, 0xff];

/// Makes filters and looks keys up in them. The tag comes first, as in every kind of handle.
#[derive(Debug)]
#[repr(C)]
pub struct Policy {
    tag: u64,
    kind: Kind,
    bits_per_key: f64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    LevelDb,
    Native,
}

/// A policy.
///
/// # Safety
/// `policy` is null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_policy_create(
    dialect: c_int,
    bits_per_key: f64,
    policy: *mut *mut Policy,
) -> Status {
    call(|| {
        if policy.is_null() {
            return Err(Error::null("policy"));
        }
        // SAFETY: `policy` is not null (checked above), and fullbloom.h demands room for a pointer.
        unsafe { policy.write(ptr::null_mut()) };
        let kind = match named(dialect)? {
            Name::LevelDb => Kind::LevelDb,
            Name::Native => Kind::Native,
            other => {
                let why = format_args!("a policy cannot make {other} filters; use leveldb or native");
                return Err(Error::new(Status::Argument, why));
            }
        };
        let made = Policy { tag: LIVE, kind, bits_per_key };
        made.filter(&Keys::NONE, &mut io::sink())?; // an invalid size is refused now, not by a callback
        // SAFETY: `policy` is not null (checked above), and fullbloom.h demands room for a pointer.
        unsafe { policy.write(Box::into_raw(Box::new(made))) };
        Ok(())
    })
}

impl Policy {
    /// # Safety
    /// `state` is null or points to live memory of a policy's size.
    unsafe fn get<'a>(state: *const c_void) -> Result<&'a Policy, Error> {
        let policy = state.cast::<Policy>();
        if policy.is_null() {
            return Err(Error::null("policy"));
        }
        // SAFETY: `policy` is not null (checked above), and `get` demands live memory of a policy's size; the
        // tag is read before the reference is made.
        unsafe {
            if !policy.is_aligned() || (&raw const (*policy).tag).read() != LIVE {
                return Err(Error::new(Status::Handle, "the pointer does not point to a live policy"));
            }
            Ok(&*policy)
        }
    }

    /// Writes the filter of these keys.
    fn filter(&self, keys: &Keys<'_>, out: &mut dyn io::Write) -> Result<(), SizeError> {
        let count = keys.count() as u64;
        let written = match self.kind {
            Kind::LevelDb => {
                let mut filter = Filter::<LevelDb>::with_bits_per_key(count, self.bits_per_key)?;
                keys.in_groups(|_, group| filter.insert_batch(group).expect("keys are given as bytes"));
                filter.write_to(out)
            }
            Kind::Native => {
                let mut filter = fullbloom::Filter::with_bits_per_key(count, self.bits_per_key)?;
                keys.in_groups(|_, group| filter.insert_batch(group).expect("keys are given as bytes"));
                filter.write_to(out)
            }
        };
        written.map_err(|_| SizeError::Memory { bytes: 0 })
    }

    /// Whether a key may be in the filter with these bytes.
    fn may_match(&self, filter: &[u8], key: &[u8]) -> bool {
        match self.kind {
            Kind::LevelDb => Compatible::<LevelDb>::read(filter).may_contain(key),
            Kind::Native => fullbloom::Filter::read(filter).may_contain(key),
        }
    }
}

/// The `destructor` of `leveldb_filterpolicy_create`.
///
/// # Safety
/// `state` is null or a live policy that nobody uses again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_policy_destroy(state: *mut c_void) {
    call(|| {
        // SAFETY: `get` refuses null and a wrong tag. `create` made the state with `Box::into_raw`, and
        // LevelDB destroys it once, as its last use.
        unsafe {
            Policy::get(state)?;
            let policy = state.cast::<Policy>();
            (&raw mut (*policy).tag).write_volatile(!LIVE);
            drop(Box::from_raw(policy));
        }
        Ok(())
    });
}

/// The `name` of `leveldb_filterpolicy_create`: LevelDB's own name for LevelDB's bytes, so that each reads
/// the other's tables.
///
/// # Safety
/// `state` is null or a live policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_policy_name(state: *mut c_void) -> *const c_char {
    let mut name = c"fullbloom.none";
    call(|| {
        // SAFETY: LevelDB passes the state that `create` made, which lives until `destroy`; `get` refuses
        // null and a wrong tag.
        name = match unsafe { Policy::get(state) }?.kind {
            Kind::LevelDb => c"leveldb.BuiltinBloomFilter2",
            Kind::Native => c"fullbloom.native",
        };
        Ok(())
    });
    name.as_ptr()
}

/// The `create_filter` of `leveldb_filterpolicy_create`: memory from `malloc`, which LevelDB frees.
///
/// # Safety
/// `state` is null or a live policy; the arrays have `count` elements, the keys their bytes; `filter_len` is
/// memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_policy_create_filter(
    state: *mut c_void,
    keys: *const *const c_char,
    lens: *const usize,
    count: c_int,
    filter_len: *mut usize,
) -> *mut c_char {
    let mut made = Malloced::default();
    let status = call(|| {
        // SAFETY: LevelDB passes the state, and arrays of `count` keys and lengths; a negative count means no
        // keys.
        let (policy, keys) = unsafe {
            let count = usize::try_from(count).unwrap_or(0);
            (Policy::get(state)?, Keys::new(keys.cast(), lens, count)?)
        };
        Ok(policy.filter(&keys, &mut made)?)
    });
    if status != Status::Ok {
        made.len = 0;
        if io::Write::write_all(&mut made, &EVERY_KEY).is_err() {
            // There is no memory for two bytes. Returning an empty filter would hide every key of the block.
            std::process::abort();
        }
    }
    if !filter_len.is_null() {
        // SAFETY: `filter_len` is not null, and LevelDB passes the address of a number.
        unsafe { filter_len.write(made.len) };
    }
    made.take()
}

/// The `key_may_match` of `leveldb_filterpolicy_create`: 1 if the filter cannot be read.
///
/// # Safety
/// `state` is null or a live policy; key and filter have their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_policy_key_may_match(
    state: *mut c_void,
    start: *const c_char,
    len: usize,
    filter: *const c_char,
    filter_len: usize,
) -> u8 {
    let mut answer = true;
    call(|| {
        // SAFETY: LevelDB passes the state, and key and filter with their lengths; `key` and `array` refuse
        // null.
        let (policy, key, filter) = unsafe {
            (Policy::get(state)?, key(start.cast(), len)?, array(filter.cast::<u8>(), filter_len, "filter")?)
        };
        answer = policy.may_match(filter, key);
        Ok(())
    });
    answer.into()
}

/// Bytes in memory of C's allocator.
#[derive(Debug)]
struct Malloced {
    start: *mut u8,
    len: usize,
    room: usize,
}

impl Default for Malloced {
    fn default() -> Self {
        Malloced { start: ptr::null_mut(), len: 0, room: 0 }
    }
}

impl Malloced {
    fn take(mut self) -> *mut c_char {
        std::mem::replace(&mut self.start, ptr::null_mut()).cast()
    }
}

impl io::Write for Malloced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.len.checked_add(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        if end > self.room {
            let room = end.max(self.room.saturating_mul(2)).max(64);
            // SAFETY: null, or from the allocator and known to nobody else.
            let grown = unsafe { libc::realloc(self.start.cast(), room) };
            if grown.is_null() {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            (self.start, self.room) = (grown.cast(), room);
        }
        // SAFETY: there is room for all of them.
        unsafe { self.start.add(self.len).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Malloced {
    fn drop(&mut self) {
        // SAFETY: null, or from the allocator and used nowhere else.
        unsafe { libc::free(self.start.cast()) };
    }
}
