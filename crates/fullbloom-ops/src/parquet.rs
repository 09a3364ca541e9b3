//! Parquet files, alone or in directories: the filters of their column chunks.

mod columns;
mod dataset;
mod plan;

pub use columns::ColumnTotals;
pub(crate) use dataset::{
    Dataset, inspect_dataset, is_dataset, keys_of_dataset, partition_value, verify_dataset,
};
pub(crate) use plan::plan;
pub use plan::{ColumnCost, ColumnPlan, ColumnPlanSummary, ColumnRow};

use crate::inspect::{InspectSummary, Inspected};
use crate::key_spec::KeyText;
use crate::keys::EachKey;
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Watch};
use crate::verify::{Verified, VerifyOptions, VerifySummary};
use crate::{serialise, text};
use columns::Columns;
use fullbloom::typed::KeyType;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::Parquet;
use fullbloom_parquet::{Chunk, Distinct, Error, File, Options, PhysicalType, Source};
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
    /// Bytes of the column chunk without its filter.
    pub column_bytes: u64,
    /// Why the filter saves nothing: `dictionary`, `min-max` or `larger`; null if it may save something.
    pub wasted: Option<Wasted>,
}

/// Why a filter saves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wasted {
    /// All values are in the dictionary, which is no larger than the filter and has no false positives.
    Dictionary,
    /// There is nearly every value between the smallest and the largest, which the footer has.
    MinMax,
    /// The filter is larger than the column.
    Larger,
}

impl Wasted {
    /// In words.
    pub fn about(self) -> &'static str {
        match self {
            Wasted::Dictionary => "the dictionary has all values and is no larger",
            Wasted::MinMax => "the smallest and the largest value decide",
            Wasted::Larger => "it is larger than the column",
        }
    }

    /// Why a filter with this many bytes and distinct values saves nothing in this chunk.
    fn of(chunk: &Chunk, bytes: u64, distinct: Option<f64>) -> Option<Wasted> {
        // The number of distinct values is an estimate.
        let is_dense = |range: u64| distinct.is_some_and(|distinct| distinct >= 0.95 * range as f64);
        match chunk.range {
            Some(1) => Some(Wasted::MinMax),
            Some(range) if is_dense(range) => Some(Wasted::MinMax),
            _ if chunk.dictionary.is_some_and(|dictionary| dictionary <= bytes) => Some(Wasted::Dictionary),
            _ if bytes >= chunk.bytes => Some(Wasted::Larger),
            _ => None,
        }
    }
}

/// The rate that filters should keep if the caller does not say: the largest default of the writers, that of
/// arrow-rs. The file does not record what was asked for.
const USUAL_FPR: f64 = 0.05;

/// A rate worse than it should be by this factor is reported, as of sstables.
const TOO_FULL: f64 = 1.25;

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
    /// Distinct values among them, counted.
    pub distinct: u64,
    /// Whether that number is exact. An estimate has a standard error of 0.1 %.
    pub distinct_exact: bool,
    /// Bits of the filter for each distinct value; null without any.
    pub bits_per_distinct: Option<f64>,
    /// Values that are not in the filter.
    pub missing: u64,
    /// The rate measured on absent values.
    pub measured_fpr: f64,
    /// The rate to expect by the filter's bits.
    pub expected_fpr: f64,
    /// The false-positive rate of a filter of this size that holds this many distinct values.
    pub distinct_fpr: f64,
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
    Problem::at(path, code(cause), format!("{}: {cause}", place(chunk)))
}

/// Values of a chunk that can be in its filter.
fn values(chunk: &Chunk) -> u64 {
    chunk.values.saturating_sub(chunk.nulls.unwrap_or(0))
}

fn no_filters(path: &Path, file: &File) -> Problem {
    let why = format!("no Bloom filter in any of {} column chunks", file.chunks().len());
    Problem::at(path, Code::NoColumnFilters, why)
}

/// Inspects the filters of all column chunks. They should keep the rate `fpr`.
pub(crate) fn inspect(path: &Path, fpr: Option<f64>) -> Result<Report<Inspected, InspectSummary>, Problem> {
    report(path, look(path, &open(path)?, fpr)?)
}

/// The same for a file that is open.
pub(crate) fn inspect_file(path: &Path, file: &File) -> Result<Report<Inspected, InspectSummary>, Problem> {
    report(path, look(path, file, None)?)
}

