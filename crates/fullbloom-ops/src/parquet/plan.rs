//! `plan --from` Parquet files: what filters of other rates would cost each column, and which options give them.

use super::dataset::Dataset;
use super::{failed, open, values};
use crate::database::{Curves, Share};
use crate::next::{Even, Next, Spread, Step};
use crate::place::{Place, PlaceKind};
use crate::plan::PlaceWish;
use crate::pool;
use crate::problem::{Code, Problem};
use crate::report::{Found, Report, Status, Watch};
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::{Filter, Name, Parquet};
use fullbloom_parquet::{Chunk, Error, File};
use serde::Serialize;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The usual rates, from the lowest; also those that a budget is distributed over.
const RATES: [f64; 7] = [0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1];

/// The rate that is proposed if the caller wants none: the default of parquet-java.
const USUAL: f64 = 0.01;

/// The number of distinct values is estimated from a filter up to this rate. A fuller one says little about it.
const MOST_ESTIMATED: f64 = 0.5;

/// Filters count as what they are planned to be if their size differs by less than this share.
const SAME: f64 = 0.05;

/// A column that has filters: these as they are, and at each rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(tag = "type", rename = "column-plan")]
pub struct ColumnPlan {
    /// The column's name.
    pub column: String,
    /// Its row groups.
    pub row_groups: u64,
    /// Row groups with a filter.
    pub filters: u64,
    /// Row groups whose filter saves nothing.
    pub wasted: u64,
    /// Distinct values, summed over the row groups: by the file, or estimated from the filter, or else at most as
    /// many as there are values.
    pub distinct: u64,
    /// The most distinct values of a row group.
    pub most_distinct: u64,
    /// The filters as they are.
    pub now: ColumnCost,
    /// The rate that is proposed; null for no filter.
    pub planned_fpr: Option<f64>,
    /// What each rate would cost.
    pub rows: Vec<ColumnRow>,
    #[serde(skip)]
    distinct_of_groups: Vec<u64>,
}

/// What the filters of a column cost, and what they do.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ColumnCost {
    /// Bytes of the filters.
    pub bytes: u64,
    /// Row groups, of all of the column, that a lookup of an absent value reads needlessly.
    pub useless_reads: f64,
}

/// The cost and effect of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ColumnRow {
    /// The rate.
    pub fpr: f64,
    /// What it costs.
    #[serde(flatten)]
    pub cost: ColumnCost,
}

/// All columns that have filters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnPlanSummary {
    /// The file or directory.
    pub from: String,
    /// `parquet`.
    pub engine: &'static str,
    /// Files.
    pub files: u64,
    /// The budget for all filters.
    pub memory: Option<u64>,
    /// The filters as they are.
    pub bytes: u64,
    /// What to type.
    pub next: Next,
}

/// One column of a file.
#[derive(Default)]
struct OfFile {
    row_groups: u64,
    filters: u64,
    wasted: u64,
    now: ColumnCost,
    distinct: Vec<u64>,
}

