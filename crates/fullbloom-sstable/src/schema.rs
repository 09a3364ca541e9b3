//! The type of the partition key, as `Statistics.db` records it (versions from `ma` on).
//!
//! ```text
//!   component 3, serialization header:
//!   | min timestamp: vint | min deletion time: vint | min TTL: vint | length: vint | class of the key's type | ...
//! ```
//!
//! The list of components is that of [`statistics`](crate::statistics).

use crate::key_type::PartitionKeyType;
use crate::sstable::{STATISTICS, Sstable};
use fullbloom::DecodeError;
use fullbloom::dialect::cassandra::TableFormat;
use fullbloom::wire::Cursor;

/// Type number of the serialization header.
const HEADER: u32 = 3;

/// The type of an sstable's partition key; `None` if it is not recorded, cannot be read, or is of a class that
/// is not known here.
pub fn partition_key_type(sstable: &Sstable) -> Option<PartitionKeyType> {
    // Versions before `ma` have no header.
    if sstable.format == TableFormat::Big && sstable.version.as_str() < "ma" {
        return None;
    }
    let checked = sstable.format == TableFormat::Bti || sstable.version.as_str() >= "na";
    let map = sstable.open(STATISTICS).ok()?;
    PartitionKeyType::of_class(&class_of_key(map.as_ref(), checked).ok()??)
}

/// The class name of the key's type.
fn class_of_key(statistics_db: &[u8], checked: bool) -> Result<Option<String>, DecodeError> {
    let mut cursor = Cursor::new(statistics_db);
    let count = cursor.count_be("components")?;
    if checked {
        cursor.u32_be("checksum of the component count")?;
    }
    cursor.clone().slice("list of components", u64::from(count) * 8)?;
    let mut offset = None;
    for _ in 0..count {
        let (kind, at) = (cursor.u32_be("component type")?, cursor.count_be("component offset")?);
        if kind == HEADER {
            offset = Some(at);
        }
    }
    let Some(offset) = offset else { return Ok(None) };
    let mut cursor = Cursor::pointed(statistics_db, "serialization header", offset.into())?;
    for field in ["min timestamp", "min deletion time", "min TTL"] {
        cursor.vint(field)?;
    }
    let len = cursor.vint("length of the key's type")?;
    let name = cursor.slice("class of the key's type", len)?;
    Ok(Some(String::from_utf8_lossy(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one part: the header, with this class.
    fn file(checked: bool, class: &str) -> Vec<u8> {
        let at: u32 = if checked { 4 + 4 + 8 + 4 } else { 4 + 8 };
        let mut bytes = 1u32.to_be_bytes().to_vec();
        if checked {
            bytes.extend([0; 4]);
        }
        bytes.extend(HEADER.to_be_bytes());
        bytes.extend(at.to_be_bytes());
        if checked {
            bytes.extend([0; 4]);
        }
        bytes.extend([0x05, 0x81, 0x00, 0x00]); // numbers of one byte and of two
        bytes.push(class.len() as u8);
        bytes.extend(class.as_bytes());
        bytes
    }

    #[test]
    fn the_class_of_the_key_is_found_in_both_layouts_and_no_prefix_is_enough() {
        let class = "org.apache.cassandra.db.marshal.UUIDType";
        for checked in [false, true] {
            let whole = file(checked, class);
            assert_eq!(class_of_key(&whole, checked), Ok(Some(class.to_owned())));
            for cut in 0..whole.len() {
                assert!(class_of_key(&whole[..cut], checked).is_err(), "{checked} {cut}");
            }
        }
        assert_eq!(class_of_key(&[0, 0, 0, 0], false), Ok(None));
        assert!(class_of_key(&[0x7f, 0xff, 0xff, 0xff], false).is_err());
    }
}