/// The report of a file.
fn report(path: &Path, looked: Looked) -> Result<Report<Inspected, InspectSummary>, Problem> {
    let mut columns = Columns::default();
    columns.add(path, &looked);
    let (columns, mut problems) = columns.finish();
    if looked.found.is_empty() {
        let why = format!("no Bloom filter in any of {} column chunks", looked.chunks);
        problems.push(Problem::at(path, Code::NoColumnFilters, why));
    }
    let summary = InspectSummary { columns, ..InspectSummary::default() };
    Ok(InspectSummary::report(looked.found, problems, summary))
}

/// What is in a file.
struct Looked {
    /// The filters.
    found: Vec<Found<Inspected>>,
    /// Column chunks.
    chunks: usize,
    /// The columns, in the order of the file.
    columns: Vec<ColumnOfFile>,
}

/// A column of a file.
struct ColumnOfFile {
    name: String,
    physical_type: String,
    row_groups: u64,
    filters: u64,
    /// Row groups that have no filter, and no dictionary of all values either.
    without: Vec<usize>,
}

/// Inspects the filters of a file that is open.
fn look(path: &Path, file: &File, fpr: Option<f64>) -> Result<Looked, Problem> {
    let mut looked = Looked { found: Vec::new(), chunks: file.chunks().len(), columns: Vec::new() };
    for chunk in file.chunks() {
        // Chunks come row group by row group, each with all columns.
        if looked.columns.len() <= chunk.column {
            looked.columns.push(ColumnOfFile {
                name: chunk.name.clone(),
                physical_type: chunk.physical_type.to_string(),
                row_groups: 0,
                filters: 0,
                without: Vec::new(),
            });
        }
        let column = &mut looked.columns[chunk.column];
        column.row_groups += 1;
        match look_at(path, file, chunk, fpr)? {
            Some(found) => {
                column.filters += 1;
                looked.found.push(found.map(Inspected::Column));
            }
            None if chunk.dictionary.is_none() => column.without.push(chunk.row_group),
            None => {}
        }
    }
    Ok(looked)
}

fn place(chunk: &Chunk) -> String {
    format!("row group {}, column {}", chunk.row_group, chunk.name)
}

/// Inspects the filter of a column chunk; `None` if it has none.
fn look_at(
    path: &Path,
    file: &File,
    chunk: &Chunk,
    fpr: Option<f64>,
) -> Result<Option<Found<ColumnRecord>>, Problem> {
    let Some(bytes) = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))? else { return Ok(None) };
    let view = Filter::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
    let geometry = view.geometry();
    let (set_bits, estimated_keys, expected_fpr) = view.occupancy();
    let distinct = chunk.distinct.map(|n| n as f64).or(estimated_keys).filter(|n| *n >= 0.5);
    let wasted = Wasted::of(chunk, bytes.len() as u64, distinct);
    let mut problems = Vec::new();
    if let Some(why) = too_full(expected_fpr, fpr) {
        let hint = "write the file again with the number of distinct values that a row group really has";
        problems.push(Problem::at(path, Code::TooFull, format!("{}: {why}", place(chunk))).hint(hint));
    }
    if let Some(wasted) = wasted {
        let why = format!("{}: the filter saves nothing: {}", place(chunk), wasted.about());
        problems.push(Problem::at(path, Code::FilterWasted, why));
    }
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
        column_bytes: chunk.bytes,
        wasted,
    };
    Ok(Some(Found { record, problems }))
}

/// What is wrong with a filter of this rate, if `wanted` is asked for.
fn too_full(fpr: f64, wanted: Option<f64>) -> Option<String> {
    let (wanted, why) = match wanted {
        Some(wanted) => (wanted, "is wanted"),
        None => (USUAL_FPR, "is usual"),
    };
    let is_too_full = fpr > wanted * TOO_FULL;
    is_too_full.then(|| format!("too full: the expected rate is {fpr:.3}, {wanted} {why}"))
}

