//! What a `fullbloom_filter *` points to.
//!
//! ```text
//!   create ──► Growing ───────────────── insert, may_contain, merge, ...   most dialects
//!          └─► Building ─ finish ─► Built                                  RocksDB's full filters: sized by the keys that came
//!   decode, load ──► Growing, or View of a copy where no key can be added
//!   view, open   ──► View of the caller's memory, of a mapped file
//! ```

use crate::status::{Error, Status};
use fullbloom::any::{self, AnyBuilder, AnyFilter, AnyGrowing};
use fullbloom::dialect::Name;
use fullbloom::file::Mapped;
use fullbloom::native::{GuardedFilter, NativeFilter, Plan, Secret};
use fullbloom::{DecodeError, Owned, sniff};
use std::io;
use std::path::Path;

/// Marks a live handle; the letters `fbfilter`.
const LIVE: u64 = u64::from_be_bytes(*b"fbfilter");

/// A filter in a C program's hands. The tag comes first, as in every handle: whichever kind it is, it is looked at where there is memory.
#[repr(C)]
pub struct Filter {
    tag: u64,
    state: State,
}

/// What a handle holds.
pub enum State {
    /// Takes keys and answers.
    Growing(Box<dyn AnyGrowing>),
    /// Takes keys; nothing until it is finished.
    Building(Name, Box<dyn AnyBuilder>),
    /// Could not be finished; its keys are gone.
    Lost(Name),
    /// Answers.
    Built(Box<dyn AnyFilter>),
    /// Answers from bytes.
    View(View),
}

/// A filter over bytes, and what keeps those there.
pub struct View {
    /// Borrows from `memory` whatever its type says, so it stands first: it is dropped first.
    filter: Box<dyn AnyFilter>,
    locked: bool,
    memory: Memory,
}

/// Encoded bytes of a view. None of these moves its bytes when it is moved.
pub enum Memory {
    /// The caller keeps them.
    Borrowed(&'static [u8]),
    /// A mapped file.
    Mapped(Mapped),
    /// A copy.
    Copied(Owned),
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Memory::Borrowed(bytes) => bytes,
            Memory::Mapped(map) => map.as_ref(),
            Memory::Copied(bytes) => bytes.as_ref(),
        }
    }
}

/// Bits and probes of dialects whose bytes do not tell them.
pub type Geometry = Option<(u64, u32)>;

impl View {
    fn new(dialect: Name, memory: Memory, geometry: Geometry) -> Result<View, DecodeError> {
        // SAFETY: the bytes live where they are until `memory` is dropped; a view drops what borrows them first, and hands out
        // nothing that outlives it.
        let bytes: &'static [u8] = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(memory.as_ref()) };
        let filter = any::view(dialect, bytes, geometry)?;
        let locked = dialect == Name::Native && GuardedFilter::view(bytes)?.is_locked();
        Ok(View { filter, locked, memory })
    }
}

impl Filter {
    fn new(state: State) -> Filter {
        Filter { tag: LIVE, state }
    }

    /// An empty filter.
    pub fn create(dialect: Name, (request, secret): crate::sizing::Asked) -> Result<Filter, Error> {
        if let Some(secret) = secret {
            if dialect != Name::Native {
                let told = format_args!("{dialect} filters cannot be keyed; native ones can");
                return Err(Error::new(Status::Argument, told));
            }
            let filter =
                NativeFilter::from_plan(&Plan::new(&request)?, fullbloom::native::Hashing::Secret(secret))?;
            return Ok(Filter::new(State::Growing(Box::new(filter))));
        }
        Ok(Filter::new(match any::growing(dialect, &request)? {
            Some(filter) => State::Growing(filter),
            None => State::Building(dialect, any::builder(dialect, &request)?),
        }))
    }

    /// A filter that answers from bytes where they are.
    pub fn view(
        dialect: Option<Name>,
        memory: Memory,
        path: Option<&Path>,
        geometry: Geometry,
    ) -> Result<Filter, DecodeError> {
        let dialect = dialect.map_or_else(|| sniff::dialect(path, memory.as_ref()), Ok)?;
        View::new(dialect, memory, geometry).map(|view| Filter::new(State::View(view)))
    }

    /// A filter of its own bits; takes keys if the dialect's filters do once they are made.
    pub fn copied(
        dialect: Option<Name>,
        bytes: Bytes<'_>,
        path: Option<&Path>,
        geometry: Geometry,
    ) -> Result<Filter, DecodeError> {
        let dialect = dialect.map_or_else(|| sniff::dialect(path, bytes.as_ref()), Ok)?;
        if !is_built_at_once(dialect)
            && let Some(filter) = any::decode(dialect, bytes.as_ref(), geometry)?
        {
            return Ok(Filter::new(State::Growing(filter)));
        }
        View::new(dialect, Memory::Copied(bytes.into_owned()?), geometry)
            .map(|view| Filter::new(State::View(view)))
    }

