//! Native filters that are changed: loaded with their journal, checked, saved whole or as a frame of the
//! journal.

mod clock;
mod other;
mod wanted;

pub use other::ChangingOther;
pub use wanted::{Difference, Wanted};

use super::file::damaged_journal;
use super::open::incomplete;
use super::{NativeRecord, other_key_type};
use crate::problem::{Code, Problem};
use fullbloom::error::{FileCause, InsertError};
use fullbloom::{DecodeError, FileError};
use fullbloom::{Hashing, Secret};
use fullbloom_any::{AnyFilter, ChangeError};
use fullbloom_any::{Facts, Kind, StoredFilter};
use fullbloom_core::typed::{KeyForm, KeyType};
use fullbloom_dynamic::JournalWriter;
use fullbloom_dynamic::{DynamicFilter, Expiry, Mode};
use fullbloom_files::file_lock::FileLock;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A native filter to be changed by keys, with the file that it is saved to, if there is one.
#[derive(Debug)]
pub struct Changing {
    path: PathBuf,
    filter: AnyFilter,
    saver: Option<Saver>,
    /// The keys of a fast filter: those that its file states, and those that were new since. Counting its bits again
    /// for every batch would take longer than the batch.
    keys: u64,
    /// Memory for the answers of one batch.
    new: Vec<bool>,
    /// Keys that were removed.
    removed: u64,
    /// Keys that were to be removed, and were absent.
    absent: u64,
}

/// How the filter is saved.
#[derive(Debug)]
enum Saver {
    /// Whole.
    Whole(Box<FileLock>),
    /// Whole, or as a few keys in its journal.
    Journal(Box<JournalWriter>),
}

impl Changing {
    /// A new filter. It is saved to the locked file, if there is one.
    ///
    /// # Panics
    /// If it is not a native filter.
    pub fn new(filter: AnyFilter, file: Option<(&Path, FileLock)>) -> Changing {
        let (path, lock) = match file {
            Some((path, lock)) => (path.to_owned(), Some(lock)),
            None => (PathBuf::new(), None),
        };
        let saver = lock.map(|lock| match stored(&filter) {
            StoredFilter::Dynamic(_) => Saver::Journal(Box::new(JournalWriter::new(lock))),
            _ => Saver::Whole(Box::new(lock)),
        });
        let keys = stored(&filter).keys();
        Changing { path, filter, saver, keys, new: Vec::new(), removed: 0, absent: 0 }
    }

    /// Loads the filter in the locked file and its journal, to be changed by keys of this type. Also returns
    /// what is wrong, although the filter can be used.
    pub fn load(
        path: &Path,
        lock: FileLock,
        secret: Option<&Secret>,
        key_type: KeyType,
    ) -> Result<(Changing, Vec<Problem>), Problem> {
        let (loaded, writer) = StoredFilter::load_to_change(lock).map_err(|e| unreadable(path, &e))?;
        let mut filter = AnyFilter::from(loaded);
        filter.require_key_type(key_type).map_err(|e| other_key_type(path, &e))?;
        if let Some(secret) = secret {
            filter.unlock(secret).map_err(|e| Problem::at(path, Code::OptionRefused, e))?;
        }
        if filter.is_locked() {
            return Err(Problem::locked(path));
        }
        let mut problems = Vec::new();
        if let Some(dynamic) = dynamic(&filter) {
            problems.extend(clock::check(path, dynamic, SystemTime::now())?);
        }
        problems.extend(incomplete(path, writer.torn_bytes(), writer.needed_seal()));
        let saver = match dynamic(&filter) {
            Some(_) => Saver::Journal(Box::new(writer)),
            None => Saver::Whole(Box::new(writer.into_lock())),
        };
        let (path, saver, keys, new) = (path.to_owned(), Some(saver), stored(&filter).keys(), Vec::new());
        Ok((Changing { path, filter, saver, keys, new, removed: 0, absent: 0 }, problems))
    }

    /// Checks that keys can be inserted.
    pub fn require_takes_keys(&self) -> Result<(), Problem> {
        self.filter.require_takes_keys().map_err(|e| match e {
            ChangeError::Unsupported(why) if self.filter.kind() == Some(Kind::Compact) => {
                Problem::at(&self.path, Code::Unsupported, why).hint("build it again from all its keys")
            }
            other => Problem::at(&self.path, Code::Unsupported, other),
        })
    }

