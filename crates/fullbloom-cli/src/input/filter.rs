//! A filter file: its bytes, what they are, and the filter in them.

use super::gzip;
use crate::error::Failure;
use crate::facts::NativeFacts;
use fullbloom::any::{self, AnyFilter};
use fullbloom::cassandra::Descriptor;
use fullbloom::dialect::Name;
use fullbloom::file::{self, Mapped};
use fullbloom::native::{GuardedFilter, Hashing, Secret, StoredFilter};
use fullbloom::typed::KeyType;
use fullbloom::{DecodeError, Owned, sniff};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file, and what is known about it before its bytes are understood.
#[derive(Debug)]
pub struct FilterFile {
    path: PathBuf,
    bytes: Bytes,
    dialect: Name,
    geometry: Option<(u64, u32)>,
    secret: Option<Secret>,
    key_type: KeyType,
    recognised: String,
}

#[derive(Debug)]
enum Bytes {
    Loaded(Owned),
    Mapped(Mapped),
    /// What was in a compressed file.
    Unpacked(Vec<u8>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Loaded(bytes) => bytes.as_ref(),
            Bytes::Mapped(map) => map.as_ref(),
            Bytes::Unpacked(bytes) => bytes,
        }
    }
}

/// A filter, and what has to be said about the file it is in.
pub struct Opened<'a> {
    /// The filter.
    pub filter: Box<dyn AnyFilter + 'a>,
    /// Bytes it occupies in the file.
    pub bytes: u64,
    /// What is not as it should be, though the filter can be used.
    pub warnings: Vec<String>,
    /// One of them may make keys of the filter look absent.
    pub may_lose_keys: bool,
    /// What only a native filter has.
    pub native: Option<NativeFacts>,
    /// It is keyed, and its secret is not known: it cannot be asked.
    pub is_locked: bool,
}

impl FilterFile {
    /// Reads a file: it may change or go afterwards. What it is, is told first, so that a large file which is
    /// no filter is not read.
    pub fn load(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        let mapped = Self::map(path, dialect, geometry)?;
        match mapped.bytes {
            Bytes::Mapped(_) => Ok(FilterFile { bytes: Bytes::Loaded(file::read(path)?), ..mapped }),
            _ => Ok(mapped),
        }
    }

    /// Maps a file: only what is asked for is read, but nobody may cut it short meanwhile. Without a dialect it
    /// is told from the file's name and bytes.
    pub fn map(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        let map = Mapped::open(path)?;
        let bytes = match gzip::unpack(map.as_ref()) {
            None => Bytes::Mapped(map),
            Some(Ok(unpacked)) => Bytes::Unpacked(unpacked),
            Some(Err(e)) => return Err(Failure::new(path.display(), format_args!("gzip: {e}"))),
        };
        let (dialect, recognised) = match dialect {
            Some(dialect) => (dialect, "as told by --dialect".to_owned()),
            None => {
                let found = sniff::recognise(Some(path), bytes.as_ref());
                let (dialect, how) = found.map_err(|e| unknown(path, bytes.as_ref(), &e))?;
                (dialect, how.to_string())
            }
        };
        let (path, key_type) = (path.to_owned(), KeyType::Bytes);
        Ok(FilterFile { path, bytes, dialect, geometry, secret: None, key_type, recognised })
    }

    /// The filter is keyed with this secret, if any.
    #[must_use]
    pub fn with_secret(self, secret: Option<Secret>) -> FilterFile {
        FilterFile { secret, ..self }
    }

    /// It will be asked for keys of this type.
    #[must_use]
    pub fn with_key_type(self, key_type: KeyType) -> FilterFile {
        FilterFile { key_type, ..self }
    }

    /// What it is.
    pub fn dialect(&self) -> Name {
        self.dialect
    }

    /// How that is known.
    pub fn recognised(&self) -> &str {
        &self.recognised
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The filter. Bytes that follow it are a warning, not an error, where it says itself where it ends.
    pub fn open(&self) -> Result<Opened<'_>, Failure> {
        if self.dialect == Name::Native {
            return self.open_native();
        }
        if self.secret.is_some() {
            return Err(Failure::new("--secret", format_args!("a {} filter has none", self.dialect)));
        }
        let mut warnings: Vec<String> = name_contradicts(&self.path, self.dialect).into_iter().collect();
        let mut bytes = self.bytes.as_ref();
        let mut view = any::view_for(self.key_type, self.dialect, bytes, self.geometry);
        if let (Err(trailing @ DecodeError::Trailing { at, .. }), None) = (&view, self.geometry) {
            warnings.push(trailing.to_string());
            bytes = usize::try_from(*at).ok().and_then(|at| bytes.get(..at)).unwrap_or(bytes);
            view = any::view_for(self.key_type, self.dialect, bytes, None);
        }
        let filter = view.map_err(|e| self.refused(&e))?;
        let doubt = filter.doubt();
        let may_lose_keys = doubt.as_ref().is_some_and(|doubt| doubt.may_lose_keys);
        warnings.extend(doubt.map(|doubt| doubt.to_string()));
        let bytes = bytes.len() as u64;
        Ok(Opened { filter, bytes, warnings, may_lose_keys, native: None, is_locked: false })
    }

