//! `rebuild` of one sstable's filter.

use super::opening;
use super::verify::problems_of;
use super::{SstableName, problems};
use crate::problem::{Code, Need, Problem};
use crate::rebuild::{self, RebuildOptions, Restored, Size, check_writable, not_saved};
use crate::report::Found;
use fullbloom_any::Plan;
use fullbloom_files::replace::Output;
use fullbloom_sstable::rebuild::{Proposal, Rate, propose};
use fullbloom_sstable::replace::{self, Locked, Refusal, Written};
use fullbloom_sstable::{ComponentError, FilterProblem, RebuildError, Sstable, sstable::FILTER, verify};
use serde::Serialize;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// An sstable whose filter was rebuilt, or would be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RebuiltSstable {
    /// Which sstable it is.
    #[serde(flatten)]
    pub name: SstableName,
    /// Its partition keys.
    pub keys: u64,
    /// The old filter; null if there was none.
    pub before: Option<SstableBefore>,
    /// The new filter.
    pub after: SstableAfter,
    /// The rate that the new filter was sized for; null if it was sized by bits.
    pub fpr: Option<f64>,
    /// The rate recorded in `Statistics.db`.
    pub recorded_fpr: Option<f64>,
    /// The filter had these bytes already and was left alone, or would be.
    pub unchanged: bool,
    /// The file that is written, or would be.
    pub destination: String,
    /// The file that was written; null in a dry run, and if nothing changed.
    pub written: Option<String>,
    /// Other components that were rewritten to agree with it: `TOC.txt` or `Scylla.db`.
    pub rewritten: Vec<String>,
    /// The copy of the old file.
    pub backup: Option<String>,
    /// What the engine does with the file, release by release.
    pub on_open: Vec<String>,
}

impl Deref for RebuiltSstable {
    type Target = SstableName;

    fn deref(&self) -> &SstableName {
        &self.name
    }
}

/// The old filter of an sstable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SstableBefore {
    /// Its bits; null if it could not be read.
    pub bits: Option<u64>,
    /// Its probes; null if it could not be read.
    pub probes: Option<u32>,
    /// Bytes of its file.
    pub bytes: u64,
    /// It could not be read.
    pub damaged: bool,
}

/// The new filter of an sstable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SstableAfter {
    /// Its bits.
    pub bits: u64,
    /// Its probes.
    pub probes: u32,
    /// Bytes of its file.
    pub bytes: u64,
    /// The rate to expect.
    pub expected_fpr: f64,
}

/// Rebuilds the filter of one sstable; `None` where only damaged ones are wanted and this one is sound.
pub(crate) fn rebuild(
    sstable: &Sstable,
    options: &RebuildOptions,
    waiting: impl FnOnce(&Path),
) -> Result<Option<Found<RebuiltSstable>>, Problem> {
    let path = sstable.path(FILTER);
    let damage = || damage_of(sstable, options);
    // A sound filter is not locked: its directory may be one that cannot be written to.
    if options.damaged && damage().is_none() {
        return Ok(None);
    }
    let locked = match options.dry_run {
        true => None,
        false => Some(lock(sstable, options, waiting)?),
    };
    // Another process may have repaired it in the meantime.
    let reasons = match options.damaged.then(damage) {
        Some(None) => return Ok(None),
        Some(reasons) => reasons,
        None => None,
    };
    let proposal = propose(sstable, rate(options)).map_err(|e| refused(sstable, &e))?;
    if proposal.out_of_order > 0 && !options.force {
        let why = format!(
            "{} entries of the index are not in order: keys may be missing from it",
            proposal.out_of_order
        );
        let problem = Problem::at(&path, Code::KeysUncertain, why);
        return Err(problem.hint("build the filter from the keys that are there").needs(Need::Force));
    }
    if let Some(short) = proposal.index_short.as_ref().filter(|_| !options.force) {
        let problem = problems::index_short(sstable, short);
        let hint = "build the filter from the keys that are there; rows with other keys become invisible";
        return Err(problem.hint(hint).needs(Need::Force));
    }
    if let Output::InPlace { .. } = options.output {
        replace::check(sstable).map_err(|refusal| not_replaced(sstable, &refusal))?;
    }
    let before = before(&proposal); // before the file is replaced
    let rebuilt = proposal.build().map_err(|e| refused(sstable, &e))?;
    let (unchanged, written) = match locked {
        None => (matches!(options.output, Output::InPlace { .. }) && rebuilt.is_done(), None),
        Some(locked) => {
            let written = rebuilt.write(locked).map_err(|e| not_saved(&path, &e))?;
            (written.path.is_none() && written.others.is_empty(), Some(written))
        }
    };
    let mut problems: Vec<Problem> = reasons.unwrap_or_else(|| {
        proposal.problem.iter().map(|problem| problems::of_filter(sstable, problem)).collect()
    });
    problems.iter_mut().for_each(|problem| problem.hint = None); // to rebuild it, which is done
    let destination = rebuild::destination(&path, &options.output);
    let record = record(&proposal, before, unchanged, destination, written.as_ref());
    Ok(Some(Found { record, problems }))
}

fn rate(options: &RebuildOptions) -> Rate {
    match options.size {
        Size::Recorded => Rate::Recorded,
        Size::Fpr(fpr) => Rate::Fpr(fpr),
        Size::BitsPerKey(bits) => Rate::BitsPerKey(bits),
        Size::AsBefore => Rate::Geometry,
    }
}

