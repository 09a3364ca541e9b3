//! Adapter of fullbloom's Rust library for `conformance/run`: a request per line, an answer per line.

#[path = "../tests/conformance/reader.rs"]
mod reader;

use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SYSTEMS: [&str; 10] =
    ["native", "parquet", "guava", "spark", "orc", "cassandra", "rocksdb", "leveldb", "libbloom", "dcso"];

fn main() -> Result<(), Box<dyn Error>> {
    let version = env!("CARGO_PKG_VERSION");
    println!("{}", json!({ "name": "fullbloom (Rust)", "version": version, "systems": SYSTEMS }));
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = match catch_unwind(AssertUnwindSafe(|| reader::answer(&request))) {
            Ok(Ok(Some(answers))) => {
                json!({ "answers": answers.into_iter().map(u8::from).collect::<Vec<_>>() })
            }
            Ok(Ok(None)) => json!({ "skip": "the library finds filters, and leaves queries to its users" }),
            Ok(Err(error)) => json!({ "error": error.to_string() }),
            Err(_) => json!({ "error": "the library panicked" }),
        };
        println!("{reply}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
