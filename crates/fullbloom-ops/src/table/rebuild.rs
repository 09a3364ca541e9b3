//! The filter of a table rebuilt from its keys, in the table or in a copy of it.

use super::{problem, short, verify};
use crate::engine;
use crate::problem::{Code, Need, Problem};
use crate::rebuild::{self, RebuildOptions, Size};
use crate::report::Found;
use crate::serialise;
use crate::table;
use fullbloom_dialects::Name;
use fullbloom_files::replace::{Output, Written};
use fullbloom_table::{FilterSize, Inspection, NewFilter};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A table whose filter was rebuilt, or would be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RebuiltTable {
    /// Where it is.
    pub path: String,
    /// The dialect of the new filter.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// How the new filter is laid out.
    pub kind: &'static str,
    /// Entries of the new filter.
    pub keys: u64,
    /// Bits per key of the new filter; null if the length of the old one is kept, chosen by the allocator.
    pub bits_per_key: Option<f64>,
    /// The old filter; null if there was none.
    pub before: Option<TableBefore>,
    /// The new filter.
    pub after: TableAfter,
    /// Whether the table has this filter already; then nothing is written in place.
    pub unchanged: bool,
    /// Whether the table keeps its length.
    pub same_length: bool,
    /// The file that is written, or would be.
    pub destination: String,
    /// The file that was written; null in a dry run, and if nothing changed.
    pub written: Option<String>,
    /// Bytes of that file.
    pub written_bytes: Option<u64>,
    /// The copy of the old file.
    pub backup: Option<String>,
    /// What the engine does with the file.
    pub on_open: [&'static str; 2],
}

/// The old filter of a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TableBefore {
    /// Its bytes.
    pub bytes: u64,
    /// It could not be read.
    pub damaged: bool,
    /// Its bits per key.
    pub bits_per_key: Option<f64>,
    /// The rate that was to be expected.
    pub expected_fpr: Option<f64>,
}

/// The new filter of a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TableAfter {
    /// Its bytes.
    pub bytes: u64,
}

/// The first table that would be written over another one.
pub(crate) fn first_clash<'a>(paths: &'a [PathBuf], output: &Output) -> Option<&'a Path> {
    let Output::Into(_) = output else { return None };
    let mut names = BTreeSet::new();
    paths.iter().map(PathBuf::as_path).find(|path| !names.insert(path.file_name()))
}

/// Rebuilds the filter of the table at `path`; `None` where only damaged ones are wanted and this one is
/// sound.
pub(crate) fn rebuild(
    path: &Path,
    options: &RebuildOptions,
    waiting: impl FnOnce(&Path),
) -> Result<Option<Found<RebuiltTable>>, Problem> {
    // A sound filter is not locked: its directory may be one that cannot be written to. It is looked at
    // again below, because another process may repair it until then.
    if options.damaged && is_sound(path, options) {
        return Ok(None);
    }
    let replacement = rebuild::lock(path, options, waiting)?;
    let table = &table::open(path, options.prefix_extractor)?;
    let old = table.inspect();
    let mut problems: Vec<Problem> = old.as_ref().err().map(|e| problem(path, e)).into_iter().collect();
    let entries = if options.damaged {
        match table.verify(0) {
            // A table without a filter was written so.
            Ok(found) if found.is_sound() => return Ok(None),
            Ok(found) => {
                problems.extend(verify::problems(path, table, &found));
                found.entries
            }
            // The filter cannot be read, and the inspection has said why; or the data cannot.
            Err(_) => table.count_entries().map_err(|e| problem(path, &e))?,
        }
    } else {
        table.count_entries().map_err(|e| problem(path, &e))?
    };
    // Lookups of a partition or block go by the index: where it lies, no filter makes them find their keys.
    table.check_index().map_err(|e| problem(path, &e))?;
    if let Some(short) = short(path, table, entries).filter(|_| !options.force) {
        let message = format!("{}: a new filter would lack the missing keys", short.message);
        let hint = "build the filter from the keys that are there";
        return Err(Problem { message, ..short }.hint(hint).needs(Need::Force));
    }
    let size = match options.size {
        Size::Fpr(fpr) => FilterSize::Fpr(fpr),
        Size::BitsPerKey(bits) => FilterSize::BitsPerKey(bits),
        Size::Recorded | Size::AsBefore => FilterSize::AsBefore,
    };
    let new = table.make_filter(size).map_err(|e| problem(path, &e))?;
    let in_place = matches!(options.output, Output::InPlace { .. });
    let unchanged = in_place && new.is_stored();
    if in_place && !new.fits_in_place() && !options.dry_run {
        let why = "the new filter has another length, and the database records the length of its table";
        let hint = "write the table to another directory, or keep the size of the old filter";
        return Err(Problem::at(path, Code::LengthChanges, why).hint(hint).needs(Need::OtherDirectory));
    }
    let write = |out: &mut dyn io::Write| table.write_with(&new, out).map_err(io::Error::other);
    let written = match replacement.filter(|_| !unchanged) {
        None => None,
        Some(replacement) => Some(replacement.write(write).map_err(|e| rebuild::not_saved(path, &e))?),
    };
    problems.iter_mut().for_each(|problem| problem.hint = None); // to rebuild it, which is done
    let destination = rebuild::destination(path, &options.output);
    let mut record = record(path, old.ok().as_ref(), &new, destination, written.as_ref());
    record.unchanged = unchanged;
    Ok(Some(Found { record, problems }))
}

/// Whether the table can be read, and its filter is the one that its keys give.
fn is_sound(path: &Path, options: &RebuildOptions) -> bool {
    let table = table::open(path, options.prefix_extractor);
    table.is_ok_and(|table| table.inspect().is_ok() && table.verify(0).is_ok_and(|found| found.is_sound()))
}

fn record(
    path: &Path,
    old: Option<&Inspection>,
    new: &NewFilter,
    destination: String,
    written: Option<&Written>,
) -> RebuiltTable {
    let text = |path: &PathBuf| path.display().to_string();
    RebuiltTable {
        path: path.display().to_string(),
        dialect: new.dialect(),
        kind: new.layout().as_str(),
        keys: new.entries(),
        bits_per_key: new.bits_per_key(),
        before: new.old_byte_len().map(|bytes| TableBefore {
            bytes,
            damaged: old.is_none(),
            bits_per_key: old.and_then(Inspection::bits_per_key),
            expected_fpr: old.map(|old| old.expected_fpr),
        }),
        after: TableAfter { bytes: new.byte_len() },
        unchanged: false,
        same_length: new.fits_in_place(),
        destination,
        written: written.map(|written| text(&written.path)),
        written_bytes: written.map(|written| written.bytes),
        backup: written.and_then(|written| written.backup.as_ref()).map(text),
        on_open: if new.fits_in_place() { engine::IN_PLACE } else { engine::ELSEWHERE },
    }
}
