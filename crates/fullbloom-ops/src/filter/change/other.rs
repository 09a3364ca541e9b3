//! Filters of other dialects than `native` that keys are inserted into.

use crate::filter::{FilterFile, ReadOptions, write_to};
use crate::problem::{Code, Need, Problem};
use crate::text;
use fullbloom::FileError;
use fullbloom_any::{AnyFilter, ChangeError};
use fullbloom_dialects::Name;
use fullbloom_files::file_lock::FileLock;
use std::path::{Path, PathBuf};

/// Above this rate a filter is nearly full: it reports most absent keys present.
const NEARLY_FULL: f64 = 0.5;

/// A filter of another dialect to be changed by keys, with the file that it is saved to.
#[derive(Debug)]
pub struct ChangingOther {
    path: PathBuf,
    filter: AnyFilter,
    lock: FileLock,
    /// Memory for the answers of one batch.
    new: Vec<bool>,
}

impl ChangingOther {
    /// The dialect of a file; `None` for a native filter, and for a file that is not recognised.
    pub fn dialect_of(path: &Path, options: &ReadOptions) -> Option<Name> {
        let dialect = FilterFile::map(path, options).ok()?.dialect();
        Some(dialect).filter(|dialect| *dialect != Name::Native)
    }

    /// Loads the filter in the locked file. A damaged filter is refused, and so is one that takes no keys.
    pub fn load(path: &Path, lock: FileLock, options: &ReadOptions) -> Result<ChangingOther, Problem> {
        let file = FilterFile::load(path, options)?;
        let opened = file.open()?;
        if let Some(problem) = opened.problems.into_iter().find(Problem::is_error) {
            return Err(problem.hint("a damaged filter cannot be changed: build it again from its keys"));
        }
        let copy = opened.filter.try_clone();
        let filter = copy.map_err(|e| Problem::new(file.dialect(), Code::CannotSize, e))?;
        filter.require_takes_keys().map_err(|e| {
            let problem = Problem::at(path, Code::Unsupported, &e);
            match e {
                ChangeError::BuiltAtOnce(_) => {
                    problem.hint("build it from all its keys").needs(Need::Build(file.dialect()))
                }
                _ => problem,
            }
        })?;
        Ok(ChangingOther { path: path.to_owned(), filter, lock, new: Vec::new() })
    }

    /// Inserts keys. Returns how many are new.
    pub fn insert(&mut self, keys: &[&[u8]]) -> Result<u64, Problem> {
        self.new.resize(keys.len(), false);
        let inserted = self.filter.insert_batch_new(keys, &mut self.new);
        inserted.map_err(|e| Problem::at(&self.path, Code::Unsupported, e))?;
        Ok(self.new.iter().filter(|new| **new).count() as u64)
    }

    /// The rate of the filter as it is now.
    pub fn expected_fpr(&self) -> f64 {
        self.filter.expected_fpr()
    }

    /// The message of a filter that reports most absent keys present.
    pub fn full_message(&self) -> Option<String> {
        let rate = self.expected_fpr();
        (rate > NEARLY_FULL)
            .then(|| format!("nearly full: {} of absent keys are false positives", text::rate(rate)))
    }

    /// Saves the filter, completely or not at all.
    pub fn save(&mut self) -> Result<(), FileError> {
        let (filter, path) = (&self.filter, &self.path);
        self.lock.replace(|out| write_to(filter, path, out))
    }
}
