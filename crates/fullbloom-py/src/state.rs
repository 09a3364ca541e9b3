//! What a filter holds, without Python: made here, or read from bytes or a file.

use crate::errors;
use crate::keys::Key;
use crate::run::{Integers, Run, with_keys};
use fullbloom::any::{self, AnyBuilder, AnyFilter, AnyGrowing};
use fullbloom::dialect::Name;
use fullbloom::file::{self, Mapped, MappedBits};
use fullbloom::native::{self, GuardedFilter, Hashing, NativeFilter, Plan, Secret, StoredFilter};
use fullbloom::sizing::Request;
use fullbloom::{DecodeError, Owned, SizeError, sniff};
use pyo3::prelude::*;
use self_cell::self_cell;
use std::path::Path;

/// What a filter holds.
pub enum State {
    /// A native filter that takes keys.
    Native(NativeFilter),
    /// A filter of another dialect that takes keys.
    Growing(Box<dyn AnyGrowing>),
    /// A native filter with exceptions, or without its secret.
    Guarded(GuardedFilter),
    /// A native filter in a mapped file.
    Mapped(GuardedFilter<MappedBits>),
    /// A filter of another dialect that was built of all its keys.
    Built(Box<dyn AnyFilter>),
    /// A filter over bytes that are kept with it: of another dialect, or a native one of another form than plain, with its
    /// secret if that was needed.
    View(View, Option<Secret>),
    /// Nothing any more.
    Closed,
}

type Viewed<'a> = Box<dyn AnyFilter + 'a>;

self_cell!(
    /// A filter over bytes, and the bytes.
    pub struct View {
        owner: Memory,
        #[covariant]
        dependent: Viewed,
    }
);

/// Encoded bytes.
pub enum Memory {
    /// A mapped file.
    Mapped(Mapped),
    /// A copy.
    Copied(Owned),
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Memory::Mapped(map) => map.as_ref(),
            Memory::Copied(bytes) => bytes.as_ref(),
        }
    }
}

/// What has to be known of bytes besides themselves.
#[derive(Default, Clone)]
pub struct Told {
    /// The dialect, where name and bytes do not tell.
    pub dialect: Option<Name>,
    /// Bits and probes, where the bytes do not tell.
    pub geometry: Option<(u64, u32)>,
    /// The secret of a keyed filter.
    pub secret: Option<Secret>,
}

impl Told {
    fn dialect(&self, path: Option<&Path>, bytes: &[u8]) -> Result<Name, DecodeError> {
        let dialect = self.dialect.map_or_else(|| sniff::dialect(path, bytes), Ok)?;
        match &self.secret {
            Some(_) if dialect != Name::Native => {
                Err(DecodeError::Unknown { what: "only native filters have a secret" })
            }
            _ => Ok(dialect),
        }
    }

    fn unlocked<S: AsRef<[u8]>>(&self, filter: GuardedFilter<S>) -> Result<GuardedFilter<S>, DecodeError> {
        let Some(secret) = &self.secret else { return Ok(filter) };
        match filter.filter().hashing() {
            Hashing::Seed(_) if !filter.is_locked() => {
                Err(DecodeError::Unknown { what: "the filter is not keyed, it needs no secret" })
            }
            _ => filter.unlock(secret),
        }
    }
}

impl State {
    /// An empty filter that takes keys.
    pub fn empty(dialect: Name, request: &Request, hashing: Hashing) -> PyResult<State> {
        if dialect == Name::Native {
            let plan = Plan::new(request).map_err(errors::size)?;
            return NativeFilter::from_plan(&plan, hashing).map(State::Native).map_err(errors::size);
        }
        match any::growing(dialect, request).map_err(errors::size)? {
            Some(filter) => Ok(State::Growing(filter)),
            None => Err(errors::value(format_args!(
                "a {dialect} filter is made when all keys are there: use Filter.build"
            ))),
        }
    }

