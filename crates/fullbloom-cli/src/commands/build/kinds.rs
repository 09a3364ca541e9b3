//! Builds a native filter of any kind, whether or not the number of keys is known.

use super::native::{count, empty, insert_keys, is_exact};
use super::{Args, Refusal};
use crate::error::Failure;
use crate::input::{HashSpool, Keys, threads};
use crate::output;
use crate::progress::Progress;
use crate::sizing::PROMISED;
use fullbloom::SizeError;
use fullbloom::dialect::Name;
use fullbloom::keys::Hashes;
use fullbloom::native::{Builder, DynamicFilter, DynamicOptions, Hashing, Mode, StoredFilter};
use fullbloom::sizing::{Request, Target};
use std::ops::ControlFlow;

/// Keys that a dynamic filter has memory for at the beginning, if their number is unknown.
const FIRST: u64 = 1 << 12;

/// The filter and its number of keys.
pub fn build(
    args: &Args,
    expected_keys: Option<u64>,
    target: Target,
    keys: &mut Keys,
    hashing: &Hashing,
) -> Result<(StoredFilter, u64), Refusal> {
    if args.native.is_dynamic() {
        return dynamic(args, expected_keys, target, keys, hashing);
    }
    let known = expected_keys.or(is_exact(target).then_some(0));
    let request = |expected_keys| Request { expected_keys, target };
    if let Some(expected_keys) = known {
        return direct(args, &request(expected_keys), keys, hashing);
    }
    // If the keys cannot be kept, only a filter that grows works without their number; other targets need it.
    let grow = match target {
        Target::Fpr(fpr) => Some(fpr),
        _ => None,
    };
    let begin = |first| {
        let filter = |fpr| empty_dynamic(args, first, PROMISED, fpr, hashing);
        grow.map(|fpr| filter(fpr).map_err(|e| Failure::size(Name::Native, &e)))
    };
    match collect(keys, hashing, HashSpool::default(), begin)? {
        Collected::All(mut spool) => {
            let filter = from_spool(args, &request(spool.len()), hashing, &mut spool)?;
            Ok((filter, spool.len()))
        }
        Collected::TooMany => direct(args, &request(count(keys)?), keys, hashing),
        Collected::Growing(filter, inserted) => Ok((StoredFilter::Dynamic(*filter), inserted)),
    }
}

/// The result of reading keys whose number was unknown.
enum Collected {
    /// Their hashes.
    All(HashSpool),
    /// Too many for memory, but the files can be read again.
    TooMany,
    /// They could not be kept: a filter that grew with them, and their number.
    Growing(Box<DynamicFilter>, u64),
}

