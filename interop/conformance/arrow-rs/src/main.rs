//! Adapter of arrow-rs: `filter` by `Sbbf::from_bytes`, `column` by `Sbbf::read_from_column_chunk`.

use parquet::bloom_filter::Sbbf;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() -> Result<(), Box<dyn Error>> {
    let lock = include_str!("../Cargo.lock");
    let version =
        lock.split("name = \"parquet\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    println!("{}", json!({ "name": "arrow-rs", "version": version, "systems": ["parquet"] }));
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = match catch_unwind(AssertUnwindSafe(|| answer(&request))) {
            Ok(Ok(Some(answers))) => json!({ "answers": answers }),
            Ok(Ok(None)) => json!({ "skip": "the crate finds filters, and leaves queries to its users" }),
            Ok(Err(error)) => json!({ "error": error.to_string() }),
            Err(_) => json!({ "error": "the library panicked" }),
        };
        println!("{reply}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    let bytes = std::fs::read(text("file"))?;
    let filters = match text("ask") {
        "filter" => vec![Some(Sbbf::from_bytes(&bytes)?)],
        "column" => column(bytes, text("column"))?,
        _ => return Ok(None),
    };
    let keys =
        request["keys"].as_array().into_iter().flatten().map(|key| hex(key.as_str().unwrap_or_default()));
    let may_contain =
        |key: Vec<u8>| filters.iter().any(|filter| filter.as_ref().is_none_or(|f| f.check(&key[..])));
    Ok(Some(keys.map(|key| u8::from(may_contain(key))).collect()))
}

/// The filter of each row group; `None` if it has none.
fn column(bytes: Vec<u8>, name: &str) -> Result<Vec<Option<Sbbf>>, Box<dyn Error>> {
    let source = bytes::Bytes::from(bytes);
    let reader = SerializedFileReader::new(source.clone())?;
    let mut filters = Vec::new();
    for group in reader.metadata().row_groups() {
        let column = group.columns().iter().find(|column| column.column_path().string() == name);
        filters.push(Sbbf::read_from_column_chunk(column.ok_or("no such column")?, &source)?);
    }
    Ok(filters)
}

fn hex(key: &str) -> Vec<u8> {
    (0..key.len()).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16).unwrap_or_default()).collect()
}
