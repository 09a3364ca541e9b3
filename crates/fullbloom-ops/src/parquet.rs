//! Parquet files: the filters of their column chunks.

use crate::inspect::{InspectSummary, Inspected};
use crate::key_spec::KeyText;
use crate::keys::EachKey;
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Watch};
use crate::verify::{Verified, VerifySummary};
use crate::{serialise, text};
use fullbloom::typed::KeyType;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::Parquet;
use fullbloom_parquet::{Chunk, Error, File, Options, PhysicalType, Source};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// The filter of one column chunk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnRecord {
    /// The file.
    pub path: String,
    /// `parquet`.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// Length of the array in bits.
    pub bits: u64,
    /// Probes for each key.
    pub probes: u32,
    /// Bytes of the filter with its header.
    pub bytes: u64,
    /// Share of bits set.
    pub fill: f64,
    /// The number of keys estimated from the set bits.
    #[serde(serialize_with = "serialise::whole")]
    pub estimated_keys: Option<f64>,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// The row group, from 0.
    pub row_group: usize,
    /// The column's name.
    pub column: String,
    /// The type of its values in the file.
    pub physical_type: String,
    /// Values that are not null.
    pub values: u64,
    /// Distinct values, where the file says so.
    pub distinct: Option<u64>,
    /// Bits for each distinct value, by the file or else by the estimate.
    pub bits_per_distinct: Option<f64>,
}

/// A column chunk whose filter was looked up for every value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedColumn {
    /// The file.
    pub path: String,
    /// The row group, from 0.
    pub row_group: usize,
    /// The column's name.
    pub column: String,
    /// Values that were looked up.
    pub keys: u64,
    /// Distinct values, where the file says so.
    pub distinct: Option<u64>,
    /// Values that are not in the filter.
    pub missing: u64,
    /// The rate measured on absent values.
    pub measured_fpr: f64,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// Whether a filter made from the values has the same bytes.
    pub rebuilt_identical: bool,
    /// The first missing value, in hex.
    pub first_missing: Option<String>,
}

/// Opens a file. The parquet crate may panic on damaged bytes, which is caught.
fn open(path: &Path) -> Result<File, Problem> {
    File::open(path).map_err(|e| unreadable(path, &e))
}

/// Opens bytes from anywhere.
pub(crate) fn open_source(name: &Path, source: impl Source) -> Result<File, Problem> {
    File::from_source(source).map_err(|e| unreadable(name, &e))
}

fn unreadable(path: &Path, cause: &Error) -> Problem {
    Problem::at(path, code(cause), cause)
}

/// A file that cannot be read, or that has more than is read, need not be damaged.
fn code(cause: &Error) -> Code {
    match cause {
        Error::Io(_) | Error::TooLarge { .. } | Error::TooManyValues { .. } => Code::Unreadable,
        _ => Code::TableUnreadable,
    }
}

fn failed(path: &Path, chunk: &Chunk, cause: &Error) -> Problem {
    let why = format!("row group {}, column {}: {cause}", chunk.row_group, chunk.name);
    Problem::at(path, code(cause), why)
}

/// Values of a chunk that can be in its filter.
fn values(chunk: &Chunk) -> u64 {
    chunk.values.saturating_sub(chunk.nulls.unwrap_or(0))
}

fn no_filters(path: &Path, file: &File) -> Problem {
    let why = format!("no Bloom filter in any of {} column chunks", file.chunks().len());
    Problem::at(path, Code::NoColumnFilters, why)
}

/// Inspects the filters of all column chunks.
pub(crate) fn inspect(path: &Path) -> Result<Report<Inspected, InspectSummary>, Problem> {
    inspect_file(path, &open(path)?)
}

/// The same for a file that is open.
pub(crate) fn inspect_file(path: &Path, file: &File) -> Result<Report<Inspected, InspectSummary>, Problem> {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for chunk in file.chunks() {
        let Some(bytes) = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))? else { continue };
        let view = Filter::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
        let geometry = view.geometry();
        let (set_bits, estimated_keys, expected_fpr) = view.occupancy();
        let distinct = chunk.distinct.map(|n| n as f64).or(estimated_keys).filter(|n| *n >= 0.5);
        let record = ColumnRecord {
            path: path.display().to_string(),
            dialect: Name::Parquet,
            bits: geometry.bit_len,
            probes: geometry.probes,
            bytes: bytes.len() as u64,
            fill: set_bits as f64 / geometry.bit_len.max(1) as f64,
            estimated_keys,
            expected_fpr,
            row_group: chunk.row_group,
            column: chunk.name.clone(),
            physical_type: chunk.physical_type.to_string(),
            values: values(chunk),
            distinct: chunk.distinct,
            bits_per_distinct: distinct.map(|n| geometry.bit_len as f64 / n),
        };
        found.push(Found { record: Inspected::Column(record), problems: Vec::new() });
    }
    if found.is_empty() {
        problems.push(no_filters(path, file));
    }
    Ok(InspectSummary::report(found, problems, InspectSummary::default()))
}

