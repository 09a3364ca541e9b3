//! `fullbloom_dynamic`: what a dynamic filter can do.

use crate::sizing::{self, Asked};
use crate::status::{Error, Status};
use fullbloom_any::BuildOptions;
use fullbloom_any::Kind;
use fullbloom_dialects::Name;
use fullbloom_dynamic::{Expiry, Keep, Mode};
use std::time::Duration;

/// What a caller asks of a dynamic filter; the header describes each field.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Dynamic {
    /// Size of the struct that the caller was compiled with.
    pub struct_size: usize,
    /// The number of keys up to which it keeps its rate, or zero.
    pub up_to: u64,
    /// The time for which keys are remembered, in milliseconds, or zero.
    pub expire_ms: u64,
    /// The number of new keys after which a key expires, or zero.
    pub expire_keys: u64,
    /// The steps in which keys expire, or zero.
    pub generations: u32,
    /// Whether a known key restarts its time.
    pub refresh: u8,
    /// Whether keys can be removed.
    pub deletable: u8,
    /// Bytes that must be zero, kept for later versions.
    pub reserved: [u8; 2],
}

/// A dynamic filter of this size. Zeros are numbers that are not given.
pub fn options(asked: Asked, (up_to, mode): (u64, Mode)) -> BuildOptions {
    let given = |keys| Some(keys).filter(|keys| *keys > 0);
    let expected_keys = given(asked.0.expected_keys);
    sizing::options(Name::Native, asked)
        .kind(Kind::Dynamic)
        .expected_keys(expected_keys)
        .up_to(given(up_to))
        .mode(mode)
}

/// Reads a caller's struct: the promised number of keys, and the mode.
///
/// # Safety
/// `dynamic` is null or a struct as long as its first field says.
pub unsafe fn read(dynamic: *const Dynamic) -> Result<(u64, Mode), Error> {
    if dynamic.is_null() {
        return Ok((0, Mode::Set));
    }
    // SAFETY: The pointer is not null (checked above). Every version of the struct begins with its size, so
    // this field is there even if the program was compiled with another version.
    let size = unsafe { (&raw const (*dynamic).struct_size).read() };
    let wrong = |why: std::fmt::Arguments<'_>| Err(Error::new(Status::Argument, why));
    if size != size_of::<Dynamic>() {
        let expected = size_of::<Dynamic>();
        return wrong(format_args!("dynamic.struct_size is {size}; this library expects {expected}"));
    }
    // SAFETY: the struct has all its fields.
    let Dynamic { up_to, expire_ms, expire_keys, generations, refresh, deletable, reserved, .. } =
        unsafe { dynamic.read() };
    if reserved != [0; 2] {
        return wrong(format_args!("dynamic.reserved must be zero"));
    }
    let keep = match (expire_ms, expire_keys, deletable) {
        (0, 0, 0) => return Ok((up_to, Mode::Set)),
        (0, 0, _) => return Ok((up_to, Mode::Counting)),
        (time, 0, 0) => Keep::Time(Duration::from_millis(time)),
        (0, keys, 0) => Keep::Keys(keys),
        _ => return wrong(format_args!("dynamic needs at most one of expire_ms, expire_keys and deletable")),
    };
    let generations = if generations == 0 { Expiry::of(keep).generations } else { generations };
    Ok((up_to, Mode::Expiring(Expiry { keep, generations, refresh: refresh != 0 })))
}
