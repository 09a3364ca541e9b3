//! The type of the partition key, as `Statistics.db` records it (versions from `ma` on).
//!
//! ```text
//!   component 3, serialization header:
//!   | min timestamp: vint | min deletion time: vint | min TTL: vint | length: vint | class of the key's type |
//!   | clustering columns: vint | for each: length: vint, class |
//!   | static columns: vint | for each: length: vint, name, length: vint, class | regular columns: the same |
//! ```
//!
//! The list of components is that of [`statistics`](crate::statistics).

use crate::key_type::PartitionKeyType;
use crate::sstable::{STATISTICS, Sstable};
use crate::statistics::{self, Layout};
use crate::version::Version;
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// Type number of the serialization header.
const HEADER: u32 = 3;

/// What is known about the type of an sstable's partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedKeyType {
    /// `Statistics.db` records this type.
    Known(PartitionKeyType),
    /// `Statistics.db` records a class that is not supported, such as a tuple's.
    Unsupported(String),
    /// It is not recorded: `Statistics.db` is missing, cannot be read, or is older than `ma`.
    Unknown,
}

/// The type that `Statistics.db` records for the partition key.
pub fn recorded_key_type(sstable: &Sstable) -> RecordedKeyType {
    let class = || {
        let layout = Version::of(sstable.format, &sstable.version).statistics?;
        let map = sstable.open(STATISTICS).ok()?;
        class_of_key(map.as_ref(), layout).ok()?
    };
    match class() {
        None => RecordedKeyType::Unknown,
        Some(class) => match PartitionKeyType::of_class(&class) {
            Some(known) => RecordedKeyType::Known(known),
            None => RecordedKeyType::Unsupported(class),
        },
    }
}

/// The type of an sstable's partition key; `None` if it is not recorded, cannot be read, or is of a class
/// that is not supported.
pub fn partition_key_type(sstable: &Sstable) -> Option<PartitionKeyType> {
    match recorded_key_type(sstable) {
        RecordedKeyType::Known(known) => Some(known),
        RecordedKeyType::Unsupported(_) | RecordedKeyType::Unknown => None,
    }
}

/// What an sstable records about the columns that are not of its partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNames {
    /// How many clustering columns there are; their names are not recorded.
    pub clustering: u64,
    /// The names of the static and regular columns.
    pub named: Vec<String>,
}

/// What `Statistics.db` records about the columns that are not of the partition key; `None` if it is missing,
/// cannot be read, or is older than `ma`.
pub fn column_names(sstable: &Sstable) -> Option<ColumnNames> {
    let layout = Version::of(sstable.format, &sstable.version).statistics?;
    let map = sstable.open(STATISTICS).ok()?;
    columns(map.as_ref(), layout).ok()?
}

fn columns(statistics_db: &[u8], layout: Layout) -> Result<Option<ColumnNames>, DecodeError> {
    let Some(mut cursor) = key_type(statistics_db, layout)? else { return Ok(None) };
    let len = cursor.vint("length of the key's type")?;
    cursor.slice("class of the key's type", len)?;
    let clustering = cursor.vint("clustering columns")?;
    // A false count ends with the bytes: every column takes at least one.
    for _ in 0..clustering {
        let len = cursor.vint("length of a clustering column's type")?;
        cursor.slice("class of a clustering column's type", len)?;
    }
    let mut named = Vec::new();
    for kind in ["static columns", "regular columns"] {
        for _ in 0..cursor.vint(kind)? {
            let len = cursor.vint("length of a column's name")?;
            let name = cursor.slice("name of a column", len)?;
            named.push(String::from_utf8_lossy(name).into_owned());
            let len = cursor.vint("length of a column's type")?;
            cursor.slice("class of a column's type", len)?;
        }
    }
    Ok(Some(ColumnNames { clustering, named }))
}

/// The class name of the key's type. Versions before `ma` have no such part.
fn class_of_key(statistics_db: &[u8], layout: Layout) -> Result<Option<String>, DecodeError> {
    let Some(mut cursor) = key_type(statistics_db, layout)? else { return Ok(None) };
    let len = cursor.vint("length of the key's type")?;
    let name = cursor.slice("class of the key's type", len)?;
    Ok(Some(String::from_utf8_lossy(name).into_owned()))
}

/// The header from the key's type on.
fn key_type(statistics_db: &[u8], layout: Layout) -> Result<Option<Cursor<'_>>, DecodeError> {
    let Some(mut cursor) = statistics::find(statistics_db, layout, HEADER)? else { return Ok(None) };
    for field in ["min timestamp", "min deletion time", "min TTL"] {
        cursor.vint(field)?;
    }
    Ok(Some(cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one part: the header, with this class.
    fn file(class: &str) -> Vec<u8> {
        let mut bytes = 1u32.to_be_bytes().to_vec();
        bytes.extend(HEADER.to_be_bytes());
        bytes.extend((4 + 8u32).to_be_bytes());
        bytes.extend([0x05, 0x81, 0x00, 0x00]); // numbers of one byte and of two
        bytes.push(class.len() as u8);
        bytes.extend(class.as_bytes());
        bytes
    }

    #[test]
    fn the_class_of_the_key_is_found_and_no_prefix_is_enough() {
        let class = "org.apache.cassandra.db.marshal.UUIDType";
        let whole = file(class);
        assert_eq!(class_of_key(&whole, Layout::Plain), Ok(Some(class.to_owned())));
        for cut in 0..whole.len() {
            assert!(class_of_key(&whole[..cut], Layout::Plain).is_err(), "{cut}");
        }
        assert_eq!(class_of_key(&[0, 0, 0, 0], Layout::Plain), Ok(None));
        assert_eq!(columns(&[0, 0, 0, 0], Layout::Plain), Ok(None));
        assert!(class_of_key(&[0x7f, 0xff, 0xff, 0xff], Layout::Plain).is_err());
    }

    #[test]
    fn the_columns_after_the_key_are_read_and_no_prefix_is_enough() {
        let key = file("Int32Type");
        let mut whole = key.clone();
        whole.extend(b"\x02\x01C\x01D"); // two clustering columns
        whole.extend(b"\x00\x02\x01v\x01T\x02ws\x00"); // no static column, two regular ones
        let found = columns(&whole, Layout::Plain).unwrap().unwrap();
        assert_eq!(found, ColumnNames { clustering: 2, named: vec!["v".to_owned(), "ws".to_owned()] });
        for cut in 0..whole.len() {
            assert!(columns(&whole[..cut], Layout::Plain).is_err(), "{cut}");
        }
        // 2^64 - 1 columns
        assert!(columns(&[&key[..], &[0xff; 9]].concat(), Layout::Plain).is_err());
    }
}
