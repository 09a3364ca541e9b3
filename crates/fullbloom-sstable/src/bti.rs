//! Partition keys of the BTI format and of ScyllaDB's `ms` and `mt`: from the trie of `Partitions.db` to the
//! keys in `Rows.db` and `Data.db`.
//!
//! The trie stores only as much of each key as distinguishes it from its neighbours. The keys themselves are
//! read where its payloads point: at the start of the partition's row index, or of the partition itself. Both
//! begin with the u16 length of the key and the key; in the row index the partition's position in the data
//! follows.
//!
//! ```text
//!   Partitions.db:  | nodes ... | smallest key | largest key | position of those: i64 | keys: i64 | root: i64 |
//! ```
//!
//! Everything is checked. The smallest and the largest key and the number of keys must equal those at the end
//! of the file, each partition must begin after the one before it, and each key must have the hash byte that
//! the trie stores. So wrong pointers are detected. Compressed data also have checksums; of keys damaged in
//! uncompressed data or in the rows, one in 256 is not detected.

use crate::trie::Payloads;
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// Three numbers at the end.
const FOOTER_LEN: u64 = 24;

/// The footer of `Partitions.db`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionIndex<'a> {
    /// Number of partitions.
    pub keys: u64,
    /// The first key in the order of the partitioner.
    pub smallest: &'a [u8],
    /// The last one.
    pub largest: &'a [u8],
    trie: &'a [u8],
    root: u64,
}

/// Where to read a partition's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPlace {
    /// At this position of `Rows.db`.
    Rows(u64),
    /// At this position of the (uncompressed) data.
    Data(u64),
}

/// One partition, as the trie has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The component and the offset that hold the partition key.
    pub key: KeyPlace,
    /// The low byte of the second half of the key's Murmur3 hash; Cassandra 5 always keeps it.
    pub hash: Option<u8>,
    /// The position of the trie's node.
    pub at: u64,
}

impl<'a> PartitionIndex<'a> {
    /// Reads the end of a whole `Partitions.db`.
    pub fn decode(partitions_db: &'a [u8]) -> Result<Self, DecodeError> {
        let len = partitions_db.len() as u64;
        let Some(footer_at) = len.checked_sub(FOOTER_LEN) else {
            return Err(DecodeError::Truncated { field: "footer", at: 0, need: FOOTER_LEN, have: len });
        };
        let mut footer = Cursor::pointed(partitions_db, "footer", footer_at)?;
        let first_at = footer.long_count_be("position of the smallest key")?;
        let keys = footer.long_count_be("keys")?;
        let root = footer.long_count_be("root of the trie")?;
        let body = &partitions_db[..footer_at as usize];
        let mut cursor = Cursor::pointed(body, "smallest key", first_at)?;
        let smallest = cursor.slice_u16_be("smallest key")?;
        let largest = cursor.slice_u16_be("largest key")?;
        if cursor.remaining() > 0 {
            let (field, at) = ("position of the smallest key", footer_at);
            let expected = first_at + cursor.remaining();
            return Err(DecodeError::Mismatch { field, at, got: first_at, expected });
        }
        if root >= first_at {
            let (field, at, got) = ("root of the trie", footer_at + 16, root.into());
            return Err(DecodeError::Value { field, at, got, allowed: "before the smallest key" });
        }
        // The shortest node with a payload is two bytes long.
        if keys > first_at / 2 {
            let (field, at, got) = ("keys", footer_at + 8, keys.into());
            return Err(DecodeError::Value {
                field,
                at,
                got,
                allowed: "at most one for two bytes of the trie",
            });
        }
        Ok(PartitionIndex { keys, smallest, largest, trie: &partitions_db[..first_at as usize], root })
    }

    /// The partitions in order. After an error there are no more.
    pub fn partitions(&self) -> impl Iterator<Item = Result<Partition, DecodeError>> + 'a {
        Payloads::new(self.trie, self.root).map(|payload| {
            payload.map(|payload| Partition {
                key: match u64::try_from(payload.position) {
                    Ok(position) => KeyPlace::Rows(position),
                    Err(_) => KeyPlace::Data(!payload.position as u64),
                },
                hash: payload.hash,
                at: payload.at,
            })
        })
    }
}

/// The key at this position of `Rows.db`, and where its partition begins in the data.
pub fn key_in_rows(rows_db: &[u8], position: u64) -> Result<(&[u8], u64), DecodeError> {
    const KEY: &str = "key of a row index";
    let mut cursor = Cursor::pointed(rows_db, KEY, position)?;
    let key = cursor.slice_u16_be(KEY)?;
    Ok((key, cursor.vint_position("position of the partition")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three leaves and a node that chooses between them: positions 0 and 24 of the data, 16 of the rows.
    fn partitions_db() -> Vec<u8> {
        let mut file = vec![0x08, 0xa1, 0xff, 0x08, 0xb2, 0x10, 0x08, 0xc3, 0xe7];
        file.extend_from_slice(&[0x50, 3, b'a', b'b', b'c', 9, 6, 3]);
        let first = file.len() as u64;
        file.extend_from_slice(b"\0\x01a\0\x01c");
        for number in [first, 3, 9] {
            file.extend_from_slice(&number.to_be_bytes());
        }
        file
    }

    #[test]
    fn payloads_point_to_rows_or_to_data() {
        let file = partitions_db();
        let index = PartitionIndex::decode(&file).unwrap();
        assert_eq!((index.keys, index.smallest, index.largest), (3, &b"a"[..], &b"c"[..]));
        let found: Vec<_> = index.partitions().map(|p| p.unwrap()).map(|p| (p.key, p.hash, p.at)).collect();
        assert_eq!(
            found,
            [
                (KeyPlace::Data(0), Some(0xa1), 0),
                (KeyPlace::Rows(16), Some(0xb2), 3),
                (KeyPlace::Data(24), Some(0xc3), 6),
            ]
        );
    }

    #[test]
    fn every_cut_is_refused_and_no_changed_byte_makes_a_walk_that_does_not_end() {
        let file = partitions_db();
        for cut in 0..file.len() {
            assert!(PartitionIndex::decode(&file[..cut]).is_err(), "{cut}");
        }
        for at in 0..file.len() {
            for value in 0..=255 {
                let mut bytes = file.clone();
                bytes[at] = value;
                if let Ok(index) = PartitionIndex::decode(&bytes) {
                    assert!(index.partitions().count() <= bytes.len());
                }
            }
        }
    }

    #[test]
    fn a_key_past_the_end_of_the_rows_is_refused() {
        assert_eq!(key_in_rows(b"..\0\x01k\x7f", 2), Ok((&b"k"[..], 127)));
        assert!(key_in_rows(b"..\0\x02k", 2).is_err());
        assert!(key_in_rows(b"..\0\x01k", 2).is_err());
        assert!(key_in_rows(b"..\0\x01k\x7f", 9).is_err());
    }
}
