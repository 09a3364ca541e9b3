//! `fullbloom verify TABLE|FILTER|DIR…`: is a filter what its keys ask for?

mod keys;
mod table;

use crate::args::{self, TypeArgs};
use crate::cassandra;
use crate::database;
use crate::directory::{self, Kind};
use crate::error::{Failure, Status};
use crate::input::open_table;
use crate::numbers;
use crate::output::Output;
use crate::parquet;
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use crate::text;
use fullbloom::any;
use fullbloom::cassandra::Descriptor;
use fullbloom::dialect::Name;
use fullbloom::file::Mapped;
use fullbloom_sstable::{pool, verify};
use fullbloom_table::PrefixExtractor;
use fullbloom_table::database::DatabaseTable;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Verify filters: every key found, the rate measured, the filter's bytes made again
///
/// Reads all of each table of LevelDB or RocksDB, checksums included; of each sstable of Cassandra the index
/// (Index.db; of BTI sstables Partitions.db with Rows.db and Data.db), alone or all below a directory. Cassandra's filter
/// has no checksum: a bit that was lost makes rows invisible, and this is how it shows. Of a
/// Parquet file every column that has a filter is read. Other filter files are read whole,
/// and with --keys asked for every key. Exit status: 0 if all is well,
/// 1 if a key is missing or a filter is not the one its keys give, 2 if a file could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom verify 000123.sst
  fullbloom verify data/ks/table-*/
  fullbloom verify nb-1-big-Filter.db
  fullbloom verify people.parquet
  fullbloom verify keys.bloom --keys keys.txt
  fullbloom verify ids.sketch --keys ids.txt --key-type long
  fullbloom verify --json db/*.sst")]
#[command(mut_arg("key_type", |key_type| key_type.requires("keys")))]
pub struct Args {
    /// Tables, Filter.db of sstables, directories of them, and other filter files
    #[arg(required = true, value_name = "TABLE|FILTER|DIR")]
    files: Vec<PathBuf>,

    /// How many absent keys to make up for measuring the rate
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "100000")]
    absent: u64,

    /// The prefix extractor of tables whose own is not known by name: fixed:N, capped:N or noop
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<PrefixExtractor>,

    /// Ask filter files for the keys in these files, plain, gzip or zstd; - for standard input
    #[arg(long, value_name = "KEYS")]
    keys: Vec<PathBuf>,

    /// Each line of the key files is the hex of a key
    #[arg(long, requires = "keys")]
    hex: bool,

    /// Keys in the key files end with a zero byte, not a newline
    #[arg(short = '0', long, requires = "keys")]
    null: bool,

    #[command(flatten)]
    types: TypeArgs,

    /// The dialect of filter files, where their names and bytes do not tell
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    #[command(flatten)]
    secret: SecretArgs,

    /// In directories of Cassandra, also look into snapshots and backups
    #[arg(long)]
    snapshots: bool,

    /// One JSON object: {"files": […], "skipped": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// One file, for people and for machines.
struct Found {
    json: Value,
    text: String,
    is_well: bool,
}

/// Verifies each file.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if args.files.len() > 1 && args.keys.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::new(
            "--keys -",
            "standard input can be read once: give one filter, or a file of keys",
        ));
    }
    let mut all =
        All { args, out: Output::stdout()?, files: vec![], skipped: vec![], errors: vec![], well: true };
    for path in &args.files {
        match all.look(path) {
            Ok(()) => {}
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => all.failed(path, &failure),
        }
    }
    let All { mut out, files, skipped, errors, well, .. } = all;
    if args.json {
        out.json(&json!({ "files": files, "skipped": skipped, "errors": errors }))?;
    }
    out.finish()?;
    Ok(if errors.is_empty() { Status::selected(well) } else { Status::Failed })
}

/// A component named Filter.db that can be read, but not as what its name says.
fn is_damaged_filter_db(path: &Path) -> bool {
    let Ok(descriptor) = Descriptor::parse(path) else { return false };
    let decodes = |bytes: &[u8]| any::view(descriptor.dialect, bytes, None).is_ok();
    descriptor.component == "Filter.db" && Mapped::open(path).is_ok_and(|map| !decodes(map.as_ref()))
}

/// What came of all files so far.
struct All<'a> {
    args: &'a Args,
    out: Output,
    files: Vec<Value>,
    skipped: Vec<Value>,
    errors: Vec<Value>,
    well: bool,
}

impl All<'_> {
    fn look(&mut self, path: &Path) -> Result<(), Failure> {
        match directory::kind(path) {
            Some(Kind::Data) => return self.sstables(path),
            Some(Kind::Database) => return self.tables(path),
            None => {}
        }
        let told = self.args.dialect.is_some() || !self.args.keys.is_empty();
        if !told {
            if parquet::is_parquet(path) {
                return self.columns(path);
            }
            if let Some(table) = open_table(path, None, self.args.prefix_extractor)? {
                return self.found(table::found(path, &table.verify(self.args.absent)?));
            }
            if Descriptor::parse(path).is_ok() {
                return self.sstables(path);
            }
        }
        match keys::found(path, self.args) {
            Err(Failure::Message { text, hint }) if !told && hint.is_some() => {
                let text = format!("{text}; it is not a table of LevelDB or RocksDB either");
                Err(Failure::Message { text, hint })
            }
            // Damage is what this command is to find; it is told as it is without --keys.
            Err(failure @ Failure::Message { .. }) if is_damaged_filter_db(path) => {
                self.found(table::unreadable(path, &failure))
            }
            found => self.found(found?),
        }
    }

    /// The columns of a Parquet file.
    fn columns(&mut self, path: &Path) -> Result<(), Failure> {
        let told = parquet::verify(path, self.args.absent)?;
        self.well &= told.is_well;
        if self.args.json {
            self.files.extend(told.json);
            return Ok(());
        }
        self.out.bytes(told.text.as_bytes())?;
        self.out.pause()
    }

    /// All tables of a database. One that cannot be read is not well; it does not stop the others.
    fn tables(&mut self, path: &Path) -> Result<(), Failure> {
        let database = database::find(path)?;
        let has_levels = database.has_levels();
        let (absent, extractor, threads) =
            (self.args.absent, self.args.prefix_extractor, cassandra::threads());
        let one = |table: &DatabaseTable| {
            let verified = database::open(table, extractor).and_then(|open| Ok(open.verify(absent)?));
            match verified {
                Ok(found) => table::found(&table.path, &found),
                Err(failure) => table::unreadable(&table.path, &failure),
            }
        };
        let (own, stray): (Vec<_>, Vec<_>) =
            database.tables.into_iter().partition(|table| table.place.is_some() || !has_levels);
        for some in own.chunks(4 * threads) {
            for found in pool::in_order(some, threads, one) {
                self.found(found)?;
            }
        }
        for table in stray {
            let why = "not in the MANIFEST: left over, or not yet of the database";
            self.skipped.push(json!({ "path": table.path.display().to_string(), "why": why }));
            if !self.args.json {
                let path = table.path.display().to_string();
                self.out.bytes(format!("left out: {}: {why}\n", text::printable(&path)).as_bytes())?;
            }
        }
        for missing in &database.missing {
            let path = path.join(format!("{:06}.sst", missing.file.number));
            self.found(table::unreadable(
                &path,
                &Failure::text("the MANIFEST has this table, the directory has not"),
            ))?;
        }
        Ok(())
    }

    /// All sstables of a directory, or the one of a file. Some at once, so that results are seen as they come.
    fn sstables(&mut self, path: &Path) -> Result<(), Failure> {
        let walk = cassandra::find(path, self.args.snapshots)?;
        let options = verify::Options { absent_keys: self.args.absent, ..verify::Options::default() };
        let threads = cassandra::threads();
        for some in walk.sstables.chunks(8 * threads) {
            let found = pool::in_order(some, threads, |sstable| verify::verify(sstable, options));
            for (sstable, found) in some.iter().zip(&found) {
                self.found(Found {
                    json: cassandra::verify::as_json(sstable, found),
                    text: cassandra::verify::as_text(sstable, found),
                    is_well: found.is_well(),
                })?;
            }
        }
        self.skipped.extend(cassandra::skipped_json(&walk.skipped));
        if !self.args.json {
            self.out.bytes(cassandra::skipped_text(&walk.skipped).as_bytes())?;
        }
        for skipped in walk.skipped.iter().filter(|s| cassandra::is_unread(s)) {
            self.failed(&skipped.path, &Failure::text(cassandra::why(skipped)));
        }
        Ok(())
    }

    fn found(&mut self, found: Found) -> Result<(), Failure> {
        self.well &= found.is_well;
        if self.args.json {
            self.files.push(found.json);
            return Ok(());
        }
        self.out.bytes(found.text.as_bytes())?;
        self.out.pause()
    }

    fn failed(&mut self, path: &Path, failure: &Failure) {
        failure.report();
        self.errors.push(json!({ "path": path.display().to_string(), "error": failure.to_string() }));
    }
}