    fn open_native(&self) -> Result<Opened<'_>, Failure> {
        let stored = self.stored()?;
        let native = NativeFacts::of(&stored);
        let mut warnings: Vec<String> = name_contradicts(&self.path, self.dialect).into_iter().collect();
        warnings.extend(native.warning());
        Ok(Opened {
            is_locked: stored.is_locked(),
            filter: stored.into(),
            bytes: self.bytes.as_ref().len() as u64,
            warnings,
            may_lose_keys: false,
            native: Some(native),
        })
    }

    /// The native filter of whatever form, unlocked where the secret is given; a rotating one as it is now. A file that was read
    /// or unpacked is checked whole; of one that is mapped only the front, so that answers come at once.
    pub fn stored(&self) -> Result<StoredFilter<&[u8]>, Failure> {
        let bytes = self.bytes.as_ref();
        if self.geometry.is_some() || !matches!(self.bytes, Bytes::Mapped(_)) {
            any::view(self.dialect, bytes, self.geometry).map_err(|e| self.refused(&e))?;
        }
        let mut stored = StoredFilter::view(bytes).map_err(|e| self.refused(&e))?;
        if let StoredFilter::Rotating(filter) = &mut stored {
            filter.advance(SystemTime::now());
        }
        let Some(secret) = &self.secret else { return Ok(stored) };
        if !stored.is_locked() && matches!(stored.first().hashing(), Hashing::Seed(_)) {
            return Err(Failure::new(self.path.display(), "the filter is not keyed, it needs no --secret"));
        }
        stored.unlock(secret).map_err(|e| Failure::new(self.path.display(), e))
    }

    /// The plain native filter; refused if it is of another form.
    pub fn native(&self) -> Result<GuardedFilter<&[u8]>, Failure> {
        self.stored()?.into_plain().map_err(|e| Failure::new(self.path.display(), e))
    }

    fn refused(&self, cause: &DecodeError) -> Failure {
        let path = self.path.display();
        match cause {
            DecodeError::Mismatch { field: "bits given", got, expected, .. } => {
                Failure::new(path, format_args!("--bits {got}: the file says {expected}"))
            }
            DecodeError::Mismatch { field: "probes given", got, expected, .. } => {
                Failure::new(path, format_args!("--probes {got}: the file says {expected}"))
            }
            DecodeError::Trailing { at, extra } if self.geometry.is_some() => {
                let why = format!("{} bytes, where --bits needs {at}", at.saturating_add(*extra));
                Failure::new(path, why).hint("give the --bits the filter was built with")
            }
            DecodeError::Unknown { .. } => {
                Failure::new(path, format_args!("not a {} filter: {cause}", self.dialect))
                    .hint("give --bits M --probes K, as the filter was built with")
            }
            _ => Failure::new(path, format_args!("not a {} filter: {cause}", self.dialect)),
        }
    }
}

/// What to say when a file is named as the filter of another dialect than it is read or written as.
pub fn name_contradicts(path: &Path, dialect: Name) -> Option<String> {
    let named = Descriptor::parse(path).ok().filter(|named| named.component == "Filter.db")?;
    (named.dialect != dialect).then(|| {
        format!("the name says sstable version {}, which is {}, not {dialect}", named.version, named.dialect)
    })
}

/// What the bytes could be, strictly read, where they cannot tell themselves.
fn unknown(path: &Path, bytes: &[u8], cause: &DecodeError) -> Failure {
    let list = |names: &[Name]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let candidates = sniff::candidates(bytes);
    let raw = "raw bits (libbloom-1, java-lsm) with --bits M --probes K";
    let hint = match candidates.as_slice() {
        [] => {
            format!("give --dialect D, one of {}; its bytes fit none, unless they are {raw}", list(Name::ALL))
        }
        names => format!("give --dialect D; its bytes can be read as {}, or as {raw}", list(names)),
    };
    Failure::new(path.display(), cause).hint(hint)
}
