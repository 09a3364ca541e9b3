//! What can be wrong with a place: one table of codes, each with its severity.
//!
//! Codes and severities are part of the interface: scripts match on them, so they never change their meaning.
//! `docs/json.md` lists the same table.

use crate::report::Status;
use fullbloom::typed::KeyType;
use fullbloom_dialects::Name;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::Path;

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// It costs memory or reads, or something could not be checked.
    Warning,
    /// Lookups go wrong or may go wrong, or something could not be read.
    Error,
}

impl Severity {
    /// Its name in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How commands end because of a problem, however they reached the place: by name or through a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Well: the filter does its work.
    Well,
    /// `inspect` with status 1, `verify` well.
    Inspect,
    /// `verify` with status 1, because it could not do its work; `inspect` well.
    Verify,
    /// `inspect` and `verify` with status 1.
    Both,
    /// Both with status 2: the place could not be read.
    Failed,
}

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $name:literal, $severity:ident, $ends:ident;)+) => {
        /// What is wrong, as a name that does not change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The name that reports and JSON have.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)+ }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)+ }
            }

            fn ends(self) -> Ends {
                match self { $(Code::$variant => Ends::$ends,)+ }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => concat!($($meaning),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    // Files and directories that could not be read.
    /// The file or directory cannot be read.
    Unreadable = "unreadable", Error, Failed;
    /// Neither the name nor the bytes say which dialect the filter has.
    UnknownDialect = "unknown-dialect", Error, Failed;
    /// The bytes are not a filter of the dialect given by the name, the bytes or the caller.
    NotAFilter = "not-a-filter", Error, Failed;
    /// An option does not fit the file.
    OptionRefused = "option-refused", Error, Failed;
    /// The filter is keyed, and its secret was not given.
    SecretMissing = "secret-missing", Error, Failed;
    /// The caller's list of keys cannot be read.
    KeyFileUnreadable = "key-file-unreadable", Error, Failed;
    /// The directory has no sstables or tables.
    NothingFound = "nothing-found", Error, Failed;
    /// The path is of a kind that the command does not take.
    Unsupported = "unsupported", Error, Failed;

    /// The keys were given in another type than the place has.
    OtherKeyType = "other-key-type", Note, Well;

    // Filters.
    /// The filter file should be there, and is not.
    FilterMissing = "filter-missing", Error, Both;
    /// The filter file has no bytes.
    FilterEmpty = "filter-empty", Error, Both;
    /// The operating system refused to read the filter file.
    FilterUnreadable = "filter-unreadable", Error, Failed;
    /// The filter ends too early.
    FilterTruncated = "filter-truncated", Error, Both;
    /// Bytes follow the end of the filter.
    TrailingBytes = "trailing-bytes", Error, Both;
    /// The filter's header holds numbers that its engine never writes.
    FilterMalformed = "filter-malformed", Error, Both;
    /// The file name says another dialect than the content has.
    Mislabelled = "mislabelled", Error, Both;
    /// Keys are not in the filter: lookups of them fail.
    KeyMissing = "key-missing", Error, Both;
    /// The filter's bytes are not the ones its keys give.
    BytesDiffer = "bytes-differ", Error, Both;
    /// The filter can be read, but its bytes are not exactly as its program writes them.
    Doubtful = "doubtful", Error, Both;
    /// The filter holds more keys than it was made for.
    Overfull = "overfull", Warning, Both;
    /// The last save into the filter's journal was interrupted before it was acknowledged. No saved key is
    /// lost.
    JournalIncomplete = "journal-incomplete", Note, Well;
    /// The journal beside the filter belongs to another version of the file. Its keys are not used.
    JournalUnused = "journal-unused", Warning, Well;
    /// The filter's rate is worse than its size promises, whatever the keys are.
    Weak = "weak", Warning, Inspect;
    /// The filter's rate is worse than its size promises for some keys.
    WeakForSomeKeys = "weak-for-some-keys", Note, Well;
    /// The expected or measured rate is worse than the recorded or requested one.
    TooFull = "too-full", Warning, Both;
    /// The filter has far more bits than its keys need.
    TooLarge = "too-large", Warning, Well;
    /// The filter was sized for zero keys, as bulk loaders do, and lets nearly every key pass.
    TooSmall = "too-small", Warning, Both;
    /// The filter was sized for a rate other than the recorded one, and meets the rate it was sized for.
    OtherRate = "other-rate", Note, Well;

    // Sstables.
    /// The sstable was written without a filter, as its table is configured.
    WrittenWithoutFilter = "written-without-filter", Note, Well;
    /// The keys of the sstable cannot be read to the end.
    KeysUnreadable = "keys-unreadable", Error, Both;
    /// The index with the keys is not beside the filter.
    IndexMissing = "index-missing", Note, Verify;
    /// The keys of sstables of this version cannot be read.
    KeysNotRead = "keys-not-read", Note, Verify;
    /// The data are compressed by a class that fullbloom cannot read.
    UnknownCompressor = "unknown-compressor", Warning, Verify;
    /// Components are encrypted, and what is in them cannot be read.
    Encrypted = "encrypted", Warning, Verify;
    /// The index has fewer keys than the sstable: `Statistics.db`, `Summary.db` or the filter knows of more.
    IndexShort = "index-short", Error, Both;
    /// A component is not the one whose checksum `Scylla.db` records.
    ComponentChecksum = "component-checksum", Error, Both;
    /// `Scylla.db` has checksums, but none of the filter: a rebuild was interrupted.
    ChecksumMissing = "checksum-missing", Warning, Verify;
    /// `Scylla.db` cannot be read.
    ScyllaUnreadable = "scylla-unreadable", Error, Both;
    /// Entries of the index are not in the order of their partitions.
    IndexOutOfOrder = "index-out-of-order", Warning, Well;
    /// `Statistics.db` cannot be read.
    StatisticsUnreadable = "statistics-unreadable", Warning, Well;
    /// ScyllaDB does not start on an sstable without `TOC.txt`.
    TocMissing = "toc-missing", Error, Both;
    /// `TOC.txt` cannot be read.
    TocUnreadable = "toc-unreadable", Warning, Well;
    /// `TOC.txt` lists the index or `Statistics.db`, and it is not there.
    ComponentLost = "component-lost", Error, Both;
    /// `TOC.txt` lists other components that are not there.
    ComponentsMissing = "components-missing", Note, Well;
    /// `TOC.txt` does not list the filter: a starting Cassandra node loads it, tools and ScyllaDB do not.
    NotListed = "not-listed", Warning, Well;

    // What was left out of a directory.
    /// Snapshots and backups were left out.
    SnapshotsSkipped = "snapshots-skipped", Note, Well;
    /// A link to a directory was not followed.
    LinkSkipped = "link-skipped", Note, Well;
    /// A file name has version letters that fullbloom does not support.
    UnknownVersion = "unknown-version", Error, Both;
    /// The sstable was still being written.
    TemporarySkipped = "temporary-skipped", Note, Well;

    // Tables and databases.
    /// The table cannot be read.
    TableUnreadable = "table-unreadable", Error, Both;
    /// The table has another number of entries or data blocks than it records: keys are missing from it.
    EntriesDiffer = "entries-differ", Error, Both;
    /// A checksum does not fit the bytes it covers.
    Checksum = "checksum", Error, Both;
    /// The MANIFEST lists a table that is not in the directory.
    TableMissing = "table-missing", Error, Both;
    /// The table's length is not the one the MANIFEST has.
    LengthDiffers = "length-differs", Error, Both;
    /// The table is not in the MANIFEST: left over, or not yet added.
    NotInManifest = "not-in-manifest", Note, Well;
    /// The MANIFEST cannot be read: levels are unknown.
    ManifestUnreadable = "manifest-unreadable", Error, Inspect;
    /// There is no MANIFEST: levels are unknown.
    ManifestMissing = "manifest-missing", Note, Well;
    /// The write-ahead log holds writes that are in no table: their keys are in no filter.
    Unflushed = "unflushed", Warning, Well;
    /// The write-ahead log does not end with a whole write, as after a crash: the rest is not read.
    LogUnfinished = "log-unfinished", Warning, Well;
    /// Deleted keys are among the keys of the table or database.
    DeletedKeys = "deleted-keys", Warning, Well;
    /// The table or row group has no filter: every lookup in its range reads it.
    NoFilter = "no-filter", Warning, Both;
    /// fullbloom does not support the filter's policy or format, so every key counts as present.
    UnknownFilter = "unknown-filter", Error, Both;
    /// Current releases of the engine do not use the filter.
    FilterIgnored = "filter-ignored", Warning, Well;
    /// Current releases of the engine do not open the table.
    OldFormat = "old-format", Warning, Well;
    /// The filter is of a kind that the engine has replaced by a better one.
    OldKind = "old-kind", Warning, Well;
    /// Ribbon was requested, but the engine stored a Bloom filter.
    RibbonFallback = "ribbon-fallback", Note, Well;

    // Parquet files.
    /// No column chunk of the file has a filter.
    NoColumnFilters = "no-column-filters", Warning, Both;
    /// The filter of a row group saves nothing: its dictionary or its smallest and largest value decide, or
    /// the filter is larger than the column.
    FilterWasted = "filter-wasted", Warning, Well;

    // Rebuilding.
    /// No rate is recorded to size the new filter for, and none was given.
    RateUnknown = "rate-unknown", Error, Both;
    /// The requested size is invalid.
    SizeRefused = "size-refused", Error, Both;
    /// At a rate of 1 the engine keeps no filter.
    RateOne = "rate-one", Warning, Well;
    /// Keys may be missing from the index, so a new filter might lack them.
    KeysUncertain = "keys-uncertain", Error, Both;
    /// The engine is running on these files, and must be stopped first.
    EngineRunning = "engine-running", Error, Failed;
    /// There is no backup to restore.
    NoBackup = "no-backup", Error, Both;
    /// The files changed while they were read.
    Changed = "changed", Error, Both;
    /// The new filter does not have the length of the old one and cannot replace it in place.
    LengthChanges = "length-changes", Error, Both;
    /// Two new files would have the same name.
    NameClash = "name-clash", Error, Both;
    /// The new file could not be written; the old one is as it was.
    CannotSave = "cannot-save", Error, Both;
    /// The new file is in place but may not survive a power failure.
    NotFlushed = "not-flushed", Error, Both;

    // Planning.
    /// The dialect cannot make a filter of this size.
    CannotSize = "cannot-size", Warning, Well;
    /// The dialect cannot keep the requested rate.
    RateNotKept = "rate-not-kept", Warning, Well;
    /// The dialect does not use all of the requested bits per key.
    BitsNotUsed = "bits-not-used", Warning, Well;
    /// No filter fits the memory.
    OverBudget = "over-budget", Warning, Well;
    /// Part of the data was left out because its keys cannot be read.
    Uncounted = "uncounted", Warning, Well;
}

impl Code {
    /// How `inspect` ends because of it.
    pub fn ends_inspect(self) -> Status {
        match self.ends() {
            Ends::Failed => Status::Failed,
            Ends::Inspect | Ends::Both => Status::NotWell,
            Ends::Well | Ends::Verify => Status::Well,
        }
    }

    /// How `verify` ends because of it.
    pub fn ends_verify(self) -> Status {
        match self.ends() {
            Ends::Failed => Status::Failed,
            Ends::Verify | Ends::Both => Status::NotWell,
            Ends::Well | Ends::Inspect => Status::Well,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The path it is about, as in the record of the same place; a dialect where no file is involved.
    pub place: String,
    /// What is wrong.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, for people, without the place.
    pub message: String,
    /// What to do about it, where we know. Every output has the same.
    pub hint: Option<String>,
    /// What the caller must give to go on. Programs name their own option for it.
    #[serde(skip)]
    pub need: Option<Need>,
}

/// What a caller must give to go on: what it knows of a file, or what it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The dialect.
    Dialect,
    /// The number of bits and probes.
    Geometry,
    /// The secret of a keyed filter.
    Secret,
    /// That the filter has no secret.
    NoSecret,
    /// How the keys are written.
    Keys,
    /// How the keys are written, or their bytes in hex.
    KeysOrHex,
    /// The type of the keys, which is this one.
    KeyType(KeyType),
    /// The dialect of an sstable whose version is not supported.
    SstableDialect,
    /// The name of a column.
    Column,
    /// The names of the partition key's columns.
    PartitionKey,
    /// A list of keys to look up.
    KeyList,
    /// The known-good keys of a filter with exceptions.
    Exceptions,
    /// The number of keys and the rate that a filter was made for.
    Request,
    /// The rate of a new filter.
    Rate,
    /// The rate of a new filter, or that it has the size of the old one.
    RateOrOldSize,
    /// The size that a filter is halved to.
    SmallerSize,
    /// That snapshots and backups are looked into.
    Snapshots,
    /// Permission to proceed despite the problem.
    Force,
    /// Another directory for the new files.
    OtherDirectory,
    /// Standard output instead of a file.
    StandardOutput,
    /// No list of keys: the place has its own.
    OwnKeys,
    /// That a filter is built from its keys, in this dialect.
    Build(Name),
    /// That a compact filter is built from its keys.
    BuildCompact,
    /// That a dynamic filter is converted into a fast one.
    Convert,
}

impl Problem {
    /// A problem of this place.
    pub fn new(place: impl fmt::Display, code: Code, message: impl fmt::Display) -> Problem {
        let (place, message) = (place.to_string(), message.to_string());
        // Errors of files begin with the path, which the place says already.
        let message = match message.strip_prefix(&place).and_then(|rest| rest.strip_prefix(": ")) {
            Some(rest) => rest.to_owned(),
            None => message,
        };
        let hint = code.next_step(&message).map(str::to_owned);
        Problem { place, code, severity: code.severity(), message, hint, need: None }
    }

    /// A problem of a file.
    pub fn at(path: &Path, code: Code, message: impl fmt::Display) -> Problem {
        Problem::new(path.display(), code, message)
    }

    /// The filter in this file is keyed, and its secret was not given.
    pub fn locked(path: &Path) -> Problem {
        Problem::at(path, Code::SecretMissing, "the filter is keyed, and its secret is not in the file")
            .hint("give the secret that it was built with")
            .needs(Need::Secret)
    }

    /// The caller's list of keys for the filter in this file cannot be read.
    pub fn key_file(path: &Path, why: impl fmt::Display) -> Problem {
        Problem::at(path, Code::KeyFileUnreadable, why)
    }

    /// Whether something could not be read, so that the command fails.
    pub(crate) fn is_failure(&self) -> bool {
        self.code.ends_inspect() == Status::Failed
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Adds what the caller must give.
    #[must_use]
    pub(crate) fn needs(self, need: Need) -> Problem {
        Problem { need: Some(need), ..self }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

/// `<place>: <message>`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_kebab_case_and_each_is_there_once() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let name = code.as_str();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{name}");
            assert!(code.meaning().ends_with('.'), "{name}: {}", code.meaning());
        }
    }

    #[test]
    fn errors_fail_and_notes_fail_only_what_they_kept_from_being_done() {
        for code in Code::ALL {
            match code.severity() {
                Severity::Error => assert_ne!(code.ends_inspect(), Status::Well, "{code}"),
                Severity::Warning => {}
                Severity::Note => assert_eq!(code.ends_inspect(), Status::Well, "{code}"),
            }
        }
    }

    #[test]
    fn a_message_does_not_repeat_its_place() {
        let problem = Problem::new("dir/f", Code::Unreadable, "dir/f: cannot open: no such file");
        assert_eq!(problem.message, "cannot open: no such file");
        assert_eq!(problem.to_string(), "dir/f: cannot open: no such file");
    }
}