    /// Reads encoded bytes strictly and copies them.
    pub fn decode(bytes: Owned, path: Option<&Path>, told: &Told) -> Result<State, DecodeError> {
        let dialect = told.dialect(path, bytes.as_ref())?;
        if dialect == Name::Native {
            if told.geometry.is_some() {
                any::view(dialect, bytes.as_ref(), told.geometry)?;
            }
            if is_form(bytes.as_ref()) {
                return State::form(Memory::Copied(bytes), told);
            }
            let filter = told.unlocked(GuardedFilter::decode(bytes.as_ref())?)?;
            return Ok(match filter.into_filter() {
                Ok(filter) => State::Native(filter),
                Err(guarded) => State::Guarded(*guarded),
            });
        }
        if !is_built_at_once(dialect)
            && let Some(filter) = any::decode(dialect, bytes.as_ref(), told.geometry)?
        {
            return Ok(State::Growing(filter));
        }
        State::view(dialect, Memory::Copied(bytes), told.geometry)
    }

    fn view(dialect: Name, memory: Memory, geometry: Option<(u64, u32)>) -> Result<State, DecodeError> {
        let view = View::try_new(memory, |memory| any::view(dialect, memory.as_ref(), geometry))?;
        Ok(State::View(view, None))
    }

    /// A native filter that grows, forgets or removes: it is asked here, and changed by others.
    fn form(memory: Memory, told: &Told) -> Result<State, DecodeError> {
        let view = View::try_new(memory, |memory| {
            native::verify(memory.as_ref())?;
            let stored = StoredFilter::view(memory.as_ref())?;
            let stored = match &told.secret {
                Some(secret) => stored.unlock(secret)?,
                None if stored.is_locked() => {
                    return Err(DecodeError::Unknown { what: "the filter is keyed: give its secret" });
                }
                None => stored,
            };
            Ok(stored.into())
        })?;
        Ok(State::View(view, told.secret.clone()))
    }

