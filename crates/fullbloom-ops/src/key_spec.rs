//! How keys are written as text, and the bytes that a system hashes for them.

use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Need, Problem};
use crate::text;
use fullbloom::typed::KeyType;
use fullbloom_dialects::Name;
use fullbloom_dialects::typed::Value;
use fullbloom_sstable::sstable::{DATA, FILTER, INDEX, PARTITIONS, STATISTICS, TOC};
use fullbloom_sstable::{Keys, PartitionKeyType, RecordedKeyType, Sstable, recorded_key_type};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;

/// How a key is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySpec {
    /// A value of a type that several systems have; each makes its own bytes of it.
    Value(KeyType),
    /// A partition key of Cassandra: a type that only Cassandra has, or several columns.
    Columns(PartitionKeyType),
}

impl KeySpec {
    /// Keys are bytes.
    pub const BYTES: KeySpec = KeySpec::Value(KeyType::Bytes);

    /// The type that filters of other systems know; bytes for a type that only Cassandra has.
    pub fn key_type(&self) -> KeyType {
        match self {
            KeySpec::Value(key_type) => *key_type,
            KeySpec::Columns(_) => KeyType::Bytes,
        }
    }

    /// The type of keys that are looked up in a column of Parquet: text is a value of the column's own type,
    /// unless the caller gave another type or writes the bytes in hex.
    #[cfg(feature = "parquet")]
    pub fn for_column(&self, column: KeyType, hex: bool) -> KeySpec {
        match self {
            &KeySpec::BYTES if !hex => KeySpec::Value(column),
            given => given.clone(),
        }
    }

    /// Whether the system of this dialect has keys of this type.
    pub fn require(&self, dialect: Name) -> Result<(), String> {
        match self {
            KeySpec::Value(key_type) => dialect.require_key_type(*key_type).map_err(|e| e.to_string()),
            KeySpec::Columns(_) if dialect.as_str().starts_with("cassandra") => Ok(()),
            KeySpec::Columns(_) => {
                Err(format!("only partition keys of Cassandra have this type, not {dialect}"))
            }
        }
    }

    /// As [`require`](KeySpec::require), for the filter in this file.
    pub fn check_dialect(&self, path: &Path, dialect: Name) -> Result<(), Problem> {
        self.require(dialect).map_err(|why| Problem::at(path, Code::OptionRefused, why))
    }

    /// Appends the bytes of a key, or says what is wrong with its text.
    pub fn encode(&self, text: &[u8], dialect: Name, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            KeySpec::Columns(columns) => columns.encode_into(text, out),
            KeySpec::Value(key_type) => {
                let value = match (key_type.parse(text), dialect) {
                    // Native filters take integers of 64 bits with and without a sign.
                    (Err(e), Name::Native) if *key_type == KeyType::Long => unsigned(text).ok_or(e),
                    (value, _) => value,
                };
                let key = value.and_then(|value| dialect.key(value)).map_err(|e| e.to_string())?;
                out.extend_from_slice(key.as_ref());
                Ok(())
            }
        }
    }

    /// The same type as Cassandra names it; `None` for bytes, which fit every type.
    fn of_cassandra(&self) -> Option<PartitionKeyType> {
        match self {
            KeySpec::Columns(columns) => Some(columns.clone()),
            KeySpec::Value(KeyType::Text) => "text".parse().ok(),
            KeySpec::Value(KeyType::Int) => "int".parse().ok(),
            KeySpec::Value(KeyType::Long) => "bigint".parse().ok(),
            KeySpec::Value(KeyType::Float) => "float".parse().ok(),
            KeySpec::Value(KeyType::Double) => "double".parse().ok(),
            KeySpec::Value(_) => None,
        }
    }

    /// How the keys of a place are written: in the given type, which must fit the place; or else in the type
    /// that the place records for its keys. Keys in hex are bytes.
    pub fn for_place(given: Option<&KeySpec>, hex: bool, place: &Place) -> Result<KeySpec, Problem> {
        if let Some(given) = given {
            given.check_place(place)?;
            return Ok(given.clone());
        }
        match (place.kind(), Sstable::of_file(place.path())) {
            (PlaceKind::Sstable, Ok(sstable)) if !hex => KeySpec::of_sstable(&sstable),
            _ => Ok(KeySpec::BYTES), // whoever reads the filter reports what is wrong with it
        }
    }

    /// What a caller that gives no type should know: nothing says which type the keys of this filter have,
    /// and they are looked up as text.
    pub fn assumed(given: Option<&KeySpec>, hex: bool, place: &Place) -> Option<Problem> {
        let sstable = match place.kind() {
            PlaceKind::Sstable if given.is_none() && !hex => Sstable::of_file(place.path()).ok()?,
            _ => return None,
        };
        let why = "without Statistics.db and the index, the type of its keys is not known: they are looked up \
                   as text";
        is_alone(&sstable).then(|| {
            Problem::at(place.path(), Code::OtherKeyType, why)
                .hint("give the type of the keys")
                .needs(Need::Keys)
        })
    }

    /// The type of an sstable's own keys, for callers that give none. Where it is not recorded, keys that
    /// look like text are taken as they are. Others are refused: as text, a lookup would say "no" for keys
    /// that are there.
    pub(crate) fn of_sstable(sstable: &Sstable) -> Result<KeySpec, Problem> {
        let why = match recorded_key_type(sstable) {
            RecordedKeyType::Known(schema) if schema.is_text() => return Ok(KeySpec::BYTES),
            RecordedKeyType::Known(schema) => return Ok(KeySpec::Columns(schema)),
            RecordedKeyType::Unsupported(class) => {
                format!("keys of the class {class} cannot be given as text")
            }
            RecordedKeyType::Unknown => match are_text(sstable) {
                Some(true) => return Ok(KeySpec::BYTES),
                Some(false) => {
                    "the type of its partition keys is not known, and they are not text".to_owned()
                }
                // There is nothing else to go by: `assumed` says so.
                None if is_alone(sstable) => return Ok(KeySpec::BYTES),
                None => "the type of its partition keys is not known: neither Statistics.db nor the index \
                         can be read"
                    .to_owned(),
            },
        };
        Err(Problem::at(&sstable.path(FILTER), Code::OptionRefused, why)
            .hint("give the type of the keys, or the keys in hex")
            .needs(Need::KeysOrHex))
    }

    /// Compares the type with the schema that an sstable records.
    pub(crate) fn check_sstable(&self, sstable: &Sstable) -> Result<(), Problem> {
        let (Some(given), RecordedKeyType::Known(schema)) = (self.of_cassandra(), recorded_key_type(sstable))
        else {
            return Ok(());
        };
        if given.has_bytes_of(&schema) {
            return Ok(());
        }
        let why = format!("the partition key of {} is {schema}, not {self}", sstable.table_name());
        Err(Problem::at(&sstable.path(FILTER), Code::OtherKeyType, why)
            .hint(format!("give the keys as {schema}"))
            .needs(Need::Keys))
    }

    /// Compares the type with what is known about a place: the schema of an sstable, or that keys of tables
    /// are bytes.
    pub fn check_place(&self, place: &Place) -> Result<(), Problem> {
        match place.kind() {
            PlaceKind::Sstable => match Sstable::of_file(place.path()) {
                Ok(sstable) => self.check_sstable(&sstable),
                Err(_) => Ok(()), // whoever reads the filter reports it
            },
            PlaceKind::Table | PlaceKind::Database => self.check_table(place.path()),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_table(&self, path: &Path) -> Result<(), Problem> {
        match self {
            KeySpec::Value(KeyType::Bytes | KeyType::Text) => Ok(()),
            _ => Err(Problem::at(path, Code::OptionRefused, "the keys of tables are bytes")),
        }
    }
}

impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySpec::Value(key_type) => key_type.fmt(f),
            KeySpec::Columns(columns) => columns.fmt(f),
        }
    }
}

