//! A filter that several threads of Python use: who waits for whom.

use crate::errors;
use fullbloom_any::AnyFilter;
use fullbloom_any::Kind;
use pyo3::prelude::*;
use std::ptr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A filter behind a lock; nothing once it is closed.
pub struct Held(RwLock<Option<AnyFilter>>);

/// Two filters of one shape become one.
#[derive(Clone, Copy)]
pub enum Combine {
    /// The keys of either.
    Merge,
    /// The keys of both.
    Intersect,
}

impl Combine {
    fn into(self, ours: &mut AnyFilter, theirs: &AnyFilter) -> PyResult<()> {
        match self {
            Combine::Merge => ours.merge(theirs),
            Combine::Intersect => ours.intersect(theirs),
        }
        .map_err(errors::merge)
    }
}

fn closed() -> PyErr {
    errors::value("the filter is closed")
}

impl Held {
    pub fn new(filter: AnyFilter) -> Held {
        Held(RwLock::new(Some(filter)))
    }

    fn shared(&self) -> RwLockReadGuard<'_, Option<AnyFilter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&self) -> RwLockWriteGuard<'_, Option<AnyFilter>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the filter. Never waits while it holds the interpreter: whoever has the lock may need that.
    pub fn read<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&AnyFilter) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        if let Ok(filter) = self.0.try_read() {
            return read(filter.as_ref().ok_or_else(closed)?);
        }
        self.read_detached(py, read)
    }

    /// As [`read`](Held::read), for what takes long.
    pub fn read_detached<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&AnyFilter) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        py.detach(|| self.read_now(read))
    }

    /// As [`read`](Held::read), for threads that are detached already.
    pub fn read_now<R>(&self, read: impl FnOnce(&AnyFilter) -> PyResult<R>) -> PyResult<R> {
        read(self.shared().as_ref().ok_or_else(closed)?)
    }

    /// Changes the filter; waits as [`read`](Held::read) does.
    pub fn write<R: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut AnyFilter) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        if let Ok(mut filter) = self.0.try_write() {
            return change(filter.as_mut().ok_or_else(closed)?);
        }
        py.detach(|| self.write_now(change))
    }

    /// As [`write`](Held::write), for threads that are detached already.
    pub fn write_now<R>(&self, change: impl FnOnce(&mut AnyFilter) -> PyResult<R>) -> PyResult<R> {
        change(self.alone().as_mut().ok_or_else(closed)?)
    }

    /// Lets go of the filter, once nobody uses it.
    pub fn close(&self, py: Python<'_>) {
        drop(py.detach(|| self.alone().take()));
    }

    /// A copy that can be changed.
    pub fn copy(&self, py: Python<'_>) -> PyResult<AnyFilter> {
        self.read_detached(py, |filter| filter.try_clone().map_err(errors::size))
    }

    /// A new filter of both.
    pub fn combined(&self, py: Python<'_>, other: &Held, how: Combine) -> PyResult<AnyFilter> {
        let mut copy = self.copy(py)?;
        other.read_detached(py, |theirs| how.into(&mut copy, theirs))?;
        Ok(copy)
    }

    /// Changes this filter; refused if it takes no keys.
    pub fn combine(&self, py: Python<'_>, other: &Held, how: Combine) -> PyResult<()> {
        if ptr::eq(self, other) {
            return self.read(py, |filter| filter.require_takes_keys().map_err(errors::change)); // it stays what it is
        }
        py.detach(|| {
            // The locks are always taken in the same order, so that two threads with the same two filters do
            // not wait for each other.
            let theirs = (ptr::from_ref(other) < ptr::from_ref(self)).then(|| other.shared());
            self.write_now(|ours| {
                let theirs = theirs.unwrap_or_else(|| other.shared());
                ours.require_takes_keys().map_err(errors::change)?;
                how.into(ours, theirs.as_ref().ok_or_else(closed)?)
            })
        })
    }

    /// Whether both filters have the same dialect, shape, hash and bits. Native filters may differ in their
    /// label and in how many insertions were new.
    pub fn equals(&self, py: Python<'_>, other: &Held) -> PyResult<bool> {
        if ptr::eq(self, other) {
            return Ok(true);
        }
        let (one, two) =
            if ptr::from_ref(other) < ptr::from_ref(self) { (other, self) } else { (self, other) };
        py.detach(|| one.read_now(|one| two.read_now(|two| Ok(are_equal(one, two)))))
    }
}

fn are_equal(one: &AnyFilter, two: &AnyFilter) -> bool {
    if one.dialect() != two.dialect() || one.kind() != two.kind() {
        return false;
    }
    // The memory of a dynamic filter depends on how it grew; its file does not.
    if one.kind() != Some(Kind::Dynamic) && one.geometry() != two.geometry() {
        return false;
    }
    match (is_fast(one), is_fast(two)) {
        (true, true) => one.hashing() == two.hashing() && one.bits() == two.bits(),
        _ => one.encode() == two.encode(),
    }
}

/// Whether its hash and bits are all there is to a native filter.
fn is_fast(filter: &AnyFilter) -> bool {
    filter.kind() == Some(Kind::Fast)
        && !filter.is_locked()
        && filter.native_facts().is_some_and(|facts| facts.exceptions.is_none())
}
