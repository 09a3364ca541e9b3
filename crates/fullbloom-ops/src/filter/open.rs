//! The run-time filter: bytes ─► [`Opened`], and a filter rebuilt from keys beside it.

use super::fill::along;
use super::native::{KindRecord, NativeRecord};
use super::record::Source;
use super::{FilterFile, FilterRecord, gzip};
use crate::problem::{Code, Need, Problem};
use crate::report::Found;
use fullbloom::error::BuildError;
use fullbloom::sizing::{Request, Target};
use fullbloom::typed::TypeError;
use fullbloom::{DecodeError, SizeError};
use fullbloom_any as any;
use fullbloom_any::{AnyFilter, ChangeError};
use fullbloom_any::{HashFacts, Kind, KindFacts};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_dialects::rocksdb;
use fullbloom_dialects::rocksdb::{FilterType, Policy};
use fullbloom_dynamic::Journal;
use fullbloom_dynamic::Mode;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A filter, and what is wrong with the file it is in.
#[derive(Debug)]
pub struct Opened {
    /// The filter.
    pub filter: AnyFilter,
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

impl Opened {
    /// Refuses a filter that may report its own keys absent, or that cannot answer without its secret.
    pub fn require_sound(&self, path: &Path) -> Result<(), Problem> {
        if self.is_locked {
            return Err(Problem::locked(path));
        }
        if !self.may_lose_keys {
            return Ok(());
        }
        let messages: Vec<&str> = self.problems.iter().map(|problem| problem.message.as_str()).collect();
        Err(Problem::at(path, Code::Doubtful, messages.join("; ")))
    }
}

impl FilterFile {
    /// Decodes the filter. Bytes that follow it are a problem, but no failure, if the format says where it
    /// ends. A file in memory is compared with its checksums; of a mapped one only the header, so that
    /// answers come at once. A filter that forgets keys is brought up to the present time.
    pub fn open(&self) -> Result<Opened, Problem> {
        self.open_at(SystemTime::now())
    }

    /// As [`open`](FilterFile::open), with the present time given by the caller.
    pub fn open_at(&self, now: SystemTime) -> Result<Opened, Problem> {
        let check = if self.is_mapped() { Check::Header } else { Check::All };
        let (path, dialect) = (self.path(), self.dialect());
        if self.options.secret.is_some() && dialect != Name::Native {
            let why = format!("a {dialect} filter has no secret");
            return Err(Problem::at(path, Code::OptionRefused, why).needs(Need::NoSecret));
        }
        let mut problems: Vec<Problem> = mislabelled(path, dialect).into_iter().collect();
        let mut len = self.bytes().len();
        let mut read = self.read(len, check);
        if let (Err(trailing @ DecodeError::Trailing { at, .. }), None) = (&read, self.options.geometry)
            && dialect != Name::Native
        {
            problems.push(Problem::at(path, Code::TrailingBytes, trailing));
            len = usize::try_from(*at).map_or(len, |at| at.min(len));
            read = self.read(len, check);
        }
        let read = read.and_then(|filter| filter.replay(self.journal.as_ref()));
        let mut filter = read.map_err(|e| self.refused(&e))?;
        if let Some(journal) = &self.journal {
            problems.extend(incomplete(self.path(), journal.torn_bytes(), journal.needs_seal()));
            if journal.is_of_another() {
                let why = "the journal beside it belongs to another version of the file, and is not used: the \
                           next change removes it";
                problems.push(Problem::at(self.path(), Code::JournalUnused, why));
            }
        }
        self.unlock(&mut filter)?;
        // Without memory to drop expired keys, they stay longer.
        filter.advance(now).unwrap_or(());
        let doubt = filter.doubt();
        let may_lose_keys = doubt.as_ref().is_some_and(|doubt| doubt.may_lose_keys);
        problems.extend(doubt.map(|doubt| Problem::at(path, Code::Doubtful, doubt)));
        let mut native = filter.native_facts().map(|facts| NativeRecord::of(&facts));
        if let Some(KindRecord::Dynamic(dynamic)) = native.as_mut().map(|native| &mut native.kind) {
            let own = self.journal.as_ref().filter(|journal| !journal.is_of_another());
            dynamic.journal_bytes = own.map(Journal::byte_len);
        }
        let overfull = native.as_ref().and_then(NativeRecord::overfull_message);
        problems.extend(overfull.map(|why| Problem::at(path, Code::Overfull, why)));
        let is_locked = filter.is_locked();
        Ok(Opened { filter, bytes: len as u64, problems, may_lose_keys, native, is_locked })
    }

    /// The filter in the first `len` bytes, read where they are.
    fn read(&self, len: usize, check: Check) -> Result<AnyFilter, DecodeError> {
        // The secret is given later: a wrong one is the caller's mistake and not damage.
        // Whoever looks up keys brings them into the filter's form.
        let options = self.options.clone().dialect(Some(self.dialect())).secret(None).key_form_applied();
        AnyFilter::over_part(self.part(len), &options, check)
    }

