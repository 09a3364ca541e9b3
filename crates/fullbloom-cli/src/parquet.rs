//! Parquet files: what is said about the filters of their column chunks.

use crate::error::Failure;
use crate::facts::{Facts, whole};
use crate::table::Table;
use crate::text;
use fullbloom::{Parquet, View};
use fullbloom_parquet::{Chunk, Error, File, Options, Verified};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

pub use fullbloom_parquet::is_parquet;

/// Something about all column chunks of a file, for people and for machines.
pub struct Told {
    /// One object for each chunk that has a filter.
    pub json: Vec<Value>,
    /// A table.
    pub text: String,
    /// Nothing is missing or damaged.
    pub is_well: bool,
}

/// Opens a file. The parquet crate may panic on damaged bytes; that is caught and told, so nothing else is said about it.
fn open(path: &Path) -> Result<File, Failure> {
    std::panic::set_hook(Box::new(|_| {}));
    File::open(path).map_err(|e| Failure::new(path.display(), e))
}

fn failed(path: &Path, chunk: &Chunk, cause: &Error) -> Failure {
    let place = format!("{}: row group {}, column {}", path.display(), chunk.row_group, chunk.name);
    Failure::new(place, cause)
}

/// Values of a chunk that can be in its filter.
fn values(chunk: &Chunk) -> u64 {
    chunk.values.saturating_sub(chunk.nulls.unwrap_or(0))
}

/// The filters of all column chunks.
pub fn inspect(path: &Path) -> Result<Told, Failure> {
    let file = open(path)?;
    let mut table = Table::new(&[
        "row group",
        "column",
        "type",
        "values",
        "bytes",
        "bits/distinct",
        "fill",
        "estimated keys",
        "expected rate",
    ]);
    let mut json = Vec::new();
    for chunk in file.chunks() {
        let Some(bytes) = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))? else { continue };
        let view = View::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
        let facts = Facts::of(path, &view, bytes.len() as u64, Vec::new());
        let mut object = facts.json();
        let bits = view.geometry().bit_len as f64;
        let estimate = view.estimated_keys();
        // What the file says, or else what the bits say.
        let distinct = chunk.distinct.map(|n| n as f64).or(estimate).filter(|n| *n >= 0.5);
        let per_distinct = distinct.map(|n| bits / n);
        object["row_group"] = chunk.row_group.into();
        object["column"] = chunk.name.as_str().into();
        object["type"] = chunk.physical_type.to_string().into();
        object["values"] = values(chunk).into();
        object["distinct"] = chunk.distinct.into();
        object["bits_per_distinct"] = per_distinct.into();
        json.push(object);
        table.row(vec![
            chunk.row_group.to_string(),
            text::printable(&chunk.name).to_string(),
            chunk.physical_type.to_string(),
            values(chunk).to_string(),
            text::bytes(bytes.len() as u64),
            per_distinct.map_or("-".into(), |n| text::decimal(n, 2)),
            text::rate(view.fill()),
            estimate.map_or("-".into(), |n| format!("{n:.0}")),
            text::rate(view.expected_fpr()),
        ]);
    }
    let is_well = !json.is_empty();
    let mut text = format!("{}\n", text::printable(&path.display().to_string()));
    if is_well {
        text += &table.render();
    } else {
        let _ = writeln!(text, "  no Bloom filter in any of {} column chunks", file.chunks().len());
    }
    Ok(Told { json, text, is_well })
}

/// Every value of every column that has a filter, asked of it.
pub fn verify(path: &Path, absent: u64) -> Result<Told, Failure> {
    let file = open(path)?;
    let mut table = Table::new(&[
        "row group",
        "column",
        "values",
        "missing",
        "measured rate",
        "expected rate",
        "made again",
    ]);
    let (mut json, mut notes, mut is_well) = (Vec::new(), String::new(), true);
    for chunk in file.chunks() {
        let verified = file.verify(chunk, Options { absent }).map_err(|e| failed(path, chunk, &e))?;
        let Some(verified) = verified else { continue };
        is_well &= verified.is_well();
        json.push(as_json(path, chunk, &verified));
        table.row(vec![
            chunk.row_group.to_string(),
            text::printable(&chunk.name).to_string(),
            verified.values.to_string(),
            verified.missing.to_string(),
            text::rate(verified.measured_fpr),
            text::rate(verified.expected_fpr),
            if verified.rebuilt_identical { "identical" } else { "differs" }.into(),
        ]);
        if let Some(key) = &verified.first_missing {
            let (group, key) = (chunk.row_group, key.escape_ascii());
            let _ = writeln!(notes, "row group {group}, column {}: {key} is called absent", chunk.name);
        }
    }
    let mut text = format!("{}\n", text::printable(&path.display().to_string()));
    if json.is_empty() {
        let _ = writeln!(text, "  no Bloom filter in any of {} column chunks", file.chunks().len());
    } else {
        text += &table.render();
        text += &notes;
    }
    Ok(Told { json, text, is_well })
}

fn as_json(path: &Path, chunk: &Chunk, verified: &Verified) -> Value {
    json!({
        "path": path.display().to_string(),
        "row_group": chunk.row_group,
        "column": chunk.name,
        "keys": verified.values,
        "distinct": whole(chunk.distinct.map(|n| n as f64)),
        "missing": verified.missing,
        "measured_fpr": verified.measured_fpr,
        "expected_fpr": verified.expected_fpr,
        "rebuilt_identical": verified.rebuilt_identical,
    })
}
