//! The run-time filter: bytes ─► [`Opened`], and a filter rebuilt from keys beside it.
//!
//! What the library calls a filter of any dialect is known here and in `native` alone.

use super::native::NativeRecord;
use super::{FilterFile, FilterRecord};
use crate::problem::{Code, Problem};
use crate::report::Found;
use fullbloom::DecodeError;
use fullbloom::any::{self, AnyFilter, AnyGrowing};
use fullbloom::cassandra::Descriptor;
use fullbloom::dialect::Name;
use fullbloom::native::{GuardedFilter, Hashing, StoredFilter};
use fullbloom::rocksdb::{Builder, Kind, Policy};
use std::path::Path;
use std::time::SystemTime;

/// A filter, and what is wrong with the file it is in.
pub struct Opened<'a> {
    /// The filter.
    pub filter: Box<dyn AnyFilter + 'a>,
    /// Bytes of the file that are the filter.
    pub bytes: u64,
    /// What is wrong, though the filter can be used.
    pub problems: Vec<Problem>,
    /// One of the problems may make keys of the filter look absent.
    pub may_lose_keys: bool,
    /// What only a native filter has.
    pub native: Option<NativeRecord>,
    /// It is keyed, and its secret is not known: it cannot answer.
    pub is_locked: bool,
}

impl FilterFile {
    /// Decodes the filter. Bytes that follow it are a problem, but no failure, if the format says where it ends.
    pub fn open(&self) -> Result<Opened<'_>, Problem> {
        if self.dialect() == Name::Native {
            return self.open_native();
        }
        let (path, dialect, geometry) = (self.path(), self.dialect(), self.options.geometry);
        if self.options.secret.is_some() {
            let why = format!("--secret: a {dialect} filter has no secret");
            return Err(Problem::at(path, Code::OptionRefused, why));
        }
        let mut problems: Vec<Problem> = mislabelled(path, dialect).into_iter().collect();
        let mut bytes = self.bytes();
        let mut view = any::view_for(self.options.key_type, dialect, bytes, geometry);
        if let (Err(trailing @ DecodeError::Trailing { at, .. }), None) = (&view, geometry) {
            problems.push(Problem::at(path, Code::TrailingBytes, trailing));
            bytes = usize::try_from(*at).ok().and_then(|at| bytes.get(..at)).unwrap_or(bytes);
            view = any::view_for(self.options.key_type, dialect, bytes, None);
        }
        let filter = view.map_err(|e| self.refused(&e))?;
        let doubt = filter.doubt();
        let may_lose_keys = doubt.as_ref().is_some_and(|doubt| doubt.may_lose_keys);
        problems.extend(doubt.map(|doubt| Problem::at(path, Code::Doubtful, doubt)));
        let bytes = bytes.len() as u64;
        Ok(Opened { filter, bytes, problems, may_lose_keys, native: None, is_locked: false })
    }

    fn open_native(&self) -> Result<Opened<'_>, Problem> {
        let stored = self.stored()?;
        let native = NativeRecord::of(&stored);
        let mut problems: Vec<Problem> = mislabelled(self.path(), self.dialect()).into_iter().collect();
        problems.extend(native.overfull_message().map(|why| Problem::at(self.path(), Code::Overfull, why)));
        Ok(Opened {
            is_locked: stored.is_locked(),
            filter: stored.into(),
            bytes: self.bytes().len() as u64,
            problems,
            may_lose_keys: false,
            native: Some(native),
        })
    }

    /// The native filter of any form, unlocked if the secret is given; a rotating one as it is now. A file in memory is
    /// checked completely; of a mapped one only the header, so that answers come at once.
    pub fn stored(&self) -> Result<StoredFilter<&[u8]>, Problem> {
        let (path, bytes, geometry) = (self.path(), self.bytes(), self.options.geometry);
        if geometry.is_some() || !self.is_mapped() {
            any::view(self.dialect(), bytes, geometry).map_err(|e| self.refused(&e))?;
        }
        let mut stored = StoredFilter::view(bytes).map_err(|e| self.refused(&e))?;
        if let StoredFilter::Rotating(filter) = &mut stored {
            filter.advance(SystemTime::now());
        }
        let Some(secret) = &self.options.secret else { return Ok(stored) };
        if !stored.is_locked() && matches!(stored.first().hashing(), Hashing::Seed(_)) {
            let why = "the filter is not keyed, it needs no --secret";
            return Err(Problem::at(path, Code::OptionRefused, why));
        }
        stored.unlock(secret).map_err(|e| Problem::at(path, Code::OptionRefused, e))
    }

    /// The plain native filter; refused if it is of another form.
    fn native(&self) -> Result<GuardedFilter<&[u8]>, Problem> {
        self.stored()?.into_plain().map_err(|e| Problem::at(self.path(), Code::Unsupported, e))
    }

    fn refused(&self, cause: &DecodeError) -> Problem {
        let (path, dialect) = (self.path(), self.dialect());
        let option = |why: String| Problem::at(path, Code::OptionRefused, why);
        match cause {
            DecodeError::Mismatch { field: "bits given", got, expected, .. } => {
                option(format!("--bits {got}: the file says {expected}"))
            }
            DecodeError::Mismatch { field: "probes given", got, expected, .. } => {
                option(format!("--probes {got}: the file says {expected}"))
            }
            DecodeError::Trailing { at, extra } if self.options.geometry.is_some() => {
                option(format!("{} bytes, where --bits needs {at}", at.saturating_add(*extra)))
                    .hint("give the --bits the filter was built with")
            }
            DecodeError::Unknown { .. } => Problem::at(path, Code::NotAFilter, not_a(dialect, cause))
                .hint("give --bits M --probes K, as the filter was built with"),
            // Damage of an sstable's filter has the codes that it has in a directory.
            DecodeError::Truncated { .. } if is_filter_db(path) => {
                Problem::at(path, Code::FilterTruncated, not_a(dialect, cause))
            }
            _ if is_filter_db(path) => Problem::at(path, Code::FilterMalformed, not_a(dialect, cause)),
            _ => Problem::at(path, Code::NotAFilter, not_a(dialect, cause)),
        }
    }
}

