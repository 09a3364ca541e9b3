//! Feeds keys to a builder.

use super::Refusal;
use crate::input::{Keys, threads};
use crate::progress::Progress;
use fullbloom_any::{AnyFilter, Builder};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// A filter of the keys that were read.
pub struct Filled {
    pub filter: AnyFilter,
    /// Insertions, repeated keys included.
    pub inserted: u64,
    /// The number of keys that the filter is sized for, if there are more.
    pub exceeded: Option<u64>,
}

/// The filter of all keys. One thread inserts, in the order of the keys, so that the file is the same on
/// every machine; the others read, and hash for native filters.
pub fn fill(mut builder: Builder, keys: &mut Keys) -> Result<Filled, Refusal> {
    let progress = Progress::new("inserting keys", keys.total());
    match builder.hashing().cloned() {
        Some(hashing) => keys.in_order_hashed(&progress, threads(), &hashing, |hashes| {
            builder.add_hashes(hashes);
            Ok(flow(&builder))
        })?,
        None => keys.for_each_batch(&progress, |batch| {
            builder.add_batch(batch.keys);
            Ok(flow(&builder))
        })?,
    }
    drop(progress);
    finish(builder)
}

/// The filter of all keys but these.
pub fn fill_without(
    mut builder: Builder,
    keys: &mut Keys,
    without: &HashSet<Vec<u8>>,
) -> Result<Filled, Refusal> {
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        builder.add_batch(others(batch.keys, without).as_slice());
        Ok(flow(&builder))
    })?;
    drop(progress);
    finish(builder)
}

/// The finished filter.
pub fn finish(builder: Builder) -> Result<Filled, Refusal> {
    let (inserted, exceeded) = (builder.inserted(), builder.exceeded());
    Ok(Filled { filter: builder.build()?, inserted, exceeded })
}

/// No more keys are read for a builder that has failed.
pub fn flow(builder: &Builder) -> ControlFlow<()> {
    if builder.has_failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The keys of a batch that are not left out.
pub fn others<'a>(batch: &[&'a [u8]], without: &HashSet<Vec<u8>>) -> Vec<&'a [u8]> {
    batch.iter().copied().filter(|key| !without.contains(*key)).collect()
}
