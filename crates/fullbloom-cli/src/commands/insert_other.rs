//! `fullbloom insert` into a filter of another dialect than `native`.

use super::change::InsertArgs;
use crate::error::{Failure, Status};
use crate::output;
use crate::progress::Progress;
use crate::text;
use fullbloom_dialects::Name;
use fullbloom_ops::filter::{ChangingOther, ReadOptions};
use serde_json::json;
use std::ops::ControlFlow;

fn options(args: &InsertArgs) -> Result<ReadOptions, Failure> {
    Ok(args.read.read()?.key_type(args.common.types.key_type.key_type()))
}

/// The dialect of the file; `None` for a native filter, and for a file that is detected when it is loaded.
pub fn dialect(args: &InsertArgs) -> Result<Option<Name>, Failure> {
    Ok(ChangingOther::dialect_of(&args.common.filter, &options(args)?))
}

/// Inserts and saves.
pub fn run(args: &InsertArgs, dialect: Name) -> Result<Status, Failure> {
    let path = args.common.filter.display();
    let (mut keys, destination) = args.common.lock(dialect, args.force.force)?;
    let lock = destination.into_lock().expect("a file");
    let mut filter = ChangingOther::load(&args.common.filter, lock, &options(args)?)?;
    let (mut inserted, mut new) = (0, 0);
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        inserted += batch.keys.len() as u64;
        new += filter.insert(batch.keys)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    if inserted > 0 {
        filter.save()?;
    }
    if let Some(warning) = filter.full_message() {
        output::warning(&format!("{path}: {warning}"));
    }
    let expected_fpr = filter.expected_fpr();
    let text = format!(
        "{} inserted, {new} new; the expected rate is {}",
        text::counted(inserted, "key"),
        text::rate(expected_fpr)
    );
    let json = json!({
        "path": path.to_string(),
        "dialect": dialect.as_str(),
        "inserted": inserted,
        "new": new,
        "expected_fpr": expected_fpr,
    });
    args.common.report(&text, json, inserted > 0)?;
    Ok(Status::Yes)
}