    /// Checks that keys can be removed.
    pub fn removes_keys(&self) -> Result<(), Problem> {
        let what = match self.mode() {
            Some(Mode::Counting) => return Ok(()),
            Some(mode) => format!("dynamic ({})", mode.name()),
            None => self.filter.kind().map_or_else(String::new, |kind| kind.to_string()),
        };
        let why = format!("is a {what} filter: keys cannot be removed from it");
        Err(Problem::at(&self.path, Code::Unsupported, why))
    }

    /// Checks that the filter can remember which keys were seen: it takes keys, and a key that comes twice is
    /// one key.
    pub fn remembers_keys(&self) -> Result<(), Problem> {
        match self.mode() {
            Some(Mode::Counting) => {
                let why = "is a deletable filter, which counts every key and cannot be a state";
                Err(Problem::at(&self.path, Code::Unsupported, why).hint("insert and remove change it"))
            }
            _ => self.require_takes_keys(),
        }
    }

    fn mode(&self) -> Option<Mode> {
        dynamic(&self.filter).map(DynamicFilter::mode)
    }

    /// When its keys expire.
    pub fn expiry(&self) -> Option<Expiry> {
        match self.mode() {
            Some(Mode::Expiring(expiry)) => Some(expiry),
            _ => None,
        }
    }

    /// The facts of the filter.
    pub fn facts(&self) -> Facts {
        stored(&self.filter).facts()
    }

    /// The form that keys must be brought into before they are hashed.
    pub fn key_form(&self) -> KeyForm {
        self.filter.key_form()
    }

    /// Refuses to change the filter by keys in a form that it does not record: lookups would not find them.
    pub fn require_form(&self, given: KeyForm) -> Result<(), Problem> {
        let recorded = self.key_form();
        if recorded.has(given) {
            return Ok(());
        }
        let why = format!("its keys are {recorded}, not {given}");
        Err(Problem::at(&self.path, Code::OptionRefused, why)
            .hint("the form of keys is decided when a filter is built"))
    }

