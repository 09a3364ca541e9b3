//! `fullbloom_sizing`: what a filter is asked to be.

use crate::status::{Error, Status};
use fullbloom::native::Secret;
use fullbloom::sizing::{Request, Target};

/// What a filter is asked to be; the header says more.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Sizing {
    /// Bytes of the struct as the caller knows it.
    pub struct_size: usize,
    /// How many keys will come.
    pub expected_keys: u64,
    /// Rate wanted, or zero.
    pub fpr: f64,
    /// Bits for each key, or zero.
    pub bits_per_key: f64,
    /// Bits of the whole array, or zero.
    pub bits: u64,
    /// Probes per key, with `bits`.
    pub probes: u32,
    /// Sixteen bytes, or null.
    pub secret: *const u8,
}

/// A request and, for a keyed filter, the secret.
pub type Asked = (Request, Option<Secret>);

/// Reads a caller's struct.
///
/// # Safety
/// `sizing` is null or a struct as long as its first field says; `secret` in it is null or sixteen bytes.
pub unsafe fn read(sizing: *const Sizing) -> Result<Asked, Error> {
    if sizing.is_null() {
        return Err(Error::null("sizing"));
    }
    // SAFETY: promised by the caller, as far as the first field goes, which is looked at first.
    let size = unsafe { (&raw const (*sizing).struct_size).read() };
    if size != size_of::<Sizing>() {
        let told = format_args!("sizing.struct_size is {size}, this library knows {}", size_of::<Sizing>());
        return Err(Error::new(Status::Argument, told));
    }
    // SAFETY: the struct is whole.
    let sizing = unsafe { sizing.read() };
    // NaN is "given" and then refused by the dialect.
    let given = (sizing.fpr != 0.0, sizing.bits_per_key != 0.0, sizing.bits != 0 || sizing.probes != 0);
    let target = match given {
        (true, false, false) => Target::Fpr(sizing.fpr),
        (false, true, false) => Target::BitsPerKey(sizing.bits_per_key),
        (false, false, true) => Target::Exact { bit_len: sizing.bits, probes: sizing.probes },
        _ => {
            let told = "sizing needs exactly one of fpr, bits_per_key, and bits with probes";
            return Err(Error::new(Status::Argument, told));
        }
    };
    let secret = if sizing.secret.is_null() {
        None
    } else {
        // SAFETY: promised by the caller.
        Some(Secret::new(unsafe { sizing.secret.cast::<[u8; 16]>().read() }))
    };
    Ok((Request { expected_keys: sizing.expected_keys, target }, secret))
}