/// Reads keys whose number is unknown once, and keeps eight bytes of each until the number is known. Keys of
/// plain files, which can be read again, are kept in memory only. Keys that cannot be kept are inserted into
/// the growing filter that `begin` makes, if it makes one.
fn collect(
    keys: &mut Keys,
    hashing: &Hashing,
    spool: HashSpool,
    begin: impl Fn(u64) -> Option<Result<DynamicFilter, Failure>> + Sync,
) -> Result<Collected, Failure> {
    let in_memory = keys.are_plain_files();
    let mut collected = Collected::All(spool);
    let progress = Progress::new("reading keys", keys.total());
    keys.in_order_hashed(&progress, threads(), hashing, |hashes| {
        match &mut collected {
            Collected::TooMany => {}
            Collected::Growing(filter, inserted) => {
                insert(filter, hashes)?;
                *inserted += hashes.len() as u64;
            }
            Collected::All(spool) if in_memory && !spool.has_room_for(hashes.len()) => {
                collected = Collected::TooMany;
                return Ok(ControlFlow::Break(()));
            }
            Collected::All(spool) => {
                if let Err(why) = spool.write(hashes) {
                    let Some(filter) = begin(spool.len()) else { return Err(why) };
                    output::warning(&format!(
                        "{why}; their number stays unknown, and the filter grows instead"
                    ));
                    collected = grow(filter?, spool, hashes)?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(collected)
}

/// Continues with a filter that grows: inserts the keys kept so far, and those that could not be kept.
fn grow(mut filter: DynamicFilter, spool: &mut HashSpool, last: &[u64]) -> Result<Collected, Failure> {
    let mut refused = Ok(());
    spool.read(&Progress::hidden(), |hashes| {
        if refused.is_ok() {
            refused = insert(&mut filter, hashes);
        }
    })?;
    refused?;
    insert(&mut filter, last)?;
    Ok(Collected::Growing(Box::new(filter), spool.len() + last.len() as u64))
}

fn insert(filter: &mut DynamicFilter, hashes: &[u64]) -> Result<(), Failure> {
    filter.insert_batch(&Hashes(hashes)).map(|_| ()).map_err(|e| Failure::size(Name::Native, &e))
}

/// Inserts the keys directly, as the size is known.
fn direct(
    args: &Args,
    request: &Request,
    keys: &mut Keys,
    hashing: &Hashing,
) -> Result<(StoredFilter, u64), Refusal> {
    let (filter, inserted) = insert_keys(empty(args, request, hashing)?, keys, hashing)?;
    Ok((StoredFilter::Fast(filter), inserted))
}

fn from_spool(
    args: &Args,
    request: &Request,
    hashing: &Hashing,
    spool: &mut HashSpool,
) -> Result<StoredFilter, Refusal> {
    let progress = Progress::new("inserting keys", Some(8 * spool.len()));
    let mut builder = Builder::new(empty(args, request, hashing)?, 1);
    spool.read(&progress, |hashes| builder.insert_batch(&Hashes(hashes)))?;
    Ok(StoredFilter::Fast(builder.finish()))
}

fn empty_dynamic(
    args: &Args,
    expected_keys: u64,
    up_to: u64,
    fpr: f64,
    hashing: &Hashing,
) -> Result<DynamicFilter, SizeError> {
    let mode = if args.native.deletable { Mode::Counting } else { Mode::Set };
    let options = DynamicOptions::new(expected_keys, fpr).up_to(up_to).mode(mode).hashing(hashing.clone());
    let mut filter = DynamicFilter::new(options)?;
    filter.set_label(args.native.label.as_deref().unwrap_or_default());
    filter.store_secret(args.native.store_secret);
    Ok(filter)
}

/// A dynamic filter, as requested: keys are read once.
fn dynamic(
    args: &Args,
    expected_keys: Option<u64>,
    target: Target,
    keys: &mut Keys,
    hashing: &Hashing,
) -> Result<(StoredFilter, u64), Refusal> {
    let Target::Fpr(fpr) = target else {
        let option = if args.native.deletable { "--deletable" } else { "--dynamic" };
        return Err(Failure::new(option, "the size follows from the number of keys: give --fpr").into());
    };
    let up_to = args.native.up_to.or(expected_keys).unwrap_or(PROMISED);
    let first = expected_keys.unwrap_or(FIRST.min(up_to));
    let mut filter = empty_dynamic(args, first, up_to, fpr, hashing)?;
    let mut inserted = 0;
    let progress = Progress::new("inserting keys", keys.total());
    keys.in_order_hashed(&progress, threads(), hashing, |hashes| {
        insert(&mut filter, hashes)?;
        inserted += hashes.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((StoredFilter::Dynamic(filter), inserted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::KeyFormat;
    use std::io::Write;

    #[test]
    fn keys_that_cannot_be_kept_make_the_filter_grow_and_none_is_lost() {
        let mut packed = tempfile::NamedTempFile::new().unwrap();
        let mut gzip = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
        (0..300_000).for_each(|i| writeln!(gzip, "key-{i}").unwrap());
        gzip.finish().unwrap();
        let files = [packed.path().to_owned()];
        let format = KeyFormat::LINES;
        let (hashing, room) = (Hashing::default(), 100_000);
        let spool = || HashSpool::new(room, "/no/such/directory".into());

        let mut keys = Keys::new(&files, format.clone()).unwrap();
        let begin =
            |first| Some(DynamicFilter::with_fpr(first, 0.01).map_err(|e| Failure::size(Name::Native, &e)));
        let Ok(Collected::Growing(filter, 300_000)) = collect(&mut keys, &hashing, spool(), begin) else {
            panic!("it did not grow")
        };
        assert!((0..300_000).all(|i| filter.may_contain(format!("key-{i}").as_bytes())));
        assert!(
            filter.expected_keys() > 0 && filter.expected_keys() <= room as u64 && filter.keys() > 290_000
        );

        let mut keys = Keys::new(&files, format).unwrap();
        let refused = collect(&mut keys, &hashing, spool(), |_| None).err().unwrap();
        assert!(refused.to_string().contains("cannot keep the keys"), "{refused}");
    }
}
