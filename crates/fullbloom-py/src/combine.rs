//! Two filters into one, and whether two are equal.

use crate::errors;
use crate::state::State;
use fullbloom::any::{self, AnyFilter, AnyGrowing};
use fullbloom::native::{GuardedFilter, Hashing, NativeFilter};
use pyo3::prelude::*;

impl State {
    /// Adds all keys of another filter, or keeps what both may contain.
    pub fn combine(&mut self, other: &State, how: Combine) -> PyResult<()> {
        other.require_plain("combined")?;
        match self {
            State::Native(ours) => match other {
                State::Native(theirs) => how.native(ours, theirs),
                State::Guarded(theirs) if is_plain(theirs) => how.native(ours, theirs.filter()),
                State::Mapped(theirs) if is_plain(theirs) => how.native(ours, theirs.filter()),
                State::Growing(_) | State::Built(_) | State::View(..) => Err(differ(other.filter()?)),
                _ => Err(other.not_combined()?),
            },
            State::Growing(ours) => {
                if let State::Growing(theirs) = other {
                    return how.any(&mut **ours, &**theirs);
                }
                how.any(&mut **ours, &*other.growing()?)
            }
            _ => Err(self.read_only()),
        }
    }

    /// A copy that can be combined with others.
    pub fn combinable(&self) -> PyResult<State> {
        self.require_plain("combined")?;
        match self {
            State::Native(filter) => filter.to_owned().map(State::Native).map_err(errors::size),
            State::Guarded(filter) if is_plain(filter) => {
                filter.filter().to_owned().map(State::Native).map_err(errors::size)
            }
            State::Mapped(filter) if is_plain(filter) => {
                filter.filter().to_owned().map(State::Native).map_err(errors::size)
            }
            State::Guarded(_) | State::Mapped(_) | State::Closed => Err(self.not_combined()?),
            _ => self.growing().map(State::Growing),
        }
    }

    /// Refuses a native filter of another form than plain: such are only asked here.
    pub fn require_plain(&self, what: &str) -> PyResult<()> {
        match self.form_name() {
            Some(form) => Err(errors::value(format_args!(
                "a native filter of the form {form} cannot be {what}: that takes plain ones"
            ))),
            None => Ok(()),
        }
    }

    fn growing(&self) -> PyResult<Box<dyn AnyGrowing>> {
        let filter = self.filter()?;
        let (dialect, told) = (filter.dialect(), self.told(filter));
        let copy = any::decode(dialect, self.encoded()?.as_ref(), told.geometry).map_err(errors::decode)?;
        copy.ok_or_else(|| {
            let told = "it is made of all its keys at once";
            errors::value(format_args!("a {dialect} filter cannot be combined with others: {told}"))
        })
    }

    fn not_combined(&self) -> PyResult<PyErr> {
        self.filter()?;
        Ok(errors::value("a filter with exceptions, or without its secret, cannot be combined with others"))
    }

    /// Whether both have the same bytes; of plain native ones shape, hash and bits count, and not how many keys were told new.
    pub fn equals(&self, other: &State) -> PyResult<bool> {
        let (ours, theirs) = (self.filter()?, other.filter()?);
        if ours.dialect() != theirs.dialect() || ours.geometry() != theirs.geometry() {
            return Ok(false);
        }
        match (self.plain(), other.plain()) {
            (Some((a, ours)), Some((b, theirs))) => Ok(a == b && ours == theirs),
            _ => Ok(self.encoded()?.as_ref() == other.encoded()?.as_ref()),
        }
    }

    /// Hash and bits of a native filter that is nothing else.
    fn plain(&self) -> Option<(&Hashing, &[u8])> {
        match self {
            State::Native(filter) => Some((filter.hashing(), filter.bits())),
            State::Guarded(filter) if is_plain(filter) => {
                Some((filter.filter().hashing(), filter.filter().bits()))
            }
            State::Mapped(filter) if is_plain(filter) => {
                Some((filter.filter().hashing(), filter.filter().bits()))
            }
            _ => None,
        }
    }
}

/// Two filters of one shape become one.
#[derive(Clone, Copy)]
pub enum Combine {
    /// The keys of either.
    Union,
    /// The keys of both.
    Intersection,
}

impl Combine {
    fn native<S: AsRef<[u8]>>(self, ours: &mut NativeFilter, theirs: &NativeFilter<S>) -> PyResult<()> {
        match self {
            Combine::Union => ours.union(theirs),
            Combine::Intersection => ours.intersect(theirs),
        }
        .map_err(errors::merge)
    }

    fn any(self, ours: &mut dyn AnyGrowing, theirs: &dyn AnyGrowing) -> PyResult<()> {
        match self {
            Combine::Union => ours.merge(theirs),
            Combine::Intersection => ours.intersect(theirs),
        }
        .map_err(errors::merge)
    }
}

fn differ(other: &dyn AnyFilter) -> PyErr {
    let theirs = other.dialect();
    errors::value(format_args!(
        "filters cannot be merged: dialect is native in one and {theirs} in the other"
    ))
}

fn is_plain<S: AsRef<[u8]>>(filter: &GuardedFilter<S>) -> bool {
    filter.exceptions().is_none() && !filter.is_locked()
}
