//! Builds the exceptions of a native filter: known-good keys that it must not report present.

use super::fill::{Filled, fill, fill_without, others};
use super::native::NativeArgs;
use super::{Refusal, count};
use crate::error::Failure;
use crate::input::Keys;
use crate::output;
use crate::progress::Progress;
use crate::text;
use fullbloom::Hashing;
use fullbloom::exceptions::ExceptError;
use fullbloom_any::{AnyFilter, BuildOptions, Members};
use std::collections::HashSet;
use std::hash::Hash;
use std::ops::ControlFlow;

/// A filter with exceptions.
///
/// Every key is needed twice. Counting the keys also keeps a stream that can be read only once.
pub fn with_exceptions(
    args: &NativeArgs,
    options: &BuildOptions,
    keys: &mut Keys,
    good: &mut Keys,
) -> Result<Filled, Refusal> {
    let counted = count(keys)?;
    let options = match options.needs_expected_keys() {
        true => options.clone().expected_keys(counted),
        false => options.clone(),
    };
    if !good.are_plain_files() {
        count(good)?; // keeps a stream: these keys may be read a second time
    }
    let Filled { filter, inserted, exceeded } = fill(options.begin()?, keys)?;
    let members = exceptions(filter, good, keys, &HashSet::new())?;
    let finished = |members: Members, inserted| {
        Ok(Filled { filter: members.finish().map_err(refused)?, inserted, exceeded })
    };
    let mut in_both = HashSet::new();
    for hash in members.good_member_hashes() {
        keep(&mut in_both, hash)?;
    }
    if in_both.is_empty() {
        return finished(members, inserted);
    }
    let both = keys_with(good, options.hash(), &in_both)?;
    let how_many = text::counted(both.len() as u64, "key");
    let first = both
        .iter()
        .min()
        .map_or(String::new(), |key| text::printable(&String::from_utf8_lossy(key)).into_owned());
    if args.keys_win {
        output::note(&format!("--except: {how_many} in both lists, such as {first:?}: kept in the filter"));
        return finished(members, inserted);
    }
    if !args.except_wins {
        let why = format!("{how_many} in both lists, such as {first:?}");
        let hint = "--except-wins leaves them out of the filter, --keys-win keeps them in it";
        return Err(Failure::new("--except", why).hint(hint).into());
    }
    output::note(&format!("--except: {how_many} in both lists, such as {first:?}: left out of the filter"));
    drop(members);
    let Filled { filter, inserted, .. } = fill_without(options.begin()?, keys, &both)?;
    finished(exceptions(filter, good, keys, &both)?, inserted)
}

/// The known-good keys with these hashes.
fn keys_with(good: &mut Keys, hashing: &Hashing, hashes: &HashSet<u64>) -> Result<HashSet<Vec<u8>>, Failure> {
    let (mut found, mut of_batch) = (HashSet::new(), Vec::new());
    good.for_each_batch(&Progress::new("known-good keys again", good.total()), |batch| {
        of_batch.resize(batch.keys.len(), 0);
        hashing.hash_batch_into(batch.keys, &mut of_batch).expect("a place for each key");
        let keys = batch.keys.iter().zip(&of_batch).filter(|(_, hash)| hashes.contains(hash));
        for (key, _) in keys {
            keep(&mut found, key.to_vec())?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Adds an item to a set that may have as many as there are keys.
fn keep<T: Eq + Hash>(set: &mut HashSet<T>, item: T) -> Result<(), Failure> {
    let refused = |_| Failure::new("--except", "not enough memory for the keys in both lists");
    set.try_reserve(1).map_err(refused)?;
    set.insert(item);
    Ok(())
}

fn refused(e: ExceptError) -> Refusal {
    match e {
        ExceptError::Size(e) => e.into(),
        ExceptError::NotMembers { .. } => {
            Failure::new("--except", format_args!("{e}: the key files have changed meanwhile")).into()
        }
        _ => Failure::new("--except", e).into(),
    }
}

/// Begins the exceptions: reads the known-good keys once, and the keys, but for some, a second time.
fn exceptions(
    filter: AnyFilter,
    good: &mut Keys,
    keys: &mut Keys,
    without: &HashSet<Vec<u8>>,
) -> Result<Members, Refusal> {
    let failed = |e: ExceptError| Failure::new("--except", e);
    let mut first = filter.except().map_err(refused)?;
    let progress = Progress::new("known-good keys", good.total());
    good.for_each_batch(&progress, |batch| {
        first.add(batch.keys).map_err(failed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let mut second = first.members().map_err(refused)?;
    let progress = Progress::new("keys again", keys.total());
    keys.for_each_batch(&progress, |batch| {
        second.add(others(batch.keys, without).as_slice()).map_err(failed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    Ok(second)
}
