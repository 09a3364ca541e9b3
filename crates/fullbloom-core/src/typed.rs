//! Typed keys: the types that keys have, and the value of one key.

mod field;
mod form;

pub use field::KeyField;
pub use form::KeyForm;

use crate::error::UnknownName;
use core::fmt;
use core::str::{self, FromStr};

/// The type of a filter's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Raw bytes.
    Bytes,
    /// Text in UTF-8.
    Text,
    /// Text whose UTF-16 code units are hashed.
    Utf16,
    /// A 32-bit signed integer.
    Int,
    /// A 64-bit signed integer.
    Long,
    /// A 32-bit floating-point number.
    Float,
    /// A 64-bit floating-point number.
    Double,
}

impl KeyType {
    /// All types.
    pub const ALL: &[KeyType] = &[
        KeyType::Bytes,
        KeyType::Text,
        KeyType::Utf16,
        KeyType::Int,
        KeyType::Long,
        KeyType::Float,
        KeyType::Double,
    ];

    /// The name as typed on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::Text => "text",
            KeyType::Utf16 => "utf16",
            KeyType::Int => "int",
            KeyType::Long => "long",
            KeyType::Float => "float",
            KeyType::Double => "double",
        }
    }

    /// Whether keys are hashed as numbers.
    pub fn is_number(self) -> bool {
        matches!(self, KeyType::Int | KeyType::Long | KeyType::Float | KeyType::Double)
    }

    /// Whether keys of both types have the same bytes in a native filter.
    pub fn has_bytes_of(self, other: KeyType) -> bool {
        self.is_number() == other.is_number()
    }

    /// Parses a key written as text: decimal digits for numbers; floating-point numbers may also be `nan`,
    /// `inf` or have exponents.
    ///
    /// ```
    /// use fullbloom::typed::KeyType;
    /// use fullbloom_core::typed::Value;
    /// assert_eq!(KeyType::Int.parse(b"-7"), Ok(Value::Int(-7)));
    /// assert!(KeyType::Int.parse(b"3000000000").is_err());
    /// assert!(KeyType::Long.parse(b" 7").is_err());
    /// ```
    pub fn parse(self, text: &[u8]) -> Result<Value<'_>, TypeError> {
        fn number<T: FromStr>(text: &[u8], what: KeyType) -> Result<T, TypeError> {
            let parsed = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            parsed.ok_or(TypeError::Text { what })
        }
        Ok(match self {
            KeyType::Bytes => Value::Bytes(text),
            KeyType::Text | KeyType::Utf16 => {
                let text = str::from_utf8(text).map_err(|_| TypeError::Text { what: self })?;
                if self == KeyType::Text { Value::Text(text) } else { Value::Utf16(text) }
            }
            KeyType::Int => Value::Int(number(text, self)?),
            KeyType::Long => Value::Long(number(text, self)?),
            KeyType::Float => Value::Float(number(text, self)?),
            KeyType::Double => Value::Double(number(text, self)?),
        })
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The names, and `string` for `text`.
impl FromStr for KeyType {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<KeyType, UnknownName> {
        let text = if text == "string" { "text" } else { text };
        UnknownName::or_found("key type", text, KeyType::ALL, |key_type| key_type.as_str())
    }
}

/// A key with its type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// Text in UTF-8.
    Text(&'a str),
    /// Text whose UTF-16 code units are hashed.
    Utf16(&'a str),
    /// A 32-bit signed integer.
    Int(i32),
    /// A 64-bit signed integer.
    Long(i64),
    /// A 32-bit floating-point number.
    Float(f32),
    /// A 64-bit floating-point number.
    Double(f64),
}

impl Value<'_> {
    /// Its type.
    pub fn key_type(&self) -> KeyType {
        match self {
            Value::Bytes(_) => KeyType::Bytes,
            Value::Text(_) => KeyType::Text,
            Value::Utf16(_) => KeyType::Utf16,
            Value::Int(_) => KeyType::Int,
            Value::Long(_) => KeyType::Long,
            Value::Float(_) => KeyType::Float,
            Value::Double(_) => KeyType::Double,
        }
    }

    /// Whether it is hashed as numbers.
    pub fn is_number(&self) -> bool {
        self.key_type().is_number()
    }
}

/// A typed key is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The system of this dialect has no keys of this type.
    Unsupported {
        /// The dialect.
        dialect: &'static str,
        /// The type.
        what: KeyType,
    },
    /// The text of a key is not a value of this type.
    Text {
        /// The type.
        what: KeyType,
    },
    /// The filter records that its keys are of another type, whose bytes are different.
    Recorded {
        /// The recorded type.
        recorded: KeyType,
        /// The type of the given keys.
        given: KeyType,
    },
    /// The filter records that its keys were brought into a form, and the caller does not do so.
    Form {
        /// The recorded form.
        recorded: KeyForm,
    },
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::Unsupported { dialect, what } => {
                write!(f, "{dialect} has no keys of type {what}")
            }
            TypeError::Text { what: KeyType::Text | KeyType::Utf16 } => {
                f.write_str("the key is not UTF-8 text")
            }
            TypeError::Text { what } => write!(f, "the key is not a number of type {what}"),
            TypeError::Recorded { recorded, given } => {
                write!(f, "the filter was built from keys of type {recorded}, not {given}")
            }
            TypeError::Form { recorded } => {
                write!(f, "the filter's keys are {recorded}: other keys must be brought into this form first")
            }
        }
    }
}

impl core::error::Error for TypeError {}
