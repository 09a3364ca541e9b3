//! One file without a file system: inspection, and lookups of keys.
//!
//! ```text
//!   name, Source (bytes in memory, a file that a browser reads) ─► Look ─┬─► report: what `inspect` says
//!                                                                        ├─► fill: along the array
//!                                                                        └─► lookup: the answer, and its probes
//! ```
//!
//! ```
//! use fullbloom_ops::{Look, LookOptions};
//! use std::time::SystemTime;
//!
//! # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/native/one-line.bloom");
//! let bytes = std::fs::read(file)?;
//! let look = Look::open("one-line.bloom", bytes, &LookOptions::at(SystemTime::now()))?;
//! assert_eq!(look.report().found.len(), 1);
//! let answer = look.lookup(0, b"surely absent", None)?;
//! assert!(!answer.may_contain && answer.probes.iter().any(|probe| !probe.set));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::filter::{self, FilterFile, ReadOptions};
use crate::inspect::{InspectReport, InspectSummary, Inspected};
use crate::key_spec::KeySpec;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::place::PlaceKind;
use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::sstable::{self, totals};
use crate::table::{self, TableRecord};
use fullbloom::typed::KeyType;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_sstable::Sstable;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_table::filter::Question;
use fullbloom_table::metaindex::FilterLayout;
use fullbloom_table::{Source, Table};
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// What the caller knows about the file.
#[derive(Debug, Clone)]
pub struct LookOptions {
    /// What is known about filter files.
    pub read: ReadOptions,
    /// The present time, for filters that forget keys.
    pub now: SystemTime,
}

impl LookOptions {
    /// Nothing is known but the time.
    pub fn at(now: SystemTime) -> LookOptions {
        LookOptions { read: ReadOptions::default(), now }
    }
}

/// A file that is open.
pub struct Look {
    report: InspectReport,
    filters: Vec<Part>,
    table: Option<Table<Arc<dyn Source>>>,
}

/// One filter of the file, in the order of the records.
struct Part {
    filter: AnyFilter,
    /// How keys are written if the caller does not say so; or why the caller must.
    spec: Result<KeySpec, String>,
    /// Why it cannot answer.
    refuses: Option<&'static str>,
    /// A copy that hashes numbers, made at the first lookup of one: ORC has another hash for them.
    of_numbers: OnceLock<AnyFilter>,
}

/// The answer about one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether the key may be present. "No" is certain.
    pub may_contain: bool,
    /// The tested bits in the order of the probes; empty where lookups do not test single bits of one array.
    pub probes: Vec<Probe>,
    /// The bytes that are looked up, in hex.
    pub key: String,
}

/// One tested bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Its position in the array.
    pub position: u64,
    /// Whether it is set.
    pub set: bool,
}

impl Look {
    /// Opens a file. Fails where `inspect` fails: what is wrong with a file that can be read is in the
    /// report.
    pub fn open(name: &str, source: impl Source + 'static, options: &LookOptions) -> Result<Look, Problem> {
        Look::open_with(name, Arc::new(source), Vec::new(), options)
    }

    /// As [`open`](Look::open); `others` are further components of the same sstable, with their names.
    pub fn open_with(
        name: &str,
        source: Arc<dyn Source>,
        others: Vec<(String, Vec<u8>)>,
        options: &LookOptions,
    ) -> Result<Look, Problem> {
        let path = Path::new(name);
        let kind = match options.read.dialect {
            Some(_) => PlaceKind::Filter,
            None => PlaceKind::of_source(path, &source),
        };
        match kind {
            PlaceKind::Sstable => of_sstable(name, &*source, others),
            PlaceKind::Table => Ok(of_table(path, source)),
            #[cfg(feature = "parquet")]
            PlaceKind::Parquet => of_parquet(path, source),
            _ => of_filter(name, &*source, options),
        }
    }

    /// What `inspect` says.
    pub fn report(&self) -> &InspectReport {
        &self.report
    }