/// Reads the footers and filters, and sizes filters for every column that has some.
pub(crate) fn plan(
    place: &Place,
    wish: &PlaceWish,
    watch: &mut dyn Watch<()>,
) -> Result<Report<ColumnPlan, ColumnPlanSummary>, Problem> {
    let path = place.path();
    let dataset = match place.kind() {
        PlaceKind::Dataset => Dataset::find(path)?,
        _ => Dataset { files: vec![path.to_owned()], ..Dataset::default() },
    };
    let mut problems = dataset.problems;
    let (mut columns, mut places): (Vec<ColumnPlan>, HashMap<String, usize>) = Default::default();
    let one = |file: &PathBuf| of_file(file, &open(file)?);
    let _ = pool::each(&dataset.files, one, watch, |looked: Result<Vec<(String, OfFile)>, Problem>, _| {
        match looked {
            Ok(of_file) => {
                for (name, of_file) in of_file {
                    let place = *places.entry(name.clone()).or_insert(columns.len());
                    if place == columns.len() {
                        columns.push(ColumnPlan { column: name, ..ColumnPlan::default() });
                    }
                    columns[place].add(of_file);
                }
            }
            Err(problem) => problems.push(problem),
        }
        ControlFlow::Continue(())
    });
    columns.retain(|column| column.filters > 0);
    if columns.is_empty() && problems.is_empty() {
        problems.push(Problem::at(path, Code::NoColumnFilters, "no column has filters to plan others for"));
    }
    let mut rates = RATES.to_vec();
    rates.extend(wish.fpr);
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    for column in &mut columns {
        column.rows = rates.iter().filter_map(|fpr| column.row(*fpr)).collect();
        if let Some(fpr) = wish.fpr.filter(|fpr| !(*fpr > 0.0 && *fpr < 1.0) || column.row(*fpr).is_none()) {
            let why = format!("{fpr} is not a rate that filters of Parquet can have");
            return Err(Problem::new("fpr", Code::SizeRefused, why));
        }
    }
    let next = choose(&mut columns, wish);
    if let (Some(memory), None, false) = (wish.memory, next.planned, columns.is_empty()) {
        let why = format!("no rate up to {} fits {}", RATES[RATES.len() - 1], crate::text::bytes(memory));
        problems.push(Problem::at(path, Code::OverBudget, why));
    }
    let summary = ColumnPlanSummary {
        from: path.display().to_string(),
        engine: "parquet",
        files: dataset.files.len() as u64,
        memory: wish.memory,
        bytes: columns.iter().map(|column| column.now.bytes).sum(),
        next,
    };
    let status = Status::of_plan(&problems);
    let found = columns.into_iter().map(|record| Found { record, problems: Vec::new() }).collect();
    Ok(Report { found, problems, summary, status })
}

fn of_file(path: &Path, file: &File) -> Result<Vec<(String, OfFile)>, Problem> {
    let mut columns: Vec<(String, OfFile)> = Vec::new();
    for chunk in file.chunks() {
        if columns.len() <= chunk.column {
            columns.push((chunk.name.clone(), OfFile::default()));
        }
        let column = &mut columns[chunk.column].1;
        column.row_groups += 1;
        let most = values(chunk).min(chunk.range.unwrap_or(u64::MAX));
        let bytes = file.filter_bytes(chunk).map_err(|e| failed(path, chunk, &e))?;
        let Some(bytes) = bytes else {
            column.now.useless_reads += 1.0;
            column.distinct.push(chunk.distinct.unwrap_or(most));
            continue;
        };
        let view = Filter::<Parquet>::view(&bytes).map_err(|e| failed(path, chunk, &Error::Filter(e)))?;
        let (_, estimated, fpr) = view.occupancy();
        column.filters += 1;
        column.now.bytes += bytes.len() as u64;
        column.now.useless_reads += fpr;
        let estimated = estimated.filter(|_| fpr <= MOST_ESTIMATED);
        let distinct = distinct(chunk, estimated, most);
        column.wasted +=
            u64::from(super::Wasted::of(chunk, bytes.len() as u64, Some(distinct as f64)).is_some());
        column.distinct.push(distinct);
    }
    Ok(columns)
}

/// The distinct values of a row group, as far as they are known.
fn distinct(chunk: &Chunk, estimated: Option<f64>, most: u64) -> u64 {
    chunk.distinct.or(estimated.map(|number| number.round() as u64)).unwrap_or(most).min(most)
}

impl ColumnPlan {
    fn add(&mut self, of_file: OfFile) {
        self.row_groups += of_file.row_groups;
        self.filters += of_file.filters;
        self.wasted += of_file.wasted;
        self.now.bytes += of_file.now.bytes;
        self.now.useless_reads += of_file.now.useless_reads;
        self.distinct += of_file.distinct.iter().sum::<u64>();
        self.most_distinct = of_file.distinct.iter().copied().max().unwrap_or(0).max(self.most_distinct);
        self.distinct_of_groups.extend(of_file.distinct);
    }

