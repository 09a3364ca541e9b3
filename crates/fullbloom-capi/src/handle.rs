//! What a `fullbloom_filter *` points to.
//!
//! ```text
//!   create ──► Filter                        most dialects
//!          └─► Building ── finish ──► Filter  RocksDB's full filters: sized by their keys
//!   decode, load, view, open ──► Filter
//! ```

use crate::keys::Keys;
use crate::status::{Error, Status};
use fullbloom::Secret;
use fullbloom::typed::KeyType;
use fullbloom_any as any;
use fullbloom_any::{AnyFilter, BuildOptions, Builder, KeyHash};
use fullbloom_dialects::Name;
use std::time::{Duration, UNIX_EPOCH};

/// Marks a live handle; the letters `fbfilter`.
const LIVE: u64 = u64::from_be_bytes(*b"fbfilter");

/// A filter in the hands of a C program. The tag comes first, as in every kind of handle, so that it can be
/// read whatever kind the pointer is of.
#[derive(Debug)]
#[repr(C)]
pub struct Filter {
    tag: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Answers; takes keys if filters like it do. `locked` is a copy of `AnyFilter::is_locked`, because
    /// calling it for each lookup is measurably slower.
    Filter { filter: AnyFilter, locked: bool },
    /// Takes keys, and does nothing else until it is finished.
    Building(Name, Box<Builder>),
    /// Could not be finished; its keys are gone.
    Lost(Name),
}

impl State {
    fn of(filter: AnyFilter) -> State {
        State::Filter { locked: filter.is_locked(), filter }
    }
}

impl Filter {
    fn new(state: State) -> Filter {
        Filter { tag: LIVE, state }
    }

    /// An empty filter, or the builder of one that needs all its keys at once.
    pub fn create(options: &BuildOptions, dialect: Name) -> Result<Filter, Error> {
        let state = match options.is_built_at_once() {
            true => State::Building(dialect, Box::new(options.begin()?)),
            false => State::of(options.empty()?),
        };
        Ok(Filter::new(state))
    }

