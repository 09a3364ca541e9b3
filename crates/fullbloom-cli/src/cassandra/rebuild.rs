//! What is said about a filter that was made anew, or would be.

use super::{filter_path, identity, join};
use crate::text;
use fullbloom::any::Plan;
use fullbloom::replace::Written;
use fullbloom_sstable::rebuild::{Before, Proposal};
use fullbloom_sstable::{FilterProblem, sstable::FILTER};
use serde_json::{Value, json};

/// One line: what it was, what it is now.
pub fn as_text(proposal: &Proposal<'_>, old_bytes: u64, written: Option<&Written>) -> String {
    let before = match &proposal.before {
        Some(Before { geometry, file_bytes }) => {
            format!("{} bits, {} probes, {}", geometry.bit_len, geometry.probes, text::bytes(*file_bytes))
        }
        None => match old_bytes {
            0 => "no filter".to_owned(),
            bytes => format!("a damaged filter, {}", text::bytes(bytes)),
        },
    };
    let Plan { geometry, encoded_len, expected_fpr, .. } = proposal.after;
    let mut text = format!(
        "{}: {}: {before} -> {} bits, {} probes, {}, expected rate {}\n",
        filter_path(proposal.sstable),
        text::counted(proposal.keys, "key"),
        geometry.bit_len,
        geometry.probes,
        text::bytes(encoded_len),
        text::rate(expected_fpr),
    );
    if let Some(problem) = &proposal.problem {
        text += &format!("  the old one: {problem}\n");
    }
    if let Some(Written { path, backup, .. }) = written {
        if path != &proposal.sstable.path(FILTER) {
            text += &format!("  written to {}\n", path.display());
        }
        if let Some(backup) = backup {
            text += &format!("  the old one is kept as {}\n", backup.display());
        }
    }
    text.lines().map(|line| text::printable(line).into_owned() + "\n").collect()
}

/// Bytes of the old file, whether it could be read or not; to be asked before it is replaced.
pub fn bytes_before(proposal: &Proposal<'_>) -> u64 {
    match (&proposal.before, &proposal.problem) {
        (Some(before), _) => before.file_bytes,
        (None, Some(FilterProblem::Missing { .. }) | None) => 0,
        (None, Some(_)) => std::fs::metadata(proposal.sstable.path(FILTER)).map_or(0, |meta| meta.len()),
    }
}

/// For machines.
pub fn as_json(proposal: &Proposal<'_>, written: Option<&Written>) -> Value {
    let before = proposal.before.map(|before| {
        json!({
            "bits": before.geometry.bit_len,
            "probes": before.geometry.probes,
            "bytes": before.file_bytes,
        })
    });
    let after = &proposal.after;
    let numbers = json!({
        "path": filter_path(proposal.sstable),
        "dialect": after.dialect.as_str(),
        "keys": proposal.keys,
        "before": before,
        "after": {
            "bits": after.geometry.bit_len,
            "probes": after.geometry.probes,
            "bytes": after.encoded_len,
            "expected_fpr": after.expected_fpr,
        },
        "fpr": proposal.fpr,
        "recorded_fpr": proposal.recorded.fpr(),
        "problem": proposal.problem.as_ref().map(ToString::to_string),
        "written": written.map(|written| written.path.display().to_string()),
        "backup": written.and_then(|w| w.backup.as_ref()).map(|path| path.display().to_string()),
        "on_open": on_open(proposal),
    });
    join(numbers, identity(proposal.sstable))
}

/// What Cassandra will do with the file, in sentences.
pub fn on_open(proposal: &Proposal<'_>) -> Vec<String> {
    let openings = proposal.openings.iter().map(ToString::to_string);
    openings.chain(proposal.circumstances.iter().map(ToString::to_string)).collect()
}
