//! The functions on filters. Each checks its pointers and calls [`handle`](crate::handle).

use crate::dialect::{UNKNOWN, named};
use crate::dynamic::{self, Dynamic};
use crate::file;
use crate::handle::Filter;
use crate::keys::{Keys, array, key};
use crate::memory::{Borrowed, Bounded};
use crate::sizing::{self, Sizing};
use crate::status::{Error, Status, call};
use fullbloom::FileError;
use fullbloom::Secret;
use fullbloom_any::{AnyFilter, ReadOptions};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// Writes a new handle to `out`, or null if it could not be made.
///
/// # Safety
/// `out` is null or memory for a pointer.
unsafe fn give(out: *mut *mut Filter, make: impl FnOnce() -> Result<Filter, Error>) -> Status {
    call(|| {
        if out.is_null() {
            return Err(Error::null("filter"));
        }
        // SAFETY: `out` is not null (checked above), and fullbloom.h demands room for a pointer.
        unsafe { out.write(ptr::null_mut()) };
        let made = Box::new(make()?);
        // SAFETY: `out` is not null (checked above), and fullbloom.h demands room for a pointer.
        unsafe { out.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// An empty filter.
///
/// # Safety
/// `sizing` is null or a struct as long as its first field says; `filter` is null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_create(
    dialect: c_int,
    sizing: *const Sizing,
    filter: *mut *mut Filter,
) -> Status {
    let options = || {
        let dialect = named(dialect)?;
        // SAFETY: `sizing::read` demands null or a struct as long as its first field says, as fullbloom.h
        // does of its caller.
        Ok((sizing::options(dialect, unsafe { sizing::read(sizing) }?), dialect))
    };
    // SAFETY: `give` demands null or room for a pointer, as fullbloom.h does of its caller.
    unsafe { give(filter, || options().and_then(|(options, dialect)| Filter::create(&options, dialect))) }
}

/// An empty dynamic filter.
///
/// # Safety
/// As of [`fullbloom_filter_create`]; `dynamic` is null or a struct as long as its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_create_dynamic(
    sizing: *const Sizing,
    dynamic: *const Dynamic,
    filter: *mut *mut Filter,
) -> Status {
    // SAFETY: `give` and the two `read` demand null, or room for a pointer and structs as long as their first
    // fields say, as fullbloom.h does of its caller.
    unsafe {
        give(filter, || {
            let options = dynamic::options(sizing::read(sizing)?, dynamic::read(dynamic)?);
            Filter::create(&options, Name::Native)
        })
    }
}

/// What the caller says about bytes: the dialect, bits and probes may be left out as zeros.
fn options(dialect: c_int, bits: u64, probes: u32) -> Result<ReadOptions, Error> {
    let options = match dialect {
        UNKNOWN => ReadOptions::new(),
        number => ReadOptions::from(named(number)?),
    };
    Ok(if bits == 0 && probes == 0 { options } else { options.geometry(bits, probes) })
}

/// A filter over the caller's bytes.
///
/// # Safety
/// `bytes` is null or has `len` bytes, which stay valid and unchanged while the filter lives; `filter` is
/// null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_view(
    dialect: c_int,
    bytes: *const c_void,
    len: usize,
    bits: u64,
    probes: u32,
    filter: *mut *mut Filter,
) -> Status {
    let make = || {
        let options = options(dialect, bits, probes)?;
        // SAFETY: fullbloom.h demands that `len` bytes at `bytes` stay valid and unchanged until the filter
        // is freed; `array` refuses null.
        let bytes = unsafe { Borrowed::new(array(bytes.cast::<u8>(), len, "bytes")?) };
        Ok(Filter::read(AnyFilter::over(bytes, &options, Check::All)?))
    };
    // SAFETY: `give` demands null or room for a pointer, as fullbloom.h does of its caller.
    unsafe { give(filter, make) }
}

/// A filter with a copy of the caller's bytes.
///
/// # Safety
/// `bytes` is null or has `len` bytes; `filter` is null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_decode(
    dialect: c_int,
    bytes: *const c_void,
    len: usize,
    bits: u64,
    probes: u32,
    filter: *mut *mut Filter,
) -> Status {
    let make = || {
        let options = options(dialect, bits, probes)?;
        // SAFETY: fullbloom.h demands `len` bytes at `bytes`; `array` refuses null and lengths beyond memory.
        let bytes = unsafe { array(bytes.cast::<u8>(), len, "bytes") }?;
        Ok(Filter::read(AnyFilter::decode(bytes, &options)?))
    };
    // SAFETY: `give` demands null or room for a pointer, as fullbloom.h does of its caller.
    unsafe { give(filter, make) }
}

