//! `fullbloom rebuild FILTER.db|DIR…`: filters of sstables made anew from their keys.

use crate::cassandra;
use crate::directory::{self, Kind};
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::text;
use fullbloom::file::Mapped;
use fullbloom_table::cassandra::rebuild::{Proposal, Rate, first_clash, propose};
use fullbloom_table::cassandra::replace::{self, Written};
use fullbloom_table::cassandra::{RebuildError, Sstable, verify};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Make the filters of Cassandra's sstables anew, offline, from their keys
///
/// Without a rate, the one recorded in Statistics.db is used; each filter is of the family of its sstable's version. The
/// new Filter.db replaces the old one whole or not at all, and the old one is kept beside it. What Cassandra will do with
/// the file is said at the end. Stop the node first, or restart it afterwards: it reads filters only when it opens
/// sstables. Exit status: 0 if all were made, 1 if there is nothing to make, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom rebuild --fpr 0.05 --dry-run data/ks/table-*/
  fullbloom rebuild --fpr 0.05 data/ks/table-*/
  fullbloom rebuild nb-1-big-Filter.db
  fullbloom rebuild --damaged /var/lib/cassandra/data
  fullbloom rebuild --fpr 0.01 nb-1-big-Filter.db -o new/")]
pub struct Args {
    /// Filter.db (or another component) of sstables, and directories of them
    #[arg(required = true, value_name = "FILTER|DIR")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    rate: RateArgs,

    /// Write the new filters into this directory, under their names, and leave the old ones alone
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

    /// One JSON object: {"sstables": […], "skipped": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// How large the new filters are to be.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct RateArgs {
    /// As Cassandra sizes them for this rate: 0.01, 1%
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// With so many bits for each key, 1 to 20
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
    };
    let mut sstables = Vec::new();
    let mut skipped = Vec::new();
    for path in &args.files {
        match find(path, args.snapshots) {
            Ok(walk) => {
                sstables.extend(walk.sstables);
                skipped.extend(walk.skipped);
            }
            Err(failure) => job.failed(path, &failure),
        }
    }
    let output = args.destination();
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
    for skipped in skipped.iter().filter(|s| cassandra::is_unread(s)) {
        job.failed(&skipped.path, &Failure::text(cassandra::why(skipped)));
    }
    job.finish(&cassandra::skipped_json(&skipped))
}

const OF_TABLES: &str = "the filter of a table of LevelDB or RocksDB is a part of it: compaction writes it anew, \
                         and `fullbloom table build` writes tables";

fn find(path: &Path, snapshots: bool) -> Result<fullbloom_table::cassandra::walk::Walk, Failure> {
    if directory::kind(path) == Some(Kind::Database) {
        return Err(Failure::new(path.display(), "a database of LevelDB or RocksDB").hint(OF_TABLES));
    }
    if !path.is_dir() {
        Mapped::open(path).map(drop).or_else(|e| match fullbloom::cassandra::Descriptor::parse(path) {
            // A filter that is gone is what this is for.
            Ok(descriptor) if descriptor.component == "Filter.db" && !path.exists() => Ok(()),
            _ => Err(e),
        })?;
        if fullbloom::cassandra::Descriptor::parse(path).is_err() {
            let failure = Failure::new(path.display(), "not a component of an sstable of Cassandra");
            return Err(failure.hint(OF_TABLES));
        }
    }
    cassandra::find(path, snapshots)
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
        let (Job { args, mut out, done, errors, made, bytes, openings }, dry) = (self, "dry run: ");
        if args.json {
            out.json(&json!({
                "dry_run": args.dry_run,
                "sstables": done,
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
