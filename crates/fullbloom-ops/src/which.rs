//! `which`: the filters of many places that may hold a key.

use crate::cql::Conditions;
use crate::filter::{FilterFile, ReadOptions};
use crate::key_spec::KeySpec;
use crate::keys::require_column_place;
use crate::lookup_keys::{Encoded, LookupKeys};
#[cfg(feature = "parquet")]
use crate::parquet::{Column, Dataset};
use crate::place::{Place, PlaceKind};
use crate::pool;
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::{database, sstable, table, text};
use fullbloom_dialects::Name;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::{Sstable, partition_key_type};
use fullbloom_table::database::{Database, DatabaseLog};
use fullbloom_table::filter::Question;
use fullbloom_table::{EnginePrefix, WriteKind};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The keys, and what the caller knows.
#[derive(Debug, Clone)]
pub struct WhichOptions {
    /// The keys as text: of their type, or in hex.
    pub keys: LookupKeys,
    /// Whether they are written in hex.
    pub hex: bool,
    /// Their type; `None` for the type that each place records.
    pub spec: Option<KeySpec>,
    /// Of a key that was given as conditions of CQL: what is compared with the sstables.
    pub conditions: Option<Conditions>,
    /// What is known about filter files.
    pub read: ReadOptions,
    /// The column of Parquet files.
    pub column: Option<String>,
    /// The prefix extractor of tables whose prefix extractor is not recognised.
    pub prefix_extractor: Option<EnginePrefix>,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
}

/// What one filter says about one key. A byte, because there can be many keys and many filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The key may be there.
    Maybe,
    /// The key is surely not there.
    No,
    /// The filter cannot be read.
    Unknown,
}

impl Answer {
    /// Its name in text and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Answer::Maybe => "maybe",
            Answer::No => "no",
            Answer::Unknown => "unknown",
        }
    }
}

/// What one filter says about the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "answers")]
pub struct Answers {
    /// Where the filter is.
    pub path: String,
    /// The same, to be opened: it may be no text.
    #[serde(skip)]
    pub place: PathBuf,
    /// `filter`, `sstable`, `table`, `column`, or `log` for a write-ahead log.
    pub kind: &'static str,
    /// For each key, in order.
    pub answers: Vec<Answer>,
    /// Why every key may be there, or cannot be; null if the filter answers.
    pub reason: Option<String>,
    /// Of Parquet: the row groups that may hold one of the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_groups: Option<Vec<usize>>,
    /// For each key: whether its bytes are known, so that its answer is about this key. A key that is not of
    /// the place's type has none. Empty if all are.
    #[serde(skip)]
    pub looked_up: Vec<bool>,
    /// The type of the place's keys, where a key is not of this type.
    #[serde(skip)]
    pub key_type: Option<String>,
}

/// Sums over all filters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WhichSummary {
    /// The keys as they were given: text of their type, or hex.
    pub keys: Vec<String>,
    /// Filters.
    pub filters: u64,
    /// Filters that may hold at least one of the keys.
    pub maybe: u64,
    /// Filters that surely hold none of them.
    pub no: u64,
    /// Filters that cannot be read.
    pub unknown: u64,
}

/// What `which` found.
pub type WhichReport = Report<Answers, WhichSummary>;

impl WhichReport {
    /// An empty report for these keys.
    pub fn empty(options: &WhichOptions) -> WhichReport {
        let keys = options.keys.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
        let summary = WhichSummary { keys, ..WhichSummary::default() };
        Report { found: Vec::new(), problems: Vec::new(), summary, status: Status::NotWell }
    }

