//! Partition keys in their own types: text to the bytes that Cassandra hashes, and back.
//!
//! | type | class | bytes |
//! |---|---|---|
//! | `text`, `varchar`, `ascii` | `UTF8Type`, `AsciiType` | as they are |
//! | `blob` | `BytesType` | written in hex, with or without `0x` |
//! | `tinyint`, `smallint`, `int`, `bigint` | `ByteType`, `ShortType`, `Int32Type`, `LongType` | 1, 2, 4, 8, big-endian |
//! | `varint` | `IntegerType` | the fewest that hold the two's complement, big-endian |
//! | `float`, `double` | `FloatType`, `DoubleType` | IEEE 754, big-endian |
//! | `boolean` | `BooleanType` | 1 |
//! | `uuid`, `timeuuid` | `UUIDType`, `LexicalUUIDType`, `TimeUUIDType` | 16 |
//! | `inet` | `InetAddressType` | 4 or 16 |
//! | `timestamp` | `TimestampType`, `DateType` | milliseconds since 1970, 8, big-endian |
//! | `date` | `SimpleDateType` | days since 1970 plus 2^31, 4, big-endian; written `2026-11-17` |
//!
//! A key of several columns (`CompositeType`) is written with colons between its parts, `\:` for a colon in a
//! part and `\\` for a backslash. Its bytes are, for each part: a length of two bytes, the part, and a zero.
//!
//! ```
//! use fullbloom_sstable::PartitionKeyType;
//!
//! let id: PartitionKeyType = "uuid".parse()?;
//! let key = id.encode(b"5a1c395e-0b1f-11ef-9a3f-0242ac120002")?;
//! assert_eq!((key.len(), key[0]), (16, 0x5a));
//! let pair: PartitionKeyType = "text,int".parse()?;
//! assert_eq!(pair.encode(b"eu:7")?, b"\x00\x02eu\x00\x00\x04\x00\x00\x00\x07\x00");
//! assert_eq!(pair.write(b"\x00\x02eu\x00\x00\x04\x00\x00\x00\x07\x00").as_deref(), Some("eu:7"));
//! # Ok::<(), String>(())
//! ```

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::{self, FromStr};

/// The type of a column of a partition key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CqlType {
    /// Text in UTF-8.
    Text,
    /// Text in ASCII.
    Ascii,
    /// Bytes, written in hex.
    Blob,
    /// An 8-bit integer.
    TinyInt,
    /// A 16-bit integer.
    SmallInt,
    /// A 32-bit integer.
    Int,
    /// A 64-bit integer.
    BigInt,
    /// An integer of any length; here up to 128 bits.
    VarInt,
    /// A 32-bit floating-point number.
    Float,
    /// A 64-bit floating-point number.
    Double,
    /// `true` or `false`.
    Boolean,
    /// A UUID of any version.
    Uuid,
    /// A UUID of version 1.
    TimeUuid,
    /// An address, IPv4 or IPv6.
    Inet,
    /// Milliseconds since 1970.
    Timestamp,
    /// A day, such as 2024-02-29.
    Date,
}

use CqlType::{
    Ascii, BigInt, Blob, Boolean, Date, Double, Float, Inet, Int, SmallInt, Text, TimeUuid, Timestamp,
    TinyInt, Uuid, VarInt,
};

/// Names in CQL, and the classes that have the same bytes.
const TYPES: [(CqlType, &str, &[&str]); 16] = [
    (Text, "text", &["UTF8Type"]),
    (Ascii, "ascii", &["AsciiType"]),
    (Blob, "blob", &["BytesType"]),
    (TinyInt, "tinyint", &["ByteType"]),
    (SmallInt, "smallint", &["ShortType"]),
    (Int, "int", &["Int32Type"]),
    (BigInt, "bigint", &["LongType"]),
    (VarInt, "varint", &["IntegerType"]),
    (Float, "float", &["FloatType"]),
    (Double, "double", &["DoubleType"]),
    (Boolean, "boolean", &["BooleanType"]),
    (Uuid, "uuid", &["UUIDType", "LexicalUUIDType"]),
    (TimeUuid, "timeuuid", &["TimeUUIDType"]),
    (Inet, "inet", &["InetAddressType"]),
    (Timestamp, "timestamp", &["TimestampType", "DateType"]),
    (Date, "date", &["SimpleDateType"]),
];

/// The type of a whole partition key: of one column, or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionKeyType(Vec<CqlType>);

