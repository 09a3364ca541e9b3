//! `fullbloom_sizing`: the size that a caller asks for.

use crate::status::{Error, Status};
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::BuildOptions;
use fullbloom_dialects::Name;

/// The size that a caller asks for; the header describes each field.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Sizing {
    /// Size of the struct that the caller was compiled with.
    pub struct_size: usize,
    /// The number of keys that will be inserted.
    pub expected_keys: u64,
    /// The false-positive rate, or zero.
    pub fpr: f64,
    /// Bits for each key, or zero.
    pub bits_per_key: f64,
    /// Length of the array in bits, or zero.
    pub bits: u64,
    /// Probes per key, with `bits`.
    pub probes: u32,
    /// Sixteen bytes, or null.
    pub secret: *const u8,
}

/// A request and, for a keyed filter, the secret.
pub type Asked = (Request, Option<Secret>);

/// A filter of this dialect and size.
pub fn options(dialect: Name, (request, secret): Asked) -> BuildOptions {
    let options =
        BuildOptions::new(dialect).target(request.target).expected_keys(request.expected_keys).threads(1);
    match secret {
        Some(secret) => options.hashing(Hashing::Secret(secret)),
        None => options,
    }
}

/// Reads a caller's struct.
///
/// # Safety
/// `sizing` is null or a struct as long as its first field says; `secret` in it is null or sixteen bytes.
pub unsafe fn read(sizing: *const Sizing) -> Result<Asked, Error> {
    if sizing.is_null() {
        return Err(Error::null("sizing"));
    }
    // SAFETY: The pointer is not null (checked above). Every version of the struct begins with its size, so
    // this field is there even if the program was compiled with another version.
    let size = unsafe { (&raw const (*sizing).struct_size).read() };
    if size != size_of::<Sizing>() {
        let why = format_args!("sizing.struct_size is {size}; this library expects {}", size_of::<Sizing>());
        return Err(Error::new(Status::Argument, why));
    }
    // SAFETY: the struct has all its fields.
    let sizing = unsafe { sizing.read() };
    // NaN counts as given; the dialect refuses it.
    let given = (sizing.fpr != 0.0, sizing.bits_per_key != 0.0, sizing.bits != 0 || sizing.probes != 0);
    let target = match given {
        (true, false, false) => Target::Fpr(sizing.fpr),
        (false, true, false) => Target::BitsPerKey(sizing.bits_per_key),
        (false, false, true) => Target::Exact { bit_len: sizing.bits, probes: sizing.probes },
        _ => {
            let why = "sizing needs exactly one of fpr, bits_per_key, or bits with probes";
            return Err(Error::new(Status::Argument, why));
        }
    };
    let secret = if sizing.secret.is_null() {
        None
    } else {
        // SAFETY: `secret` is not null, and `read` demands sixteen bytes there.
        Some(Secret::new(unsafe { sizing.secret.cast::<[u8; 16]>().read() }))
    };
    Ok((Request { expected_keys: sizing.expected_keys, target }, secret))
}