/// A filter that `read` makes of a file.
///
/// # Safety
/// `path` is null or ends with a NUL; `filter` is null or memory for a pointer.
unsafe fn from_file(
    path: *const c_char,
    options: Result<ReadOptions, Error>,
    filter: *mut *mut Filter,
    read: impl FnOnce(&Path, &ReadOptions) -> Result<AnyFilter, FileError>,
) -> Status {
    let make = || {
        let options = options?;
        // SAFETY: fullbloom.h demands null or text that ends in zero; `path` refuses null.
        let path: &Path = unsafe { file::path(path) }?;
        Ok(Filter::read(read(path, &options)?))
    };
    // SAFETY: `give` demands null or room for a pointer, as fullbloom.h does of its caller.
    unsafe { give(filter, make) }
}

/// A filter read from a file.
///
/// # Safety
/// `path` is null or ends with a NUL; `filter` is null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_load(
    dialect: c_int,
    path: *const c_char,
    bits: u64,
    probes: u32,
    filter: *mut *mut Filter,
) -> Status {
    let load = |path: &Path, options: &ReadOptions| AnyFilter::load(path, options);
    // SAFETY: `from_file` demands a path that is null or ends in zero, and null or room for a pointer, as
    // fullbloom.h does of its caller.
    unsafe { from_file(path, options(dialect, bits, probes), filter, load) }
}

/// A filter over a mapped file.
///
/// # Safety
/// `path` is null or ends with a NUL; `filter` is null or memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_open(
    dialect: c_int,
    path: *const c_char,
    bits: u64,
    probes: u32,
    filter: *mut *mut Filter,
) -> Status {
    let open = |path: &Path, options: &ReadOptions| AnyFilter::open(path, options, Check::All);
    // SAFETY: `from_file` demands a path that is null or ends in zero, and null or room for a pointer, as
    // fullbloom.h does of its caller.
    unsafe { from_file(path, options(dialect, bits, probes), filter, open) }
}

/// Gives a keyed filter its secret.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; `secret` is null or sixteen bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_unlock(filter: *mut Filter, secret: *const u8) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call; `get_mut`
        // refuses null and a wrong tag.
        let filter = unsafe { Filter::get_mut(filter) }?;
        if secret.is_null() {
            return Err(Error::null("secret"));
        }
        // SAFETY: `secret` is not null (checked above), and fullbloom.h demands sixteen bytes.
        filter.unlock(&Secret::new(unsafe { secret.cast::<[u8; 16]>().read() }))
    })
}

/// Adds a key.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; the key has `len` bytes; `changed` is
/// null or memory for a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_insert(
    filter: *mut Filter,
    start: *const c_void,
    len: usize,
    changed: *mut bool,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call, and `len`
        // bytes of key; `get_mut` and `key` refuse null.
        let is_new = unsafe { Filter::get_mut(filter)?.insert(key(start, len)?) }?;
        if !changed.is_null() {
            // SAFETY: `changed` is not null, and fullbloom.h demands room for a bool.
            unsafe { changed.write(is_new) };
        }
        Ok(())
    })
}

/// Adds many keys, or none if one of them is invalid.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; the arrays have `count` elements, the
/// keys their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_insert_batch(
    filter: *mut Filter,
    keys: *const *const c_void,
    lens: *const usize,
    count: usize,
) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call, arrays of
    // `count` elements, and the bytes of each key; `get_mut` and `Keys::new` refuse null.
    call(|| unsafe { Filter::get_mut(filter)?.insert_batch(Keys::new(keys, lens, count)?) })
}

/// Removes a key.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; the key has `len` bytes; `removed` is
/// null or memory for a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_remove(
    filter: *mut Filter,
    start: *const c_void,
    len: usize,
    removed: *mut bool,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call, and `len`
        // bytes of key; `get_mut` and `key` refuse null.
        let was_there = unsafe { Filter::get_mut(filter)?.remove(key(start, len)?) }?;
        if !removed.is_null() {
            // SAFETY: `removed` is not null, and fullbloom.h demands room for a bool.
            unsafe { removed.write(was_there) };
        }
        Ok(())
    })
}

/// Sets the clock of a filter with expiry.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_advance(filter: *mut Filter, now_ms: u64) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call; `get_mut`
    // refuses null and a wrong tag.
    call(|| unsafe { Filter::get_mut(filter)?.advance(now_ms) })
}

/// Whether a key may be present; "maybe" if the call fails.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; the key has `len` bytes; `answer` is null
/// or memory for a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_may_contain(
    filter: *const Filter,
    start: *const c_void,
    len: usize,
    answer: *mut bool,
) -> Status {
    call(|| {
        if answer.is_null() {
            return Err(Error::null("answer"));
        }
        // SAFETY: `answer` is not null (checked above), and fullbloom.h demands room for a bool, null or a
        // live handle that nobody changes during the call, and `len` bytes of key.
        unsafe {
            answer.write(true);
            answer.write(Filter::get(filter)?.answering()?.may_contain(key(start, len)?));
        }
        Ok(())
    })
}

