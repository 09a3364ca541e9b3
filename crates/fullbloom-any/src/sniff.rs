//! Detects the dialect of a file from its name and its bytes.

pub use crate::read::candidates;
use core::fmt;
use fullbloom_core::error::DecodeError;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_dialects::filter::{Check, Format};
use fullbloom_dialects::{
    Cassandra, Dcso, Guava, Guava32, LevelDb, Orc, Poppy, Spark, Spark2, parquet, rocksdb,
};
use std::path::Path;

/// The offset of the Java object stream in the filters of Cassandra 0.x.
const JAVA_STREAM_AT: usize = 4;
const JAVA_STREAM: &[u8] = b"\xac\xed\x00\x05";

/// The dialect of these bytes.
///
/// A magic decides. Otherwise the name decides, if it is that of an sstable component; otherwise a header (of
/// Guava, Spark, ORC) that announces exactly the bytes that follow it; otherwise the trailer of RocksDB's
/// full filters, if all its fields are consistent. If two of these contradict each other, or none applies,
/// the dialect must be given.
///
/// ```
/// use fullbloom_any::sniff; use fullbloom_dialects::Name;
///
/// assert_eq!(sniff::dialect(None, b"libbloom2\x40\x00"), Ok(Name::Libbloom));
/// let filter_db = [0, 0, 0, 5, 0, 0, 0, 1];
/// assert_eq!(sniff::dialect(Some("me-1-big-Filter.db".as_ref()), &filter_db), Ok(Name::Cassandra3));
/// assert!(sniff::dialect(None, &filter_db).is_err());
/// ```
pub fn dialect(path: Option<&Path>, bytes: &[u8]) -> Result<Name, DecodeError> {
    recognise(path, bytes).map(|(name, _)| name)
}

/// How the dialect of a file was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// By its magic number.
    Magic,
    /// By the version in the name of an sstable's component.
    FileName,
    /// By a header whose numbers are consistent with each other and with the length of the file.
    Header,
    /// By the trailer of RocksDB's full filters: kind, length and probes are consistent.
    Trailer,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::Magic => "by its magic number",
            How::FileName => "by the sstable version in its name; the bytes do not identify it",
            How::Header => "by a header whose numbers fit the length of the file",
            How::Trailer => "by the trailer of a RocksDB full filter, whose numbers fit its length",
        })
    }
}

/// The dialect of these bytes, and how it was detected; see [`dialect`].
pub fn recognise(path: Option<&Path>, bytes: &[u8]) -> Result<(Name, How), DecodeError> {
    if bytes.starts_with(b"libbloom2") {
        return Ok((Name::Libbloom, How::Magic));
    }
    if bytes.starts_with(fullbloom_core::native::format::MAGIC) {
        return Ok((Name::Native, How::Magic));
    }
    if Dcso::decode(bytes, Check::Header).is_ok() {
        return Ok((Name::Dcso, How::Header));
    }
    if Poppy::decode(bytes, Check::Header).is_ok() {
        return Ok((Name::Poppy, How::Header));
    }
    if parquet::sniff(bytes) {
        return Ok((Name::Parquet, How::Header));
    }
    let is_java_stream = bytes.get(JAVA_STREAM_AT..).is_some_and(|rest| rest.starts_with(JAVA_STREAM));
    match path.map(Descriptor::parse) {
        Some(Ok(descriptor)) if descriptor.component == "Filter.db" => {
            let stream_expected = matches!(descriptor.dialect, Name::Cassandra0 | Name::Cassandra07);
            match (stream_expected, is_java_stream) {
                (true, false) => Err(DecodeError::Unknown {
                    what: "the file name says sstable version a to e, but the bytes are not a Java object stream",
                }),
                (false, true) => Err(DecodeError::Unknown {
                    what: "the bytes are a Java object stream (sstable versions a to e), but the file name says a later version",
                }),
                _ => Ok((descriptor.dialect, How::FileName)),
            }
        }
        Some(Ok(_)) => {
            Err(DecodeError::Unknown { what: "this is another component of an sstable, not its Filter.db" })
        }
        Some(Err(e)) if path.is_some_and(is_filter_db) => Err(DecodeError::Unknown { what: e.what() }),
        _ if is_java_stream => Err(DecodeError::Unknown {
            what: "a filter of Cassandra 0.x: cassandra-0 (versions a, b; text keys) or cassandra-0.7 (c to e)",
        }),
        _ => match by_length(bytes) {
            Some(name) => Ok((name, How::Header)),
            None => by_trailer(bytes).map(|name| (name, How::Trailer)),
        },
    }
}