fn not_a(dialect: Name, cause: &DecodeError) -> String {
    format!("not a {dialect} filter: {cause}")
}

fn is_filter_db(path: &Path) -> bool {
    Descriptor::parse(path).is_ok_and(|named| named.component == "Filter.db")
}

/// What to say when a file is named as a filter of another dialect than it is read or written as.
pub fn name_contradicts(path: &Path, dialect: Name) -> Option<String> {
    let named = Descriptor::parse(path).ok().filter(|named| named.component == "Filter.db")?;
    (named.dialect != dialect).then(|| {
        format!("the name says sstable version {}, which is {}, not {dialect}", named.version, named.dialect)
    })
}

fn mislabelled(path: &Path, dialect: Name) -> Option<Problem> {
    name_contradicts(path, dialect).map(|why| Problem::at(path, Code::Mislabelled, why))
}

impl FilterRecord {
    /// Of a filter that occupies `bytes` bytes. Reads the whole array.
    pub fn of(path: &Path, filter: &dyn AnyFilter, bytes: u64) -> Found<FilterRecord> {
        let geometry = filter.geometry();
        let weakness = filter.weakness().map(|weakness| {
            let code = if weakness.with_all_keys { Code::Weak } else { Code::WeakForSomeKeys };
            Problem::at(path, code, weakness)
        });
        let record = FilterRecord {
            path: path.display().to_string(),
            dialect: filter.dialect(),
            bits: geometry.bit_len,
            probes: geometry.probes,
            bytes,
            keys: None,
            fill: filter.fill(),
            estimated_keys: filter.estimated_keys(),
            expected_fpr: filter.expected_fpr(),
            native: None,
            recognised: None,
        };
        Found { record, problems: weakness.into_iter().collect() }
    }
}

/// A filter of the same shape, filled with the caller's keys, to be compared with the one in the file.
pub(super) enum Rebuild<'a> {
    /// Keys are inserted into an empty copy.
    Inserted { file: &'a FilterFile, sound: &'a [u8], copy: Box<dyn AnyGrowing> },
    /// Solved when all keys are there.
    Solved { sound: &'a [u8], builder: Box<Builder> },
    /// The dialect cannot be rebuilt in the same shape.
    Impossible,
}

impl<'a> Rebuild<'a> {
    /// An empty filter of the same shape.
    pub(super) fn new(file: &'a FilterFile, opened: &Opened<'a>) -> Rebuild<'a> {
        let sound = &file.bytes()[..opened.bytes as usize];
        if opened.filter.dialect() == Name::RocksDbRibbon {
            // The length is taken from the file; with the most bits for each key, small ones do not become Bloom filters
            // sooner than they did.
            return match Policy::new(Kind::Ribbon, 100.0) {
                Ok(policy) => Rebuild::Solved { sound, builder: Box::new(Builder::new(policy)) },
                Err(_) => Rebuild::Impossible,
            };
        }
        match copy(file, sound, opened.filter.dialect()) {
            Some(mut copy) => {
                copy.clear();
                Rebuild::Inserted { file, sound, copy }
            }
            None => Rebuild::Impossible,
        }
    }

    /// Inserts some keys.
    pub(super) fn insert(&mut self, keys: &[&[u8]], are_numbers: bool) {
        match self {
            Rebuild::Inserted { copy, .. } if are_numbers => copy.insert_numbers(keys),
            Rebuild::Inserted { copy, .. } => copy.insert_batch(keys),
            Rebuild::Solved { builder, .. } => builder.insert_batch(keys),
            Rebuild::Impossible => {}
        }
    }

    /// Whether the file has the same bits; `None` if that cannot be said.
    pub(super) fn compare(self, opened: &Opened<'_>, missing: u64) -> Option<bool> {
        match self {
            Rebuild::Inserted { file, sound, copy: mut rebuilt } => {
                // The same bits: as many, and no more of them when the old ones are added.
                let bits = rebuilt.set_bits();
                let merged = rebuilt.merge(&*copy(file, sound, opened.filter.dialect())?);
                merged.is_ok().then(|| bits == opened.filter.set_bits() && bits == rebuilt.set_bits())
            }
            Rebuild::Solved { sound, mut builder } => {
                let rebuilt = builder.finish_with_len(sound.len() as u64);
                match rebuilt.is_ok_and(|rebuilt| rebuilt.encode() == sound) {
                    true => Some(true),
                    // The bytes depend on which key came first: others are no sign of damage while no key is missing.
                    false => (missing > 0).then_some(false),
                }
            }
            Rebuild::Impossible => None,
        }
    }
}

/// A copy that takes keys.
fn copy(file: &FilterFile, sound: &[u8], dialect: Name) -> Option<Box<dyn AnyGrowing>> {
    match dialect {
        // With the secret, which the bytes alone do not have.
        Name::Native => Some(Box::new(file.native().ok()?.into_filter().ok()?.to_owned().ok()?)),
        dialect => any::decode(dialect, sound, file.options.geometry).ok().flatten(),
    }
}