    /// Fails for keys that were looked up nowhere, because all places have keys of another type. Their "no"
    /// would be about something else than the caller means. To be called after the last place.
    pub fn finish(&mut self, options: &WhichOptions) {
        let types: BTreeSet<String> =
            self.found.iter().filter_map(|found| found.record.key_type.clone()).collect();
        if types.is_empty() {
            return;
        }
        let types = types.into_iter().collect::<Vec<_>>().join(", ");
        for at in 0..options.keys.len() {
            let is_looked_up = |found: &Found<Answers>| found.record.looked_up.get(at) != Some(&false);
            if self.found.iter().any(is_looked_up) {
                continue;
            }
            let why = match &options.spec {
                Some(given) => format!("no sstable has partition keys of type {given}; there are {types}"),
                None => format!("not of the type of any partition key; there are {types}"),
            };
            let key = String::from_utf8_lossy(&options.keys[at]).into_owned();
            let hint = "give the key in one of these types";
            let problem = Problem::new(format!("'{key}'"), Code::OptionRefused, why).hint(hint);
            self.fail(problem.needs(Need::Keys));
        }
    }

    fn add(&mut self, found: Found<Answers>) {
        self.summary.filters += 1;
        let has = |answer: Answer| found.record.answers.contains(&answer);
        if has(Answer::Maybe) {
            self.summary.maybe += 1;
            // Something was found; what could not be read stays an error.
            self.status = if self.status == Status::Failed { Status::Failed } else { Status::Well };
        } else if has(Answer::Unknown) {
            self.summary.unknown += 1;
        } else {
            self.summary.no += 1;
        }
        if found.problems.iter().any(|problem| problem.code.ends_inspect() == Status::Failed)
            || has(Answer::Unknown)
        {
            self.status = Status::Failed;
        }
        self.found.push(found);
    }
}

const NO_FILTER: &str = "no filter";

/// Asks the filters of a place about the keys, and adds the answers to the report.
pub fn which(
    place: &Place,
    options: &WhichOptions,
    report: &mut WhichReport,
    watch: &mut dyn Watch<Answers>,
) -> Result<(), Problem> {
    let path = place.path();
    let options = &*decoded(path, options)?;
    if options.conditions.is_some() && !matches!(place.kind(), PlaceKind::Sstable | PlaceKind::DataDirectory)
    {
        let why = "only sstables have partition keys of CQL";
        return Err(Problem::at(path, Code::OptionRefused, why));
    }
    require_column_place(place, options.column.as_deref())?;
    match place.kind() {
        PlaceKind::Sstable | PlaceKind::DataDirectory => {
            let walk = sstable::find(path, options.snapshots)?;
            let problems = walk.skipped.iter().map(sstable::skipped);
            for problem in problems {
                match problem.code {
                    Code::Unreadable => report.fail(problem),
                    _ => report.problems.push(problem),
                }
            }
            each(&walk.sstables, |sstable| of_sstable(sstable, options), report, watch);
        }
        PlaceKind::Database => {
            let own = database::own_tables(path)?;
            report.problems.extend(own.problems);
            each(&own.paths, |path| of_table(path, options), report, watch);
            for log in &own.database.unflushed {
                let found = of_log(&own.database, log, options);
                let _ = watch.found(&found);
                report.add(found);
            }
        }
        PlaceKind::Table => each(&[path.to_owned()], |path| of_table(path, options), report, watch),
        PlaceKind::Filter => {
            let found = of_filter(path, options)?;
            let _ = watch.found(&found);
            report.add(found);
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Parquet => {
            let found = of_column(path, options)?;
            let _ = watch.found(&found);
            report.add(found);
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Dataset => {
            let dataset = Dataset::find(path)?;
            let column = dataset.require_column(options.column.as_deref())?;
            // A key that is not of the column's type is one mistake, not one for each file.
            let mut open = dataset.files.iter().filter_map(|file| Column::of_file(file, &column).ok()?);
            if let Some(first) = open.next() {
                let given = options.spec.as_ref().unwrap_or(&KeySpec::BYTES);
                encoded(options, &given.for_column(first.key_type, options.hex), Name::Parquet, path)?;
            }
            dataset.problems.iter().cloned().for_each(|problem| report.fail(problem));
            each(&dataset.files, |file| of_dataset_file(path, file, &column, options), report, watch);
        }
        #[cfg(not(feature = "parquet"))]
        PlaceKind::Parquet | PlaceKind::Dataset => {
            return Err(place.unsupported("built without support for Parquet"));
        }
    }
    Ok(())
}

fn each<T: Sync>(
    items: &[T],
    ask: impl Fn(&T) -> Found<Answers> + Sync,
    report: &mut WhichReport,
    watch: &mut dyn Watch<Answers>,
) {
    let _ = pool::each(items, ask, watch, |found, watch| {
        let flow = watch.found(&found);
        report.add(found);
        flow
    });
}

/// The options with the bytes of the keys, where those are written in hex.
fn decoded<'a>(path: &Path, options: &'a WhichOptions) -> Result<Cow<'a, WhichOptions>, Problem> {
    if !options.hex {
        return Ok(Cow::Borrowed(options));
    }
    let one = |digits: &Vec<u8>| {
        let mut key = Vec::new();
        text::decode_hex(digits, &mut key).map_err(|why| refused_key(path, digits, &why))?;
        Ok(key)
    };
    let keys = options.keys.iter().map(one).collect::<Result<Vec<_>, Problem>>()?;
    Ok(Cow::Owned(WhichOptions { keys: keys.into(), ..options.clone() }))
}

