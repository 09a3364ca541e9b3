//! `verify` of a database.

use super::{find, is_stray, missing, open, stray};
use crate::pool;
use crate::problem::Problem;
use crate::report::{Found, Report, Watch};
use crate::table::{self, VerifiedTable};
use crate::verify::{Verified, VerifyOptions, VerifySummary};
use fullbloom_table::database::DatabaseTable;
use std::path::Path;

/// Looks up every key of every table, several tables at once. One that cannot be read does not stop the
/// others.
pub(crate) fn verify(
    path: &Path,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let database = find(path)?;
    let one = |table: &&DatabaseTable| {
        let open = open(table, options.prefix_extractor);
        let verified = open.and_then(|open| table::verify(&table.path, &open, options.absent));
        verified.map_or_else(|problem| unreadable(&table.path, problem), |found| found.map(Verified::Table))
    };
    let (strays, own): (Vec<_>, Vec<_>) =
        database.tables.iter().partition(|table| is_stray(&database, table));
    let mut all = Vec::new();
    let flow = pool::each(&own, one, watch, |found, watch| {
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
    Ok(VerifySummary::report(all, strays.iter().map(|table| stray(table)).collect()))
}

fn unreadable(path: &Path, problem: Problem) -> Found<Verified> {
    Found { record: Verified::Table(VerifiedTable::unreadable(path)), problems: vec![problem] }
}