    fn unlock(&self, filter: &mut AnyFilter) -> Result<(), Problem> {
        let Some(secret) = &self.options.secret else { return Ok(()) };
        let refused = |why: String| Problem::at(self.path(), Code::OptionRefused, why);
        if filter.native_facts().is_some_and(|facts| matches!(facts.hash, HashFacts::Seed(_))) {
            return Err(refused("the filter has no secret".to_owned()).needs(Need::NoSecret));
        }
        filter.unlock(secret).map_err(|e| refused(e.to_string()))
    }

    fn refused(&self, cause: &DecodeError) -> Problem {
        let (path, dialect) = (self.path(), self.dialect());
        let option = |why: String| Problem::at(path, Code::OptionRefused, why).needs(Need::Geometry);
        let as_built = "give the bits and probes that the filter was built with";
        match cause {
            DecodeError::Given { .. } => option(cause.to_string()).hint(as_built),
            DecodeError::Trailing { at, extra } if self.options.geometry.is_some() => {
                option(format!("{} bytes, but the given bits need {at}", at.saturating_add(*extra)))
                    .hint(as_built)
            }
            DecodeError::KeyType(e) => other_key_type(path, e),
            DecodeError::Unknown { .. } => Problem::at(path, Code::NotAFilter, not_a(dialect, cause))
                .hint(as_built)
                .needs(Need::Geometry),
            // Damage of an sstable's filter has the codes that it has in a directory.
            DecodeError::Truncated { .. } if is_filter_db(path) => {
                Problem::at(path, Code::FilterTruncated, not_a(dialect, cause))
            }
            _ if is_filter_db(path) => Problem::at(path, Code::FilterMalformed, not_a(dialect, cause)),
            _ if gzip::is_packed(self.bytes()) => Problem::at(path, Code::NotAFilter, not_a(dialect, cause))
                .hint("it looks like gzip: unpack it with gunzip"),
            _ => Problem::at(path, Code::NotAFilter, not_a(dialect, cause)),
        }
    }
}

/// The given keys are not of the type that the filter records.
pub fn other_key_type(path: &Path, cause: &TypeError) -> Problem {
    let problem = Problem::at(path, Code::OptionRefused, cause);
    match cause {
        TypeError::Recorded { recorded, .. } => {
            problem.hint(format!("its keys are of the type {recorded}")).needs(Need::KeyType(*recorded))
        }
        _ => problem,
    }
}

fn not_a(dialect: Name, cause: &DecodeError) -> String {
    match (dialect, cause) {
        (Name::Native, DecodeError::Magic { .. }) => format!("not a native filter: {cause}"),
        // The file begins as native filters do.
        (Name::Native, _) => format!("damaged native filter: {cause}"),
        _ => format!("not a {dialect} filter: {cause}"),
    }
}

fn is_filter_db(path: &Path) -> bool {
    Descriptor::parse(path).is_ok_and(|named| named.component == "Filter.db")
}

/// The message for a file whose name belongs to another dialect than the one it is read or written as.
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
    /// The record of a filter that occupies `bytes` bytes at `path`. Reads the whole array.
    pub fn of(
        path: &Path,
        filter: &AnyFilter,
        bytes: u64,
        native: Option<NativeRecord>,
        source: Source<'_>,
    ) -> Found<FilterRecord> {
        let (geometry, occupancy) = (filter.geometry(), filter.occupancy());
        let weakness = filter.weakness().map(|weakness| {
            let code = if weakness.with_all_keys { Code::Weak } else { Code::WeakForSomeKeys };
            Problem::at(path, code, weakness)
        });
        let (keys, recognised, strip) = match source {
            Source::Keys(keys) => (keys, None, Vec::new()),
            Source::File { recognised, strip } => {
                (None, Some(recognised.to_owned()), if strip { along(filter.bits()) } else { Vec::new() })
            }
        };
        let record = FilterRecord {
            path: path.display().to_string(),
            dialect: filter.dialect(),
            bits: geometry.bit_len,
            probes: geometry.probes,
            bytes,
            keys,
            fill: occupancy.fill,
            estimated_keys: occupancy.estimated_keys,
            expected_fpr: occupancy.expected_fpr,
            native,
            strip,
            recognised,
        };
        Found { record, problems: weakness.into_iter().collect() }
    }
}

/// A filter of the same shape, filled with the caller's keys, to be compared with the one in the file.
pub(super) enum Rebuild<'a> {
    /// Keys are inserted into an empty copy.
    Inserted(AnyFilter),
    /// Built in the same shape when all keys are there.
    Built(Box<any::Builder>),
    /// Solved in the same length when all keys are there.
    Solved { sound: &'a [u8], builder: Box<rocksdb::Builder> },
    /// The dialect cannot be rebuilt in the same shape.
    Impossible,
    /// There was not enough memory for it.
    NoMemory(SizeError),
}

