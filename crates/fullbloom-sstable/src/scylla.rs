//! `Scylla.db`: what ScyllaDB adds to an sstable. Above all the checksums of the other components,
//! `Filter.db` among them, which ScyllaDB writes and checks since 2026.2.
//!
//! ```text
//!   | parts: u32 | parts * (tag: u32, length: u32, bytes) | CRC of everything before it: u32 |
//! ```
//!
//! The CRC at the end exists only if there is a part with tag 12, the digests. Big-endian; the CRC is that of
//! zlib. Unknown tags are skipped. Parts of large data, timestamps and shards are not read.
//!
//! | tag | part | bytes |
//! |---|---|---|
//! | 2 | features | u64 |
//! | 3 | extension attributes | u32 n, n * (u32 + name, u32 + value) |
//! | 4 | run identifier | 16 bytes |
//! | 6, 7, 8 | origin, build id, ScyllaDB's version | u32 + text |
//! | 10 | sstable identifier | 16 bytes |
//! | 11 | schema | 2 * 16 bytes, u32 + keyspace, u32 + table, columns |
//! | 12 | digests | u32 n, n * (component: u32, CRC of its file: u32), in any order |

use flate2::Crc;
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// What is known about an sstable from its `Scylla.db`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScyllaDb {
    /// Bit set of the features that the writer used.
    pub features: Option<u64>,
    /// The run of sstables it belongs to.
    pub run_identifier: Option<[u8; 16]>,
    /// The sstable's own identifier, which stays when it is copied.
    pub sstable_identifier: Option<[u8; 16]>,
    /// What wrote it: `memtable`, `compaction` and so on.
    pub origin: Option<String>,
    /// The release that wrote it.
    pub version: Option<String>,
    /// Keyspace and table.
    pub table: Option<(String, String)>,
    /// Which components are encrypted, by number; `None` if none are.
    encrypted: Option<u32>,
    /// The checksums of the components; `None` before 2026.2.
    pub digests: Option<Vec<Digest>>,
}

/// The checksum of one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// The component's number.
    pub component: u32,
    /// CRC of the whole file.
    pub crc: u32,
}

/// The number of `Filter.db`.
pub const FILTER_NUMBER: u32 = 7;

/// The components by their numbers.
pub const COMPONENTS: [&str; 15] = [
    "Index.db",
    "CompressionInfo.db",
    "Data.db",
    "TOC.txt",
    "Summary.db",
    "Digest.crc32",
    "CRC.db",
    "Filter.db",
    "Statistics.db",
    "TOC.txt.tmp",
    "Statistics.db.tmp",
    "Scylla.db",
    "Rows.db",
    "Partitions.db",
    "TemporaryHashes.db.tmp",
];

/// The number of `Data.db`, the only encrypted component where the list of them is missing.
const DATA_NUMBER: u32 = 2;

const DIGESTS: u32 = 12;

impl Digest {
    /// The component's name; `None` for numbers that no supported version has.
    pub fn name(&self) -> Option<&'static str> {
        COMPONENTS.get(self.component as usize).copied()
    }
}

impl ScyllaDb {
    /// Reads a whole `Scylla.db`, strictly: its parts and the CRC must fill it exactly.
    pub fn decode(bytes: &[u8]) -> Result<ScyllaDb, DecodeError> {
        let mut found = ScyllaDb::default();
        each_part(bytes, |part| found.take(&part))?;
        Ok(found)
    }

    fn take(&mut self, part: &Part<'_>) -> Result<(), DecodeError> {
        let mut cursor = part.cursor.clone();
        match part.tag {
            2 => self.features = Some(cursor.i64_be("features")? as u64),
            3 => self.encrypted = encrypted(&mut cursor)?,
            4 => self.run_identifier = Some(identifier(&mut cursor, "run identifier")?),
            6 => self.origin = Some(text(&mut cursor, "origin")?),
            8 => self.version = Some(text(&mut cursor, "version of ScyllaDB")?),
            10 => self.sstable_identifier = Some(identifier(&mut cursor, "sstable identifier")?),
            11 => {
                cursor.slice("schema identifiers", 32)?;
                self.table = Some((text(&mut cursor, "keyspace")?, text(&mut cursor, "table")?));
            }
            DIGESTS => self.digests = Some(digests(&mut cursor)?),
            _ => {}
        }
        Ok(())
    }

    /// Whether this component is encrypted.
    pub fn is_encrypted(&self, component: &str) -> bool {
        let number = COMPONENTS.iter().position(|name| *name == component);
        self.encrypted.zip(number).is_some_and(|(set, number)| set >> number & 1 == 1)
    }

    /// Whether any component is encrypted.
    pub fn has_encryption(&self) -> bool {
        self.encrypted.is_some()
    }

    /// The recorded checksum of `Filter.db`.
    pub fn filter_digest(&self) -> Option<u32> {
        let digests = self.digests.as_ref()?;
        digests.iter().find(|digest| digest.component == FILTER_NUMBER).map(|digest| digest.crc)
    }
}