    /// The handle behind a pointer.
    ///
    /// # Safety
    /// `filter` is null or points to live memory of a handle's size that nobody changes meanwhile.
    pub unsafe fn get<'a>(filter: *const Filter) -> Result<&'a Filter, Error> {
        // SAFETY: promised by the caller; the tag is looked at before anything else is.
        unsafe { check(filter).map(|()| &*filter) }
    }

    /// As [`get`](Filter::get), to change it.
    ///
    /// # Safety
    /// As there, and nobody else uses it meanwhile.
    pub unsafe fn get_mut<'a>(filter: *mut Filter) -> Result<&'a mut Filter, Error> {
        // SAFETY: as above.
        unsafe { check(filter).map(|()| &mut *filter) }
    }

    /// What answers.
    pub fn finished(&self) -> Result<&dyn AnyFilter, Error> {
        match &self.state {
            State::Growing(filter) => Ok(&**filter),
            State::Built(filter) => Ok(&**filter),
            State::View(view) => Ok(&*view.filter),
            State::Building(name, _) => Err(not_finished(*name)),
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// What answers truly: not a keyed filter without its secret.
    pub fn answering(&self) -> Result<&dyn AnyFilter, Error> {
        if self.is_locked() {
            return Err(Error::new(Status::Locked, "the filter is keyed; give its secret first"));
        }
        self.finished()
    }

    /// Whether it is keyed and its secret is not known.
    pub fn is_locked(&self) -> bool {
        matches!(&self.state, State::View(view) if view.locked)
    }

    /// Whether keys can be inserted.
    pub fn takes_keys(&self) -> bool {
        matches!(self.state, State::Growing(_) | State::Building(..))
    }

    /// Adds a key. Where it is not known whether it was new, it is.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        match &mut self.state {
            State::Growing(filter) => Ok(filter.insert(key)),
            State::Building(_, builder) => {
                builder.insert(key);
                Ok(true)
            }
            State::Lost(name) => Err(lost(*name)),
            State::Built(_) | State::View(_) => Err(read_only()),
        }
    }

    /// Adds keys.
    pub fn insert_batch(&mut self, keys: crate::keys::Keys<'_>) -> Result<(), Error> {
        match &mut self.state {
            State::Growing(filter) => keys.in_groups(|_, group| filter.insert_batch(group)),
            State::Building(_, builder) => keys.in_groups(|_, group| builder.insert_batch(group)),
            State::Lost(name) => return Err(lost(*name)),
            State::Built(_) | State::View(_) => return Err(read_only()),
        }
        Ok(())
    }

    /// Makes the filter of the keys that came.
    pub fn finish(&mut self) -> Result<(), Error> {
        let name = match self.state {
            State::Building(name, _) => name,
            State::Lost(name) => return Err(lost(name)),
            _ => return Ok(()),
        };
        if let State::Building(_, builder) = std::mem::replace(&mut self.state, State::Lost(name)) {
            self.state = State::Built(builder.finish()?);
        }
        Ok(())
    }

    /// Forgets all keys.
    pub fn clear(&mut self) -> Result<(), Error> {
        match &mut self.state {
            State::Growing(filter) => {
                filter.clear();
                Ok(())
            }
            State::Building(name, _) => Err(not_finished(*name)),
            State::Lost(name) => Err(lost(*name)),
            State::Built(_) | State::View(_) => Err(read_only()),
        }
    }

    /// Adds all keys of another filter.
    pub fn merge(&mut self, other: &Filter) -> Result<(), Error> {
        let copy;
        let theirs: &dyn AnyGrowing = match &other.state {
            State::Growing(filter) => &**filter,
            _ => {
                copy = other.growing_copy()?;
                &*copy
            }
        };
        match &mut self.state {
            State::Growing(ours) => Ok(ours.merge(theirs)?),
            State::View(View { memory: Memory::Borrowed(_) | Memory::Mapped(_), .. }) => {
                Err(Error::new(Status::ReadOnly, "the filter is a view of bytes that are not its own"))
            }
            _ => {
                let mut ours = self.growing_copy()?;
                ours.merge(theirs)?;
                self.state = State::Built(ours);
                Ok(())
            }
        }
    }