impl<'a> Rebuild<'a> {
    /// An empty filter of the same shape.
    pub(super) fn new(file: &'a FilterFile, opened: &Opened) -> Rebuild<'a> {
        let made = match opened.filter.dialect() {
            // The length is taken from the file; with the most bits for each key, small ones do not become
            // Bloom filters sooner than they did.
            Name::RocksDbRibbon => {
                Policy::new(FilterType::Ribbon, 100.0).ok().map(|policy| Rebuild::Solved {
                    sound: &file.bytes()[..opened.bytes as usize],
                    builder: Box::new(rocksdb::Builder::new(policy)),
                })
            }
            dialect @ (Name::RocksDb | Name::RocksDbLegacy) => {
                let shape = opened.filter.geometry();
                let target = Target::Exact { bit_len: shape.bit_len, probes: shape.probes };
                let builder = any::Builder::new(dialect, &Request { expected_keys: 0, target });
                builder.ok().map(|builder| Rebuild::Built(Box::new(builder)))
            }
            _ => match opened.filter.try_clone() {
                Ok(mut copy) => match copy.clear() {
                    Ok(()) => Some(Rebuild::Inserted(copy)),
                    Err(ChangeError::Size(e)) => Some(Rebuild::NoMemory(e)),
                    Err(_) => None,
                },
                Err(e @ SizeError::Memory { .. }) => Some(Rebuild::NoMemory(e)),
                Err(_) => None,
            },
        };
        made.unwrap_or(Rebuild::Impossible)
    }

    /// Inserts some keys.
    pub(super) fn insert(&mut self, keys: &[&[u8]]) {
        match self {
            Rebuild::Inserted(copy) => match copy.insert_batch(keys) {
                Ok(_) => {}
                Err(ChangeError::Size(e)) => *self = Rebuild::NoMemory(e),
                Err(_) => *self = Rebuild::Impossible,
            },
            Rebuild::Built(builder) => builder.add_batch(keys),
            Rebuild::Solved { builder, .. } => builder.add_batch(keys).expect("keys are given as bytes"),
            Rebuild::Impossible | Rebuild::NoMemory(_) => {}
        }
    }

    /// Whether the file has the same bits; `None` if that cannot be decided.
    ///
    /// # Errors
    /// If there is not enough memory to rebuild it.
    pub(super) fn compare(self, opened: &Opened, missing: u64) -> Result<Option<bool>, SizeError> {
        let mut rebuilt = match self {
            Rebuild::Inserted(rebuilt) => rebuilt,
            Rebuild::Built(builder) => match builder.build() {
                Ok(rebuilt) => rebuilt,
                Err(BuildError::Size(e @ SizeError::Memory { .. })) => return Err(e),
                Err(_) => return Ok(None),
            },
            Rebuild::Solved { sound, mut builder } => {
                let rebuilt = builder.build_with_len(sound.len() as u64);
                return Ok(match rebuilt.is_ok_and(|rebuilt| rebuilt.encode() == sound) {
                    true => Some(true),
                    // The bytes depend on the order of the keys: different bytes are no damage while no key
                    // is missing.
                    false => (missing > 0).then_some(false),
                });
            }
            Rebuild::Impossible => return Ok(None),
            Rebuild::NoMemory(e) => return Err(e),
        };
        if opened.filter.kind() == Some(Kind::Dynamic) {
            return same_file(&rebuilt, &opened.filter);
        }
        // The bits are the same if both have as many, and merging the old ones adds none.
        let bits = rebuilt.count_ones();
        let merged = rebuilt.merge(&opened.filter);
        Ok(merged.is_ok().then(|| bits == opened.filter.count_ones() && bits == rebuilt.count_ones()))
    }
}

/// Whether two dynamic filters with the same options hold the same keys: then their files are equal. `None`
/// for filters that forget keys, because their files depend on when each key came.
fn same_file(rebuilt: &AnyFilter, old: &AnyFilter) -> Result<Option<bool>, SizeError> {
    match old.native_facts().map(|facts| facts.kind) {
        Some(KindFacts::Dynamic { mode, .. }) if !matches!(mode, Mode::Expiring(_)) => {}
        _ => return Ok(None),
    }
    let bytes = rebuilt.encoded_len();
    let memory = SizeError::Memory { bytes };
    let mut file = Vec::new();
    file.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|_| memory.clone())?;
    rebuilt.write_to(&mut file).map_err(|_| memory.clone())?;
    let mut same = Same { rest: &file, equal: true };
    old.write_to(&mut same).map_err(|_| memory)?;
    Ok(Some(same.equal && same.rest.is_empty()))
}

/// Compares what is written with what is expected.
struct Same<'a> {
    rest: &'a [u8],
    equal: bool,
}

impl io::Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.rest.split_at_checked(bytes.len()) {
            Some((expected, rest)) if expected == bytes => self.rest = rest,
            _ => self.equal = false,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What an interrupted save left in a journal: incomplete bytes, or keys that were not acknowledged.
pub(super) fn incomplete(path: &Path, torn_bytes: u64, needs_seal: bool) -> Option<Problem> {
    let problem = |why: String| Problem::at(path, Code::JournalIncomplete, why);
    match torn_bytes {
        0 if needs_seal => {
            let why = "a save into its journal is under way, or was interrupted after its keys were written: \
                       they are used";
            Some(problem(why.to_owned()))
        }
        0 => None,
        torn => Some(problem(format!(
            "a save into its journal is under way, or was interrupted: the last {torn} bytes are not \
             acknowledged, and are ignored"
        ))),
    }
}
