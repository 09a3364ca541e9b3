//! What the methods of the class share: types of keys, two filters together, one key.

use super::Filter;
use crate::errors;
use crate::held::{Combine, Held};
use crate::keys::Key;
use crate::run::integer;
use fullbloom::typed::KeyType;
use fullbloom_any::AnyFilter;
use fullbloom_any::Facts;
use pyo3::prelude::*;

impl Filter {
    /// A filter of keys that this process has inserted. While it takes keys, they may be of any type.
    pub(super) fn new(filter: AnyFilter, key_type: KeyType) -> Filter {
        let recorded = filter.recorded_key_type().filter(|_| filter.require_takes_keys().is_err());
        Filter { held: Held::new(filter), key_type, recorded }
    }

    /// A filter that was read. If it records the type of its keys, others are refused.
    pub(crate) fn of_read(filter: AnyFilter, key_type: Option<KeyType>) -> Filter {
        let recorded = filter.recorded_key_type();
        let key_type = key_type.or(recorded.filter(|recorded| recorded.is_number()));
        Filter { held: Held::new(filter), key_type: key_type.unwrap_or(KeyType::Long), recorded }
    }

    /// The same kind of filter.
    pub(super) fn like(&self, filter: AnyFilter) -> Filter {
        Filter { held: Held::new(filter), key_type: self.key_type, recorded: self.recorded }
    }

    /// Refuses to add keys of another type than the filter was read with. A filter that this process has
    /// built takes keys of both types, and then records none.
    pub(super) fn require_to_add(&self, given: KeyType) -> PyResult<()> {
        require(self.recorded, given)
    }

    /// Refuses a filter whose integers have other bytes: some keys of the combined filter would not be found.
    fn require_same_integers(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        let (ours, theirs) = (self.key_type, other.key_type);
        let dialect = self.held.read(py, |filter| Ok(filter.dialect()))?;
        let bytes_of_one = |key_type| {
            let key = dialect.key(integer(1, key_type).ok()?).ok()?;
            Some(key.as_ref().to_vec())
        };
        if ours == theirs || bytes_of_one(ours) == bytes_of_one(theirs) {
            return Ok(());
        }
        Err(errors::value(format_args!(
            "filters cannot be merged: key_type is {ours} in one and {theirs} in the other"
        )))
    }

    pub(super) fn combined(&self, py: Python<'_>, other: &Filter, how: Combine) -> PyResult<Filter> {
        self.require_same_integers(py, other)?;
        self.held.combined(py, &other.held, how).map(|filter| self.like(filter))
    }

    pub(super) fn combine(&self, py: Python<'_>, other: &Filter, how: Combine) -> PyResult<()> {
        self.require_same_integers(py, other)?;
        self.held.combine(py, &other.held, how)
    }

    /// Whether a key may be present; a null is not.
    pub(super) fn contains(&self, py: Python<'_>, key: Option<&Key<'_>>) -> PyResult<bool> {
        self.held.read(py, |filter| {
            filter.require_unlocked().map_err(errors::change)?;
            let Some(key) = key else { return Ok(false) };
            require_to_ask(filter, key.key_type(self.key_type))?;
            match key {
                Key::Bytes(bytes) => Ok(filter.may_contain(bytes)),
                Key::Number(number) => {
                    filter.may_contain_value(integer(*number, self.key_type)?).map_err(errors::key_type)
                }
            }
        })
    }

    /// Something of the facts that only native filters have; a filter of several arrays reads them all for
    /// it.
    pub(super) fn of_native<R: Send>(
        &self,
        py: Python<'_>,
        get: impl FnOnce(Facts) -> Option<R> + Send,
    ) -> PyResult<Option<R>> {
        self.held.read_detached(py, |filter| Ok(filter.native_facts().and_then(get)))
    }
}

/// Refuses lookups of keys that are not of the type that the filter records: it surely does not contain them.
pub(super) fn require_to_ask(filter: &AnyFilter, given: KeyType) -> PyResult<()> {
    require(filter.recorded_key_type(), given)
}

fn require(recorded: Option<KeyType>, given: KeyType) -> PyResult<()> {
    match recorded {
        Some(recorded) if recorded.is_number() != given.is_number() => Err(errors::wrong_type(format_args!(
            "the filter was built from {}, the keys given are {}",
            words(recorded),
            words(given)
        ))),
        _ => Ok(()),
    }
}

/// The keys of this type, as Python calls them.
fn words(key_type: KeyType) -> &'static str {
    if key_type.is_number() { "int" } else { "str or bytes" }
}
