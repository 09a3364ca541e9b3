//! Detects the family of a filter: the one in which the sstable's keys are found.
//!
//! The bytes do not name it, and the version letters can be wrong: sstables written while a version was being
//! developed carry letters that later meant another form, and Cassandra 4 writes the bytes of 4 when it
//! rebuilds the filter of a
//! 3.x sstable. Read in the wrong family, a filter answers "no" to nearly every key, so the keys decide.

use crate::ComponentError;
use crate::filter_db::{FAMILIES, FilterFile};
use crate::keys::Keys;
use fullbloom_dialects::Name;
use std::ops::ControlFlow;

/// The families other than `besides` in which none of the first `limit` keys is missing.
pub(crate) fn that_have_all(
    file: &FilterFile,
    keys: &Keys<'_>,
    besides: Name,
    limit: u64,
) -> Result<Vec<Name>, ComponentError> {
    let others = FAMILIES.into_iter().filter(|name| *name != besides);
    let mut candidates: Vec<_> = others.filter_map(|name| file.view_as(name)).collect();
    let mut asked = 0;
    keys.visit(|batch| {
        let batch = &batch[..batch.len().min(usize::try_from(limit - asked).unwrap_or(usize::MAX))];
        candidates.retain(|filter| batch.iter().all(|key| filter.may_contain(key)));
        asked += batch.len() as u64;
        match asked == limit || candidates.is_empty() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(if asked == 0 { Vec::new() } else { candidates.iter().map(|filter| filter.dialect()).collect() })
}
