//! `rebuild`: rebuilds the filters of sstables and tables from their keys.

use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::sstable::{self, RebuiltSstable};
use crate::table::{self, RebuiltTable};
use crate::{database, engine, text};
use fullbloom::FileError;
use fullbloom::storage::Mapped;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_files::file_lock::FileLock;
use fullbloom_files::replace;
use fullbloom_files::replace::{Output, Replacement, is_same_file};
use fullbloom_sstable::rebuild::first_clash;
use fullbloom_sstable::report::recorded;
use fullbloom_sstable::sstable::{DATA, FILTER, INDEX, PARTITIONS, TOC};
use fullbloom_sstable::{Sstable, walk};
use fullbloom_table::EnginePrefix;
use fullbloom_table::database::is_database_file;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How large the new filters are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Size {
    /// The rate recorded in `Statistics.db`; tables keep their filter's size.
    #[default]
    Recorded,
    /// This rate, by the engine's rule.
    Fpr(f64),
    /// This many bits for each key; Cassandra takes whole numbers only.
    BitsPerKey(f64),
    /// As large as the old ones.
    AsBefore,
}

/// What to rebuild, and where to put it.
#[derive(Debug, Clone)]
pub struct RebuildOptions {
    /// How large the new filters are.
    pub size: Size,
    /// Where they go.
    pub output: Output,
    /// Only report what would be done.
    pub dry_run: bool,
    /// Rebuild only filters that are missing, damaged, incomplete, or too full for their rate.
    pub damaged: bool,
    /// Rebuild even where keys may be missing from the index or the table.
    pub force: bool,
    /// Put the newest backups back and build nothing.
    pub restore: bool,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
    /// The prefix extractor of tables whose prefix extractor is not recognised.
    pub prefix_extractor: Option<EnginePrefix>,
}

impl Default for RebuildOptions {
    /// At the recorded rate, in place, with a backup.
    fn default() -> RebuildOptions {
        RebuildOptions {
            size: Size::default(),
            output: Output::InPlace { backup: true },
            dry_run: false,
            damaged: false,
            force: false,
            restore: false,
            snapshots: false,
            prefix_extractor: None,
        }
    }
}

/// What `rebuild` reports about one filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Rebuilt {
    /// An sstable of Cassandra.
    Sstable(RebuiltSstable),
    /// A table of LevelDB or RocksDB.
    Table(RebuiltTable),
    /// A file whose backup was put back.
    Restored(Restored),
}

/// A filter, or table, whose backup was put back, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The file.
    pub path: String,
    /// The backup that took its place.
    pub backup: String,
    /// The file was created by a rebuild and is removed: the backup is that of `TOC.txt`.
    pub removed: bool,
    /// Other components that were put back with it.
    pub rewritten: Vec<String>,
}

/// Sums over all filters that were rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RebuildSummary {
    /// Nothing was written.
    pub dry_run: bool,
    /// Filters that were rebuilt, or would be.
    pub filters: u64,
    /// Filters that had the right bytes already and were left alone.
    pub unchanged: u64,
    /// Files whose backups were put back, or would be.
    pub restored: u64,
    /// Bytes of the old filters.
    pub bytes_before: u64,
    /// Bytes of the new filters.
    pub bytes_after: u64,
    /// What the engines do with the files.
    pub on_open: Vec<OnOpen>,
}

/// What an engine does with some of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnOpen {
    /// `cassandra`, `scylla`, `datastax`, or `rocksdb` for RocksDB and LevelDB.
    pub engine: &'static str,
    /// Number of these files.
    pub files: u64,
    /// The versions of the sstables.
    pub versions: BTreeSet<String>,
    /// What it does, in sentences.
    pub sentences: Vec<String>,
}

/// What `rebuild` did.
pub type RebuildReport = Report<Rebuilt, RebuildSummary>;