struct Part<'a> {
    tag: u32,
    /// The offset of the length of this section.
    len_at: usize,
    cursor: Cursor<'a>,
}

/// Visits the parts of a file. Fails in the end if its CRC, where it has one, is wrong.
fn each_part<'a>(
    bytes: &'a [u8],
    mut visit: impl FnMut(Part<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.u32_be("parts")?;
    let mut digests = 0;
    for _ in 0..count {
        let (tag, len_at) = (cursor.u32_be("tag of a part")?, cursor.at() as usize);
        let len = cursor.u32_be("length of a part")?;
        let cursor = cursor.part("part", len.into())?;
        digests += u32::from(tag == DIGESTS);
        visit(Part { tag, len_at, cursor })?;
    }
    if digests > 1 {
        let (field, got) = ("parts with digests", digests.into());
        return Err(DecodeError::Value { field, at: 0, got, allowed: "at most one" });
    }
    if digests == 1 {
        let at = cursor.at();
        let (got, expected) = (cursor.u32_be("checksum of Scylla.db")?, crc(&bytes[..at as usize]));
        if got != expected {
            let (field, got, expected) = ("checksum of Scylla.db", got.into(), expected.into());
            return Err(DecodeError::Mismatch { field, at, got, expected });
        }
    }
    if cursor.remaining() > 0 {
        let (got, expected) = (bytes.len() as u64, cursor.at());
        return Err(DecodeError::Mismatch { field: "length of Scylla.db", at: expected, got, expected });
    }
    Ok(())
}

fn digests(cursor: &mut Cursor<'_>) -> Result<Vec<Digest>, DecodeError> {
    let at = cursor.at();
    let count = cursor.u32_be("digests")?;
    if u64::from(count) * 8 != cursor.remaining() {
        let (got, expected) = (count.into(), cursor.remaining() / 8);
        return Err(DecodeError::Mismatch { field: "digests", at, got, expected });
    }
    let digest = |cursor: &mut Cursor<'_>| {
        let component = cursor.u32_be("component of a digest")?;
        Ok(Digest { component, crc: cursor.u32_be("digest")? })
    };
    let found: Vec<Digest> = (0..count).map(|_| digest(cursor)).collect::<Result<_, _>>()?;
    let filters = found.iter().filter(|digest| digest.component == FILTER_NUMBER).count();
    if filters > 1 {
        let (field, got) = ("digests of Filter.db", filters as i128);
        return Err(DecodeError::Value { field, at, got, allowed: "at most one" });
    }
    Ok(found)
}

fn identifier(cursor: &mut Cursor<'_>, field: &'static str) -> Result<[u8; 16], DecodeError> {
    let bytes = cursor.slice(field, 16)?;
    Ok(*bytes.first_chunk().expect("sixteen bytes were taken"))
}

fn string<'a>(cursor: &mut Cursor<'a>, field: &'static str) -> Result<&'a [u8], DecodeError> {
    let len = cursor.u32_be(field)?;
    cursor.slice(field, len.into())
}

fn text(cursor: &mut Cursor<'_>, field: &'static str) -> Result<String, DecodeError> {
    Ok(String::from_utf8_lossy(string(cursor, field)?).into_owned())
}

/// Which components the extension attributes call encrypted.
fn encrypted(cursor: &mut Cursor<'_>) -> Result<Option<u32>, DecodeError> {
    let (mut is_encrypted, mut set) = (false, 1 << DATA_NUMBER);
    for _ in 0..cursor.u32_be("extension attributes")? {
        let name = string(cursor, "extension attribute")?;
        let value = string(cursor, "extension attribute")?;
        match name {
            b"scylla_encryption_options" => is_encrypted = true,
            b"encrypted_components" => {
                if let Some(word) = value.first_chunk::<4>() {
                    set = u32::from_le_bytes(*word);
                }
            }
            _ => {}
        }
    }
    Ok(is_encrypted.then_some(set))
}

/// The same `Scylla.db` with another digest of `Filter.db`, or none. Everything else stays.
///
/// A file without digests stays as it is. A component without a digest is not checked by ScyllaDB.
pub fn with_filter_digest(scylla_db: &[u8], filter: Option<u32>) -> Result<Vec<u8>, DecodeError> {
    let mut out = scylla_db.to_vec();
    let mut part = None;
    each_part(scylla_db, |each| {
        if each.tag == DIGESTS {
            part = Some(each);
        }
        Ok(())
    })?;
    let Some(part) = part else { return Ok(out) };
    let found = digests(&mut part.cursor.clone())?;
    let start = part.len_at + 4;
    let entry = found.iter().position(|digest| digest.component == FILTER_NUMBER);
    let put =
        |out: &mut Vec<u8>, at: usize, value: u32| out[at..at + 4].copy_from_slice(&value.to_be_bytes());
    let count = match (entry, filter) {
        (Some(entry), Some(crc)) => {
            put(&mut out, start + 4 + 8 * entry + 4, crc);
            found.len()
        }
        (Some(entry), None) => {
            let at = start + 4 + 8 * entry;
            out.drain(at..at + 8);
            found.len() - 1
        }
        (None, Some(crc)) => {
            let at = start + 4 + 8 * found.len();
            let new = [FILTER_NUMBER.to_be_bytes(), crc.to_be_bytes()].concat();
            out.splice(at..at, new);
            found.len() + 1
        }
        (None, None) => found.len(),
    };
    put(&mut out, part.len_at, 4 + 8 * count as u32);
    put(&mut out, start, count as u32);
    let end = out.len() - 4;
    let sum = crc(&out[..end]);
    put(&mut out, end, sum);
    Ok(out)
}