/// Looks up every value of every column that has a filter.
pub(crate) fn verify(
    path: &Path,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let file = open(path)?;
    let mut all = Vec::new();
    watch.start(file.chunks().len() as u64);
    for chunk in file.chunks() {
        let Some(found) = verify_chunk(path, &file, chunk, options)? else { continue };
        let flow = watch.found(&found);
        all.push(found);
        if flow.is_break() {
            break;
        }
    }
    let none = all.is_empty().then(|| no_filters(path, &file));
    Ok(VerifySummary::report(all, none.into_iter().collect()))
}

/// Looks up every value of a column chunk; `None` if it has no filter.
fn verify_chunk(
    path: &Path,
    file: &File,
    chunk: &Chunk,
    options: &VerifyOptions,
) -> Result<Option<Found<Verified>>, Problem> {
    let verified =
        file.verify(chunk, Options { absent: options.absent }).map_err(|e| failed(path, chunk, &e))?;
    let Some(verified) = verified else { return Ok(None) };
    let place = place(chunk);
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
    let Distinct { count: distinct, is_exact } = verified.distinct;
    if let Some(why) = too_full(verified.distinct_fpr, options.fpr) {
        let number = text::estimated(distinct, is_exact);
        let why = format!("{place}: {why}, with {number} distinct values in {} bits", verified.bits);
        let hint = format!("write the file again for the number of distinct values: {number}");
        problems.push(Problem::at(path, Code::TooFull, why).hint(hint));
    }
    let record = VerifiedColumn {
        path: path.display().to_string(),
        row_group: chunk.row_group,
        column: chunk.name.clone(),
        keys: verified.values,
        distinct,
        distinct_exact: is_exact,
        bits_per_distinct: (distinct > 0).then(|| verified.bits as f64 / distinct as f64),
        missing: verified.missing,
        measured_fpr: verified.measured_fpr,
        expected_fpr: verified.expected_fpr,
        distinct_fpr: verified.distinct_fpr,
        rebuilt_identical: verified.rebuilt_identical,
        first_missing: verified.first_missing.as_deref().map(text::hex),
    };
    Ok(Some(Found { record: Verified::Column(record), problems }))
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
    /// The filter of each row group; `None` where it has none.
    filters: Vec<Option<Vec<u8>>>,
    /// A row group has no filter, so any key may be in it.
    pub is_partial: bool,
    /// The type of its values.
    pub key_type: KeyType,
}

impl Column {
    /// The column of this name.
    pub fn open(path: &Path, name: Option<&str>) -> Result<Column, Problem> {
        Column::of(path, &open(path)?, name)
    }

    fn of(path: &Path, file: &File, name: Option<&str>) -> Result<Column, Problem> {
        let chunks = column(path, file, name)?;
        let key_type = key_type(chunks[0]);
        let mut filters = Vec::new();
        for chunk in &chunks {
            let bytes = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))?;
            if let Some(bytes) = &bytes {
                Filter::<Parquet>::view(bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
            }
            filters.push(bytes);
        }
        Ok(Column { is_partial: filters.contains(&None), filters, key_type })
    }

    /// The column of a file of a dataset; `None` if the file does not have it.
    pub(crate) fn of_file(path: &Path, name: &str) -> Result<Option<Column>, Problem> {
        let file = open(path)?;
        match file.chunks().iter().any(|chunk| chunk.name == name) {
            true => Column::of(path, &file, Some(name)).map(Some),
            false => Ok(None),
        }
    }

    /// Which keys may be in a row group.
    pub fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        answers.fill(false);
        self.each_row_group(keys, |_, more| {
            answers.iter_mut().zip(more).for_each(|(answer, more)| *answer |= more);
        });
    }

    /// The row groups that may hold one of the keys.
    pub fn row_groups(&self, keys: &[&[u8]]) -> Vec<usize> {
        let mut groups = Vec::new();
        self.each_row_group(keys, |group, answers| groups.extend(answers.contains(&true).then_some(group)));
        groups
    }

    fn each_row_group(&self, keys: &[&[u8]], mut each: impl FnMut(usize, &[bool])) {
        let mut answers = vec![false; keys.len()];
        for (group, filter) in self.filters.iter().enumerate() {
            match filter.as_ref().and_then(|bytes| Filter::<Parquet>::view(bytes).ok()) {
                Some(view) => {
                    view.may_contain_batch_into(keys, &mut answers).expect("a place for each key");
                }
                None => answers.fill(true),
            }
            each(group, &answers);
        }
    }
}