fn refused_key(path: &Path, key: &[u8], why: &str) -> Problem {
    let key = String::from_utf8_lossy(key);
    Problem::at(path, Code::OptionRefused, format_args!("the key '{key}': {why}"))
}

/// The keys in the bytes of this dialect. All of them must be of the type.
fn encoded(
    options: &WhichOptions,
    spec: &KeySpec,
    dialect: Name,
    path: &Path,
) -> Result<Arc<Encoded>, Problem> {
    spec.check_dialect(path, dialect)?;
    let encoded = options.keys.encoded(spec, dialect);
    match encoded.first_refused() {
        Some((at, why)) => Err(refused_key(path, &options.keys[at], why)),
        None => Ok(encoded),
    }
}

fn answers(path: &Path, kind: &'static str, answers: impl Iterator<Item = bool>) -> Answers {
    let answers: Vec<_> = answers.map(|may| if may { Answer::Maybe } else { Answer::No }).collect();
    let looked_up = Vec::new();
    let (path, place) = (path.display().to_string(), path.to_owned());
    Answers { path, place, kind, answers, reason: None, row_groups: None, looked_up, key_type: None }
}

/// Every key may be there.
fn everything(path: &Path, kind: &'static str, options: &WhichOptions, reason: &str) -> Answers {
    Answers { reason: Some(reason.to_owned()), ..answers(path, kind, options.keys.iter().map(|_| true)) }
}

/// The filter cannot be read.
fn unknown(path: &Path, kind: &'static str, options: &WhichOptions, problem: Problem) -> Found<Answers> {
    let none = answers(path, kind, options.keys.iter().map(|_| false));
    let record = Answers { answers: vec![Answer::Unknown; options.keys.len()], ..none };
    Found { record, problems: vec![problem] }
}

fn of_file(
    path: &Path,
    kind: &'static str,
    read: &ReadOptions,
    spec: &KeySpec,
    options: &WhichOptions,
) -> Result<Found<Answers>, Problem> {
    let file = FilterFile::load(path, read)?;
    let opened = file.open()?;
    if opened.is_locked {
        return Err(Problem::locked(path));
    }
    if opened.may_lose_keys {
        let doubt = opened.problems.into_iter().next();
        return Err(
            doubt.unwrap_or_else(|| Problem::at(path, Code::Doubtful, "its numbers contradict each other"))
        );
    }
    let keys = match &options.spec {
        // `in_own_type` answers for the keys that are not of the sstable's type.
        None if kind == "sstable" => options.keys.encoded(spec, file.dialect()),
        _ => encoded(options, spec, file.dialect(), path)?,
    };
    let found = keys.look_up(&opened.filter);
    let record = answers(path, kind, found.into_iter());
    Ok(Found { record, problems: opened.problems })
}