/// Rebuilds the filters of places, one after the other. Fails, before anything is written, if two new files
/// would have the same name; an error of one place is in the report and does not stop the others.
pub fn rebuild(
    places: &[Place],
    options: &RebuildOptions,
    watch: &mut dyn Watch<Rebuilt>,
) -> Result<RebuildReport, Problem> {
    let summary = RebuildSummary { dry_run: options.dry_run, ..RebuildSummary::default() };
    let mut report = Report { found: Vec::new(), problems: Vec::new(), summary, status: Status::Well };
    let (mut sstables, mut tables) = (Vec::new(), Vec::new());
    for place in places {
        match find(place, options, &mut report) {
            Ok(Input::Sstables(found)) => sstables.extend(found),
            Ok(Input::Tables(paths)) => tables.extend(paths),
            Err(problem) => report.fail(problem),
        }
    }
    check_names(&sstables, &tables, options)?;
    let _locks = lock_databases(&tables, options, watch)?; // held until everything is written
    if !options.restore {
        watch.notes(&engine::notes(tables.len(), options));
    }
    if let (Output::Into(directory), false) = (&options.output, options.dry_run) {
        fs::create_dir_all(directory).map_err(|e| {
            Problem::at(directory, Code::CannotSave, format_args!("cannot make the directory: {e}"))
        })?;
    }
    watch.start((sstables.len() + tables.len()) as u64);
    let in_directories = places.iter().any(|place| place.path().is_dir());
    for one in sstables.iter().map(One::Sstable).chain(tables.iter().map(|path| One::Table(path))) {
        watch.step();
        let rebuilt = match one {
            One::Sstable(sstable) if options.restore => {
                sstable::restore(sstable, options, |path| watch.waiting(path)).map(restored)
            }
            One::Table(path) if options.restore => {
                restore_table(path, options, |path| watch.waiting(path)).map(restored)
            }
            One::Sstable(sstable) => sstable::rebuild(sstable, options, |path| watch.waiting(path))
                .map(|found| found.map(|found| found.map(Rebuilt::Sstable))),
            One::Table(path) => table::rebuild(path, options, |path| watch.waiting(path))
                .map(|found| found.map(|found| found.map(Rebuilt::Table))),
        };
        match rebuilt {
            Ok(None) => {}
            Ok(Some(mut found)) => {
                if let Rebuilt::Sstable(record) = &mut found.record {
                    record.on_open.extend(engine::through_cassandra(options.size));
                }
                report.summary.count(&found.record);
                let flow = watch.found(&found);
                report.found.push(found);
                if flow.is_break() {
                    break;
                }
            }
            Err(problem) if problem.code == Code::RateOne => report.problems.push(problem),
            // Only some files of a directory have backups.
            Err(problem) if problem.code == Code::NoBackup && in_directories => {}
            Err(problem) => report.fail(problem),
        }
    }
    if report.summary.filters + report.summary.unchanged + report.summary.restored == 0
        && report.status == Status::Well
    {
        report.status = Status::NotWell;
    }
    Ok(report)
}

fn restored(record: Restored) -> Option<Found<Rebuilt>> {
    Some(Found { record: Rebuilt::Restored(record), problems: Vec::new() })
}