/// The CRC that digests are made with.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tag: u32, bytes: &[u8]) -> Vec<u8> {
        [&tag.to_be_bytes()[..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }

    fn string32(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
    }

    fn file(parts: &[Vec<u8>], with_crc: bool) -> Vec<u8> {
        let mut out = [&(parts.len() as u32).to_be_bytes()[..], &parts.concat()].concat();
        if with_crc {
            let sum = crc(&out);
            out.extend_from_slice(&sum.to_be_bytes());
        }
        out
    }

    fn with_digests() -> Vec<u8> {
        let mut digests = 3u32.to_be_bytes().to_vec();
        for number in [3u32, 0x1111, 7, 0x2222, 8, 0x3333] {
            digests.extend_from_slice(&number.to_be_bytes());
        }
        let schema = [&[9; 32][..], &string32("ks"), &string32("t"), &[0, 0, 0, 0]].concat();
        let parts = [
            part(4, &[5; 16]),
            part(12, &digests),
            part(8, &string32("2026.2.5")),
            part(99, b"new"),
            part(11, &schema),
        ];
        file(&parts, true)
    }

    #[test]
    fn parts_are_read_and_unknown_ones_skipped() {
        let found = ScyllaDb::decode(&with_digests()).unwrap();
        assert_eq!(found.run_identifier, Some([5; 16]));
        assert_eq!(found.version.as_deref(), Some("2026.2.5"));
        assert_eq!(found.table, Some(("ks".to_owned(), "t".to_owned())));
        assert_eq!(found.filter_digest(), Some(0x2222));
        assert_eq!(found.digests.unwrap()[0].name(), Some("TOC.txt"));
        let old = ScyllaDb::decode(&file(&[part(2, &127u64.to_be_bytes())], false)).unwrap();
        assert_eq!((old.features, old.digests), (Some(127), None));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_refused() {
        let whole = with_digests();
        for cut in 0..whole.len() {
            assert!(ScyllaDb::decode(&whole[..cut]).is_err(), "{cut}");
            let mut changed = whole.clone();
            changed[cut] ^= 0x04;
            assert!(ScyllaDb::decode(&changed).is_err(), "{cut}");
        }
        assert!(ScyllaDb::decode(&[&whole[..], b"x"].concat()).is_err());
        assert!(ScyllaDb::decode(&[0xff; 40]).is_err());
    }

    #[test]
    fn a_new_digest_changes_eight_bytes_and_none_is_a_file_without_it() {
        let whole = with_digests();
        let new = with_filter_digest(&whole, Some(0xabcd_ef01)).unwrap();
        let differ: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != new[*at]).collect();
        assert!(new.len() == whole.len() && differ.len() <= 8, "{differ:?}");
        assert_eq!(ScyllaDb::decode(&new).unwrap().filter_digest(), Some(0xabcd_ef01));
        let without = with_filter_digest(&whole, None).unwrap();
        assert_eq!(ScyllaDb::decode(&without).unwrap().filter_digest(), None);
        assert_eq!(ScyllaDb::decode(&without).unwrap().digests.unwrap().len(), 2);
        assert_eq!(with_filter_digest(&without, None).unwrap(), without);
        let again = with_filter_digest(&without, Some(7)).unwrap();
        assert_eq!(ScyllaDb::decode(&again).unwrap().filter_digest(), Some(7));
        let old = file(&[part(4, &[5; 16])], false);
        assert_eq!(with_filter_digest(&old, Some(1)).unwrap(), old);
    }

    #[test]
    fn encryption_names_its_components() {
        let attributes = |list: &[(&str, &[u8])]| {
            let mut out = (list.len() as u32).to_be_bytes().to_vec();
            for (name, value) in list {
                out.extend(string32(name));
                out.extend_from_slice(&(value.len() as u32).to_be_bytes());
                out.extend_from_slice(value);
            }
            ScyllaDb::decode(&file(&[part(3, &out)], false)).unwrap()
        };
        let plain = attributes(&[("other", b"x")]);
        assert!(!plain.has_encryption() && !plain.is_encrypted("Data.db"));
        let data = attributes(&[("scylla_encryption_options", b"x")]);
        assert!(data.is_encrypted("Data.db") && !data.is_encrypted("Filter.db"));
        let both =
            attributes(&[("encrypted_components", &[0x84, 0, 0, 0]), ("scylla_encryption_options", b"x")]);
        assert!(both.is_encrypted("Data.db") && both.is_encrypted("Filter.db"));
        assert!(!both.is_encrypted("Index.db") && !both.is_encrypted("other"));
    }
}
