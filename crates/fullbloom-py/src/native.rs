//! What only native filters have: facts of their own, and exceptions.

use crate::errors;
use crate::keys::Source;
use crate::run::with_keys;
use crate::state::State;
use fullbloom::native::{GuardedFilter, Hashing, NativeFilter};
use pyo3::prelude::*;

/// What a native filter knows about itself besides its bits.
pub struct NativeFacts {
    /// Insertions that changed a bit.
    pub keys: u64,
    /// That is an estimate.
    pub estimated: bool,
    /// The keys it was made for; 0 if not known.
    pub expected_keys: u64,
    /// The seed of its hash, if it has one.
    pub seed: Option<u64>,
    /// It is hashed with a secret.
    pub keyed: bool,
    /// A text of the owner's.
    pub label: String,
}

/// The facts of a filter, if it is native.
pub fn facts(state: &State) -> Option<NativeFacts> {
    fn of<S: AsRef<[u8]>>(filter: &NativeFilter<S>, locked: bool) -> NativeFacts {
        let seed = match filter.hashing() {
            Hashing::Seed(seed) if !locked => Some(*seed),
            _ => None,
        };
        NativeFacts {
            keys: filter.keys(),
            estimated: filter.keys_are_estimated(),
            expected_keys: filter.expected_keys(),
            seed,
            keyed: seed.is_none(),
            label: filter.label().to_owned(),
        }
    }
    match state {
        State::Native(filter) => Some(of(filter, false)),
        State::Guarded(filter) => Some(of(filter.filter(), filter.is_locked())),
        State::Mapped(filter) => Some(of(filter.filter(), filter.is_locked())),
        _ => None,
    }
}

/// The filter with exceptions, made in two passes: the good keys, then all keys again.
pub fn guarded<'py>(
    py: Python<'py>,
    filter: NativeFilter,
    keys: &mut Source<'py>,
    good: &Bound<'py, PyAny>,
) -> PyResult<GuardedFilter> {
    let mut first = filter.exceptions();
    Source::of(good)?
        .each(py, false, |run| with_keys!(run, keys => first.add(keys)).map_err(errors::guard))?;
    let mut second = py.detach(|| first.members()).map_err(errors::guard)?;
    keys.each(py, true, |run| with_keys!(run, keys => second.add(keys)).map_err(errors::guard))?;
    py.detach(|| second.finish()).map_err(errors::guard)
}
