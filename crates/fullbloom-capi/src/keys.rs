//! Keys as a C caller gives them.

use crate::status::{Error, Status};
use std::convert::Infallible;
use std::ffi::c_void;

/// Keys are processed in groups of this many. C has pointers and lengths in two arrays; a group of slices
/// fits the stack, so nothing is allocated, and no byte of a key is copied.
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
        return Err(Error::new(Status::Argument, format_args!("a key cannot have {len} bytes")));
    }
    // SAFETY: `start` is not null and `len` at most `isize::MAX` (both checked above), and `key` demands that
    // many readable bytes.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

/// An array of the caller, of `count` elements; a null pointer is allowed when there are none.
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
        return Err(Error::new(Status::Argument, format_args!("an array cannot have {count} elements")));
    }
    // SAFETY: `start` is not null and the array no longer than memory can be (both checked above), and
    // `array` demands `count` readable elements.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// Keys and their lengths.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    starts: &'a [*const c_void],
    lens: &'a [usize],
}

impl<'a> Keys<'a> {
    /// An empty batch.
    pub const NONE: Keys<'static> = Keys { starts: &[], lens: &[] };

    /// Keys of the caller. All of them are checked, so that a batch with an invalid key changes nothing.
    ///
    /// # Safety
    /// Both arrays are null or have `count` elements; each key is as for [`key`].
    pub unsafe fn new(
        starts: *const *const c_void,
        lens: *const usize,
        count: usize,
    ) -> Result<Keys<'a>, Error> {
        // SAFETY: `new` demands of both arrays what `array` demands: null or `count` readable elements.
        let keys =
            unsafe { Keys { starts: array(starts, count, "keys")?, lens: array(lens, count, "lens")? } };
        for (i, (&start, &len)) in keys.starts.iter().zip(keys.lens).enumerate() {
            // SAFETY: `new` demands of each key what `key` demands: null or `len` readable bytes.
            unsafe { key(start, len) }.map_err(|_| {
                Error::new(Status::Null, format_args!("keys[{i}] is NULL, or longer than memory can be"))
            })?;
        }
        Ok(keys)
    }

    /// The number of keys.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Calls `each` with groups of keys and the number of the first key in the group.
    pub fn in_groups(&self, mut each: impl FnMut(usize, &[&[u8]])) {
        let all: Result<(), Infallible> = self.try_in_groups(|first, group| {
            each(first, group);
            Ok(())
        });
        let Ok(()) = all;
    }

    /// As [`in_groups`](Keys::in_groups), until `each` fails.
    pub fn try_in_groups<E>(&self, mut each: impl FnMut(usize, &[&[u8]]) -> Result<(), E>) -> Result<(), E> {
        let mut group: [&[u8]; GROUP] = [&[]; GROUP];
        for (number, (starts, lens)) in self.starts.chunks(GROUP).zip(self.lens.chunks(GROUP)).enumerate() {
            for (slot, (&start, &len)) in group.iter_mut().zip(starts.iter().zip(lens)) {
                // SAFETY: `new` has checked each key and was promised the bytes. Only a key without bytes may
                // be null.
                *slot = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), len) } };
            }
            each(number * GROUP, &group[..starts.len()])?;
        }
        Ok(())
    }
}
