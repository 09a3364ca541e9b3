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
//! use fullbloom_dialects::{Filter, Orc, Spark, typed::Value};
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

use crate::Name;
use alloc::vec::Vec;
pub use fullbloom_core::typed::{KeyField, KeyForm, KeyType, TypeError, Value};

/// The bytes of a typed key.
enum Key<'a> {
    /// The bytes of the value itself.
    Borrowed(&'a [u8]),
    /// Four bytes of a number.
    Four([u8; 4]),
    /// Eight bytes of a number.
    Eight([u8; 8]),
    /// The bytes had to be made from the value.
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

impl Name {
    /// The bytes that the system of this dialect hashes for this value.
    pub fn key<'a>(self, value: Value<'a>) -> Result<impl AsRef<[u8]> + use<'a>, TypeError> {
        use Form::{BigEndian, LittleEndian, LittleIntegers, LittleLongs, LittleWide};
        Ok(match (value, form(self)) {
            (Value::Bytes(bytes), _) => Key::Borrowed(bytes),
            (Value::Text(text), _) => Key::Borrowed(text.as_bytes()),
            (Value::Utf16(text), LittleIntegers) if self != Name::Poppy => {
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
            (value, _) => {
                return Err(TypeError::Unsupported { dialect: self.as_str(), what: value.key_type() });
            }
        })
    }

    /// Whether the system of this dialect has keys of this type.
    pub fn require_key_type(self, key_type: KeyType) -> Result<(), TypeError> {
        let sample: &[u8] = if key_type.is_number() { b"0" } else { b"" };
        key_type.parse(sample).and_then(|value| self.key(value)).map(|_| ())
    }

    /// How this dialect's system encodes an integer of this type: the number of bytes, and whether the most
    /// significant comes first.
    pub fn integer_bytes(self, key_type: KeyType) -> Result<(usize, bool), TypeError> {
        let value = match key_type {
            KeyType::Int => Value::Int(1),
            KeyType::Long => Value::Long(1),
            what => return Err(TypeError::Unsupported { dialect: self.as_str(), what }),
        };
        let key = self.key(value)?;
        let bytes = key.as_ref();
        Ok((bytes.len(), bytes[0] == 0))
    }
}