/// Why the filter must be rebuilt; `None` if it is well, or is only too full and a new one would be, too.
fn damage_of(sstable: &Sstable, options: &RebuildOptions) -> Option<Vec<Problem>> {
    let found = verify::verify(sstable, verify::Options { absent_keys: 0, examples: 0 });
    let wanted = match options.size {
        Size::Fpr(fpr) => Some(fpr),
        _ => None,
    };
    let problems = problems_of(sstable, &found, wanted);
    let is_too_full = problems.iter().any(|problem| matches!(problem.code, Code::TooFull | Code::TooSmall));
    let would_help = || {
        let new = propose(sstable, rate(options)).ok()?;
        Some(new.after.expected_fpr < found.filter?.expected_fpr)
    };
    (!found.is_well() || is_too_full && would_help() == Some(true)).then_some(problems)
}

/// Locks the filter, before the sstable is read.
fn lock(sstable: &Sstable, options: &RebuildOptions, waiting: impl FnOnce(&Path)) -> Result<Locked, Problem> {
    let path = sstable.path(FILTER);
    let locked = Locked::new(sstable, &options.output, || waiting(&path));
    let locked = locked.map_err(|e| not_saved(&path, &e))?;
    check_writable(&path, locked.lock(), options.force)?;
    Ok(locked)
}

fn record(
    proposal: &Proposal<'_>,
    before: Option<SstableBefore>,
    unchanged: bool,
    destination: String,
    written: Option<&Written>,
) -> RebuiltSstable {
    let Plan { dialect, geometry, encoded_len, expected_fpr, .. } = proposal.after;
    let text = |path: &PathBuf| path.display().to_string();
    RebuiltSstable {
        name: SstableName { dialect, ..SstableName::of(proposal.sstable) },
        keys: proposal.keys,
        before,
        after: SstableAfter {
            bits: geometry.bit_len,
            probes: geometry.probes,
            bytes: encoded_len,
            expected_fpr,
        },
        fpr: proposal.fpr,
        recorded_fpr: proposal.recorded.fpr(),
        unchanged,
        destination,
        written: written.and_then(|written| written.path.as_ref()).map(text),
        rewritten: written.iter().flat_map(|written| written.others.iter().map(text)).collect(),
        backup: written.and_then(|written| written.backups.last()).map(text),
        on_open: on_open(proposal),
    }
}

fn before(proposal: &Proposal<'_>) -> Option<SstableBefore> {
    if let Some(before) = proposal.before {
        return Some(SstableBefore {
            bits: Some(before.geometry.bit_len),
            probes: Some(before.geometry.probes),
            bytes: before.file_bytes,
            damaged: false,
        });
    }
    match &proposal.problem {
        Some(FilterProblem::Missing { .. }) | None => None,
        Some(_) => {
            let bytes = std::fs::metadata(proposal.sstable.path(FILTER)).map_or(0, |meta| meta.len());
            Some(SstableBefore { bits: None, probes: None, bytes, damaged: true })
        }
    }
}

/// Puts the newest backup of one sstable's filter back, with what belongs to it.
pub(crate) fn restore(
    sstable: &Sstable,
    options: &RebuildOptions,
    waiting: impl FnOnce(&Path),
) -> Result<Restored, Problem> {
    let path = sstable.path(FILTER);
    replace::check(sstable).map_err(|refusal| not_replaced(sstable, &refusal))?;
    let backup = replace::newest_backup(sstable)
        .ok_or_else(|| Problem::at(&path, Code::NoBackup, "there is no backup of this filter"))?;
    let written = match options.dry_run {
        true => Written::default(),
        false => {
            let restored = replace::restore(sstable, || waiting(&path));
            restored.map_err(|e| not_saved(&path, &e))?.unwrap_or_default()
        }
    };
    let text = |path: &PathBuf| path.display().to_string();
    Ok(Restored {
        path: path.display().to_string(),
        backup: text(&backup.path),
        removed: backup.of_toc,
        rewritten: written.others.iter().map(text).collect(),
    })
}

fn not_replaced(sstable: &Sstable, refusal: &Refusal) -> Problem {
    let at = |code| Problem::at(&sstable.path(FILTER), code, refusal);
    match refusal {
        Refusal::Running { .. } => {
            at(Code::EngineRunning).hint("stop the node first: nodetool drain, then stop scylla")
        }
        Refusal::Encrypted => at(Code::Encrypted),
        Refusal::ScyllaUnreadable(_) => at(Code::ScyllaUnreadable),
        Refusal::Damaged(_) => at(Code::ComponentChecksum),
        _ => at(Code::Unsupported),
    }
}

/// What the engine does with the file, in sentences.
fn on_open(proposal: &Proposal<'_>) -> Vec<String> {
    let (sstable, recorded) = (proposal.sstable, &proposal.recorded);
    let openings = opening::openings(sstable);
    let circumstances = opening::circumstances(sstable, recorded, proposal.fpr);
    let openings = openings.iter().map(ToString::to_string);
    openings.chain(circumstances.iter().map(ToString::to_string)).collect()
}

fn refused(sstable: &Sstable, cause: &RebuildError) -> Problem {
    let path = sstable.path(FILTER);
    match cause {
        RebuildError::NoRate { .. } => Problem::at(&path, Code::RateUnknown, cause)
            .hint("give a rate, or keep the old size")
            .needs(Need::RateOrOldSize),
        RebuildError::NoFilter => Problem::at(&path, Code::RateOne, cause),
        RebuildError::Size(_) | RebuildError::Build(_) => Problem::at(&path, Code::SizeRefused, cause),
        RebuildError::Changed { .. } => Problem::at(&path, Code::Changed, cause),
        RebuildError::Keys(ComponentError::Encrypted { .. }) => Problem::at(&path, Code::Encrypted, cause),
        _ => Problem::at(&path, Code::KeysUnreadable, cause),
    }
}
