//! Which Arrow types can be keys, and how their values are laid out.
#![allow(unsafe_code)]

use super::abi::Schema;
use crate::errors::{value, wrong_type};
use crate::keys::FLOATS;
use pyo3::prelude::*;
use std::ffi::CStr;

/// A type of keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    /// Integers of `width` bytes.
    Int { width: usize, signed: bool },
    /// Text or bytes with 32-bit offsets.
    Narrow,
    /// Text or bytes with 64-bit offsets.
    Wide,
    /// Text or bytes as views: short values inside the view, long ones in other buffers.
    View,
    /// Bytes, this many for each value.
    Fixed(usize),
    /// Nulls only.
    Null,
    /// Indices into a list of values.
    Dictionary { width: usize, signed: bool, values: Box<Type> },
    /// A table of one column.
    Table(Box<Type>),
}

impl Type {
    /// The type that a schema describes; refused if its values cannot be keys.
    pub(super) fn of(schema: &Schema) -> PyResult<Type> {
        if schema.release.is_none() || schema.format.is_null() {
            return Err(value("the Arrow schema has been released"));
        }
        // SAFETY: a schema that is not released has a format, which ends with a NUL.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_str().unwrap_or_default();
        let plain = match format {
            "c" => Type::Int { width: 1, signed: true },
            "C" => Type::Int { width: 1, signed: false },
            "s" => Type::Int { width: 2, signed: true },
            "S" => Type::Int { width: 2, signed: false },
            "i" => Type::Int { width: 4, signed: true },
            "I" => Type::Int { width: 4, signed: false },
            "l" => Type::Int { width: 8, signed: true },
            "L" => Type::Int { width: 8, signed: false },
            "u" | "z" => Type::Narrow,
            "U" | "Z" => Type::Wide,
            "vu" | "vz" => Type::View,
            "n" => Type::Null,
            "+s" => return Type::of_table(schema),
            other => match other.strip_prefix("w:").and_then(|width| width.parse().ok()) {
                Some(width) => Type::Fixed(width),
                None => return Err(no_key(other)),
            },
        };
        if schema.dictionary.is_null() {
            return Ok(plain);
        }
        // SAFETY: not null, so by the specification a schema that lives as long as this one.
        let values = Type::of(unsafe { &*schema.dictionary })?;
        match (plain, &values) {
            (
                Type::Int { width, signed },
                Type::Int { .. } | Type::Narrow | Type::Wide | Type::View | Type::Fixed(_) | Type::Null,
            ) => Ok(Type::Dictionary { width, signed, values: Box::new(values) }),
            _ => Err(no_key("a dictionary of dictionaries")),
        }
    }

    fn of_table(schema: &Schema) -> PyResult<Type> {
        if schema.n_children != 1 || schema.children.is_null() {
            let columns = schema.n_children;
            return Err(wrong_type(format_args!(
                "keys must be one column, and the number of columns is {columns}: select one of them"
            )));
        }
        // SAFETY: by the specification one child, which lives as long as this schema.
        match Type::of(unsafe { &**schema.children })? {
            Type::Table(_) => Err(no_key("a struct within a struct")),
            column => Ok(Type::Table(Box::new(column))),
        }
    }
}

fn no_key(format: &str) -> PyErr {
    let what = match format.as_bytes() {
        [b'e' | b'f' | b'g'] => &format!("floating-point numbers{FLOATS}"),
        [b'b'] => "booleans",
        [b't', ..] => "dates and times (cast them to int64)",
        [b'd', ..] => "decimals (cast them to text)",
        [b'+', ..] => "nested values",
        _ => &format!("Arrow's {format}"),
    };
    wrong_type(format_args!("keys are integers, text or bytes, not {what}"))
}
