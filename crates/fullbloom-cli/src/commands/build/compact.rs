//! Builds a native filter of the kind `compact`, in bounded memory.

use super::exceptions::others;
use super::{Args, Refusal};
use crate::error::Failure;
use crate::input::{Keys, threads};
use crate::progress::Progress;
use fullbloom::dialect::Name;
use fullbloom::keys::Hashes;
use fullbloom::native::{BuildError, CompactBuilder, CompactFilter, Hashing};
use fullbloom::sizing::Target;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

/// The filter of all keys but some, and its number of insertions.
pub fn build(
    args: &Args,
    expected_keys: Option<u64>,
    target: Target,
    keys: &mut Keys,
    hashing: &Hashing,
    without: &HashSet<Vec<u8>>,
) -> Result<(CompactFilter, u64), Refusal> {
    let Target::Fpr(fpr) = target else {
        let why = "the size follows from the number of keys and the rate: give --fpr";
        return Err(Failure::new("--compact", why).into());
    };
    let mut builder = CompactBuilder::new(fpr)?.hashing(hashing.clone()).threads(threads());
    if let Some(memory) = args.memory {
        builder = builder.memory(memory);
    }
    // Beside the filter: there is room for a file of its kind.
    let directory = args.output.parent().filter(|parent| !parent.as_os_str().is_empty());
    if args.output != Path::new("-") {
        builder = builder.spool_in(directory.unwrap_or(Path::new(".")));
    }
    builder = builder.expected_keys(expected_keys.unwrap_or(0));
    let progress = Progress::new("reading keys", keys.total());
    if without.is_empty() {
        keys.in_order_hashed(&progress, threads(), hashing, |hashes| {
            builder.insert_batch(&Hashes(hashes)).map_err(failure)?;
            Ok(ControlFlow::Continue(()))
        })?;
    } else {
        keys.for_each_batch(&progress, |batch| {
            builder.insert_batch(&others(batch.keys, without)).map_err(failure)?;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    drop(progress);
    let inserted = builder.len();
    let mut filter = builder.finish().map_err(|e| match e {
        BuildError::Size(e) => Refusal::Size(e),
        other => failure(other).into(),
    })?;
    filter.set_label(args.native.label.as_deref().unwrap_or_default());
    filter.store_secret(args.native.store_secret);
    Ok((filter, inserted))
}

fn failure(error: BuildError) -> Failure {
    match error {
        BuildError::Size(e) => Failure::size(Name::Native, &e),
        other => Failure::new("--compact", other).hint(
            "--memory SIZE keeps more of the hashes in memory: 8 bytes for each key, and a little more",
        ),
    }
}