    /// A copy that takes keys, of a filter that does not.
    fn growing_copy(&self) -> Result<Box<dyn AnyGrowing>, Error> {
        let filter = self.answering()?;
        let (dialect, geometry) = (filter.dialect(), filter.geometry());
        let copy = match &self.state {
            State::View(view) => {
                any::decode(dialect, view.memory.as_ref(), Some((geometry.bit_len, geometry.probes)))?
            }
            _ => any::decode(dialect, encoded(filter)?.as_ref(), None)?,
        };
        let told = "a Ribbon filter, or one with exceptions, is made of all its keys at once";
        copy.ok_or_else(|| {
            Error::new(Status::Merge, format_args!("{dialect} filters cannot be merged: {told}"))
        })
    }

    /// Gives a keyed filter its secret.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), Error> {
        let State::View(view) = &mut self.state else { return Ok(()) };
        if !view.locked {
            return Ok(());
        }
        if let Memory::Copied(bytes) = &view.memory
            && let Ok(filter) = GuardedFilter::decode(bytes.as_ref())?.unlock(secret)?.into_filter()
        {
            self.state = State::Growing(Box::new(filter));
            return Ok(());
        }
        // SAFETY: as in `View::new`.
        let bytes: &'static [u8] =
            unsafe { std::mem::transmute::<&[u8], &'static [u8]>(view.memory.as_ref()) };
        view.filter = Box::new(GuardedFilter::view(bytes)?.unlock(secret)?);
        view.locked = false;
        Ok(())
    }

    /// Gives a handle's memory back; its tag is overwritten first, so that a stale pointer is likely to be noticed.
    ///
    /// # Safety
    /// `filter` came from a `Box` and nobody uses it again.
    pub unsafe fn free(filter: *mut Filter) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        unsafe {
            check(filter)?;
            (&raw mut (*filter).tag).write_volatile(!LIVE);
            drop(Box::from_raw(filter));
        }
        Ok(())
    }
}

unsafe fn check(filter: *const Filter) -> Result<(), Error> {
    if filter.is_null() {
        return Err(Error::null("filter"));
    }
    // SAFETY: promised by the caller of the callers.
    let is_live = filter.is_aligned() && unsafe { (&raw const (*filter).tag).read() } == LIVE;
    is_live
        .then_some(())
        .ok_or_else(|| Error::new(Status::Handle, "the pointer is not that of a live filter"))
}

fn read_only() -> Error {
    Error::new(Status::ReadOnly, "the filter takes no keys: it was finished, or is a view of bytes")
}

fn not_finished(name: Name) -> Error {
    let told = format_args!("a {name} filter is made when all keys are there: call fullbloom_filter_finish");
    Error::new(Status::NotFinished, told)
}

fn lost(name: Name) -> Error {
    Error::new(
        Status::NotFinished,
        format_args!("the {name} filter could not be finished, and its keys are gone"),
    )
}

/// Dialects whose filters are sized by the keys that came, and take none afterwards.
fn is_built_at_once(dialect: Name) -> bool {
    matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon)
}

/// Bytes to copy from: some of the caller's, or a file's that were read already.
pub enum Bytes<'a> {
    /// The caller's.
    Borrowed(&'a [u8]),
    /// Ours.
    Read(Owned),
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Read(bytes) => bytes.as_ref(),
        }
    }
}

impl Bytes<'_> {
    fn into_owned(self) -> Result<Owned, DecodeError> {
        match self {
            Bytes::Read(bytes) => Ok(bytes),
            Bytes::Borrowed(bytes) => {
                let refused = |_| DecodeError::Memory { bytes: bytes.len() as u64 };
                let mut copy = Owned::zeroed(bytes.len() as u64).map_err(refused)?;
                copy.as_mut().copy_from_slice(bytes);
                Ok(copy)
            }
        }
    }
}

/// Writes into a buffer as far as it goes, and counts what would not fit.
#[derive(Debug)]
pub struct Bounded<'a> {
    buffer: &'a mut [u8],
    written: u64,
}

impl<'a> Bounded<'a> {
    /// Writes from the start of the buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Bounded { buffer, written: 0 }
    }

    /// All bytes there were to write.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = usize::try_from(self.written).unwrap_or(usize::MAX).min(self.buffer.len());
        let room = &mut self.buffer[start..];
        let fits = room.len().min(bytes.len());
        room[..fits].copy_from_slice(&bytes[..fits]);
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The encoded filter in memory of its own.
fn encoded(filter: &dyn AnyFilter) -> Result<Owned, Error> {
    let internal = |e| Error::new(Status::Internal, e);
    let mut none = Bounded::new(&mut []);
    filter.write_to(&mut none).map_err(internal)?;
    let mut bytes = Owned::zeroed(none.written())?;
    filter.write_to(&mut Bounded::new(bytes.as_mut())).map_err(internal)?;
    Ok(bytes)
}