fn of_filter(path: &Path, options: &WhichOptions) -> Result<Found<Answers>, Problem> {
    let spec = options.spec.clone().unwrap_or(KeySpec::BYTES);
    let read = options.read.clone().key_type(spec.key_type());
    of_file(path, "filter", &read, &spec, options)
}

fn of_sstable(sstable: &Sstable, options: &WhichOptions) -> Found<Answers> {
    let path: PathBuf = sstable.path(FILTER);
    let checked = options.conditions.as_ref().map_or(Ok(()), |conditions| conditions.check_sstable(sstable));
    if let Err(problem) = checked {
        return unknown(&path, "sstable", options, problem);
    }
    let spec = match &options.spec {
        Some(given) => match given.check_sstable(sstable) {
            Ok(()) => given.clone(),
            Err(other) => return of_another_type(sstable, options, other),
        },
        None if options.hex => KeySpec::BYTES,
        None => match KeySpec::of_sstable(sstable) {
            Ok(own) => own,
            Err(problem) => return unknown(&path, "sstable", options, problem),
        },
    };
    if options.spec.is_none() && !options.hex {
        return in_own_type(sstable, &spec, options);
    }
    ask_sstable(sstable, &spec, options)
}

/// No key is of the type that the sstable records, and so none can be in it.
fn of_another_type(sstable: &Sstable, options: &WhichOptions, other: Problem) -> Found<Answers> {
    let no = answers(&sstable.path(FILTER), "sstable", options.keys.iter().map(|_| false));
    let key_type = partition_key_type(sstable).map(|schema| schema.to_string());
    let reason = key_type.as_ref().map(|schema| format!("its partition keys are {schema}"));
    let record = Answers { reason, looked_up: vec![false; options.keys.len()], key_type, ..no };
    Found { record, problems: vec![other] }
}

/// Looks up the keys that are of the type that the sstable records. The others cannot be in it.
fn in_own_type(sstable: &Sstable, spec: &KeySpec, options: &WhichOptions) -> Found<Answers> {
    let encoded = options.keys.encoded(spec, sstable.dialect);
    if encoded.first_refused().is_none() {
        return ask_sstable(sstable, spec, options);
    }
    let fit = encoded.fit();
    if !fit.contains(&true) {
        let why = format!("the partition key of {} is {spec}", sstable.table_name());
        let other = Problem::at(&sstable.path(FILTER), Code::OtherKeyType, why);
        return of_another_type(sstable, options, other);
    }
    let mut found = ask_sstable(sstable, spec, options);
    for (answer, _) in found.record.answers.iter_mut().zip(&fit).filter(|(_, fits)| !**fits) {
        *answer = Answer::No;
    }
    found.record.key_type = Some(spec.to_string());
    found.record.looked_up = fit;
    found
}

/// Looks up keys of this type.
fn ask_sstable(sstable: &Sstable, spec: &KeySpec, options: &WhichOptions) -> Found<Answers> {
    let path: PathBuf = sstable.path(FILTER);
    if !sstable.has(FILTER) {
        let record = everything(&path, "sstable", options, NO_FILTER);
        return Found { record, problems: Vec::new() };
    }
    if let Some(problem) = sstable::lookups_fail(sstable) {
        return unknown(&path, "sstable", options, problem);
    }
    let read = ReadOptions::from(sstable.dialect).key_type(spec.key_type());
    of_file(&path, "sstable", &read, spec, options)
        .unwrap_or_else(|problem| unknown(&path, "sstable", options, problem))
}

fn of_table(path: &Path, options: &WhichOptions) -> Found<Answers> {
    let found = table::open(path, options.prefix_extractor).and_then(|table| {
        options.spec.as_ref().map_or(Ok(()), |given| given.check_table(path))?;
        let failed = |e| table::problem(path, &e);
        let filter = table.filter().map_err(failed)?;
        if filter.layout().is_none() {
            return Ok(everything(path, "table", options, NO_FILTER));
        }
        let keys = options.keys.iter().map(|key| filter.may_match(Question::Get, key).map_err(failed));
        let keys = keys.collect::<Result<Vec<bool>, Problem>>()?;
        Ok(answers(path, "table", keys.into_iter()))
    });
    match found {
        Ok(record) => Found { record, problems: Vec::new() },
        Err(problem) => unknown(path, "table", options, problem),
    }
}

