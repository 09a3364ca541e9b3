//! `verify` of a database.

use super::{find, is_stray, length_differs, missing, of_stray};
use crate::pool;
use crate::problem::Problem;
use crate::report::{Found, Report, Watch};
use crate::table::{self, VerifiedTable};
use crate::verify::{Verified, VerifyOptions, VerifySummary};
use fullbloom_table::database::{Database, DatabaseTable};
use std::path::Path;

/// Looks up every key of every table, several tables at once. One that cannot be read does not stop the
/// others.
pub(crate) fn verify(
    path: &Path,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let database = find(path)?;
    let tables: Vec<&DatabaseTable> =
        database.tables.iter().filter(|table| options.wants(&table.path)).collect();
    let one = |table: &&DatabaseTable| look_up(&database, table, options).map(Verified::Table);
    let mut all = Vec::new();
    let flow = pool::each(&tables, one, watch, |found, watch| {
        let flow = watch.found(&found);
        all.push(found);
        flow
    });
    if flow.is_continue() {
        for table in &database.missing {
            let (path, problem) = missing(path, table);
            let found = unreadable(&path, problem);
            if watch.found(&found).is_break() {
                break;
            }
            all.push(found);
        }
    }
    Ok(VerifySummary::report(all, Vec::new()))
}

/// Verifies a table that was given by name, as its database would.
pub(crate) fn verify_alone(path: &Path, options: &VerifyOptions) -> Found<VerifiedTable> {
    match options.last_database.of(path) {
        Some((database, table)) => look_up(&database, &table, options),
        None => verify_file(path, options),
    }
}

/// Looks up every key of one table of a database.
fn look_up(database: &Database, table: &DatabaseTable, options: &VerifyOptions) -> Found<VerifiedTable> {
    let mut found = verify_file(&table.path, options);
    if is_stray(database, table) {
        found.problems = of_stray(table, found.problems, found.record.keys.is_some());
    }
    found.problems.splice(0..0, length_differs(table));
    found
}

fn verify_file(path: &Path, options: &VerifyOptions) -> Found<VerifiedTable> {
    let open = table::open(path, options.prefix_extractor);
    let verified = open.and_then(|open| table::verify(path, &open, options.absent));
    verified
        .unwrap_or_else(|problem| Found { record: VerifiedTable::unreadable(path), problems: vec![problem] })
}

fn unreadable(path: &Path, problem: Problem) -> Found<Verified> {
    Found { record: Verified::Table(VerifiedTable::unreadable(path)), problems: vec![problem] }
}
