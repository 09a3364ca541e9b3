//! `fullbloom rebuild TABLE|FILTER.db|DIR…`: filters of sstables and of tables made anew from their keys.

mod tables;

use crate::cassandra;
use crate::directory::{self, Kind};
use crate::error::{Failure, Status};
use crate::input::{TableFile, open_table};
use crate::numbers;
use crate::output::{self, Output};
use crate::text;
use fullbloom::file::Mapped;
use fullbloom::replace::{self, Written};
use fullbloom_sstable::rebuild::{Proposal, Rate, first_clash, propose};
use fullbloom_sstable::walk::Walk;
use fullbloom_sstable::{RebuildError, Sstable, verify};
use fullbloom_table::PrefixExtractor;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Make the filters of sstables and tables anew, offline, from their keys
///
/// Of Cassandra's sstables: without a rate, the one recorded in Statistics.db is used; each filter is of the family of its
/// sstable's version. What Cassandra will do with the file is said at the end. Stop the node first, or restart it afterwards: it
/// reads filters only when it opens sstables.
///
/// Of tables of LevelDB and RocksDB: without a size, the filter is made as long as it was and takes its place, which mends a
/// damaged one. A filter of another size, or of a table that has none, is written with the table into another directory.
///
/// A new file replaces the old one whole or not at all, and the old one is kept beside it. Exit status: 0 if all were made, 1 if
/// there is nothing to make, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom rebuild --fpr 0.05 --dry-run data/ks/table-*/
  fullbloom rebuild --fpr 0.05 data/ks/table-*/
  fullbloom rebuild nb-1-big-Filter.db
  fullbloom rebuild --damaged /var/lib/cassandra/data
  fullbloom rebuild --fpr 0.01 nb-1-big-Filter.db -o new/
  fullbloom rebuild --damaged db/*.sst
  fullbloom rebuild --bits-per-key 16 db/000012.sst -o new/")]
pub struct Args {
    /// Tables, Filter.db (or another component) of sstables, and directories of sstables
    #[arg(required = true, value_name = "TABLE|FILTER|DIR")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    rate: RateArgs,

    /// Write the new filters, or tables, into this directory, under their names, and leave the old ones alone
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Only say what would come of it
    #[arg(long)]
    dry_run: bool,

    /// Only filters that are missing, damaged, or lack keys
    #[arg(long)]
    damaged: bool,

    /// Keep no copy of the old filters
    #[arg(long, conflicts_with = "output")]
    no_backup: bool,

    /// Also where the entries of an index are not in order, and keys may be missing from it
    #[arg(long)]
    force: bool,

    /// In directories, also look into snapshots and backups
    #[arg(long)]
    snapshots: bool,

    /// The prefix extractor of tables whose own is not known by name: fixed:N, capped:N or noop
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<PrefixExtractor>,

    /// One JSON object: {"sstables": […], "tables": […], "skipped": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// How large the new filters are to be.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct RateArgs {
    /// As the system sizes them for this rate: 0.01, 1%
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// With so many bits for each key; Cassandra has 1 to 20
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    bits_per_key: Option<f64>,

    /// As large as the old ones, which must be readable
    #[arg(long)]
    same_size: bool,
}

impl RateArgs {
    fn rate(&self) -> Rate {
        match (self.fpr, self.bits_per_key, self.same_size) {
            (Some(fpr), _, _) => Rate::Fpr(fpr),
            (_, Some(bits), _) => Rate::BitsPerKey(bits),
            (_, _, true) => Rate::Geometry,
            _ => Rate::Recorded,
        }
    }
}

/// Makes the filters anew, one after the other.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut job = Job {
        args,
        out: Output::stdout()?,
        done: Vec::new(),
        errors: Vec::new(),
        made: 0,
        bytes: (0, 0),
        openings: Vec::new(),
        tables: Vec::new(),
    };
    let mut sstables = Vec::new();
    let mut skipped = Vec::new();
    let mut tables = Vec::new();
    for path in &args.files {
        match find(path, args) {
            Ok(Input::Table(table)) => tables.push((path, table)),
            Ok(Input::Sstables(walk)) => {
                sstables.extend(walk.sstables);
                skipped.extend(walk.skipped);
            }
            Err(failure) => job.failed(path, &failure),
        }
    }
    let output = args.destination();
    if let Some(path) = tables::first_clash(&tables, &output) {
        return Err(Failure::new(path.display(), "another table would be written under the same name")
            .hint("give the tables one by one, each with a directory of its own"));
    }
    if let Some(sstable) = first_clash(&sstables, &output) {
        let path = cassandra::filter_path(sstable);
        return Err(Failure::new(path, "another sstable's filter would be written under the same name")
            .hint("give the tables one by one, each with a directory of its own"));
    }
    if let (Some(directory), false) = (&args.output, args.dry_run) {
        let made = fs::create_dir_all(directory);
        made.map_err(|e| Failure::new(directory.display(), format_args!("cannot make the directory: {e}")))?;
    }
    for sstable in &sstables {
        match job.make(sstable, &output) {
            Ok(()) => {}
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => job.failed(&sstable.path("Filter.db"), &failure),
        }
    }
    for (path, table) in &tables {
        match job.make_table(path, table, &output) {
            Ok(()) => {}
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => job.failed(path, &failure),
        }
    }
    for skipped in skipped.iter().filter(|s| cassandra::is_unread(s)) {
        job.failed(&skipped.path, &Failure::text(cassandra::why(skipped)));
    }
    job.finish(&cassandra::skipped_json(&skipped))
}

enum Input {
    Table(Box<TableFile>),
    Sstables(Walk),
}

fn find(path: &Path, args: &Args) -> Result<Input, Failure> {
    if directory::kind(path) == Some(Kind::Database) {
        return Err(Failure::new(path.display(), "a database of LevelDB or RocksDB")
            .hint("name its tables, *.sst or *.ldb; `fullbloom verify` says which are damaged"));
    }
    if !path.is_dir() {
        if let Some(table) = open_table(path, None, args.prefix_extractor)? {
            return Ok(Input::Table(Box::new(table)));
        }
        Mapped::open(path).map(drop).or_else(|e| match fullbloom::cassandra::Descriptor::parse(path) {
            // A filter that is gone is what this is for.
            Ok(descriptor) if descriptor.component == "Filter.db" && !path.exists() => Ok(()),
            _ => Err(e),
        })?;
        if fullbloom::cassandra::Descriptor::parse(path).is_err() {
            let why = "neither a component of an sstable of Cassandra nor a table of LevelDB or RocksDB";
            return Err(Failure::new(path.display(), why));
        }
    }
    cassandra::find(path, args.snapshots).map(Input::Sstables)
}

impl Args {
    fn destination(&self) -> replace::Output {
        match &self.output {
            Some(directory) => replace::Output::Into(directory.clone()),
            None => replace::Output::InPlace { backup: !self.no_backup },
        }
    }
}

/// What was done so far.
struct Job<'a> {
    args: &'a Args,
    out: Output,
    done: Vec<Value>,
    errors: Vec<Value>,
    made: u64,
    /// Bytes of the filters before and after.
    bytes: (u64, u64),
    /// What Cassandra will do, with how many of the filters, and of which versions.
    openings: Vec<(Vec<String>, u64, BTreeSet<String>)>,
    /// Of tables.
    tables: Vec<Value>,
}

impl Job<'_> {
    fn make(&mut self, sstable: &Sstable, output: &replace::Output) -> Result<(), Failure> {
        if self.args.damaged {
            let options = verify::Options { absent_keys: 0, examples: 0 };
            if verify::verify(sstable, options).is_well() {
                return Ok(());
            }
        }
        let path = cassandra::filter_path(sstable);
        let proposal = match propose(sstable, self.args.rate.rate()) {
            Ok(proposal) => proposal,
            Err(e @ RebuildError::NoFilter) => {
                output::warning(&format!("{path}: {e}"));
                return Ok(());
            }
            Err(e) => return Err(refused(&path, &e)),
        };
        if proposal.out_of_order > 0 && !self.args.force {
            let why = format!(
                "{} entries of the index are not in order: keys may be missing from it",
                proposal.out_of_order
            );
            return Err(Failure::new(path, why).hint("--force makes the filter of the keys that are there"));
        }
        let old_bytes = cassandra::rebuild::bytes_before(&proposal);
        let written = match self.args.dry_run {
            true => None,
            false => Some(proposal.build().map_err(|e| refused(&path, &e))?.write(output)?),
        };
        self.bytes.0 += old_bytes;
        self.count(&proposal);
        self.tell(&proposal, old_bytes, written.as_ref())
    }

    fn make_table(
        &mut self,
        path: &Path,
        table: &TableFile,
        output: &replace::Output,
    ) -> Result<(), Failure> {
        let Some(made) = tables::make(path, table, self.args, output)? else { return Ok(()) };
        self.made += 1;
        self.bytes.0 += made.bytes_before;
        self.bytes.1 += made.bytes_after;
        self.tables.push(made.json);
        if !self.args.json {
            self.out.bytes(made.text.as_bytes())?;
            self.out.pause()?;
        }
        Ok(())
    }

    fn count(&mut self, proposal: &Proposal<'_>) {
        self.made += 1;
        self.bytes.1 += proposal.after.encoded_len;
        let (version, sentences) = (proposal.sstable.version.clone(), cassandra::rebuild::on_open(proposal));
        match self.openings.iter_mut().find(|(known, _, _)| *known == sentences) {
            Some((_, count, versions)) => {
                *count += 1;
                versions.insert(version);
            }
            None => self.openings.push((sentences, 1, BTreeSet::from([version]))),
        }
    }

    fn tell(
        &mut self,
        proposal: &Proposal<'_>,
        old_bytes: u64,
        written: Option<&Written>,
    ) -> Result<(), Failure> {
        if self.args.json {
            self.done.push(cassandra::rebuild::as_json(proposal, written));
            return Ok(());
        }
        self.out.bytes(cassandra::rebuild::as_text(proposal, old_bytes, written).as_bytes())?;
        self.out.pause()
    }

    fn failed(&mut self, path: &Path, failure: &Failure) {
        failure.report();
        self.errors.push(json!({ "path": path.display().to_string(), "error": failure.to_string() }));
    }

    fn finish(self, skipped: &[Value]) -> Result<Status, Failure> {
        let (Job { args, mut out, done, errors, made, bytes, openings, tables }, dry) = (self, "dry run: ");
        if args.json {
            out.json(&json!({
                "dry_run": args.dry_run,
                "sstables": done,
                "tables": tables,
                "bytes_before": bytes.0,
                "bytes_after": bytes.1,
                "skipped": skipped,
                "errors": errors,
            }))?;
        } else if made > 0 {
            let mut text = format!(
                "\n{}{made} filter{}: {} before, {} after\n",
                if args.dry_run { dry } else { "" },
                if made == 1 { "" } else { "s" },
                text::bytes(bytes.0),
                text::bytes(bytes.1),
            );
            for (sentences, count, versions) in &openings {
                let versions = versions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                let plural = if *count == 1 { "" } else { "s" };
                text += &format!(
                    "\nWhen Cassandra next opens the {count} sstable{plural} of version {versions}:\n"
                );
                sentences.iter().for_each(|sentence| text += &format!("  - {sentence}\n"));
            }
            if !tables.is_empty() {
                text += &format!("\n{}", tables::ON_OPEN);
            }
            out.bytes(text.as_bytes())?;
        } else if errors.is_empty() {
            out.bytes(b"nothing to make anew\n")?;
        }
        out.finish()?;
        match errors.is_empty() {
            true => Ok(Status::selected(made > 0)),
            false => Ok(Status::Failed),
        }
    }
}

fn refused(path: &str, cause: &RebuildError) -> Failure {
    let failure = Failure::new(path, cause);
    match cause {
        RebuildError::NoRate { .. } => failure.hint("--fpr P gives the rate; --same-size takes the old size"),
        _ => failure,
    }
}