    /// Removes a key. False if it is surely absent.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool, Error> {
        let mut removed = [false];
        self.finished_mut()?.remove_batch(&[key], &mut removed)?;
        Ok(removed[0])
    }

    /// Sets the clock of a filter with expiry, in milliseconds since the Unix epoch.
    pub fn advance(&mut self, now: u64) -> Result<(), Error> {
        let Some(now) = UNIX_EPOCH.checked_add(Duration::from_millis(now)) else {
            return Err(Error::new(Status::Argument, "now_ms is a time that this system cannot express"));
        };
        self.finished_mut()?.advance(now)?;
        Ok(())
    }

    /// A filter that was read.
    pub fn read(filter: AnyFilter) -> Filter {
        Filter::new(State::of(filter))
    }

    /// The handle behind a pointer.
    ///
    /// # Safety
    /// `filter` is null or points to live memory of a handle's size that nobody changes meanwhile.
    pub unsafe fn get<'a>(filter: *const Filter) -> Result<&'a Filter, Error> {
        // SAFETY: `get` demands null or live memory of a handle's size that nobody changes; `check` refuses
        // null and reads the tag before the reference is made.
        unsafe { check(filter).map(|()| &*filter) }
    }

    /// As [`get`](Filter::get), to change it.
    ///
    /// # Safety
    /// `filter` is null or points to live memory of a handle's size that nobody else uses meanwhile.
    pub unsafe fn get_mut<'a>(filter: *mut Filter) -> Result<&'a mut Filter, Error> {
        // SAFETY: `get_mut` demands null or live memory of a handle's size that nobody else uses; `check`
        // refuses null and reads the tag before the reference is made.
        unsafe { check(filter).map(|()| &mut *filter) }
    }

    /// The filter, if it has been finished.
    pub fn finished(&self) -> Result<&AnyFilter, Error> {
        match &self.state {
            State::Filter { filter, .. } => Ok(filter),
            State::Building(name, _) => Err(not_finished(*name)),
            State::Lost(name) => Err(lost(*name)),
        }
    }

    fn finished_mut(&mut self) -> Result<&mut AnyFilter, Error> {
        match &mut self.state {
            State::Filter { filter, .. } => Ok(filter),
            State::Building(name, _) => Err(not_finished(*name)),
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// As [`finished`](Filter::finished), and refused for a keyed filter whose secret is not known: it can
    /// only answer "maybe".
    #[inline]
    pub fn answering(&self) -> Result<&AnyFilter, Error> {
        match &self.state {
            State::Filter { filter, locked: false } => Ok(filter),
            _ => Err(self.cannot_answer()),
        }
    }

    #[cold]
    fn cannot_answer(&self) -> Error {
        self.finished().err().unwrap_or_else(|| any::ChangeError::Locked.into())
    }

    /// Adds a key. A filter that is not finished cannot know whether the key was new, and returns true.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        match &mut self.state {
            State::Filter { filter, .. } => Ok(filter.insert(key)?),
            State::Building(_, builder) => {
                builder.add(key);
                Ok(true)
            }
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// Inserts keys, or none of them if one is invalid.
    pub fn insert_batch(&mut self, keys: Keys<'_>) -> Result<(), Error> {
        if let State::Building(_, builder) = &mut self.state {
            keys.in_groups(|_, group| builder.add_batch(group));
            return Ok(());
        }
        let filter = self.finished_mut()?;
        filter.require_takes_keys()?;
        keys.try_in_groups(|_, group| filter.insert_batch(group))?;
        Ok(())
    }

    /// The hash of a key. Unlike lookups, it needs no finished filter: the hashes of a set can be made before
    /// the first filter is.
    pub fn hash(&self, key: &[u8]) -> Result<KeyHash, Error> {
        match &self.state {
            State::Filter { filter, .. } => Ok(filter.hash(key)?),
            State::Building(_, builder) => Ok(builder.hash(key)),
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// As [`insert`](Filter::insert), for a key that was hashed before.
    pub fn insert_hash(&mut self, hash: &KeyHash) -> Result<bool, Error> {
        match &mut self.state {
            State::Filter { filter, .. } => Ok(filter.insert_hash(hash)?),
            State::Building(_, builder) => {
                builder.add_key_hashes(std::slice::from_ref(hash))?;
                Ok(true)
            }
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// Adds keys by their hashes, or none if one hash is not the filter's own.
    pub fn insert_hashes(&mut self, hashes: &[KeyHash]) -> Result<(), Error> {
        match &mut self.state {
            State::Filter { filter, .. } => Ok(filter.insert_hashes(hashes)?),
            State::Building(_, builder) => Ok(builder.add_key_hashes(hashes)?),
            State::Lost(name) => Err(lost(*name)),
        }
    }

    /// Builds the filter from the keys that came.
    pub fn finish(&mut self) -> Result<(), Error> {
        let name = match self.state {
            State::Filter { .. } => return Ok(()),
            State::Building(name, _) | State::Lost(name) => name,
        };
        match std::mem::replace(&mut self.state, State::Lost(name)) {
            State::Building(_, builder) => self.state = State::of(builder.build()?),
            _ => return Err(lost(name)),
        }
        Ok(())
    }

    /// Forgets all keys.
    pub fn clear(&mut self) -> Result<(), Error> {
        Ok(self.finished_mut()?.clear()?)
    }

    /// Adds all keys of another filter.
    pub fn merge(&mut self, other: &Filter) -> Result<(), Error> {
        let theirs = other.answering()?;
        let ours = self.finished_mut()?;
        if !ours.is_owned() {
            return Err(any::ChangeError::ReadOnly.into());
        }
        ours.require_unlocked()?;
        Ok(ours.merge(theirs)?)
    }

    /// Records the type of its keys.
    pub fn set_key_type(&mut self, key_type: KeyType) -> Result<(), Error> {
        self.finished_mut()?.set_key_type(key_type).map_err(|e| match e {
            any::ChangeError::Unsupported(why) => Error::new(Status::Argument, why),
            other => other.into(),
        })
    }

    /// Gives a keyed filter its secret. Filters that need none stay as they are.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), Error> {
        if let State::Filter { filter, locked: locked @ true } = &mut self.state {
            filter.unlock(secret)?;
            *locked = false;
        }
        Ok(())
    }

    /// Frees a handle. Its tag is overwritten first, so that a stale pointer is likely to be noticed.
    ///
    /// # Safety
    /// `filter` came from a `Box` and nobody uses it again.
    pub unsafe fn free(filter: *mut Filter) -> Result<(), Error> {
        // SAFETY: `check` refuses null and a wrong tag. `give` made the handle with `Box::into_raw`, and
        // `free` demands that nobody uses it again.
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
    // SAFETY: The pointer is aligned (tested first) and not null (checked above), and all callers of `check`
    // demand live memory of a handle's size.
    let is_live = filter.is_aligned() && unsafe { (&raw const (*filter).tag).read() } == LIVE;
    is_live
        .then_some(())
        .ok_or_else(|| Error::new(Status::Handle, "the pointer does not point to a live filter"))
}

fn not_finished(name: Name) -> Error {
    let why = format_args!(
        "a {name} filter is built from all its keys at once: call fullbloom_filter_finish first"
    );
    Error::new(Status::NotFinished, why)
}

fn lost(name: Name) -> Error {
    Error::new(
        Status::NotFinished,
        format_args!("the {name} filter could not be built, and its keys are gone"),
    )
}