    /// What a rate costs, with a filter of its own size for each row group.
    fn row(&self, fpr: f64) -> Option<ColumnRow> {
        let mut cost = ColumnCost::default();
        for distinct in &self.distinct_of_groups {
            let request = Request { expected_keys: (*distinct).max(1), target: Target::Fpr(fpr) };
            let plan = any::plan(Name::Parquet, &request).ok()?;
            cost.bytes += plan.encoded_len;
            cost.useless_reads += plan.expected_fpr;
        }
        Some(ColumnRow { fpr, cost })
    }

    /// Whether filters of this column save nothing anywhere.
    fn is_wasted(&self) -> bool {
        self.wasted == self.filters
    }
}

/// Chooses a rate for each column, or no filters where these save nothing, and puts it into the plan.
fn choose(columns: &mut [ColumnPlan], wish: &PlaceWish) -> Next {
    let own: Vec<usize> = (0..columns.len()).filter(|i| !columns[*i].is_wasted()).collect();
    let share = |row: &ColumnRow| Share {
        bits_per_key: 0.0,
        bytes: row.cost.bytes,
        expected_fpr: row.fpr,
        useless_reads: row.cost.useless_reads,
    };
    // From the smallest filters upwards.
    let curve = |i: &usize| {
        RATES.iter().rev().filter_map(|fpr| columns[*i].row(*fpr)).map(|row| share(&row)).collect()
    };
    let curves = Curves::of(own.iter().map(curve).collect());
    let spread = |shares: &[Share]| Spread {
        bytes: shares.iter().map(|share| share.bytes).sum(),
        useless_reads: shares.iter().map(|share| share.useless_reads).sum::<f64>() / own.len().max(1) as f64,
    };
    let wanted = |fpr: f64| own.iter().filter_map(|i| columns[*i].row(fpr)).map(|row| share(&row)).collect();
    let mut even = None;
    let shares: Vec<Share> = match (wish.memory, wish.fpr) {
        (Some(memory), None) => {
            even = curves.equal_step(memory).map(|step| {
                let shares = curves.at(&vec![step; own.len()]);
                Even {
                    value: shares.first().map_or(0.0, |share| share.expected_fpr),
                    spread: spread(&shares),
                }
            });
            curves.optimal(memory)
        }
        (_, fpr) => wanted(fpr.unwrap_or(USUAL)),
    };
    if shares.len() < own.len() {
        return Next::default();
    }
    let even = even.filter(|_| own.len() > 1);
    let mut next = Next { planned: Some(spread(&shares)), even, ..Next::default() };
    for (i, share) in own.iter().zip(&shares) {
        let column = &mut columns[*i];
        column.planned_fpr = Some(share.expected_fpr);
        let now = column.now;
        let differs = now.bytes.abs_diff(share.bytes) as f64 > SAME * now.bytes.max(share.bytes) as f64;
        let is_whole = column.filters == column.row_groups;
        if differs || !is_whole {
            let (name, ndv, fpr) = (&column.column, column.most_distinct, share.expected_fpr);
            let command = format!(
                "parquet.bloom.filter.enabled#{name}=true parquet.bloom.filter.expected.ndv#{name}={ndv} \
                 parquet.bloom.filter.fpp#{name}={fpr}"
            );
            next.steps.push(step(column, command, share.bytes, share.useless_reads));
        }
    }
    for column in columns.iter().filter(|column| column.is_wasted()) {
        let command = format!("parquet.bloom.filter.enabled#{}=false", column.column);
        // What decides instead reads no more row groups.
        next.steps.push(step(column, command, 0, column.now.useless_reads));
    }
    next.sort();
    if !next.steps.is_empty() {
        next.after.push("write the files again with these options of parquet-java and Spark".to_owned());
    }
    next
}

fn step(column: &ColumnPlan, command: String, bytes_then: u64, useless_reads_then: f64) -> Step {
    Step {
        name: column.column.clone(),
        command,
        bytes_now: column.now.bytes,
        bytes_then,
        useless_reads_now: column.now.useless_reads,
        useless_reads_then,
    }
}