impl CqlType {
    /// Its name in CQL.
    pub fn as_str(self) -> &'static str {
        TYPES.iter().find(|(known, _, _)| *known == self).map_or("", |(_, name, _)| name)
    }

    fn of_class(class: &str) -> Option<CqlType> {
        let class = class.trim();
        let class = class.strip_prefix("org.apache.cassandra.db.marshal.").unwrap_or(class);
        // The order of a column does not change its bytes.
        if let Some(inner) = class.strip_prefix("ReversedType(").and_then(|rest| rest.strip_suffix(')')) {
            return CqlType::of_class(inner);
        }
        TYPES.iter().find(|(_, _, classes)| classes.contains(&class)).map(|(known, _, _)| *known)
    }

    fn encode(self, text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        fn number<T: FromStr>(text: &str, what: CqlType) -> Result<T, String> {
            text.parse().map_err(|_| format!("{text:?} is not of type {}", what.as_str()))
        }
        let wrong = || format!("'{}' is not of type {}", text.escape_ascii(), self.as_str());
        if self == Text || self == Ascii {
            let fits = if self == Ascii { text.is_ascii() } else { str::from_utf8(text).is_ok() };
            out.extend_from_slice(text);
            return if fits { Ok(()) } else { Err(wrong()) };
        }
        let text = str::from_utf8(text).map_err(|_| wrong())?;
        match self {
            Text | Ascii => {}
            Blob => out.extend(hex(text.strip_prefix("0x").unwrap_or(text)).ok_or_else(wrong)?),
            TinyInt => out.extend(number::<i8>(text, self)?.to_be_bytes()),
            SmallInt => out.extend(number::<i16>(text, self)?.to_be_bytes()),
            Int => out.extend(number::<i32>(text, self)?.to_be_bytes()),
            BigInt | Timestamp => out.extend(number::<i64>(text, self)?.to_be_bytes()),
            VarInt => {
                let bytes = number::<i128>(text, self)?.to_be_bytes();
                let fewest = (0..15).find(|&at| {
                    let (sign, next) = (bytes[at], bytes[at + 1] & 0x80);
                    !(sign == 0 && next == 0 || sign == 0xff && next != 0)
                });
                out.extend_from_slice(&bytes[fewest.unwrap_or(15)..]);
            }
            Float => out.extend(number::<f32>(text, self)?.to_be_bytes()),
            Double => out.extend(number::<f64>(text, self)?.to_be_bytes()),
            Boolean => out.push(u8::from(number::<bool>(text, self)?)),
            Uuid | TimeUuid => {
                let bytes = uuid(text).ok_or_else(wrong)?;
                if self == TimeUuid && bytes[6] >> 4 != 1 {
                    return Err(format!("{text:?} is not a UUID of version 1"));
                }
                out.extend(bytes);
            }
            Inet => match number::<IpAddr>(text, self)? {
                IpAddr::V4(address) => out.extend(address.octets()),
                IpAddr::V6(address) => out.extend(address.octets()),
            },
            Date => {
                let days = days(text).ok_or_else(wrong)?;
                let shifted = u32::try_from(days + (1 << 31)).map_err(|_| wrong())?;
                out.extend(shifted.to_be_bytes());
            }
        }
        Ok(())
    }

    /// The text that [`encode`](CqlType::encode) reads as these bytes; `None` if they are not of this type.
    fn write(self, bytes: &[u8]) -> Option<String> {
        fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
            bytes.try_into().ok()
        }
        Some(match self {
            Text => str::from_utf8(bytes).ok()?.to_owned(),
            Ascii => str::from_utf8(bytes).ok().filter(|text| text.is_ascii())?.to_owned(),
            Blob => bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
            TinyInt => i8::from_be_bytes(array(bytes)?).to_string(),
            SmallInt => i16::from_be_bytes(array(bytes)?).to_string(),
            Int => i32::from_be_bytes(array(bytes)?).to_string(),
            BigInt | Timestamp => i64::from_be_bytes(array(bytes)?).to_string(),
            VarInt => {
                let first = *bytes.first().filter(|_| bytes.len() <= 16)?;
                let mut whole = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
                whole[16 - bytes.len()..].copy_from_slice(bytes);
                i128::from_be_bytes(whole).to_string()
            }
            Float => f32::from_be_bytes(array(bytes)?).to_string(),
            Double => f64::from_be_bytes(array(bytes)?).to_string(),
            Boolean => (array::<1>(bytes)?[0] != 0).to_string(),
            Uuid | TimeUuid => {
                let bytes: [u8; 16] = array(bytes)?;
                let mut text = String::with_capacity(36);
                for (i, byte) in bytes.iter().enumerate() {
                    let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
                    let _ = write!(text, "{dash}{byte:02x}"); // a String takes everything
                }
                text
            }
            Inet if bytes.len() == 4 => Ipv4Addr::from(array::<4>(bytes)?).to_string(),
            Inet => Ipv6Addr::from(array::<16>(bytes)?).to_string(),
            Date => date(i64::from(u32::from_be_bytes(array(bytes)?)) - (1 << 31)),
        })
    }
}

