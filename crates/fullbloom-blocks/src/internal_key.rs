//! Internal keys: what the engines store for a user key, and the order they keep.
//!
//! ```text
//!   | user key | timestamp: 0 or 8 bytes | sequence << 8 + type: u64 |
//! ```
//!
//! User keys ascend; the versions of one user key descend, newest first.

use crate::bytes::u64_at;
use crate::error::{At, BlockError};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Bytes after the user key: sequence number and type.
pub const FOOTER_LEN: usize = 8;

/// The greatest sequence number. No entry carries it; shortened index keys do.
pub const MAX_SEQUENCE: u64 = (1 << 56) - 1;

/// What an entry of a table says about its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueType(pub u8);

impl ValueType {
    /// The key was removed.
    pub const DELETE: ValueType = ValueType(0);
    /// The key has this value.
    pub const PUT: ValueType = ValueType(1);
    /// The value is an operand for the database's merge operator.
    pub const MERGE: ValueType = ValueType(2);
    /// The key was removed by a deletion that cancels exactly one put.
    pub const SINGLE_DELETE: ValueType = ValueType(7);
    /// All keys from the user key to the value, which is excluded, were removed.
    pub const RANGE_DELETE: ValueType = ValueType(0x0f);
    /// The value is in a blob file.
    pub const BLOB_INDEX: ValueType = ValueType(0x11);
    /// The key was removed, in a database with timestamps.
    pub const DELETE_WITH_TIMESTAMP: ValueType = ValueType(0x14);
    /// The value is a row of columns.
    pub const WIDE_COLUMNS: ValueType = ValueType(0x16);
    /// The value carries a sequence number to be used for deciding its tier.
    pub const PREFERRED_SEQUENCE: ValueType = ValueType(0x18);

    /// Whether the entry is a deletion.
    pub fn is_delete(self) -> bool {
        matches!(
            self,
            ValueType::DELETE
                | ValueType::SINGLE_DELETE
                | ValueType::DELETE_WITH_TIMESTAMP
                | ValueType::RANGE_DELETE
        )
    }
}

/// The parts of an internal key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalKey<'a> {
    /// The key as the database's user gave it; a timestamp is still on it.
    pub user_key: &'a [u8],
    /// The sequence number of the write.
    pub sequence: u64,
    /// Whether the write was a value, a deletion or something else.
    pub value_type: ValueType,
}

impl<'a> InternalKey<'a> {
    /// Splits an internal key.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Option<InternalKey<'a>> {
        let (user_key, footer) = bytes.split_last_chunk::<FOOTER_LEN>()?;
        let packed = u64::from_le_bytes(*footer);
        Some(InternalKey { user_key, sequence: packed >> 8, value_type: ValueType(packed as u8) })
    }

    /// As [`decode`](InternalKey::decode), for a key at this place of a file, which the error names.
    #[inline]
    pub fn decode_at(bytes: &'a [u8], at: At) -> Result<InternalKey<'a>, BlockError> {
        let short = BlockError::Truncated {
            field: "internal key",
            at,
            need: FOOTER_LEN as u64,
            have: bytes.len() as u64,
        };
        InternalKey::decode(bytes).ok_or(short)
    }

    /// Appends the internal key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.user_key);
        out.extend_from_slice(&(self.sequence << 8 | u64::from(self.value_type.0)).to_le_bytes());
    }
}

/// How a table's keys are composed and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOrder {
    /// User keys descend.
    pub reverse: bool,
    /// Bytes of the user-defined timestamp at the end of each user key.
    pub timestamp: usize,
}

impl KeyOrder {
    /// User keys ascend byte by byte, without timestamps: the engines' default.
    pub const BYTEWISE: KeyOrder = KeyOrder { reverse: false, timestamp: 0 };

    /// The order a comparator of this name has, if its name is known.
    pub fn named(comparator: &str, timestamps_stored: bool) -> Option<KeyOrder> {
        let timestamp = if timestamps_stored { 8 } else { 0 };
        match comparator {
            "leveldb.BytewiseComparator" => Some(KeyOrder { reverse: false, timestamp: 0 }),
            "rocksdb.ReverseBytewiseComparator" => Some(KeyOrder { reverse: true, timestamp: 0 }),
            "leveldb.BytewiseComparator.u64ts" => Some(KeyOrder { reverse: false, timestamp }),
            "rocksdb.ReverseBytewiseComparator.u64ts" => Some(KeyOrder { reverse: true, timestamp }),
            _ => None,
        }
    }