/// Whether the keys are among the writes of a log that are in no table yet. A key that was deleted there is,
/// too: a lookup ends with it.
fn of_log(database: &Database, log: &DatabaseLog, options: &WhichOptions) -> Found<Answers> {
    let mut found = vec![false; options.keys.len()];
    let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (at, key) in options.keys.iter().enumerate() {
        places.entry(key).or_default().push(at);
    }
    let read = database::log::read(database, log, |write| {
        let mut mark = |places: &Vec<usize>| places.iter().for_each(|at| found[*at] = true);
        match write.kind {
            // The standard library panics on a range that ends before it begins.
            WriteKind::DeleteRange if write.key < write.end => {
                let range = (Bound::Included(write.key), Bound::Excluded(write.end));
                places.range::<[u8], _>(range).for_each(|(_, places)| mark(places));
            }
            WriteKind::DeleteRange => {}
            _ => places.get(write.key).into_iter().for_each(mark),
        }
    });
    match read {
        Ok((record, problem)) => {
            let reason = found.contains(&true).then(|| "written, and in no table yet".to_owned());
            let rest = record.unread_from.map(|_| "its end is not read".to_owned());
            // What is not read may hold any key.
            let found = found.into_iter().map(|found| found || record.unread_from.is_some());
            let record = Answers { reason: reason.or(rest), ..answers(&log.path, "log", found) };
            Found { record, problems: problem.into_iter().collect() }
        }
        Err(problem) => unknown(&log.path, "log", options, problem),
    }
}

#[cfg(feature = "parquet")]
fn of_column(path: &Path, options: &WhichOptions) -> Result<Found<Answers>, Problem> {
    in_column(path, &Column::open(path, options.column.as_deref())?, options)
}

/// Looks up keys in a column of a file.
#[cfg(feature = "parquet")]
fn in_column(path: &Path, column: &Column, options: &WhichOptions) -> Result<Found<Answers>, Problem> {
    let given = options.spec.as_ref().unwrap_or(&KeySpec::BYTES);
    let encoded = encoded(options, &given.for_column(column.key_type, options.hex), Name::Parquet, path)?;
    let keys: Vec<&[u8]> = encoded.bytes().collect();
    let mut found = vec![false; keys.len()];
    column.may_contain_batch(&keys, &mut found);
    let reason = column.is_partial.then(|| "a row group has no filter".to_owned());
    let row_groups = Some(column.row_groups(&keys));
    let record = Answers { reason, row_groups, ..answers(path, "column", found.into_iter()) };
    Ok(Found { record, problems: Vec::new() })
}

/// Looks up keys in a file of a dataset. In a partition column all rows of the file have the value that its
/// path has; a file without the column has nulls in it.
#[cfg(feature = "parquet")]
fn of_dataset_file(dataset: &Path, path: &Path, column: &str, options: &WhichOptions) -> Found<Answers> {
    let plain = |record| Found { record, problems: Vec::new() };
    if let Some(values) = crate::parquet::partition_value(dataset, path, column) {
        let record = answers(path, "column", options.keys.iter().map(|key| values.contains(key)));
        return plain(Answers { reason: Some(format!("by the partition column {column}")), ..record });
    }
    let found = match Column::of_file(path, column) {
        Ok(Some(open)) => in_column(path, &open, options),
        Ok(None) => {
            let record = answers(path, "column", options.keys.iter().map(|_| false));
            Ok(plain(Answers { reason: Some("has no such column".to_owned()), ..record }))
        }
        Err(problem) => Err(problem),
    };
    found.unwrap_or_else(|problem| unknown(path, "column", options, problem))
}
