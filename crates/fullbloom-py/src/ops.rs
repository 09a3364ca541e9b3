//! What the command does with paths: `inspect`, `verify`, `plan_from`, `rebuild`. The records are those of
//! `fullbloom-ops`, in the shape that the command prints with `--json`.

use crate::errors::{self, FormatError};
use crate::options::{self, dialect};
use fullbloom::FileError;
use fullbloom_dialects::Name;
use fullbloom_files::replace::Output;
use fullbloom_ops::filter::ReadOptions;
use fullbloom_ops::rebuild::Size;
use fullbloom_ops::{
    Code, InspectOptions, InspectReport, Place, PlacePlan, PlaceWish, Problem, RebuildOptions, Report,
    Status, VerifyOptions, VerifyReport,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One path, or several.
#[derive(FromPyObject)]
pub enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Paths {
    fn all(self) -> Vec<PathBuf> {
        match self {
            Paths::One(path) => vec![path],
            Paths::Several(paths) => paths,
        }
    }
}

/// A problem of the place itself as an exception.
fn refused(problem: Problem) -> PyErr {
    let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    let message = format!("{problem}{hint}");
    match problem.code {
        Code::Unreadable
        | Code::FilterUnreadable
        | Code::CannotSave
        | Code::NotFlushed
        | Code::EngineRunning => {
            // A path that is not there has a number, which makes it a FileNotFoundError.
            let path = Path::new(&problem.place);
            match std::fs::metadata(path) {
                Err(e) => errors::file(FileError::io(path, "open", e)),
                Ok(_) => PyOSError::new_err(message),
            }
        }
        Code::OptionRefused
        | Code::SizeRefused
        | Code::Unsupported
        | Code::NothingFound
        | Code::NameClash => errors::value(message),
        _ => FormatError::new_err(message),
    }
}

/// The report as the command's JSON, with `status`: 0 if all is well, 1 if something is wrong, 2 if something
/// could not be read.
fn dict<'py, R: Serialize, S: Serialize>(
    py: Python<'py>,
    report: &Report<R, S>,
) -> PyResult<Bound<'py, PyDict>> {
    to_dict(py, report, report.status)
}

fn to_dict<'py>(py: Python<'py>, report: &impl Serialize, status: Status) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(report).map_err(errors::value)?;
    let object = py.import("json")?.call_method1("loads", (text,))?;
    let object: Bound<'py, PyDict> = object.cast_into()?;
    object.set_item("status", status as u8)?;
    Ok(object)
}

fn read(name: Option<&str>, bits: Option<u64>, probes: Option<u32>) -> PyResult<ReadOptions> {
    let options = ReadOptions::new().dialect(name.map(dialect).transpose()?);
    match (bits, probes) {
        (Some(bits), Some(probes)) => Ok(options.geometry(bits, probes)),
        (None, None) => Ok(options),
        _ => Err(errors::value("give bits and probes, or neither")),
    }
}

/// Works on each path, without the interpreter.
fn each<R: Send>(
    py: Python<'_>,
    paths: Paths,
    dialect: Option<Name>,
    look: impl Fn(&Place) -> Result<R, Problem> + Sync,
    mut add: impl FnMut(R),
) -> PyResult<()> {
    for path in paths.all() {
        add(py.detach(|| look(&Place::detect(path, dialect))).map_err(refused)?);
    }
    Ok(())
}

/// What is in filter files, tables and directories: the dict that ``fullbloom inspect --json`` prints, with
/// ``version``, ``places``, ``problems`` and ``summary``, and ``status``. ``path`` is one path or a list.
#[pyfunction]
#[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, snapshots=false))]
pub fn inspect<'py>(
    py: Python<'py>,
    path: Paths,
    dialect: Option<&str>,
    #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
    #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
    snapshots: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let options =
        InspectOptions { read: read(dialect, bits, probes)?, snapshots, ..InspectOptions::default() };
    let name = options.read.dialect;
    let mut all = InspectReport::empty();
    let look = |place: &Place| fullbloom_ops::inspect(place, &options, &mut ());
    each(py, path, name, look, |found| all.append(found))?;
    dict(py, &all)
}