/// The caller's memory for answers, all of them "maybe" until they are known.
///
/// # Safety
/// `answers` is null or memory for `count` bools that nobody else uses while the slice lives.
pub(crate) unsafe fn answers_of<'a>(answers: *mut bool, count: usize) -> Result<&'a mut [bool], Error> {
    // SAFETY: `answers_of` demands null or room for `count` bools that nobody else uses; `array` refuses null. The memory
    // may hold bytes that are not bools, so it is written before it is read.
    unsafe {
        let len = array(answers.cast_const().cast::<u8>(), count, "answers")?.len();
        if len == 0 {
            return Ok(&mut []);
        }
        answers.write_bytes(1, len);
        Ok(std::slice::from_raw_parts_mut(answers, len))
    }
}

/// Answers many keys; "maybe" to all if the call fails.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; the arrays have `count` elements, the
/// keys their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_may_contain_batch(
    filter: *const Filter,
    keys: *const *const c_void,
    lens: *const usize,
    count: usize,
    answers: *mut bool,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or room for `count` bools that nobody else uses during the call.
        let answers = unsafe { answers_of(answers, count) }?;
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call, arrays of
        // `count` elements, and the bytes of each key.
        let (filter, keys) = unsafe { (Filter::get(filter)?.answering()?, Keys::new(keys, lens, count)?) };
        keys.in_groups(|first, group| {
            let places = &mut answers[first..first + group.len()];
            filter.may_contain_batch_into(group, places).expect("a place for each key");
        });
        Ok(())
    })
}

/// Builds the filter from the keys that were inserted.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_finish(filter: *mut Filter) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call; `get_mut`
    // refuses null and a wrong tag.
    call(|| unsafe { Filter::get_mut(filter) }?.finish())
}

/// Forgets all keys.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_clear(filter: *mut Filter) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call; `get_mut`
    // refuses null and a wrong tag.
    call(|| unsafe { Filter::get_mut(filter) }?.clear())
}

/// Adds all keys of `other` to `filter`.
///
/// # Safety
/// Both are null or live handles; nobody else uses `filter` or changes `other` meanwhile. They may be the
/// same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_merge(filter: *mut Filter, other: *const Filter) -> Status {
    call(|| {
        if ptr::eq(filter, other) {
            // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call; `get`
            // refuses null and a wrong tag. The filter has all its own keys already.
            return unsafe { Filter::get(other) }?.answering().map(|_| ());
        }
        // SAFETY: The pointers differ (checked above), so the exclusive and the shared reference are of two
        // filters, each null or live as fullbloom.h demands.
        unsafe { Filter::get_mut(filter)?.merge(Filter::get(other)?) }
    })
}

/// Writes the encoded filter into a buffer.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; `buffer` is null or has `len` bytes;
/// `written` is null or memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_encode(
    filter: *const Filter,
    buffer: *mut c_void,
    len: usize,
    written: *mut u64,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call; `get`
        // refuses null and a wrong tag.
        let filter = unsafe { Filter::get(filter) }?.finished()?;
        if written.is_null() {
            return Err(Error::null("written"));
        }
        let len = if buffer.is_null() { 0 } else { len };
        // SAFETY: fullbloom.h demands `len` bytes at `buffer` that nobody else uses during the call; `array`
        // refuses null. The buffer is only written to.
        let buffer = unsafe {
            let len = array(buffer.cast_const().cast::<u8>(), len, "buffer")?.len();
            if len == 0 { &mut [] } else { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len) }
        };
        let room = buffer.len() as u64;
        let mut out = Bounded::new(buffer);
        // The buffer takes everything, so only the memory for encoding can be missing.
        filter.write_to(&mut out).map_err(|e| Error::new(Status::Memory, e))?;
        // SAFETY: `written` is not null (checked above), and fullbloom.h demands room for a number.
        unsafe { written.write(out.written()) };
        if out.written() > room {
            let why = format_args!("the filter has {} bytes, the buffer {room}", out.written());
            return Err(Error::new(Status::Buffer, why));
        }
        Ok(())
    })
}

/// Saves the encoded filter.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; `path` is null or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_save(filter: *const Filter, path: *const c_char) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call, and null or
        // a path that ends in zero.
        let (filter, path) = unsafe { (Filter::get(filter)?.finished()?, file::path(path)?) };
        Ok(filter.save(path)?)
    })
}

/// Frees a filter and writes null over the caller's pointer.
///
/// # Safety
/// `filter` is null or points to null or to a live handle that nobody uses again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_free(filter: *mut *mut Filter) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null, or the address of null or of a live handle that nobody uses
        // again; `free` refuses a wrong tag.
        unsafe {
            if filter.is_null() || (*filter).is_null() {
                return Ok(());
            }
            Filter::free(*filter)?;
            filter.write(ptr::null_mut());
        }
        Ok(())
    })
}