    /// The bits of filter number `index`; `None` if it has no array of its own.
    fn bits(&self, index: usize) -> Option<&[u8]> {
        self.filters.get(index).map(|part| part.filter.bits()).filter(|bits| !bits.is_empty())
    }

    /// The share of set bits in each part of the array of filter number `index`; empty if it has none.
    pub fn fill(&self, index: usize) -> Vec<f64> {
        self.bits(index).map(filter::along).unwrap_or_default()
    }

    /// Bits of the array of filter number `index`, as probes count them; 0 if it has none.
    pub fn array_len(&self, index: usize) -> u64 {
        self.bits(index).map_or(0, |bits| 8 * bits.len() as u64)
    }

    /// Looks up a key in filter number `index`, written as `spec` says; `None` for the type that the
    /// file or its sstable records, and bytes elsewhere. The error says why there is no answer.
    pub fn lookup(&self, index: usize, key: &[u8], spec: Option<&KeySpec>) -> Result<Answer, String> {
        if let Some(table) = &self.table {
            let filter = table.filter().map_err(|e| e.to_string())?;
            let may_contain = filter.may_match(Question::Get, key).map_err(|e| e.to_string())?;
            let probe = filter.holds().probe(Question::Get, key);
            let part = self.filters.first().zip(probe);
            let probes = part.map(|(part, probe)| probes(&part.filter, probe)).unwrap_or_default();
            return Ok(Answer { may_contain, probes, key: crate::text::hex(key) });
        }
        let part = self.filters.get(index).ok_or("there is no filter to look the key up in")?;
        part.lookup(key, spec)
    }
}

impl Part {
    fn new(filter: AnyFilter) -> Part {
        let refuses = filter.is_locked().then_some("the filter is keyed, and its secret is not in the file");
        let spec = filter.recorded_key_type().map_or(KeySpec::BYTES, KeySpec::Value);
        Part { filter, spec: Ok(spec), refuses, of_numbers: OnceLock::new() }
    }

    /// The filter as it hashes keys of this type.
    fn hashing(&self, key_type: KeyType) -> Result<&AnyFilter, String> {
        if !(self.filter.dialect() == Name::Orc && key_type.is_number()) {
            return Ok(&self.filter);
        }
        if let Some(copy) = self.of_numbers.get() {
            return Ok(copy);
        }
        let copy = self.filter.try_clone().map_err(|e| e.to_string())?.with_key_type(key_type);
        Ok(self.of_numbers.get_or_init(|| copy))
    }

    fn lookup(&self, text: &[u8], spec: Option<&KeySpec>) -> Result<Answer, String> {
        if let Some(why) = self.refuses {
            return Err(why.to_owned());
        }
        let spec = spec.map_or_else(|| self.spec.as_ref().map_err(String::clone), Ok)?;
        let dialect = self.filter.dialect();
        spec.require(dialect)?;
        // A key of another type than the recorded one would always be answered "no".
        self.filter.require_key_type(spec.key_type()).map_err(|e| e.to_string())?;
        let mut key = Vec::new();
        spec.encode(&self.filter.key_form().apply(text), dialect, &mut key)?;
        let filter = self.hashing(spec.key_type())?;
        let may_contain = filter.may_contain(&key);
        Ok(Answer { may_contain, probes: probes(filter, &key), key: crate::text::hex(&key) })
    }
}

/// The bits that a lookup of this key tests.
fn probes(filter: &AnyFilter, key: &[u8]) -> Vec<Probe> {
    let bits = filter.bits();
    let is_set = |position: u64| {
        let byte = usize::try_from(position / 8).ok().and_then(|at| bits.get(at));
        byte.is_some_and(|byte| byte >> (position % 8) & 1 == 1)
    };
    let positions = filter.probes_of(key).unwrap_or_default();
    positions.into_iter().map(|position| Probe { position, set: is_set(position) }).collect()
}

/// All bytes of a source.
fn read_all(name: &str, source: &dyn Source) -> Result<Vec<u8>, Problem> {
    let unreadable = |e: std::io::Error| Problem::new(name, Code::Unreadable, e);
    let len = usize::try_from(source.byte_len());
    let len = len.map_err(|_| unreadable(std::io::ErrorKind::OutOfMemory.into()))?;
    source.read(0, len).map(std::borrow::Cow::into_owned).map_err(unreadable)
}