/// Looks up every key of tables, sstables and Parquet columns in their filters, and rebuilds the bytes: the
/// dict that ``fullbloom verify --json`` prints. ``absent`` made-up keys measure the rate.
#[pyfunction]
#[pyo3(signature = (path, dialect=None, *, bits=None, probes=None, absent=100_000, snapshots=false))]
pub fn verify<'py>(
    py: Python<'py>,
    path: Paths,
    dialect: Option<&str>,
    #[pyo3(from_py_with = options::bits)] bits: Option<u64>,
    #[pyo3(from_py_with = options::probes)] probes: Option<u32>,
    absent: u64,
    snapshots: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let read = read(dialect, bits, probes)?;
    let name = read.dialect;
    let options = VerifyOptions { read, absent, snapshots, ..VerifyOptions::default() };
    let mut all = VerifyReport::empty();
    let look = |place: &Place| fullbloom_ops::verify(place, &options, &mut ());
    each(py, path, name, look, |found| all.append(found))?;
    dict(py, &all)
}

/// What other filters would cost the data in a directory: the dict that ``fullbloom plan --from DIR --json``
/// prints.
#[pyfunction]
#[pyo3(signature = (path, fpr=None, *, bits_per_key=None, memory=None, snapshots=false))]
pub fn plan_from<'py>(
    py: Python<'py>,
    path: PathBuf,
    fpr: Option<f64>,
    bits_per_key: Option<f64>,
    #[pyo3(from_py_with = options::memory)] memory: Option<u64>,
    snapshots: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let wish = PlaceWish { fpr, bits_per_key, memory, snapshots };
    let planned = py.detach(|| fullbloom_ops::plan_from(&Place::detect(path, None), &wish, &mut ()));
    let planned = planned.map_err(refused)?;
    let status = planned.status();
    match &planned {
        PlacePlan::Sstables(report) => to_dict(py, report, status),
        PlacePlan::Database(report) => to_dict(py, report, status),
        PlacePlan::Columns(report) => to_dict(py, report, status),
    }
}

/// Rebuilds the filters of sstables and tables from their keys: the dict that ``fullbloom rebuild --json``
/// prints. Without a size the recorded rate is kept. The old files are kept unless ``backup`` is false;
/// ``restore`` puts them back. With ``output`` new files go into that directory.
#[pyfunction]
#[pyo3(signature = (path, fpr=None, *, bits_per_key=None, same_size=false, output=None, dry_run=false,
                    damaged=false, force=false, backup=true, restore=false, snapshots=false))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub fn rebuild<'py>(
    py: Python<'py>,
    path: Paths,
    fpr: Option<f64>,
    bits_per_key: Option<f64>,
    same_size: bool,
    output: Option<PathBuf>,
    dry_run: bool,
    damaged: bool,
    force: bool,
    backup: bool,
    restore: bool,
    snapshots: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let size = match (fpr, bits_per_key, same_size) {
        (None, None, false) => Size::Recorded,
        (Some(fpr), None, false) => Size::Fpr(fpr),
        (None, Some(bits), false) => Size::BitsPerKey(bits),
        (None, None, true) => Size::AsBefore,
        _ => return Err(errors::value("give one of fpr, bits_per_key and same_size")),
    };
    let output = output.map_or(Output::InPlace { backup }, Output::Into);
    let options = RebuildOptions {
        size,
        output,
        dry_run,
        damaged,
        force,
        restore,
        snapshots,
        ..RebuildOptions::default()
    };
    let report = py.detach(|| {
        let places: Vec<Place> = path.all().into_iter().map(|path| Place::detect(path, None)).collect();
        fullbloom_ops::rebuild(&places, &options, &mut ())
    });
    dict(py, &report.map_err(refused)?)
}

/// The keys of a table, an sstable, a directory of them, or a column of a Parquet file, as a list of bytes.
#[pyfunction]
#[pyo3(signature = (path, *, column=None, snapshots=false))]
pub fn keys<'py>(
    py: Python<'py>,
    path: PathBuf,
    column: Option<String>,
    snapshots: bool,
) -> PyResult<Bound<'py, PyList>> {
    use std::ops::ControlFlow;
    let options = fullbloom_ops::KeysOptions { column, snapshots, ..fullbloom_ops::KeysOptions::default() };
    let mut all: Vec<Vec<u8>> = Vec::new();
    let found = py.detach(|| {
        fullbloom_ops::keys(&Place::detect(path, None), &options, &mut |key, _| {
            all.push(key.to_vec());
            ControlFlow::Continue(())
        })
    });
    let found = found.map_err(refused)?;
    if let Some(problem) = found.problems.into_iter().find(Problem::is_error) {
        return Err(refused(problem));
    }
    PyList::new(py, all.iter().map(|key| pyo3::types::PyBytes::new(py, key)))
}