fn by_trailer(bytes: &[u8]) -> Result<Name, DecodeError> {
    match rocksdb::sniff(bytes) {
        Some(_) if LevelDb::decode(bytes, Check::Header).is_ok() => Err(DecodeError::Unknown {
            what: "the bytes may be a full filter of RocksDB (rocksdb-ribbon, rocksdb-legacy) or a per-block filter (leveldb, rocksdb-block)",
        }),
        Some(name) => Ok(name),
        None => {
            Err(DecodeError::Unknown { what: "cannot detect the dialect from the file name or the bytes" })
        }
    }
}

/// The dialects without a magic whose headers announce exactly the length that follows.
///
/// Their headers have different lengths modulo 8, or begin with different numbers, so no bytes match two of
/// them. A Cassandra filter that has lost its name can look like one of Spark 4, if its number of words is
/// one more than its number of probes.
fn by_length(bytes: &[u8]) -> Option<Name> {
    let matches: [(Name, bool); 5] = [
        (Name::Guava, Guava::decode(bytes, Check::Header).is_ok()),
        (Name::Guava32, Guava32::decode(bytes, Check::Header).is_ok()),
        (Name::Spark, Spark::decode(bytes, Check::Header).is_ok()),
        (
            Name::Spark2,
            Spark2::decode(bytes, Check::Header).is_ok() && Cassandra::decode(bytes, Check::Header).is_err(),
        ),
        (Name::Orc, Orc::decode(bytes, Check::Header).is_ok()),
    ];
    matches.iter().find(|(_, yes)| *yes).map(|(name, _)| *name)
}

fn is_filter_db(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("Filter.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trailers_of_rocksdb_are_known_and_a_large_ribbon_filter_is_ambiguous() {
        let with_trailer =
            |data_len: usize, trailer: [u8; 5]| [vec![0x35; data_len], trailer.to_vec()].concat();
        assert_eq!(dialect(None, &with_trailer(128, [0xff, 0, 6, 0, 0])), Ok(Name::RocksDb));
        assert_eq!(dialect(None, &with_trailer(192, [6, 3, 0, 0, 0])), Ok(Name::RocksDbLegacy));
        assert_eq!(dialect(None, &with_trailer(448, [0xfe, 1, 4, 0, 0])), Ok(Name::RocksDbRibbon));
        assert!(dialect(None, &with_trailer(128, [6, 2, 0, 0, 0])).is_err(), "RocksDB writes odd lines");
        // 65,538 blocks of one column: the last byte is also a valid probe count of a per-block filter.
        let large = with_trailer(65_538 * 16, [0xfe, 1, 2, 0, 1]);
        let refused = dialect(None, &large).unwrap_err().to_string();
        assert!(refused.contains("rocksdb-ribbon") && refused.contains("leveldb"), "{refused}");
    }

    #[test]
    fn filters_of_other_systems_are_known_by_headers_that_fit_their_length() {
        use fullbloom_core::sizing::{Request, Target};
        let request = Request { expected_keys: 100, target: Target::Fpr(0.01) };
        let names = [
            Name::Parquet,
            Name::Guava,
            Name::Guava32,
            Name::Spark,
            Name::Spark2,
            Name::Orc,
            Name::Dcso,
            Name::Poppy,
        ];
        for name in names {
            let mut builder = crate::Builder::new(name, &request).unwrap();
            builder.add(b"key");
            let mut bytes = builder.build().unwrap().encode();
            assert_eq!(dialect(None, &bytes), Ok(name));
            bytes.push(0);
            let has_data = matches!(name, Name::Dcso | Name::Poppy); // free bytes after the filter
            assert_eq!(dialect(None, &bytes).is_ok(), has_data, "{name} with a byte too many");
            bytes.truncate(bytes.len() - 2);
            assert!(dialect(None, &bytes).is_err(), "{name} with a byte too few");
        }
    }

    #[test]
    fn a_name_that_contradicts_the_bytes_is_reported() {
        let stream = b"\0\0\0\x05\xac\xed\0\x05sr";
        let plain = b"\0\0\0\x05\0\0\0\x01\0\0\0\0\0\0\0\0";
        let of = |name: &str, bytes: &[u8]| dialect(Some(Path::new(name)), bytes);
        assert_eq!(of("ks-cf-e-1-Filter.db", stream), Ok(Name::Cassandra07));
        assert_eq!(of("ks-cf-b-1-Filter.db", stream), Ok(Name::Cassandra0));
        assert!(of("ks-cf-e-1-Filter.db", plain).is_err());
        assert!(of("nb-1-big-Filter.db", stream).is_err());
        assert_eq!(of("nb-1-big-Filter.db", plain), Ok(Name::Cassandra));
        assert!(of("nb-1-big-Index.db", plain).is_err());
        assert!(of("zz-1-big-Filter.db", plain).is_err());
        assert!(of("unnamed", stream).is_err());
    }
}