fn report_of(found: Found<Inspected>) -> InspectReport {
    InspectSummary::report(vec![found], Vec::new(), InspectSummary::default())
}

fn of_filter(name: &str, source: &dyn Source, options: &LookOptions) -> Result<Look, Problem> {
    let file = FilterFile::from_bytes(name, read_all(name, source)?, &options.read)?;
    let opened = file.open_at(options.now)?;
    let report = report_of(filter::inspect_opened(&file, &opened, false).map(Inspected::Filter));
    let mut part = Part::new(opened.filter);
    if opened.may_lose_keys {
        part.refuses = Some("the filter's numbers contradict each other: it may report its own keys absent");
    }
    Ok(Look { report, filters: vec![part], table: None })
}

fn of_sstable(name: &str, source: &dyn Source, others: Vec<(String, Vec<u8>)>) -> Result<Look, Problem> {
    let mut files = others;
    files.push((name.to_owned(), read_all(name, source)?));
    let sstable = Sstable::in_memory(name, files).map_err(|e| Problem::new(name, Code::Unreadable, e))?;
    let found = vec![sstable::inspect(&sstable, None, false).map(Inspected::Sstable)];
    let summary = InspectSummary { tables: totals(&found), ..InspectSummary::default() };
    let report = InspectSummary::report(found, Vec::new(), summary);
    let filter = if sstable.has(FILTER) { sstable.filter().ok() } else { None };
    let spec = KeySpec::of_sstable(&sstable).map_err(|problem| problem.message);
    let part = |filter| Part { spec, ..Part::new(filter) };
    Ok(Look { report, filters: filter.map(part).into_iter().collect(), table: None })
}

fn of_table(path: &Path, source: Arc<dyn Source>) -> Look {
    let looked = table::open_source(path, source, None).and_then(|open| {
        let found = table::inspect(path, &open)?;
        Ok((found, open))
    });
    let (found, table) = match looked {
        Ok((found, table)) => (found, Some(table)),
        Err(problem) => (TableRecord::unread(path, problem), None),
    };
    let filter = table.as_ref().zip(found.record.dialect).and_then(|(table, dialect)| whole(table, dialect));
    let report = report_of(found.map(Inspected::Table));
    Look { report, filters: filter.map(Part::new).into_iter().collect(), table }
}

/// The filter of a table, if it is one array: not one for each partition or block.
fn whole(table: &Table<Arc<dyn Source>>, dialect: Name) -> Option<AnyFilter> {
    let filter = table.filter().ok()?;
    if filter.layout() != Some(FilterLayout::Full) {
        return None;
    }
    AnyFilter::decode(&filter.block().ok()??, &dialect.into()).ok()
}

#[cfg(feature = "parquet")]
fn of_parquet(path: &Path, source: Arc<dyn Source>) -> Result<Look, Problem> {
    let file = parquet::open_source(path, Bytes(source))?;
    let report = parquet::inspect_file(path, &file)?;
    let mut filters = Vec::new();
    for chunk in file.chunks() {
        let Ok(Some(bytes)) = file.filter_bytes(chunk) else { continue };
        let Ok(filter) = AnyFilter::decode(&bytes, &Name::Parquet.into()) else { continue };
        filters.push(Part { spec: Ok(KeySpec::Value(parquet::key_type(chunk))), ..Part::new(filter) });
    }
    Ok(Look { report, filters, table: None })
}

#[cfg(feature = "parquet")]
/// A table's source, as the reader of Parquet files wants it.
struct Bytes(Arc<dyn Source>);

#[cfg(feature = "parquet")]
impl fullbloom_parquet::Source for Bytes {
    fn byte_len(&self) -> u64 {
        self.0.byte_len()
    }

    fn read(&self, at: u64, len: usize) -> std::io::Result<Vec<u8>> {
        self.0.read(at, len).map(std::borrow::Cow::into_owned)
    }
}
