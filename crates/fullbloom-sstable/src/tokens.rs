//! Tokens: where on the ring a key is, and what part of the ring an sstable covers.

use crate::keys::Ends;
use fullbloom_dialects::hash::murmur3_cassandra;

/// The first and the last token of an sstable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenRange {
    /// Of the first key.
    pub first: i64,
    /// Of the last key.
    pub last: i64,
}

/// The partitioner of all clusters made since Cassandra 1.2, and the only one of ScyllaDB's tables.
const MURMUR3: &str = "Murmur3Partitioner";

impl TokenRange {
    /// From the token of the first key to that of the last.
    pub fn new(first: i64, last: i64) -> TokenRange {
        TokenRange { first, last }
    }

    /// The range of an sstable with these first and last keys; `None` under another partitioner, or without
    /// keys.
    pub(crate) fn of(partitioner: &str, ends: &Ends) -> Option<TokenRange> {
        if !partitioner.ends_with(MURMUR3) {
            return None;
        }
        let (first, last) = (token(ends.first.as_deref()?), token(ends.last.as_deref()?));
        (first <= last).then_some(TokenRange { first, last })
    }
}

/// The token of a key under Murmur3Partitioner. The least number is not a token of a key.
fn token(key: &[u8]) -> i64 {
    match murmur3_cassandra(key)[0] as i64 {
        i64::MIN => i64::MAX,
        token => token,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `SELECT token(id)` prints it for the int 1.
    #[test]
    fn tokens_are_those_of_cassandra() {
        assert_eq!(token(&[0, 0, 0, 1]), -4_069_959_284_402_364_209);
        let ends = Ends { first: Some(b"x".to_vec()), last: Some(b"x".to_vec()) };
        assert!(TokenRange::of("org.apache.cassandra.dht.Murmur3Partitioner", &ends).is_some());
        assert!(TokenRange::of("org.apache.cassandra.dht.RandomPartitioner", &ends).is_none());
        assert!(TokenRange::of("org.apache.cassandra.dht.Murmur3Partitioner", &Ends::default()).is_none());
    }
}
