//! Our readers as a conformance adapter sees them: one request of the corpus in `conformance/`, one answer for each key.
//!
//! Used by the test that runs the corpus, and by the example that is the adapter.

use fullbloom::Secret;
use fullbloom_any::{AnyFilter, ReadOptions};
use fullbloom_dialects::typed::{KeyType, Value};
use fullbloom_dialects::{Name, parquet};
use fullbloom_parquet::{File, Value as Cell};
use serde_json::Value as Json;
use std::error::Error;
use std::path::Path;

type Answers = Result<Option<Vec<bool>>, Box<dyn Error>>;

/// What our reader answers; `None` if it has no such lookup.
pub fn answer(request: &Json) -> Answers {
    let path = Path::new(text(request, "file"));
    let keys: Vec<Vec<u8>> = match request["keys"].as_array() {
        Some(keys) if text(request, "ask") != "rows" => keys.iter().map(hex).collect(),
        _ => return Ok(None),
    };
    match text(request, "ask") {
        "filter" => filter(&std::fs::read(path)?, request, &keys).map(Some),
        "column" => column(path, request, &keys).map(Some),
        _ => Ok(None),
    }
}

fn text<'r>(request: &'r Json, field: &str) -> &'r str {
    request[field].as_str().unwrap_or_default()
}

fn hex(key: &Json) -> Vec<u8> {
    let digits = key.as_str().unwrap_or_default().as_bytes();
    let nibble = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    digits.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect()
}

/// Lookups in a filter that stands alone.
fn filter(bytes: &[u8], request: &Json, keys: &[Vec<u8>]) -> Result<Vec<bool>, Box<dyn Error>> {
    if text(request, "system") == "parquet" {
        // `decode` reads blocks without a header as well. Here there is one, as in a Parquet file.
        parquet::header(bytes)?;
    }
    // `may_contain` below converts the keys as the filter records it.
    let mut options = ReadOptions::new().dialect(Some(dialect(bytes, request)?)).key_form_applied();
    if let (Some(bits), Some(probes)) = (request["bits"].as_u64(), request["probes"].as_u64()) {
        options = options.geometry(bits, u32::try_from(probes)?);
    }
    if let Ok(secret) = <[u8; 16]>::try_from(hex(&request["secret"])) {
        options = options.secret(Some(Secret::new(secret)));
    }
    let filter = AnyFilter::decode(bytes, &options)?;
    filter.require_unlocked()?;
    let key_type = text(request, "type").parse().unwrap_or(KeyType::Bytes);
    filter.require_key_type(key_type)?;
    keys.iter().map(|key| may_contain(&filter, key_type, key)).collect()
}

/// The dialect that the request names, or that the bytes name within the system.
fn dialect(bytes: &[u8], request: &Json) -> Result<Name, Box<dyn Error>> {
    let trailer = bytes.len().checked_sub(5).map_or(0, |at| bytes[at]);
    Ok(match text(request, "system") {
        "guava" if bytes.first() == Some(&0) => Name::Guava32,
        "guava" => Name::Guava,
        "spark" if bytes.get(3) == Some(&2) => Name::Spark2,
        "spark" => Name::Spark,
        "rocksdb" if trailer == 0xff => Name::RocksDb,
        "rocksdb" if trailer == 0xfe => Name::RocksDbRibbon,
        "rocksdb" => Name::RocksDbLegacy,
        "cassandra" | "libbloom" => text(request, "dialect").parse()?,
        system => system.parse()?,
    })
}

fn may_contain(filter: &AnyFilter, key_type: KeyType, key: &[u8]) -> Result<bool, Box<dyn Error>> {
    let value = match key_type {
        // Guava hashes an int as four bytes, a native filter as eight.
        KeyType::Int if key.len() == 4 => Value::Int(i32::from_le_bytes(key.try_into()?)),
        KeyType::Int | KeyType::Long => Value::Long(i64::from_le_bytes(key.try_into()?)),
        KeyType::Double => Value::Double(f64::from_le_bytes(key.try_into()?)),
        // UTF-16 stands in the corpus as it is hashed.
        _ => return Ok(filter.may_contain(&filter.key_form().apply(key))),
    };
    Ok(filter.may_contain_value(value)?)
}

/// Lookups in the filters of a column of a Parquet file: whether some row group may contain the key.
fn column(path: &Path, request: &Json, keys: &[Vec<u8>]) -> Result<Vec<bool>, Box<dyn Error>> {
    let file = File::open(path)?;
    let answers = keys.iter().map(|key| {
        let cell = match text(request, "physical") {
            "INT32" => Cell::Int32(i32::from_le_bytes(key[..].try_into()?)),
            "INT64" => Cell::Int64(i64::from_le_bytes(key[..].try_into()?)),
            "INT96" => Cell::Int96(key[..].try_into()?),
            "FLOAT" => Cell::Float(f32::from_le_bytes(key[..].try_into()?)),
            "DOUBLE" => Cell::Double(f64::from_le_bytes(key[..].try_into()?)),
            "BYTE_ARRAY" => Cell::ByteArray(key),
            _ => Cell::FixedLenByteArray(key),
        };
        let query = file.query(text(request, "column"), &[cell])?;
        Ok((0..file.row_groups()).any(|group| file.may_contain(&query, group).may_contain()))
    });
    answers.collect()
}