impl PartitionKeyType {
    /// The type that a class name of `Statistics.db` stands for; `None` for classes that are not supported,
    /// such as those of collections and user-defined types.
    pub fn of_class(class: &str) -> Option<PartitionKeyType> {
        let short = class.strip_prefix("org.apache.cassandra.db.marshal.").unwrap_or(class);
        let parts = match short.strip_prefix("CompositeType(").and_then(|rest| rest.strip_suffix(')')) {
            Some(parts) => parts.split(',').map(CqlType::of_class).collect::<Option<Vec<_>>>()?,
            None => vec![CqlType::of_class(short)?],
        };
        Some(PartitionKeyType(parts))
    }

    /// Whether keys of this type have the bytes that the other type gives them: `text` and `ascii`, `uuid`
    /// and `timeuuid`, `bigint` and `timestamp` are alike, and a `blob` is like everything.
    pub fn has_bytes_of(&self, other: &PartitionKeyType) -> bool {
        let alike = |kind: CqlType| match kind {
            Ascii => Text,
            TimeUuid => Uuid,
            Timestamp => BigInt,
            kind => kind,
        };
        let fits = |(a, b): (&CqlType, &CqlType)| *a == Blob || alike(*a) == alike(*b);
        self.0 == [Blob] || self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(fits)
    }

    /// The number of columns of the key.
    pub fn columns(&self) -> usize {
        self.0.len()
    }

    /// Whether a key is written as its own bytes.
    pub fn is_text(&self) -> bool {
        matches!(self.0.as_slice(), [Text | Ascii])
    }

    /// The bytes of a key that is written as text.
    pub fn encode(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        self.encode_into(text, &mut out)?;
        Ok(out)
    }

    /// Appends the bytes of a key that is written as text.
    pub fn encode_into(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if let [only] = self.0.as_slice() {
            return only.encode(text, out);
        }
        let parts = split(text);
        if parts.len() != self.0.len() {
            return Err(format!(
                "{} parts where the key has {} columns ({self}): write them with colons between, \\: for a colon",
                parts.len(),
                self.0.len()
            ));
        }
        for (kind, part) in self.0.iter().zip(&parts) {
            let start = out.len();
            out.extend([0, 0]);
            kind.encode(part, out)?;
            let len =
                u16::try_from(out.len() - start - 2).map_err(|_| "a part is longer than 65535 bytes")?;
            out[start..start + 2].copy_from_slice(&len.to_be_bytes());
            out.push(0);
        }
        Ok(())
    }

    /// The text that [`encode`](PartitionKeyType::encode) reads as this key; `None` if it is not of this
    /// type.
    pub fn write(&self, key: &[u8]) -> Option<String> {
        if let [only] = self.0.as_slice() {
            return only.write(key);
        }
        let (mut rest, mut text) = (key, String::new());
        for (i, kind) in self.0.iter().enumerate() {
            let (len, tail) = rest.split_first_chunk::<2>()?;
            let (part, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
            let (_, tail) = tail.split_first()?;
            if i > 0 {
                text.push(':');
            }
            text += &kind.write(part)?.replace('\\', "\\\\").replace(':', "\\:");
            rest = tail;
        }
        rest.is_empty().then_some(text)
    }
}

/// The parts between colons, without their escapes.
fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut escaped) = (vec![Vec::new()], false);
    for &byte in text {
        let last = parts.len() - 1;
        match byte {
            b'\\' if !escaped => escaped = true,
            b':' if !escaped => parts.push(Vec::new()),
            _ => {
                if escaped && !matches!(byte, b':' | b'\\') {
                    parts[last].push(b'\\'); // a backslash before anything else stands for itself
                }
                parts[last].push(byte);
                escaped = false;
            }
        }
    }
    if escaped {
        let last = parts.len() - 1;
        parts[last].push(b'\\');
    }
    parts
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Reads a UUID such as `5a1c395e-0b1f-11ef-9a3f-0242ac120002`.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let lengths = text.split('-').map(str::len);
    if !lengths.eq([8, 4, 4, 4, 12]) {
        return None;
    }
    hex(&text.replace('-', ""))?.try_into().ok()
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, written `year-month-day`.
fn days(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (sign * parts.next()??, parts.next()??, parts.next()??);
    let is_day = parts.next().is_none() && year.abs() < 6_000_000 && (1..=12).contains(&month);
    if !is_day || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March, so that the leap day is the last: 400 of them are 146,097 days.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    let found = era * 146_097 + year * 365 + year / 4 - year / 100 + of_year - 719_468;
    // A day that a month does not have would be one of the next month.
    let is_real = date(found).ends_with(&format!("-{:02}-{day:02}", (month + 2) % 12 + 1));
    is_real.then_some(found)
}

