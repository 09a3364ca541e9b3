//! `fullbloom insert` into a filter of another dialect than `native`.

use super::change::InsertArgs;
use crate::error::{Failure, Status};
use crate::output;
use crate::progress::Progress;
use crate::text;
use fullbloom::any::ChangeError;
use fullbloom::dialect::Name;
use fullbloom_ops::filter::{FilterFile, ReadOptions, is_nearly_full};
use serde_json::json;
use std::ops::ControlFlow;

fn options(args: &InsertArgs) -> Result<ReadOptions, Failure> {
    Ok(ReadOptions { key_type: Some(args.common.types.key_type.key_type()), ..args.read.read()? })
}

/// The dialect of the file; `None` for a native filter, and for a file that is detected when it is loaded.
pub fn dialect(args: &InsertArgs) -> Result<Option<Name>, Failure> {
    let found = FilterFile::map(&args.common.filter, &options(args)?).ok();
    Ok(found.map(|file| file.dialect()).filter(|dialect| *dialect != Name::Native))
}

/// Inserts and saves.
pub fn run(args: &InsertArgs, dialect: Name) -> Result<Status, Failure> {
    let path = args.common.filter.display();
    let (mut keys, mut destination) = args.common.claim(dialect, args.force.force)?;
    let file = FilterFile::load(&args.common.filter, &options(args)?)?;
    let opened = file.open()?;
    if let Some(problem) = opened.problems.iter().find(|problem| problem.is_error()) {
        let failure = Failure::new(&path, &problem.message);
        return Err(failure.hint("a damaged filter cannot be changed: build it again from its keys"));
    }
    let mut filter = opened.filter.try_clone().map_err(|e| Failure::size(dialect, &e))?;
    filter.require_takes_keys().map_err(|e| {
        let failure = Failure::new(&path, &e);
        match e {
            ChangeError::BuiltAtOnce(_) => failure.hint("fullbloom build makes it from all its keys"),
            _ => failure,
        }
    })?;
    let (mut inserted, mut new, mut answers) = (0, 0, Vec::new());
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        answers.resize(batch.keys.len(), false);
        let done = filter.insert_batch_new(batch.keys, &mut answers);
        done.map_err(|e| Failure::new(&path, e))?;
        inserted += batch.keys.len() as u64;
        new += answers.iter().filter(|new| **new).count() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    if inserted > 0 {
        destination.write_filter(&filter)?;
    }
    let expected_fpr = filter.expected_fpr();
    if is_nearly_full(expected_fpr) {
        let rate = text::rate(expected_fpr);
        output::warning(&format!("{path}: nearly full: {rate} of absent keys are false positives"));
    }
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
    args.common.report(&text, json)?;
    Ok(Status::Yes)
}