    /// The seed or the secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &stored(&self.filter).head().hashing
    }

    /// The number of keys that it keeps its rate for; 0 if that is not known.
    pub fn planned_keys(&self) -> u64 {
        match stored(&self.filter) {
            StoredFilter::Dynamic(filter) => filter.up_to(),
            stored => stored.head().expected_keys,
        }
    }

    /// The number of its keys.
    pub fn keys(&self) -> u64 {
        match stored(&self.filter) {
            StoredFilter::Fast(_) => self.keys,
            stored => stored.keys(),
        }
    }

    /// The rate of the filter as it is now.
    pub fn expected_fpr(&self) -> f64 {
        self.filter.expected_fpr()
    }

    /// Whether it has as many keys as it was made for, so that every further key raises its rate.
    pub fn is_full(&self) -> bool {
        let planned = self.planned_keys();
        self.require_takes_keys().is_ok() && planned > 0 && self.keys() >= planned
    }

    /// Whether it has more keys than it was made for.
    pub fn is_overfull(&self) -> bool {
        match stored(&self.filter) {
            StoredFilter::Fast(filter) => filter.head().exceeds(self.keys),
            stored => stored.is_overfull(),
        }
    }

    /// The message of a filter that has more keys than it was made for.
    pub fn overfull_message(&self) -> Option<String> {
        NativeRecord::of(&self.facts()).overfull_message()
    }

    /// Inserts keys at the present time, in order, by hashes that its [`hashing`](Changing::hashing) made of
    /// them. Returns how many are new.
    pub fn insert(&mut self, hashes: &[u64]) -> Result<u64, Problem> {
        let mut new = std::mem::take(&mut self.new);
        new.resize(hashes.len(), false);
        let added = self.insert_new(hashes, &mut new);
        self.new = new;
        added
    }

    /// As [`insert`](Changing::insert), and marks each key that is new.
    pub fn insert_new(&mut self, hashes: &[u64], new: &mut [bool]) -> Result<u64, Problem> {
        let refused = |e: InsertError| Problem::at(&self.path, Code::SizeRefused, e);
        let own = self.hashing().hashes(hashes);
        match self.filter.as_native_mut() {
            Some(StoredFilter::Fast(filter)) => {
                filter.insert_batch_new(&own, &mut *new).map_err(refused)?;
                self.keys = self.keys.saturating_add(count(new));
            }
            Some(StoredFilter::Dynamic(filter)) => {
                filter.advance(SystemTime::now()).map_err(|e| refused(e.into()))?;
                filter.insert_batch_new(&own, &mut *new).map_err(refused)?;
                if let Some(Saver::Journal(writer)) = &mut self.saver {
                    writer.record(filter, hashes, new);
                }
            }
            _ => return self.require_takes_keys().map(|()| 0),
        }
        Ok(count(new))
    }

    /// Removes keys, in order, by their hashes. Marks each one that was there; returns how many were.
    pub fn remove(&mut self, hashes: &[u64], removed: &mut [bool]) -> Result<u64, Problem> {
        self.removes_keys()?;
        let own = self.hashing().hashes(hashes);
        let Some(StoredFilter::Dynamic(filter)) = self.filter.as_native_mut() else { return Ok(0) };
        if let Some(Saver::Journal(writer)) = &mut self.saver {
            writer.rewrite();
        }
        let refused = |e| Problem::at(&self.path, Code::Unsupported, e);
        filter.remove_batch(&own, &mut *removed).map_err(refused)?;
        let count = count(removed);
        self.removed += count;
        self.absent += hashes.len() as u64 - count;
        Ok(count)
    }

    /// Saves what [`remove`](Changing::remove) removed. If one of the keys was absent, nothing is removed
    /// from the file, unless `force` is given. Returns whether the removal stands.
    pub fn finish_removal(self, force: bool) -> Result<bool, FileError> {
        if self.absent > 0 && !force {
            return Ok(false);
        }
        match self.removed {
            0 => Ok(true),
            _ => self.finish().map(|()| true),
        }
    }

    /// Whether inserting a known key changes the filter.
    pub fn refreshes(&self) -> bool {
        self.expiry().is_some_and(|expiry| expiry.refresh)
    }

    /// Whether there is a file, which existed before or has been saved since.
    pub fn is_saved(&self) -> bool {
        match &self.saver {
            Some(Saver::Whole(lock)) => lock.exists(),
            Some(Saver::Journal(writer)) => writer.exists(),
            None => false,
        }
    }

    /// Saves what was changed since the last save, completely or not at all.
    pub fn save(&mut self) -> Result<(), FileError> {
        match (&mut self.saver, stored(&self.filter)) {
            (Some(Saver::Journal(writer)), StoredFilter::Dynamic(filter)) => writer.save(filter),
            (Some(Saver::Whole(lock)), stored) => lock.replace(|out| stored.write_to(out)),
            _ => Ok(()),
        }
    }

    /// Gives the file up: other processes may change it. Nothing is saved any more.
    pub fn abandon(&mut self) {
        self.saver = None;
    }

    /// Saves for the last time.
    pub fn finish(mut self) -> Result<(), FileError> {
        match (self.saver.take(), stored(&self.filter)) {
            (Some(Saver::Journal(writer)), StoredFilter::Dynamic(filter)) => writer.finish(filter),
            (saver, _) => {
                self.saver = saver;
                self.save()
            }
        }
    }
}

/// How many answers are yes.
fn count(answers: &[bool]) -> u64 {
    answers.iter().filter(|yes| **yes).count() as u64
}

fn stored(filter: &AnyFilter) -> &StoredFilter {
    filter.as_native().expect("a native filter")
}

fn dynamic(filter: &AnyFilter) -> Option<&DynamicFilter> {
    match filter.as_native() {
        Some(StoredFilter::Dynamic(filter)) => Some(filter),
        _ => None,
    }
}

/// The problem of a file that cannot be loaded; a file that is not a native filter is reported as such.
fn unreadable(path: &Path, cause: &FileError) -> Problem {
    if let Some(problem) = damaged_journal(path, cause) {
        return problem;
    }
    match cause.cause() {
        FileCause::Decode(DecodeError::Magic { at: 0, .. } | DecodeError::Truncated { at: 0, .. }) => {
            Problem::at(path, Code::NotAFilter, "is not a native filter")
        }
        FileCause::Io(cause) => Problem::at(path, Code::Unreadable, format_args!("cannot open: {cause}")),
        _ => {
            // The error names the real place of the file, which the caller may have given in another way.
            let (text, place) = (cause.to_string(), format!("{}: ", cause.path().display()));
            Problem::at(path, Code::Unreadable, text.strip_prefix(&place).unwrap_or(&text))
        }
    }
}
