//! Keys in the forms that a filter takes in one batch.

use crate::errors;
use fullbloom::keys::Column;
use fullbloom::typed::KeyType;
use fullbloom_any::AnyKeys;
use fullbloom_dialects::Name;
use fullbloom_dialects::typed::Value;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// Long runs are looked up and inserted in pieces of this many keys: the answers of a piece stay in the
/// cache, and between two pieces another thread can have the filter.
pub const PIECE: usize = 1 << 16;

/// Some keys, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Run<'a> {
    /// Integers of 64 bits, negative ones in two's complement. Their bytes depend on the filter.
    Numbers(&'a [u64]),
    /// Text and bytes, where they are.
    Bytes(AnyKeys<'a>),
}

impl<'a> Run<'a> {
    /// The keys of slices, of one buffer with offsets, or of views.
    pub fn bytes(keys: impl Into<AnyKeys<'a>>) -> Run<'a> {
        Run::Bytes(keys.into())
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        match self {
            Run::Numbers(numbers) => numbers.len(),
            Run::Bytes(keys) => keys.count(),
        }
    }

    /// The same keys in pieces.
    pub fn pieces(self) -> impl Iterator<Item = Run<'a>> {
        let count = self.count();
        (0..count).step_by(PIECE).map(move |first| {
            let keys = first..count.min(first + PIECE);
            match self {
                Run::Numbers(numbers) => Run::Numbers(&numbers[keys]),
                Run::Bytes(all) => Run::Bytes(all.part(keys)),
            }
        })
    }

    /// The keys for a filter of this dialect whose integers are of this type; refused if one is wider, or if
    /// the dialect has no integers.
    pub fn keys(&self, key_type: KeyType, dialect: Name) -> PyResult<AnyKeys<'a>> {
        match *self {
            Run::Bytes(keys) => Ok(keys),
            Run::Numbers(numbers) => {
                if key_type == KeyType::Int {
                    numbers.iter().try_for_each(|&number| integer(number, key_type).map(drop))?;
                }
                AnyKeys::integers(numbers, key_type, dialect).map_err(errors::key_type)
            }
        }
    }

    /// The type of these keys, in a filter whose integers are of this type.
    pub fn key_type(&self, of_integers: KeyType) -> KeyType {
        match self {
            Run::Numbers(_) => of_integers,
            Run::Bytes(_) => KeyType::Bytes,
        }
    }

    /// The keys for a native filter.
    pub fn native_keys(&self) -> AnyKeys<'a> {
        match *self {
            Run::Bytes(keys) => keys,
            Run::Numbers(numbers) => Column(numbers).into(),
        }
    }
}

/// An integer as a key of this type; refused if it is wider.
pub fn integer(number: u64, key_type: KeyType) -> PyResult<Value<'static>> {
    let number = number.cast_signed();
    if key_type != KeyType::Int {
        return Ok(Value::Long(number));
    }
    i32::try_from(number).map(Value::Int).map_err(|_| {
        PyOverflowError::new_err("an integer key of the key_type int has 32 bits: from -2**31 to 2**31 - 1")
    })
}

/// The type of a filter's integers by its name. Some systems hash four bytes of an `int` and eight of a
/// `long`, and their filters do not say which they hold.
pub fn key_type(name: Option<&str>) -> PyResult<Option<KeyType>> {
    let Some(name) = name else { return Ok(None) };
    match name.parse() {
        Ok(key_type @ (KeyType::Int | KeyType::Long)) => Ok(Some(key_type)),
        _ => Err(errors::value(format_args!("key_type is \"int\" or \"long\", not {name:?}"))),
    }
}
