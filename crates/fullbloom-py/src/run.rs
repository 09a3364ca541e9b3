//! Keys in the forms that a filter takes at once.

use crate::errors;
use fullbloom::dialect::Name;
use fullbloom::native::{Keys, Offsets};
use fullbloom::typed::{Key, KeyType, Value};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// Some keys, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Run<'a> {
    /// Integers of 64 bits, negative ones in two's complement.
    Numbers(&'a [u64]),
    /// Bytes wherever they are.
    Slices(&'a [&'a [u8]]),
    /// Bytes in one buffer, as in Arrow.
    Narrow(Offsets<'a, i32>),
    /// The same with wide offsets.
    Wide(Offsets<'a, i64>),
}

/// Calls `$body` with `$keys` standing for the keys in the form they have.
macro_rules! with_keys {
    ($run:expr, $keys:ident => $body:expr) => {
        match $run {
            $crate::run::Run::Numbers(numbers) => {
                let $keys = &fullbloom::native::Column(numbers);
                $body
            }
            $crate::run::Run::Slices($keys) => $body,
            $crate::run::Run::Narrow(offsets) => {
                let $keys = &offsets;
                $body
            }
            $crate::run::Run::Wide(offsets) => {
                let $keys = &offsets;
                $body
            }
        }
    };
}
pub(crate) use with_keys;

/// Keys are handed to other dialects than native in groups of this many.
const GROUP: usize = 512;

/// Long runs are asked and inserted in pieces of this many keys: answers of a piece stay in the cache, and between two pieces
/// another thread can have the filter.
pub const PIECE: usize = 1 << 16;

impl<'a> Run<'a> {
    /// The same keys in pieces.
    pub fn pieces(self) -> impl Iterator<Item = Run<'a>> {
        let count = self.count();
        (0..count).step_by(PIECE).map(move |first| {
            let keys = first..count.min(first + PIECE);
            match self {
                Run::Numbers(numbers) => Run::Numbers(&numbers[keys]),
                Run::Slices(slices) => Run::Slices(&slices[keys]),
                Run::Narrow(offsets) => Run::Narrow(offsets.part(keys)),
                Run::Wide(offsets) => Run::Wide(offsets.part(keys)),
            }
        })
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        match self {
            Run::Slices(slices) => slices.len(),
            Run::Numbers(numbers) => numbers.len(),
            Run::Narrow(offsets) => offsets.count(),
            Run::Wide(offsets) => offsets.count(),
        }
    }

    /// Whether they are numbers, which some dialects hash in another way.
    pub fn is_numbers(&self) -> bool {
        matches!(self, Run::Numbers(_))
    }

    /// The keys as this dialect's bytes, in groups, each with the number of its first key.
    pub fn in_groups(
        &self,
        dialect: Name,
        integers: Integers,
        mut each: impl FnMut(usize, &[&[u8]]),
    ) -> PyResult<()> {
        match self {
            Run::Slices(slices) => each(0, slices),
            Run::Narrow(offsets) => groups_of((0..offsets.count()).map(|i| offsets.get(i)), each),
            Run::Wide(offsets) => groups_of((0..offsets.count()).map(|i| offsets.get(i)), each),
            Run::Numbers(numbers) => {
                for (group, numbers) in numbers.chunks(GROUP).enumerate() {
                    let keys = numbers.iter().map(|&number| integers.key(number, dialect));
                    let keys = keys.collect::<PyResult<Vec<_>>>()?;
                    let slices: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
                    each(group * GROUP, &slices);
                }
            }
        }
        Ok(())
    }
}

/// How wide the integers are that a filter has for keys. Some systems hash four bytes of the one and eight of the other, and
/// their filters do not say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
}

impl Integers {
    /// By the name that the command has for them too.
    pub fn named(name: &str) -> PyResult<Integers> {
        match name {
            "int" => Ok(Integers::Int),
            "long" => Ok(Integers::Long),
            _ => Err(errors::value(format_args!("key_type is \"int\" or \"long\", not {name:?}"))),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Integers::Int => KeyType::Int.as_str(),
            Integers::Long => KeyType::Long.as_str(),
        }
    }

    /// The bytes of an integer.
    pub fn key(self, number: u64, dialect: Name) -> PyResult<Key<'static>> {
        match self {
            Integers::Int => Value::Int(narrowed(number)?),
            Integers::Long => Value::Long(number.cast_signed()),
        }
        .key(dialect)
        .map_err(errors::key_type)
    }

    /// Refuses a run with an integer that is wider.
    pub fn require(self, run: &Run<'_>) -> PyResult<()> {
        match (self, run) {
            (Integers::Int, Run::Numbers(numbers)) => {
                numbers.iter().try_for_each(|&number| narrowed(number).map(|_| ()))
            }
            _ => Ok(()),
        }
    }
}

fn narrowed(number: u64) -> PyResult<i32> {
    i32::try_from(number.cast_signed()).map_err(|_| {
        PyOverflowError::new_err("an integer key of the key_type int has 32 bits: from -2**31 to 2**31 - 1")
    })
}

fn groups_of<'a>(keys: impl Iterator<Item = &'a [u8]>, mut each: impl FnMut(usize, &[&[u8]])) {
    let mut group: Vec<&[u8]> = Vec::with_capacity(GROUP);
    let mut first = 0;
    for key in keys {
        group.push(key);
        if group.len() == GROUP {
            each(first, &group);
            first += GROUP;
            group.clear();
        }
    }
    if !group.is_empty() {
        each(first, &group);
    }
}
