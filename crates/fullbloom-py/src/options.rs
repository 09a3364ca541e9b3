//! The keyword arguments that describe a filter: one to be made, or one in bytes.

use crate::errors;
use fullbloom::sizing::Target;
use fullbloom::{Hashing, Secret};
use fullbloom_any::Kind;
use fullbloom_any::{BuildOptions, ReadOptions};
use fullbloom_dialects::Name;
use fullbloom_dynamic::{Expiry, Keep, Mode};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use std::time::Duration;

/// The arguments that size a filter. At most one of the rate, the bits per key, and bits with probes may be
/// given.
pub struct Size {
    pub fpr: Option<f64>,
    pub bits_per_key: Option<f64>,
    pub bits: Option<u64>,
    pub probes: Option<u32>,
}

impl Size {
    /// The default unless something is given.
    pub fn target(&self) -> PyResult<Target> {
        match (self.fpr, self.bits_per_key, self.bits, self.probes) {
            (None, None, None, None) => Ok(BuildOptions::DEFAULT_TARGET),
            (Some(fpr), None, None, None) => Ok(Target::Fpr(fpr)),
            (None, Some(bits_per_key), None, None) => Ok(Target::BitsPerKey(bits_per_key)),
            (None, None, Some(bit_len), Some(probes)) => Ok(Target::Exact { bit_len, probes }),
            _ => Err(errors::value("give one of fpr, bits_per_key, and bits with probes")),
        }
    }
}

/// A number that is not negative, or a Python error that names the argument.
fn whole(object: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    object.extract().map_err(|e: PyErr| match e.is_instance_of::<PyOverflowError>(object.py()) {
        true if object.lt(0).unwrap_or(false) => {
            PyOverflowError::new_err(format!("{name} is negative: {object}"))
        }
        true => PyOverflowError::new_err(format!("{name} is greater than 2**64 - 1: {object}")),
        false => e,
    })
}

fn optional(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<u64>> {
    if object.is_none() { Ok(None) } else { whole(object, name).map(Some) }
}

/// The argument `expected_keys`, where it must be given.
pub fn keys(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole(object, "expected_keys")
}

/// The argument `expected_keys`.
pub fn expected_keys(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    optional(object, "expected_keys")
}

/// The argument `up_to`.
pub fn up_to(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    optional(object, "up_to")
}

/// The argument `bits`.
pub fn bits(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    optional(object, "bits")
}

/// The argument `probes`.
pub fn probes(object: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let Some(probes) = optional(object, "probes")? else { return Ok(None) };
    u32::try_from(probes).map(Some).map_err(|_| errors::value(format_args!("probes is too large: {probes}")))
}

/// The argument `threads`.
pub fn threads(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole(object, "threads").map(|threads| usize::try_from(threads).unwrap_or(usize::MAX))
}

/// The argument `memory`.
pub fn memory(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    optional(object, "memory")
}

/// The dialect of this name.
pub fn dialect(name: &str) -> PyResult<Name> {
    name.parse().map_err(errors::value)
}

fn secret_of(bytes: Option<&[u8]>) -> PyResult<Option<Secret>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let bytes: [u8; 16] = bytes
        .try_into()
        .map_err(|_| errors::value(format_args!("a secret has 16 bytes, not {}", bytes.len())))?;
    Ok(Some(Secret::new(bytes)))
}

/// The arguments of a filter to be made, other than its kind: seeds are for native and spark-2 filters,
/// secrets and labels for native ones.
pub fn new_filter(
    name: &str,
    size: &Size,
    seed: Option<i128>,
    secret: Option<&[u8]>,
    store_secret: bool,
    label: Option<String>,
) -> PyResult<BuildOptions> {
    let mut options = BuildOptions::new(dialect(name)?).target(size.target()?).store_secret(store_secret);
    if let Some(label) = label {
        options = options.label(label);
    }
    match (secret_of(secret)?, seed) {
        (Some(_), Some(_)) => Err(errors::value("give a seed or a secret, not both")),
        (Some(secret), None) => Ok(options.hashing(Hashing::Secret(secret))),
        (None, Some(seed)) => options.seed(seed).map_err(errors::build),
        (None, None) => Ok(options),
    }
}

/// The kind of this name.
pub fn kind(name: &str) -> PyResult<Kind> {
    name.parse().map_err(errors::value)
}

/// What a dynamic filter does besides growing; `expire` is a number of seconds.
pub fn mode(deletable: bool, expire: Option<f64>) -> PyResult<Mode> {
    match expire.map(Duration::try_from_secs_f64) {
        Some(_) if deletable => Err(errors::value("keys are deletable or expire, not both")),
        Some(Ok(time)) => Ok(Mode::Expiring(Expiry::of(Keep::Time(time)))),
        Some(Err(e)) => Err(errors::value(format_args!("expire is a number of seconds: {e}"))),
        None if deletable => Ok(Mode::Counting),
        None => Ok(Mode::Set),
    }
}

/// The arguments that describe bytes.
pub fn read_options(
    dialect_name: Option<&str>,
    bits: Option<u64>,
    probes: Option<u32>,
    secret: Option<&[u8]>,
) -> PyResult<ReadOptions> {
    let options =
        ReadOptions::new().dialect(dialect_name.map(dialect).transpose()?).secret(secret_of(secret)?);
    match (bits, probes) {
        (Some(bits), Some(probes)) => Ok(options.geometry(bits, probes)),
        (None, None) => Ok(options),
        _ => Err(errors::value("give bits and probes, or neither")),
    }
}
