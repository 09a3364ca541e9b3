//! Typed keys: how each system turns a number or a text into the bytes of a key.
//!
//! A filter takes bytes. Systems with typed columns hash values, and each has its own rule from a value to
//! bytes:
//!
//! | dialect | int | long | float | double | text | UTF-16 text |
//! |---|---|---|---|---|---|---|
//! | `parquet` | 4 LE | 8 LE | 4 LE | 8 LE | UTF-8 | – |
//! | `guava`, `guava-32` | 4 LE | 8 LE | – | – | UTF-8 | units, LE |
//! | `native` | 8 LE | 8 LE | – | – | UTF-8 | – |
//! | `spark`, `spark-2` | 8 LE | 8 LE | – | – | UTF-8 | – |
//! | `orc` | 8 LE, as a number | 8 LE, as a number | 8 LE of the double, as a number | 8 LE, as a number | UTF-8 | – |
//! | `poppy` | 4 LE, as a number | 8 LE, as a number | – | – | UTF-8 | – |
//! | `cassandra` … | 4 BE | 8 BE | 4 BE | 8 BE | UTF-8 | – |
//! | all others | – | – | – | – | UTF-8 | – |
//!
//! LE and BE are little- and big-endian bytes; floats are their IEEE 754 bits. "As a number" means that the
//! system hashes such a key differently from bytes
//! ([`Dialect::set_numbers`](crate::filter::Dialect::set_numbers)).
//!
//! ```
//! use fullbloom::{Filter, dialect::{Orc, Spark}, typed::Value};
//!
//! let mut spark = Filter::<Spark>::with_fpr(100, 0.01)?;
//! spark.insert_value(Value::Int(7))?; // Spark converts it to a long
//! assert!(spark.may_contain(&[7, 0, 0, 0, 0, 0, 0, 0]));
//!
//! let mut orc = Filter::<Orc>::with_fpr(100, 0.01)?;
//! orc.insert_value(Value::Double(2.5))?;
//! assert!(orc.may_contain_value(Value::Float(2.5))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod field;
mod form;

pub use field::KeyField;
pub use form::KeyForm;

use crate::dialect::Name;
use crate::error::UnknownName;
use alloc::vec::Vec;
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

    /// Whether the system of this dialect has keys of this type.
    pub fn require(self, dialect: Name) -> Result<(), TypeError> {
        let sample: &[u8] = if self.is_number() { b"0" } else { b"" };
        self.parse(sample).and_then(|value| value.key(dialect)).map(|_| ())
    }

    /// Whether keys are hashed as [numbers](crate::filter::Dialect::set_numbers).
    pub fn is_number(self) -> bool {
        matches!(self, KeyType::Int | KeyType::Long | KeyType::Float | KeyType::Double)
    }

    /// Whether keys of both types have the same bytes in a native filter.
    pub(crate) fn has_bytes_of(self, other: KeyType) -> bool {
        self.is_number() == other.is_number()
    }

    /// Parses a key written as text: decimal digits for numbers; floating-point numbers may also be `nan`,
    /// `inf` or have exponents.
    ///
    /// ```
    /// use fullbloom::typed::{KeyType, Value};
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

/// The bytes of a typed key.
enum Key<'a> {
    /// The bytes of the value itself.
    Borrowed(&'a [u8]),
    /// Four bytes of a number.
    Four([u8; 4]),
    /// Eight bytes of a number.
    Eight([u8; 8]),
    /// Others.
    Made(Vec<u8>),
}

impl AsRef<[u8]> for Key<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Key::Borrowed(bytes) => bytes,
            Key::Four(bytes) => bytes,
            Key::Eight(bytes) => bytes,
            Key::Made(bytes) => bytes,
        }
    }
}

/// How a system encodes numbers.
enum Form {
    LittleEndian,
    BigEndian,
    /// Integers only, at their own width.
    LittleIntegers,
    /// Integers only, all as longs.
    LittleLongs,
    /// Integers as longs, floats as doubles.
    LittleWide,
    None,
}

fn form(dialect: Name) -> Form {
    match dialect {
        Name::Parquet => Form::LittleEndian,
        Name::Guava | Name::Guava32 | Name::Poppy => Form::LittleIntegers,
        Name::Spark | Name::Spark2 | Name::Native => Form::LittleLongs,
        Name::Orc => Form::LittleWide,
        Name::Cassandra | Name::Cassandra3 | Name::Cassandra2 | Name::Cassandra1 | Name::Cassandra07 => {
            Form::BigEndian
        }
        _ => Form::None,
    }
}

impl<'a> Value<'a> {
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

    /// Whether it is hashed as [numbers](crate::filter::Dialect::set_numbers).
    pub fn is_number(&self) -> bool {
        self.key_type().is_number()
    }

    /// The bytes that this dialect's system hashes for it.
    pub fn key(self, dialect: Name) -> Result<impl AsRef<[u8]> + use<'a>, TypeError> {
        use Form::{BigEndian, LittleEndian, LittleIntegers, LittleLongs, LittleWide};
        Ok(match (self, form(dialect)) {
            (Value::Bytes(bytes), _) => Key::Borrowed(bytes),
            (Value::Text(text), _) => Key::Borrowed(text.as_bytes()),
            (Value::Utf16(text), LittleIntegers) if dialect != Name::Poppy => {
                Key::Made(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
            }
            (Value::Int(n), LittleEndian | LittleIntegers) => Key::Four(n.to_le_bytes()),
            (Value::Int(n), LittleLongs | LittleWide) => Key::Eight(i64::from(n).to_le_bytes()),
            (Value::Int(n), BigEndian) => Key::Four(n.to_be_bytes()),
            (Value::Long(n), LittleEndian | LittleIntegers | LittleLongs | LittleWide) => {
                Key::Eight(n.to_le_bytes())
            }
            (Value::Long(n), BigEndian) => Key::Eight(n.to_be_bytes()),
            (Value::Float(x), LittleEndian) => Key::Four(x.to_le_bytes()),
            (Value::Float(x), LittleWide) => Key::Eight(f64::from(x).to_le_bytes()),
            (Value::Float(x), BigEndian) => Key::Four(x.to_be_bytes()),
            (Value::Double(x), LittleEndian | LittleWide) => Key::Eight(x.to_le_bytes()),
            (Value::Double(x), BigEndian) => Key::Eight(x.to_be_bytes()),
            (value, _) => return Err(TypeError::Unsupported { dialect, what: value.key_type() }),
        })
    }
}

/// How this dialect's system encodes an integer of this type: the number of bytes, and whether the most
/// significant comes first.
pub(crate) fn integer_bytes(key_type: KeyType, dialect: Name) -> Result<(usize, bool), TypeError> {
    let value = match key_type {
        KeyType::Int => Value::Int(1),
        KeyType::Long => Value::Long(1),
        what => return Err(TypeError::Unsupported { dialect, what }),
    };
    let key = value.key(dialect)?;
    let bytes = key.as_ref();
    Ok((bytes.len(), bytes[0] == 0))
}

/// A typed key is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The system of this dialect has no keys of this type.
    Unsupported {
        /// The dialect.
        dialect: Name,
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
