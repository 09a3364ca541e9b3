//! Keys as C hands them over.

use crate::status::{Error, Status};
use std::ffi::c_void;

/// Keys are worked on in groups of this many, so that nothing is allocated.
const GROUP: usize = 512;

/// The key at `start`.
///
/// # Safety
/// `start` is null or has `len` readable bytes for as long as the key is used.
pub unsafe fn key<'a>(start: *const c_void, len: usize) -> Result<&'a [u8], Error> {
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Error::null("key"));
    }
    if len > isize::MAX as usize {
        return Err(Error::new(Status::Argument, format_args!("no key has {len} bytes")));
    }
    // SAFETY: promised by the caller, and no longer than memory can be.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

/// An array of a caller's, of `count` elements; a null pointer to none is one.
///
/// # Safety
/// `start` is null or has `count` readable elements for as long as the array is used.
pub unsafe fn array<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Error::null(name));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::new(Status::Argument, format_args!("no array has {count} elements")));
    }
    // SAFETY: promised by the caller, and no longer than memory can be.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// Keys and their lengths.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    starts: &'a [*const c_void],
    lens: &'a [usize],
}

impl<'a> Keys<'a> {
    /// No keys.
    pub const NONE: Keys<'static> = Keys { starts: &[], lens: &[] };

    /// Keys of a caller, each looked at, so that a batch with a bad one changes nothing.
    ///
    /// # Safety
    /// Both arrays are null or have `count` elements; each key is as for [`key`].
    pub unsafe fn new(
        starts: *const *const c_void,
        lens: *const usize,
        count: usize,
    ) -> Result<Keys<'a>, Error> {
        // SAFETY: promised by the caller.
        let keys =
            unsafe { Keys { starts: array(starts, count, "keys")?, lens: array(lens, count, "lens")? } };
        for (i, (&start, &len)) in keys.starts.iter().zip(keys.lens).enumerate() {
            // SAFETY: promised by the caller.
            unsafe { key(start, len) }.map_err(|_| {
                Error::new(Status::Null, format_args!("keys[{i}] is NULL, or longer than memory"))
            })?;
        }
        Ok(keys)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Hands them on in groups, each with the number of its first key.
    pub fn in_groups(&self, mut each: impl FnMut(usize, &[&[u8]])) {
        let mut group: [&[u8]; GROUP] = [&[]; GROUP];
        for (number, (starts, lens)) in self.starts.chunks(GROUP).zip(self.lens.chunks(GROUP)).enumerate() {
            for (slot, (&start, &len)) in group.iter_mut().zip(starts.iter().zip(lens)) {
                // SAFETY: `new` has looked at each and was promised the bytes. Null stands for no bytes only.
                *slot = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), len) } };
            }
            each(number * GROUP, &group[..starts.len()]);
        }
    }
}