    /// The form of a native filter that is not plain.
    pub fn form_name(&self) -> Option<&'static str> {
        let State::View(view, _) = self else { return None };
        if view.borrow_dependent().dialect() != Name::Native {
            return None;
        }
        let stored = StoredFilter::view(view.borrow_owner().as_ref()).ok()?;
        Some(stored.form()).filter(|form| *form != "plain")
    }

    /// Reads a file.
    pub fn load(path: &Path, told: &Told) -> PyResult<State> {
        let bytes = file::read(path).map_err(errors::file)?;
        State::decode(bytes, Some(path), told).map_err(errors::decode_file(path))
    }

    /// Maps a file.
    pub fn open(path: &Path, told: &Told) -> PyResult<State> {
        let map = Mapped::open(path).map_err(errors::file)?;
        let dialect = told.dialect(Some(path), map.as_ref()).map_err(errors::decode_file(path))?;
        if dialect == Name::Native && is_form(map.as_ref()) {
            return State::form(Memory::Mapped(map), told).map_err(errors::decode_file(path));
        }
        if dialect == Name::Native && told.geometry.is_none() {
            drop(map);
            let filter = GuardedFilter::open(path).map_err(errors::file)?;
            return told.unlocked(filter).map(State::Mapped).map_err(errors::decode_file(path));
        }
        State::view(dialect, Memory::Mapped(map), told.geometry).map_err(errors::decode_file(path))
    }

    /// The filter.
    pub fn filter(&self) -> PyResult<&dyn AnyFilter> {
        match self {
            State::Native(filter) => Ok(filter),
            State::Growing(filter) => Ok(&**filter),
            State::Guarded(filter) => Ok(filter),
            State::Mapped(filter) => Ok(filter),
            State::Built(filter) => Ok(&**filter),
            State::View(view, _) => Ok(&**view.borrow_dependent()),
            State::Closed => Err(errors::value("the filter is closed")),
        }
    }

    /// The filter, if it can be asked.
    fn answering(&self) -> PyResult<&dyn AnyFilter> {
        match self.is_locked() {
            true => Err(errors::value("the filter is keyed: give its secret when you load it")),
            false => self.filter(),
        }
    }

    /// Whether it is keyed and its secret is not known.
    pub fn is_locked(&self) -> bool {
        match self {
            State::Guarded(filter) => filter.is_locked(),
            State::Mapped(filter) => filter.is_locked(),
            _ => false,
        }
    }

    /// Whether it takes keys.
    pub fn takes_keys(&self) -> bool {
        matches!(self, State::Native(_) | State::Growing(_))
    }

    /// Answers one key.
    pub fn may_contain(&self, key: &Key<'_>, integers: Integers) -> PyResult<bool> {
        let filter = self.answering()?;
        match key {
            Key::Bytes(bytes) => Ok(filter.may_contain(bytes)),
            Key::Number(number) => {
                let key = integers.key(*number, filter.dialect())?;
                Ok(match filter.for_numbers() {
                    Some(filter) => filter.may_contain(key.as_ref()),
                    None => filter.may_contain(key.as_ref()),
                })
            }
        }
    }

    /// Answers many keys.
    pub fn ask(&self, run: Run<'_>, integers: Integers, answers: &mut [bool]) -> PyResult<()> {
        let filter = self.answering()?;
        integers.require(&run)?;
        match self {
            State::Native(filter) => with_keys!(run, keys => filter.may_contain_batch(keys, answers)),
            State::Guarded(filter) => with_keys!(run, keys => filter.may_contain_batch(keys, answers)),
            State::Mapped(filter) => with_keys!(run, keys => filter.may_contain_batch(keys, answers)),
            _ => {
                let for_numbers = if run.is_numbers() { filter.for_numbers() } else { None };
                let asked = for_numbers.as_deref().unwrap_or(filter);
                run.in_groups(filter.dialect(), integers, |first, group| {
                    asked.may_contain_batch(group, &mut answers[first..first + group.len()]);
                })?;
            }
        }
        Ok(())
    }

    /// Adds one key; whether it was surely not there before.
    pub fn add(&mut self, key: &Key<'_>, integers: Integers) -> PyResult<bool> {
        match (&mut *self, key) {
            (State::Native(filter), Key::Bytes(bytes)) => Ok(filter.insert(bytes)),
            (State::Native(filter), Key::Number(number)) => {
                Ok(filter.insert(integers.key(*number, Name::Native)?.as_ref()))
            }
            (State::Growing(filter), Key::Bytes(bytes)) => Ok(filter.insert(bytes)),
            (State::Growing(_), Key::Number(number)) => {
                let new = !self.may_contain(key, integers)?;
                self.insert(Run::Numbers(&[*number]), integers, 1)?;
                Ok(new)
            }
            _ => Err(self.read_only()),
        }
    }

    /// Adds many keys, on this many threads where that is known to help; 0 means one for each core.
    pub fn insert(&mut self, run: Run<'_>, integers: Integers, threads: usize) -> PyResult<()> {
        integers.require(&run)?;
        match self {
            State::Native(filter) if threads == 1 => {
                with_keys!(run, keys => filter.insert_batch(keys));
            }
            State::Native(filter) => {
                with_keys!(run, keys => filter.insert_parallel(keys, threads));
            }
            State::Growing(filter) => {
                let numbers = run.is_numbers();
                run.in_groups(filter.dialect(), integers, |_, group| match numbers {
                    true => filter.insert_numbers(group),
                    false => filter.insert_batch(group),
                })?;
            }
            _ => return Err(self.read_only()),
        }
        Ok(())
    }

    /// Forgets all keys.
    pub fn clear(&mut self) -> PyResult<()> {
        match self {
            State::Native(filter) => filter.clear(),
            State::Growing(filter) => filter.clear(),
            _ => return Err(self.read_only()),
        }
        Ok(())
    }

    /// Why it does not change.
    pub fn read_only(&self) -> PyErr {
        errors::value(match self {
            State::Closed => "the filter is closed",
            State::Mapped(_) => "the filter is mapped from a file and takes no keys: use Filter.load",
            State::Guarded(filter) if filter.is_locked() => {
                "the filter is keyed: give its secret when you load it"
            }
            State::Guarded(_) => "the filter has exceptions and takes no more keys",
            State::View(view, _) if view.borrow_dependent().dialect() == Name::Native => {
                "a filter that grows, rotates or removes is only asked here; the command and Rust change it"
            }
            _ => "the filter was made of all its keys at once, or is mapped, and takes no more",
        })
    }

    /// A copy that takes keys if filters like this do.
    pub fn copy(&self) -> PyResult<State> {
        if let State::Native(filter) = self {
            return filter.to_owned().map(State::Native).map_err(errors::size);
        }
        let filter = self.filter()?;
        State::decode(self.encoded()?, None, &self.told(filter)).map_err(errors::decode)
    }

    /// What has to be known to read the encoded bytes again.
    pub fn told(&self, filter: &dyn AnyFilter) -> Told {
        let (dialect, geometry) = (filter.dialect(), filter.geometry());
        // The bytes of the others say it themselves.
        let raw = matches!(dialect, Name::Libbloom1 | Name::JavaLsm | Name::Parquet);
        let geometry = raw.then_some((geometry.bit_len, geometry.probes));
        Told { dialect: Some(dialect), geometry, secret: self.secret() }
    }

    /// The secret of a keyed filter, unless it is in the encoded bytes.
    fn secret(&self) -> Option<Secret> {
        let (hashing, is_stored) = match self {
            State::Native(filter) => (filter.hashing(), filter.stores_secret()),
            State::Guarded(filter) => (filter.filter().hashing(), filter.filter().stores_secret()),
            State::Mapped(filter) => (filter.filter().hashing(), filter.filter().stores_secret()),
            State::View(_, secret) => return secret.clone(),
            _ => return None,
        };
        match hashing {
            Hashing::Secret(secret) if !is_stored && !self.is_locked() => Some(secret.clone()),
            _ => None,
        }
    }

    /// The encoded bytes.
    pub fn encoded(&self) -> PyResult<Owned> {
        let mut bytes = Owned::zeroed(self.encoded_len()?).map_err(errors::size)?;
        self.filter()?.write_to(&mut bytes.as_mut()).map_err(errors::value)?;
        Ok(bytes)
    }

    /// How many there are, exactly.
    pub fn encoded_len(&self) -> PyResult<u64> {
        let mut counter = Counter(0);
        self.filter()?.write_to(&mut counter).map_err(errors::value)?;
        Ok(counter.0)
    }

    /// Writes the encoded bytes; false if there is not exactly room for them.
    pub fn encode_into(&self, mut room: &mut [u8]) -> PyResult<bool> {
        match self.filter()?.write_to(&mut room) {
            Ok(()) => Ok(room.is_empty()),
            Err(_) => Ok(false), // a slice has no other reason
        }
    }
}

/// Whether a native file holds another form than a plain filter; what cannot be read is not one.
fn is_form(bytes: &[u8]) -> bool {
    StoredFilter::view(bytes).is_ok_and(|stored| !matches!(stored, StoredFilter::Plain(_)))
}

/// Dialects whose filters are sized by the keys that came, and take none afterwards.
pub fn is_built_at_once(dialect: Name) -> bool {
    matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon)
}

/// Takes keys on the way to a filter.
pub enum Sink<'a> {
    /// A filter that takes them.
    State(&'a mut State),
    /// What becomes a filter at the end.
    Builder(&'a mut dyn AnyBuilder, Name),
}

impl Sink<'_> {
    /// Takes some keys.
    pub fn take(&mut self, run: Run<'_>, integers: Integers, threads: usize) -> PyResult<()> {
        match self {
            Sink::State(state) => state.insert(run, integers, threads),
            Sink::Builder(builder, dialect) => {
                run.in_groups(*dialect, integers, |_, group| builder.insert_batch(group))
            }
        }
    }
}

/// A filter of these dialects, begun.
pub fn builder(dialect: Name, request: &Request) -> Result<Box<dyn AnyBuilder>, SizeError> {
    any::builder(dialect, request)
}

struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