/// The day that is this many days after 1970-01-01.
fn date(days: i64) -> String {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next)
}

/// Names in CQL, with commas between the columns of a composite key.
impl FromStr for PartitionKeyType {
    type Err = String;

    fn from_str(text: &str) -> Result<PartitionKeyType, String> {
        let one = |name: &str| {
            let name = match name.trim() {
                "varchar" => "text",
                name => name,
            };
            let found = TYPES.iter().find(|(_, known, _)| *known == name).map(|(known, _, _)| *known);
            found.ok_or_else(|| {
                let known: Vec<&str> = TYPES.iter().map(|(_, known, _)| *known).collect();
                format!("{name:?} is not a key type; known types: {}", known.join(", "))
            })
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(PartitionKeyType)
    }
}

impl fmt::Display for PartitionKeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|kind| kind.as_str()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex_of(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes are those of Cassandra's `TypeParser` and `fromString`.
    #[test]
    fn every_type_has_the_bytes_of_cassandra_and_is_read_back() {
        for (kind, text, bytes) in [
            ("text", "é", "c3a9"),
            ("ascii", "abc", "616263"),
            ("blob", "0x00ff", "00ff"),
            ("tinyint", "-1", "ff"),
            ("smallint", "258", "0102"),
            ("int", "-2", "fffffffe"),
            ("bigint", "1", "0000000000000001"),
            ("varint", "0", "00"),
            ("varint", "127", "7f"),
            ("varint", "128", "0080"),
            ("varint", "-128", "80"),
            ("varint", "-129", "ff7f"),
            ("float", "1.5", "3fc00000"),
            ("double", "-2.25", "c002000000000000"),
            ("boolean", "true", "01"),
            ("uuid", "5a1c395e-0b1f-41ef-9a3f-0242ac120002", "5a1c395e0b1f41ef9a3f0242ac120002"),
            ("timeuuid", "5a1c395e-0b1f-11ef-9a3f-0242ac120002", "5a1c395e0b1f11ef9a3f0242ac120002"),
            ("inet", "127.0.0.1", "7f000001"),
            ("inet", "::1", "00000000000000000000000000000001"),
            ("timestamp", "1700000000000", "0000018bcfe56800"),
            ("date", "1970-01-01", "80000000"),
            ("date", "1969-12-31", "7fffffff"),
            ("date", "2024-02-29", "80004d46"),
            ("text,int", "a\\:b:7", "0003613a620000040000000700"),
        ] {
            let kind: PartitionKeyType = kind.parse().unwrap();
            let key = kind.encode(text.as_bytes()).unwrap_or_else(|e| panic!("{kind} {text}: {e}"));
            assert_eq!(hex_of(&key), bytes, "{kind} {text}");
            assert_eq!(kind.write(&key).as_deref(), Some(text), "{kind}");
        }
    }

    #[test]
    fn what_is_not_of_the_type_is_refused() {
        for (kind, text) in [
            ("ascii", "é"),
            ("tinyint", "128"),
            ("int", "1.0"),
            ("int", ""),
            ("uuid", "5a1c395e0b1f11ef9a3f0242ac120002"),
            ("timeuuid", "5a1c395e-0b1f-41ef-9a3f-0242ac120002"),
            ("boolean", "1"),
            ("blob", "0x0"),
            ("inet", "300.0.0.1"),
            ("date", "2023-02-29"),
            ("date", "2024-13-01"),
            ("text,int", "a"),
            ("text,int", "a:b"),
            ("text,int", "a:1:2"),
        ] {
            let kind: PartitionKeyType = kind.parse().unwrap();
            assert!(kind.encode(text.as_bytes()).is_err(), "{kind} {text}");
        }
        assert!("int,number".parse::<PartitionKeyType>().is_err());
        let pair: PartitionKeyType = "text,int".parse().unwrap();
        for bytes in [&b""[..], b"\0", b"\0\x09ab", b"\0\x01a\0\0\x04\0\0\0\x01", b"\0\x01a\0\0\x03\0\0\0\0"]
        {
            assert_eq!(pair.write(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn classes_of_cassandra_have_their_names() {
        let of = |class: &str| PartitionKeyType::of_class(class).map(|kind| kind.to_string());
        let long = |class: &str| format!("org.apache.cassandra.db.marshal.{class}");
        assert_eq!(of(&long("Int32Type")).as_deref(), Some("int"));
        assert_eq!(of(&long("LexicalUUIDType")).as_deref(), Some("uuid"));
        let composite = format!("CompositeType({},{})", long("UTF8Type"), long("TimeUUIDType"));
        assert_eq!(of(&long(&composite)).as_deref(), Some("text,timeuuid"));
        assert_eq!(of(&long("ListType(org.apache.cassandra.db.marshal.UTF8Type)")), None);
    }
}
