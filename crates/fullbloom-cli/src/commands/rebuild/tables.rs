//! The filters of LevelDB's and RocksDB's tables, made anew in the table or in a copy of it.

use super::{Args, RateArgs};
use crate::error::Failure;
use crate::input::TableFile;
use crate::text;
use fullbloom::replace::{self, Output, Written};
use fullbloom_table::{FilterSize, Inspection, NewFilter};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// What is said at the end.
pub const ON_OPEN: &str = "\
RocksDB and LevelDB read a filter when they open its table: close the database before a table is replaced. A database knows
the length of each of its tables, so one of another length cannot take the old one's place; RocksDB ingests it as a file of
its own (IngestExternalFile; with allow_db_generated_files, if a database wrote it).
";

/// A filter that was made, or would be.
pub struct Made {
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub text: String,
    pub json: Value,
}

impl RateArgs {
    fn of_tables(&self) -> FilterSize {
        match (self.fpr, self.bits_per_key) {
            (Some(fpr), _) => FilterSize::Fpr(fpr),
            (_, Some(bits)) => FilterSize::BitsPerKey(bits),
            _ => FilterSize::AsBefore,
        }
    }
}

/// The first table that would be written where another one is.
pub fn first_clash<'a>(tables: &[(&'a PathBuf, Box<TableFile>)], output: &Output) -> Option<&'a Path> {
    let Output::Into(_) = output else { return None };
    let mut names = BTreeSet::new();
    tables.iter().map(|(path, _)| path.as_path()).find(|path| !names.insert(path.file_name()))
}

/// Makes the filter of one table anew; `None` where only damaged ones are wanted and this one is well.
pub fn make(path: &Path, table: &TableFile, args: &Args, output: &Output) -> Result<Option<Made>, Failure> {
    if args.damaged && table.verify(0).is_ok_and(|found| found.is_sound()) {
        return Ok(None);
    }
    let old = table.inspect();
    let new = table.make_filter(args.rate.of_tables())?;
    let in_place = matches!(output, Output::InPlace { .. });
    if in_place && !new.fits_in_place() && !args.dry_run {
        let why =
            "the new filter is not as long as the old one, and the database knows how long its table is";
        let hint = "-o DIR writes the table there; without a size the old one is kept";
        return Err(Failure::new(path.display(), why).hint(hint));
    }
    let write = |out: &mut dyn io::Write| table.write_with(&new, out).map_err(io::Error::other);
    let written = match args.dry_run {
        true => None,
        false => Some(replace::write(path, output, write)?),
    };
    let bytes_before = new.old_byte_len().unwrap_or(0);
    Ok(Some(Made {
        bytes_before,
        bytes_after: new.byte_len(),
        text: as_text(path, old.as_ref().ok(), &new, written.as_ref()),
        json: json!({
            "path": path.display().to_string(),
            "dialect": new.dialect().as_str(),
            "kind": new.layout().as_str(),
            "keys": new.entries(),
            "bits_per_key": new.bits_per_key(),
            "before": new.old_byte_len().map(|bytes| json!({
                "bytes": bytes,
                "bits_per_key": old.as_ref().ok().and_then(Inspection::bits_per_key),
                "expected_fpr": old.as_ref().ok().map(|old| old.expected_fpr),
            })),
            "after": { "bytes": new.byte_len() },
            "problem": old.as_ref().err().map(ToString::to_string),
            "same_length": new.fits_in_place(),
            "written": written.as_ref().map(|written| written.path.display().to_string()),
            "backup": written.as_ref().and_then(|w| w.backup.as_ref()).map(|path| path.display().to_string()),
        }),
    }))
}

fn as_text(path: &Path, old: Option<&Inspection>, new: &NewFilter, written: Option<&Written>) -> String {
    let before = match (new.old_byte_len(), old.map(Inspection::bits_per_key)) {
        (None, _) => "no filter".to_owned(),
        (Some(bytes), None) => format!("a damaged filter, {}", text::bytes(bytes)),
        (Some(bytes), Some(None)) => text::bytes(bytes),
        (Some(bytes), Some(Some(bits))) => format!("{}, {bits:.1} bits per key", text::bytes(bytes)),
    };
    let bits = new.bits_per_key().map_or(String::new(), |bits| format!(", {bits} bits per key"));
    let mut text = format!(
        "{}: {}: {before} -> {} {}, {}{bits}\n",
        path.display(),
        text::counted(new.entries(), "key"),
        new.dialect(),
        new.layout().as_str(),
        text::bytes(new.byte_len()),
    );
    if let Some(Written { path: to, backup, bytes }) = written {
        if to != path {
            text += &format!("  written to {}, {}\n", to.display(), text::bytes(*bytes));
        }
        if let Some(backup) = backup {
            text += &format!("  the old table is kept as {}\n", backup.display());
        }
    } else if !new.fits_in_place() {
        text += "  not as long as the old one: only into another directory (-o DIR)\n";
    }
    text.lines().map(|line| text::printable(line).into_owned() + "\n").collect()
}