/// What has a filter to rebuild.
enum One<'a> {
    Sstable(&'a Sstable),
    Table(&'a Path),
}

/// What a place has.
enum Input {
    Sstables(Vec<Sstable>),
    Tables(Vec<PathBuf>),
}

/// The sstables or tables of a place.
fn find(place: &Place, options: &RebuildOptions, report: &mut RebuildReport) -> Result<Input, Problem> {
    let path = place.path();
    match place.kind() {
        PlaceKind::Table => Ok(Input::Tables(vec![path.to_owned()])),
        PlaceKind::Database => {
            let own = database::own_tables(path)?;
            report.problems.extend(own.problems);
            Ok(Input::Tables(own.paths))
        }
        PlaceKind::Sstable | PlaceKind::DataDirectory => {
            let is_lost_filter =
                Descriptor::parse(path).is_ok_and(|d| d.component == FILTER) && !path.exists();
            let walk = match is_lost_filter {
                // A missing filter is one of the cases to rebuild.
                true => {
                    let sstable =
                        Sstable::of_file(path).map_err(|e| Problem::at(path, Code::Unreadable, e))?;
                    walk::Walk::of(sstable)
                }
                false => sstable::find(path, options.snapshots)?,
            };
            for problem in walk.skipped.iter().map(sstable::skipped) {
                match problem.code {
                    Code::Unreadable => report.fail(problem),
                    code => {
                        report.problems.push(problem);
                        report.status = report.status.max(code.ends_verify());
                    }
                }
            }
            Ok(Input::Sstables(with_filters(path, walk.sstables, options, report)))
        }
        PlaceKind::Filter | PlaceKind::Parquet | PlaceKind::Dataset => {
            Mapped::open(path).map_err(|e| Problem::at(path, Code::Unreadable, e))?;
            Err(place.unsupported(
                "neither a component of an sstable of Cassandra nor a table of LevelDB or RocksDB",
            ))
        }
    }
}

/// The sstables without those whose table has no filters on purpose, unless that table was named. An engine
/// does not read the filters that a new size would give them.
fn with_filters(
    path: &Path,
    sstables: Vec<Sstable>,
    options: &RebuildOptions,
    report: &mut RebuildReport,
) -> Vec<Sstable> {
    let is_sized = matches!(options.size, Size::Fpr(_) | Size::BitsPerKey(_));
    if options.restore || !is_sized || !path.is_dir() {
        return sstables;
    }
    let named = fs::canonicalize(path).ok();
    let is_left_alone = |sstable: &Sstable| {
        let has_none = !sstable.has(FILTER) && sstable.lists(FILTER) != Some(true);
        has_none
            && fs::canonicalize(&sstable.directory).ok() != named
            && recorded(sstable).is_ok_and(|recorded| recorded.fpr() == Some(1.0))
    };
    let (left_alone, others): (Vec<_>, Vec<_>) = sstables.into_iter().partition(is_left_alone);
    if !left_alone.is_empty() {
        let count = text::counted(left_alone.len() as u64, "sstable");
        let why = format!("{count} without a filter left alone: bloom_filter_fp_chance is 1.0");
        let hint = "name the directory of the table to give it filters";
        report.problems.push(Problem::at(path, Code::RateOne, why).hint(hint));
    }
    others
}

/// Refuses two new files of the same name, and new files that would take the place of the old ones.
fn check_names(sstables: &[Sstable], tables: &[PathBuf], options: &RebuildOptions) -> Result<(), Problem> {
    let Output::Into(directory) = &options.output else { return Ok(()) };
    let sources = || {
        let filters = sstables.iter().map(|sstable| sstable.path(FILTER));
        filters.chain(tables.iter().cloned())
    };
    for source in sources() {
        if is_in(&source, directory) {
            let why =
                format!("{} is its own directory: the new file would overwrite it", directory.display());
            let hint =
                "name another directory, or none: then the new file replaces the old one, which is kept";
            return Err(Problem::at(&source, Code::NameClash, why).hint(hint).needs(Need::OtherDirectory));
        }
    }
    if let Some(name) = engine_file(directory, !tables.is_empty()) {
        let why = format!("an engine keeps other data in this directory: {name} is there");
        let hint =
            "name an empty directory: files of engines are not overwritten, and none are added to theirs";
        return Err(Problem::at(directory, Code::NameClash, why).hint(hint));
    }
    let hint = "give the tables one by one, each with a directory of its own";
    if let Some(path) = table::first_clash(tables, &options.output) {
        let why = "another table would be written under the same name";
        return Err(Problem::at(path, Code::NameClash, why).hint(hint));
    }
    if let Some(sstable) = first_clash(sstables, &options.output) {
        let why = "another sstable's filter would be written under the same name";
        return Err(Problem::at(&sstable.path(FILTER), Code::NameClash, why).hint(hint));
    }
    Ok(())
}

/// A file that shows that an engine keeps its data in this directory: sstables, or a database where tables
/// are to be written. New filters of an earlier run do not count.
fn engine_file(directory: &Path, with_tables: bool) -> Option<String> {
    let names =
        fs::read_dir(directory).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let of_sstable = |name: &str| {
        Descriptor::parse(Path::new(name))
            .is_ok_and(|parsed| [DATA, INDEX, PARTITIONS, TOC].contains(&parsed.component.as_str()))
    };
    names.into_iter().find(|name| of_sstable(name) || with_tables && is_database_file(name))
}

/// Locks the databases whose tables are replaced in place, each once.
fn lock_databases(
    tables: &[PathBuf],
    options: &RebuildOptions,
    watch: &mut dyn Watch<Rebuilt>,
) -> Result<Vec<database::Locked>, Problem> {
    if options.dry_run || matches!(options.output, Output::Into(_)) {
        return Ok(Vec::new());
    }
    let directory = |path: &PathBuf| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let directories: BTreeSet<PathBuf> = tables.iter().map(directory).collect();
    directories.iter().map(|directory| database::lock(directory, || watch.waiting(directory))).collect()
}

/// Puts the newest backup of a table back.
fn restore_table(
    path: &Path,
    options: &RebuildOptions,
    waiting: impl FnOnce(&Path),
) -> Result<Restored, Problem> {
    let backup = match options.dry_run {
        true => replace::newest_backup(path),
        false => replace::restore(path, || waiting(path)).map_err(|e| not_saved(path, &e))?,
    };
    let backup =
        backup.ok_or_else(|| Problem::at(path, Code::NoBackup, "there is no backup of this table"))?;
    Ok(Restored {
        path: path.display().to_string(),
        backup: backup.display().to_string(),
        removed: false,
        rewritten: Vec::new(),
    })
}

/// Whether this file is in the directory, under its own name or as a link from there.
fn is_in(source: &Path, directory: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    let parent = source.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let there = directory.join(source.file_name().unwrap_or_default());
    let real = place(source);
    let same_directory = |own: Option<PathBuf>| own.is_some() && own == place(directory);
    same_directory(place(parent))
        || same_directory(real.as_deref().and_then(Path::parent).map(Path::to_owned))
        || is_same_file(source, &there)
}

/// Claims the file that will be written, before the old one is read; `None` in a dry run.
pub(crate) fn lock(
    old: &Path,
    options: &RebuildOptions,
    waiting: impl FnOnce(&Path),
) -> Result<Option<Replacement>, Problem> {
    if options.dry_run {
        return Ok(None);
    }
    let replacement = Replacement::begin(old, &options.output, || waiting(old));
    let replacement = replacement.map_err(|e| not_saved(old, &e))?;
    check_writable(old, replacement.lock(), options.force)?;
    Ok(Some(replacement))
}

/// Where the new file goes.
pub(crate) fn destination(old: &Path, output: &Output) -> String {
    match output {
        Output::InPlace { .. } => old.display().to_string(),
        Output::Into(directory) => directory.join(old.file_name().unwrap_or_default()).display().to_string(),
    }
}

/// Refuses to replace a read-only file.
pub(crate) fn check_writable(old: &Path, lock: &FileLock, force: bool) -> Result<(), Problem> {
    if lock.is_read_only() && !force {
        let why = "cannot save: the file is read-only";
        return Err(Problem::at(old, Code::CannotSave, why)
            .hint("replace it nevertheless")
            .needs(Need::Force));
    }
    Ok(())
}

/// A new file could not be written.
pub(crate) fn not_saved(path: &Path, error: &FileError) -> Problem {
    let code = if error.is_in_place() { Code::NotFlushed } else { Code::CannotSave };
    Problem::at(path, code, error)
}

impl Rebuilt {
    /// Whether the filter had the right bytes already, so that nothing was written.
    pub fn is_unchanged(&self) -> bool {
        match self {
            Rebuilt::Sstable(record) => record.unchanged,
            Rebuilt::Table(record) => record.unchanged,
            Rebuilt::Restored(_) => false,
        }
    }
}

impl RebuildSummary {
    fn count(&mut self, rebuilt: &Rebuilt) {
        if rebuilt.is_unchanged() {
            self.unchanged += 1;
            return;
        }
        let (engine, version, sentences) = match rebuilt {
            Rebuilt::Sstable(record) => {
                self.bytes_before += record.before.map_or(0, |before| before.bytes);
                self.bytes_after += record.after.bytes;
                (record.engine, Some(record.version.clone()), record.on_open.clone())
            }
            Rebuilt::Restored(_) => {
                self.restored += 1;
                return;
            }
            Rebuilt::Table(record) => {
                self.bytes_before += record.before.map_or(0, |before| before.bytes);
                self.bytes_after += record.after.bytes;
                ("rocksdb", None, record.on_open.map(str::to_owned).to_vec())
            }
        };
        self.filters += 1;
        let known = |known: &&mut OnOpen| known.engine == engine && known.sentences == sentences;
        match self.on_open.iter_mut().find(known) {
            Some(known) => {
                known.files += 1;
                known.versions.extend(version);
            }
            None => {
                let versions = version.into_iter().collect();
                self.on_open.push(OnOpen { engine, files: 1, versions, sentences });
            }
        }
    }
}
