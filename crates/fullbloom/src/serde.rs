//! Filters in serde's formats: as their encoded bytes, which are checked when they are read.

use crate::Filter;
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl<S: AsRef<[u8]>> Serialize for Filter<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.serialize_bytes(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Encoded)
    }
}

/// Accepts bytes, and the sequence of numbers that text formats have in their place.
struct Encoded;

impl<'de> Visitor<'de> for Encoded {
    type Value = Filter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Filter, E> {
        Filter::decode(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Filter, A::Error> {
        // The length that a format announces is not trusted: memory is taken as the bytes arrive.
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.try_reserve(1).map_err(A::Error::custom)?;
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::Filter;

    #[test]
    fn a_filter_is_the_same_after_a_text_format() {
        let filter: Filter = ["alice", "bob"].into_iter().collect();
        let text = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<Filter>(&text).unwrap(), filter);
        for damaged in [text.replacen("137", "138", 1), "[1, 2]".into(), "\"text\"".into(), "[300]".into()] {
            assert!(serde_json::from_str::<Filter>(&damaged).is_err(), "{damaged}");
        }
    }
}
