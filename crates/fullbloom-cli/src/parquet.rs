//! Parquet files: what is said about the filters of their column chunks.

use crate::error::Failure;
use crate::facts::{Facts, whole};
use crate::table::Table;
use crate::text;
use fullbloom::typed::KeyType;
use fullbloom::{Parquet, View};
use fullbloom_parquet::{Chunk, Error, File, Options, Type, Verified};
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

/// The filters of one column, row group by row group.
#[derive(Debug)]
pub struct Column {
    /// The filter of each row group that has one.
    filters: Vec<Vec<u8>>,
    /// A row group has none: any key may be there.
    pub is_partial: bool,
    /// What its values are.
    pub key_type: KeyType,
}

impl Column {
    /// The column of this name.
    pub fn open(path: &Path, name: Option<&str>) -> Result<Column, Failure> {
        let file = open(path)?;
        let chunks: Vec<&Chunk> =
            file.chunks().iter().filter(|chunk| Some(chunk.name.as_str()) == name).collect();
        let Some(first) = chunks.first() else {
            let mut names: Vec<&str> = file.chunks().iter().map(|chunk| chunk.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let why = match name {
                Some(name) => format!("has no column {name:?}"),
                None => "is a Parquet file, whose columns have filters of their own".to_owned(),
            };
            let hint = format!("give --column, one of {}", names.join(", "));
            return Err(Failure::new(path.display(), why).hint(hint));
        };
        let key_type = match first.physical_type {
            Type::INT32 => KeyType::Int,
            Type::INT64 => KeyType::Long,
            Type::FLOAT => KeyType::Float,
            Type::DOUBLE => KeyType::Double,
            _ => KeyType::Bytes,
        };
        let mut filters = Vec::new();
        for chunk in &chunks {
            let bytes = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))?;
            let Some(bytes) = bytes else { continue };
            View::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
            filters.push(bytes);
        }
        Ok(Column { is_partial: filters.len() < chunks.len(), filters, key_type })
    }

    /// Which keys may be in a row group.
    pub fn answer(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answers.fill(self.is_partial);
        let mut more = vec![false; keys.len()];
        for view in self.filters.iter().filter_map(|bytes| View::<Parquet>::view(bytes).ok()) {
            view.may_contain_batch(keys, &mut more);
            answers.iter_mut().zip(&more).for_each(|(answer, more)| *answer |= more);
        }
    }
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