/// Looks up every value of every column that has a filter.
pub(crate) fn verify(
    path: &Path,
    absent: u64,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let file = open(path)?;
    let mut all = Vec::new();
    watch.start(file.chunks().len() as u64);
    for chunk in file.chunks() {
        let verified = file.verify(chunk, Options { absent }).map_err(|e| failed(path, chunk, &e))?;
        let Some(verified) = verified else { continue };
        let place = format!("row group {}, column {}", chunk.row_group, chunk.name);
        let mut problems = Vec::new();
        if let Some(key) = &verified.first_missing {
            let (missing, key) = (text::counted(verified.missing, "value"), key.escape_ascii());
            let why = format!("{place}: the filter says that {missing} are absent, the first is {key}");
            problems.push(Problem::at(path, Code::KeyMissing, why));
        }
        if !verified.rebuilt_identical {
            let why = format!("{place}: the filter's bytes differ from a filter rebuilt from its values");
            problems.push(Problem::at(path, Code::BytesDiffer, why));
        }
        let record = VerifiedColumn {
            path: path.display().to_string(),
            row_group: chunk.row_group,
            column: chunk.name.clone(),
            keys: verified.values,
            distinct: chunk.distinct,
            missing: verified.missing,
            measured_fpr: verified.measured_fpr,
            expected_fpr: verified.expected_fpr,
            rebuilt_identical: verified.rebuilt_identical,
            first_missing: verified.first_missing.as_deref().map(text::hex),
        };
        let found = Found { record: Verified::Column(record), problems };
        let flow = watch.found(&found);
        all.push(found);
        if flow.is_break() {
            break;
        }
    }
    let none = all.is_empty().then(|| no_filters(path, &file));
    Ok(VerifySummary::report(all, none.into_iter().collect()))
}

/// Hands out all values of a column, row group by row group.
pub(crate) fn keys(
    path: &Path,
    name: Option<&str>,
    count: &mut u64,
    each: &mut EachKey<'_>,
) -> Result<(), Problem> {
    let file = open(path)?;
    let chunks = column(path, &file, name)?;
    let text = match key_type(chunks[0]) {
        KeyType::Bytes => KeyText::Bytes,
        number => KeyText::Value(number),
    };
    for chunk in chunks {
        let mut flow = ControlFlow::Continue(());
        let read = file.for_each_values(chunk, |values| {
            flow = values.iter().try_for_each(|value| {
                flow?;
                *count += 1;
                each(value, &text)
            });
        });
        read.map_err(|e| failed(path, chunk, &e))?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// The chunks of a column, at least one.
fn column<'f>(path: &Path, file: &'f File, name: Option<&str>) -> Result<Vec<&'f Chunk>, Problem> {
    let chunks: Vec<&Chunk> =
        file.chunks().iter().filter(|chunk| Some(chunk.name.as_str()) == name).collect();
    if !chunks.is_empty() {
        return Ok(chunks);
    }
    let mut names: Vec<&str> = file.chunks().iter().map(|chunk| chunk.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let why = match name {
        Some(name) => format!("has no column {name:?}"),
        None => "is a Parquet file, whose columns have filters of their own".to_owned(),
    };
    let hint = format!("give a column, one of {}", names.join(", "));
    Err(Problem::at(path, Code::OptionRefused, why).hint(hint).needs(Need::Column))
}

/// The type of a column's values.
pub(crate) fn key_type(chunk: &Chunk) -> KeyType {
    match chunk.physical_type {
        PhysicalType::Int32 => KeyType::Int,
        PhysicalType::Int64 => KeyType::Long,
        PhysicalType::Float => KeyType::Float,
        PhysicalType::Double => KeyType::Double,
        _ => KeyType::Bytes,
    }
}

/// The filters of one column, row group by row group.
#[derive(Debug)]
pub struct Column {
    /// The filter of each row group that has one.
    filters: Vec<Vec<u8>>,
    /// A row group has no filter, so any key may be in it.
    pub is_partial: bool,
    /// The type of its values.
    pub key_type: KeyType,
}

impl Column {
    /// The column of this name.
    pub fn open(path: &Path, name: Option<&str>) -> Result<Column, Problem> {
        let file = open(path)?;
        let chunks = column(path, &file, name)?;
        let key_type = key_type(chunks[0]);
        let mut filters = Vec::new();
        for chunk in &chunks {
            let bytes = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))?;
            let Some(bytes) = bytes else { continue };
            Filter::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
            filters.push(bytes);
        }
        Ok(Column { is_partial: filters.len() < chunks.len(), filters, key_type })
    }

    /// Which keys may be in a row group.
    pub fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answers.fill(self.is_partial);
        let mut more = vec![false; keys.len()];
        for view in self.filters.iter().filter_map(|bytes| Filter::<Parquet>::view(bytes).ok()) {
            view.may_contain_batch_into(keys, &mut more).expect("a place for each key");
            answers.iter_mut().zip(&more).for_each(|(answer, more)| *answer |= more);
        }
    }
}