    /// The user key without its timestamp: what filters hold.
    #[inline]
    pub fn filter_key<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[..user_key.len().saturating_sub(self.timestamp)]
    }

    /// Compares user keys, timestamps included: those descend, newest first.
    #[inline]
    pub fn user(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (key_a, key_b) = (self.filter_key(a), self.filter_key(b));
        let by_key = if self.reverse { key_b.cmp(key_a) } else { key_a.cmp(key_b) };
        by_key.then_with(|| stamp(&b[key_b.len()..]).cmp(&stamp(&a[key_a.len()..])))
    }

    /// Compares internal keys; one too short to be one counts as a user key written first of all.
    #[inline]
    pub fn internal(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (user_a, packed_a) = split(a);
        let (user_b, packed_b) = split(b);
        self.user(user_a, user_b).then_with(|| packed_b.cmp(&packed_a))
    }
}

fn stamp(bytes: &[u8]) -> u64 {
    if bytes.len() == 8 { u64_at(bytes, 0) } else { 0 }
}

fn split(key: &[u8]) -> (&[u8], u64) {
    match key.split_last_chunk::<FOOTER_LEN>() {
        Some((user_key, footer)) => (user_key, u64::from_le_bytes(*footer)),
        None => (key, u64::MAX),
    }
}

/// The target of a search in an index: the first entry not before it.
#[derive(Debug, Clone, Copy)]
pub struct Target<'k> {
    /// The user key.
    pub user_key: &'k [u8],
    /// The versions of the user key that count: those not newer than this. With the type, as one number.
    pub packed: u64,
}

impl<'k> Target<'k> {
    /// Any version of the key. A little under the greatest number: shortened index keys carry that one, and
    /// an engine's own lookups, which begin at a real sequence number, sort after those.
    #[inline]
    pub fn newest(user_key: &'k [u8]) -> Target<'k> {
        Target { user_key, packed: (MAX_SEQUENCE - 1) << 8 | 0xff }
    }

    /// After all versions of the key: where a backward seek begins.
    #[inline]
    pub fn oldest(user_key: &'k [u8]) -> Target<'k> {
        Target { user_key, packed: 0 }
    }

    /// How an index key compares with this target.
    #[inline]
    pub fn order(&self, order: KeyOrder, key: &[u8], user_keys: bool) -> Ordering {
        let (user, packed) = match key.split_last_chunk::<8>() {
            Some((user, footer)) if !user_keys => (user, u64::from_le_bytes(*footer)),
            _ => return order.user(key, self.user_key),
        };
        order.user(user, self.user_key).then_with(|| self.packed.cmp(&packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn internal(user_key: &[u8], sequence: u64, value_type: ValueType) -> Vec<u8> {
        let mut bytes = Vec::new();
        InternalKey { user_key, sequence, value_type }.encode(&mut bytes);
        bytes
    }

    #[test]
    fn parts_come_back() {
        let bytes = internal(b"key", 77, ValueType::MERGE);
        let key = InternalKey::decode(&bytes).unwrap();
        assert_eq!((key.user_key, key.sequence, key.value_type), (&b"key"[..], 77, ValueType::MERGE));
        assert_eq!(InternalKey::decode(b"short"), None);
    }

    #[test]
    fn user_keys_ascend_and_versions_descend() {
        let sorted = [
            internal(b"", 9, ValueType::PUT),
            internal(b"a", 9, ValueType::PUT),
            internal(b"a", 9, ValueType::DELETE),
            internal(b"a", 8, ValueType::MERGE),
            internal(b"a\0", 1, ValueType::PUT),
            internal(b"b", MAX_SEQUENCE, ValueType::PUT),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(KeyOrder::BYTEWISE.internal(a, b), i.cmp(&j));
            }
        }
        let reverse = KeyOrder::named("rocksdb.ReverseBytewiseComparator", true).unwrap();
        assert_eq!(reverse.internal(&sorted[1], &sorted[5]), Ordering::Greater);
        assert_eq!(reverse.internal(&sorted[1], &sorted[2]), Ordering::Less);
    }

    #[test]
    fn timestamps_are_not_part_of_what_a_filter_holds_and_descend() {
        let order = KeyOrder::named("leveldb.BytewiseComparator.u64ts", true).unwrap();
        let (old, new) = (b"key\x01\0\0\0\0\0\0\0", b"key\x02\0\0\0\0\0\0\0");
        assert_eq!(order.filter_key(old), b"key");
        assert_eq!(order.user(new, old), Ordering::Less);
        assert_eq!(KeyOrder::named("leveldb.BytewiseComparator.u64ts", false).unwrap().filter_key(old), old);
        assert_eq!(KeyOrder::named("my.Comparator", true), None);
    }
}
