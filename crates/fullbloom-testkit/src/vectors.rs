//! The golden files under `vectors/`: where they are and how their JSON is read.
//!
//! Accessors panic and print the record: a vector that lacks a field is a bug in the test.

use crate::from_hex;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
pub use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// The directory of all vectors.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors"))
}

/// The bytes of one vector file, named relative to `vectors/`.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = root().join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// One vector file as JSON.
pub fn json(name: &str) -> Value {
    typed(name)
}

/// One vector file as a type of the test.
pub fn typed<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&bytes(name)).unwrap_or_else(|e| panic!("vectors/{name}: {e}"))
}

/// Reading the fields of a record.
pub trait Record {
    /// The field, which must exist.
    fn field(&self, name: &str) -> &Value;
    /// The list with this name. Panics if there is none.
    fn list(&self, name: &str) -> &[Value];
    /// The text with this name. Panics if there is none.
    fn text(&self, name: &str) -> &str;
    /// A non-negative integer.
    fn count(&self, name: &str) -> u64;
    /// The integer with this name. Panics if there is none.
    fn int(&self, name: &str) -> i64;
    /// A number written as a JSON number, or as text that Rust and the original parse to the same value.
    fn real(&self, name: &str) -> f64;
    /// Bytes written as hex.
    fn hex(&self, name: &str) -> Vec<u8>;
    /// A list of byte strings written as hex.
    fn hex_list(&self, name: &str) -> Vec<Vec<u8>>;
    /// A string of `0` and `1`.
    fn answers(&self, name: &str) -> Vec<bool>;
    /// An integer written as big-endian hex.
    fn hex_int(&self, name: &str) -> u64;
}

impl Record for Value {
    fn field(&self, name: &str) -> &Value {
        self.get(name).unwrap_or_else(|| panic!("no {name} in {self}"))
    }

    fn list(&self, name: &str) -> &[Value] {
        self.field(name).as_array().unwrap_or_else(|| panic!("{name} is no list in {self}"))
    }

    fn text(&self, name: &str) -> &str {
        self.field(name).as_str().unwrap_or_else(|| panic!("{name} is no text in {self}"))
    }

    fn count(&self, name: &str) -> u64 {
        self.field(name).as_u64().unwrap_or_else(|| panic!("{name} is no count in {self}"))
    }

    fn int(&self, name: &str) -> i64 {
        self.field(name).as_i64().unwrap_or_else(|| panic!("{name} is no whole number in {self}"))
    }

    fn real(&self, name: &str) -> f64 {
        let field = self.field(name);
        let parsed = field.as_str().and_then(|text| text.parse().ok());
        parsed.or(field.as_f64()).unwrap_or_else(|| panic!("{name} is no number in {self}"))
    }

    fn hex(&self, name: &str) -> Vec<u8> {
        from_hex(self.text(name))
    }

    fn hex_list(&self, name: &str) -> Vec<Vec<u8>> {
        let text = |v: &Value| v.as_str().unwrap_or_else(|| panic!("{v} in {name} is no text")).to_owned();
        self.list(name).iter().map(|v| from_hex(&text(v))).collect()
    }

    fn answers(&self, name: &str) -> Vec<bool> {
        self.text(name)
            .chars()
            .map(|c| match c {
                '0' => false,
                '1' => true,
                _ => panic!("{c:?} in {name} is no answer"),
            })
            .collect()
    }

    fn hex_int(&self, name: &str) -> u64 {
        u64::from_str_radix(self.text(name), 16).unwrap_or_else(|e| panic!("{name} in {self}: {e}"))
    }
}

/// A JSON string whose `\u` escapes may be unpaired surrogates, which a `String` cannot hold.
///
/// Kept as UTF-8 in which an unpaired surrogate takes three bytes like any other unit below U+10000.
/// `serde_json` decodes it this way when bytes are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_survives_and_a_pair_becomes_one_character() {
        let texts: Vec<Text> =
            serde_json::from_str(r#"["a\ud800b", "\ud83d\ude00", "\udc00\ud800", "\"\\\u0000"]"#).unwrap();
        let expected: [&[u8]; 4] =
            [b"a\xed\xa0\x80b", "😀".as_bytes(), b"\xed\xb0\x80\xed\xa0\x80", b"\"\\\0"];
        assert!(texts.iter().map(|text| text.0.as_slice()).eq(expected));
    }

    #[test]
    fn the_words_nan_and_infinity_are_numbers() {
        let record: Value = serde_json::from_str(r#"{"a":"NaN","b":"-inf","c":"5e-324","d":0.25}"#).unwrap();
        assert!(record.real("a").is_nan());
        assert_eq!(record.real("b"), f64::NEG_INFINITY);
        assert_eq!(record.real("c"), f64::from_bits(1));
        assert_eq!(record.real("d"), 0.25);
    }
}
