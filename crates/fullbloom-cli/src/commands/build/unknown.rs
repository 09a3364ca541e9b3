//! Builds a native filter that is sized by its keys, if their number is not known.

use super::Refusal;
use super::fill::{Filled, fill, finish, flow};
use crate::error::Failure;
use crate::input::{HashSpool, Keys, threads};
use crate::output;
use crate::progress::Progress;
use fullbloom::Hashing;
use fullbloom::error::BuildError;
use fullbloom_any::{BuildOptions, Builder};
use std::ops::ControlFlow;

/// The filter of all keys. If the keys cannot be kept until their number is known, a filter that grows is
/// built instead, unless `may_grow` is false.
pub fn build(options: &BuildOptions, may_grow: bool, keys: &mut Keys) -> Result<Filled, Refusal> {
    let begin = |first| may_grow.then(|| options.clone().growing(first).begin());
    match collect(keys, options.hash(), HashSpool::default(), begin)? {
        Collected::All(mut spool) => {
            let progress = Progress::new("inserting keys", Some(8 * spool.len()));
            let mut builder = options.clone().expected_keys(spool.len()).begin()?;
            spool.read(&progress, |hashes| builder.add_hashes(hashes))?;
            finish(builder)
        }
        Collected::TooMany => {
            let counted = keys.count(&Progress::new("counting keys", keys.total()))?;
            fill(options.clone().expected_keys(counted).begin()?, keys)
        }
        Collected::Growing(builder) => finish(*builder),
    }
}

/// The result of reading keys whose number was unknown.
enum Collected {
    /// Their hashes.
    All(HashSpool),
    /// Too many for memory, but the files can be read again.
    TooMany,
    /// They could not be kept: a filter that grew with them.
    Growing(Box<Builder>),
}

/// Reads keys whose number is unknown once, and keeps eight bytes of each until the number is known. Keys of
/// plain files, which can be read again, are kept in memory only. Keys that cannot be kept are inserted into
/// the growing filter that `begin` makes, if it makes one.
fn collect(
    keys: &mut Keys,
    hashing: &Hashing,
    spool: HashSpool,
    begin: impl Fn(u64) -> Option<Result<Builder, BuildError>> + Sync,
) -> Result<Collected, Refusal> {
    let in_memory = keys.are_plain_files();
    let mut collected = Collected::All(spool);
    let mut refused = None;
    let progress = Progress::new("reading keys", keys.total());
    keys.in_order_hashed(&progress, threads(), hashing, |hashes| {
        match &mut collected {
            Collected::TooMany => {}
            Collected::Growing(builder) => {
                builder.add_hashes(hashes);
                return Ok(flow(builder));
            }
            Collected::All(spool) if in_memory && !spool.has_room_for(hashes.len()) => {
                collected = Collected::TooMany;
                return Ok(ControlFlow::Break(()));
            }
            Collected::All(spool) => {
                if let Err(why) = spool.write(hashes) {
                    let mut builder = match begin(spool.len()) {
                        None => return Err(why),
                        Some(Ok(builder)) => builder,
                        Some(Err(e)) => {
                            refused = Some(e);
                            return Ok(ControlFlow::Break(()));
                        }
                    };
                    output::warning(&format!(
                        "{why}; their number stays unknown, and the filter grows instead"
                    ));
                    move_into(&mut builder, spool, hashes)?;
                    collected = Collected::Growing(Box::new(builder));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    match refused {
        Some(e) => Err(e.into()),
        None => Ok(collected),
    }
}

/// Inserts the keys kept so far, and those that could not be kept.
fn move_into(builder: &mut Builder, spool: &mut HashSpool, last: &[u64]) -> Result<(), Failure> {
    spool.read(&Progress::hidden(), |hashes| builder.add_hashes(hashes))?;
    builder.add_hashes(last);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::KeyFormat;
    use fullbloom_dialects::Name;
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
        let begin = |first| Some(BuildOptions::new(Name::Native).growing(first).begin());
        let Ok(Collected::Growing(builder)) = collect(&mut keys, &hashing, spool(), begin) else {
            panic!("it did not grow")
        };
        let Ok(Filled { filter, inserted: 300_000, .. }) = finish(*builder) else { panic!("keys were lost") };
        assert!((0..300_000).all(|i| filter.may_contain(format!("key-{i}").as_bytes())));
        let facts = filter.native_facts().unwrap();
        assert!(facts.expected_keys > 0 && facts.expected_keys <= room as u64 && facts.keys > 290_000);

        let mut keys = Keys::new(&files, format).unwrap();
        let Err(Refusal::Other(refused)) = collect(&mut keys, &hashing, spool(), |_| None) else {
            panic!("it was not refused")
        };
        assert!(refused.to_string().contains("cannot keep the keys"), "{refused}");
    }
}
