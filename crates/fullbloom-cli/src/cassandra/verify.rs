//! What is said about an sstable whose filter was asked for every key.

use super::{filter_path, identity, join};
use crate::text;
use fullbloom::dialect::Name;
use fullbloom_sstable::verify::Verification;
use fullbloom_sstable::{FilterProblem, Sstable};
use serde_json::{Value, json};
use std::fmt::Write;

/// For machines.
pub fn as_json(sstable: &Sstable, found: &Verification) -> Value {
    let numbers = json!({
        "path": filter_path(sstable),
        "dialect": sstable.dialect.as_str(),
        "keys": found.keys,
        "missing": found.missing,
        "absent_asked": found.absent.map(|absent| absent.asked),
        "absent_passed": found.absent.map(|absent| absent.false_positives),
        "measured_fpr": found.measured_fpr(),
        "rebuilt_identical": found.rebuilt_identical,
        "first_missing": found.examples.first().map(|key| text::hex(key)),
        "reads_as": found.reads_as.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "problems": problems(sstable, found),
    });
    join(numbers, identity(sstable))
}

/// For people.
pub fn as_text(sstable: &Sstable, found: &Verification) -> String {
    let mut text = format!("{}\n", text::printable(&filter_path(sstable)));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<15} {}", text::printable(&value)); // a String takes everything
    };
    line("sstable", format!("{}, version {}, {}", sstable.table_name(), sstable.version, sstable.dialect));
    line("keys", found.keys.to_string());
    line("missing", found.missing.map_or("the filter could not be asked".into(), |n| n.to_string()));
    for key in &found.examples {
        line("missing key", format!("{} (hex)", text::hex(key)));
    }
    if let (Some(absent), Some(fpr)) = (found.absent, found.measured_fpr()) {
        line("measured rate", format!("{} of {} absent keys", text::rate(fpr), absent.asked));
    }
    match found.rebuilt_identical {
        Some(true) => line("rebuilt", "identical".into()),
        Some(false) => line("rebuilt", "not identical: other bytes than its keys give".into()),
        None => {}
    }
    for problem in problems(sstable, found) {
        line("problem", problem);
    }
    text
}

/// What is not as it should be, in sentences.
fn problems(sstable: &Sstable, found: &Verification) -> Vec<String> {
    let mut problems = Vec::new();
    match &found.problem {
        Some(FilterProblem::Missing { listed: Some(false) }) | None => {}
        Some(problem) => problems.push(problem.to_string()),
    }
    if let Some(e) = &found.keys_error {
        let index = if sstable.has("Partitions.db") || sstable.version.starts_with('d') {
            "Partitions.db"
        } else {
            "Index.db"
        };
        problems.push(match sstable.has(index) {
            true => format!("the keys cannot be read to the end: {e}"),
            false => format!("its keys are not here: there is no {index} beside it (--keys FILE asks for keys that you have)"),
        });
    }
    let missing = found.missing.unwrap_or(0);
    match (missing > 0, found.reads_as.as_slice()) {
        (true, []) => {
            let what = match missing {
                1 => "1 key is not in the filter: its row is invisible".to_owned(),
                _ => format!("{missing} keys are not in the filter: their rows are invisible"),
            };
            problems.push(format!("{what} (fullbloom rebuild makes it anew)"));
        }
        (true, names) => problems.push(format!(
            "version and content disagree: {} missing when it is read as {}, none as {}",
            text::counted(missing, "key"),
            sstable.dialect,
            names.iter().map(|name| Name::as_str(*name)).collect::<Vec<_>>().join(" or "),
        )),
        (false, _) => {}
    }
    problems
}