/// The names of the types of several systems, `text` for `string`, and Cassandra's own names.
impl FromStr for KeySpec {
    type Err = String;

    fn from_str(name: &str) -> Result<KeySpec, String> {
        let common = if name == "text" { "string" } else { name };
        match common.parse() {
            Ok(key_type) => Ok(KeySpec::Value(key_type)),
            Err(_) => name.parse().map(KeySpec::Columns).map_err(|e: String| {
                let known: Vec<&str> = KeyType::ALL.iter().map(|known| known.as_str()).collect();
                format!("{e}, {}", known.join(", "))
            }),
        }
    }
}

/// Whether only the filter of an sstable is there.
fn is_alone(sstable: &Sstable) -> bool {
    ![DATA, INDEX, PARTITIONS, STATISTICS, TOC].iter().any(|component| sstable.has(component))
}

/// Whether an sstable's first keys are text; `None` if they cannot be read.
fn are_text(sstable: &Sstable) -> Option<bool> {
    let is_text = |key: &[u8]| {
        let plain = |c: char| !c.is_control() || c.is_ascii_whitespace();
        std::str::from_utf8(key).is_ok_and(|text| text.chars().all(plain))
    };
    let mut found = None;
    let visited = Keys::open(sstable).and_then(|keys| {
        keys.visit(|batch| {
            found = Some(batch.iter().all(|key| is_text(key)));
            ControlFlow::Break(()) // 64 keys are enough: numbers and UUIDs show at once
        })
    });
    visited.ok().and(found)
}

/// How keys that were read from a place are written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyText {
    /// As they are.
    Bytes,
    /// As values of a column.
    Value(KeyType),
    /// As the columns of a partition key.
    Columns(PartitionKeyType),
}

impl KeyText {
    /// How the keys of an sstable are written.
    pub(crate) fn of_sstable(sstable: &Sstable) -> KeyText {
        match recorded_key_type(sstable) {
            RecordedKeyType::Known(schema) => KeyText::Columns(schema),
            RecordedKeyType::Unsupported(_) | RecordedKeyType::Unknown => KeyText::Bytes,
        }
    }

    /// The text of a key for people; hex after `0x` for one that is not text.
    pub fn shown(&self, key: &[u8]) -> String {
        let mut text = Vec::new();
        self.write(key, &mut text);
        match String::from_utf8(text) {
            Ok(text) if !text.contains(char::is_control) => text,
            _ => format!("0x{}", text::hex(key)),
        }
    }

    /// Appends the text of a key. One that is not of its type is written in hex after `0x`.
    pub fn write(&self, key: &[u8], out: &mut Vec<u8>) {
        let text = match self {
            KeyText::Bytes => return out.extend_from_slice(key),
            KeyText::Columns(columns) => columns.write(key),
            KeyText::Value(key_type) => number(*key_type, key),
        };
        match text {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => out.extend_from_slice(format!("0x{}", text::hex(key)).as_bytes()),
        }
    }
}

/// A value of a Parquet column, whose numbers are little-endian.
fn number(key_type: KeyType, bytes: &[u8]) -> Option<String> {
    Some(match key_type {
        KeyType::Int => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        KeyType::Long => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        KeyType::Float => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        KeyType::Double => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        _ => return String::from_utf8(bytes.to_vec()).ok(),
    })
}
/// An integer of 64 bits without a sign: the long with the same bytes.
fn unsigned(text: &[u8]) -> Option<Value<'static>> {
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(Value::Long(number as i64))
}
