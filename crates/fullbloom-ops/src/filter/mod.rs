//! Filter files: bytes ─► filter ─► [`FilterRecord`] and problems.
//!
//! ```text
//!   path ─► file (load or map, unpack gzip) ─► open (the run-time filter) ─► record, native    what is in it
//!                                                                        └─► verify            looked up for every key
//!                                                                        └─► merge, convert    another filter, without keys
//!        └─► change (a native filter with its journal, loaded to be changed and saved)
//! ```
//!
//! Only [`file`](self) reads from disk: [`FilterFile::from_bytes`] takes bytes that are in memory.

mod change;
mod convert;
mod file;
mod fill;
mod gzip;
mod lock;
mod merge;
mod native;
mod open;
mod record;
mod repeated;
mod verify;

pub use change::{Changing, ChangingOther, Difference, Wanted};
pub use convert::{ConvertOptions, Shrink, convert};
pub use file::FilterFile;
pub(crate) use fill::along;
pub use fullbloom_any::ReadOptions;
pub use gzip::write_to;
pub use lock::{lock, require_replaceable, require_replaceable_by_table, secret_in};
pub use merge::merge;
pub use native::{DynamicRecord, ExceptionRecord, ExpiryRecord, GenerationRecord, KindRecord, NativeRecord};
pub use open::{Opened, name_contradicts, other_key_type};
pub use record::{FilterRecord, Source, bits_per_estimated_key};
pub use repeated::Different;
pub(crate) use verify::verify;
pub use verify::{VerifiedFilter, verify_keys};

use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::text;

/// Reports what is in the bytes of a filter file; a name of an sstable's `Filter.db` says its dialect.
pub fn inspect_bytes(
    name: &str,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<Found<FilterRecord>, Problem> {
    let file = FilterFile::from_bytes(name, bytes, options)?;
    Ok(inspect_opened(&file, &file.open()?, false))
}

/// The same for a filter that is open. `strip`: with the fill along the filter.
pub(crate) fn inspect_opened(file: &FilterFile, opened: &Opened, strip: bool) -> Found<FilterRecord> {
    let source = Source::File { recognised: file.recognised(), strip };
    let mut found =
        FilterRecord::of(file.path(), &opened.filter, opened.bytes, opened.native.clone(), source);
    found.problems.splice(0..0, opened.problems.iter().cloned());
    found.problems.extend(saturated(file, opened, found.record.expected_fpr));
    found
}

/// A filter that lets practically every key pass is of no use, whatever it was made for.
pub(crate) const SATURATED: f64 = 0.99;

/// The problem of such a filter, unless it is known already that it has more keys than it was made for.
fn saturated(file: &FilterFile, opened: &Opened, fpr: f64) -> Option<Problem> {
    let is_known = opened.problems.iter().any(|problem| problem.code == Code::Overfull);
    (fpr >= SATURATED && !is_known).then(|| {
        let why = format!("too full: the expected rate is {}, so it tells nothing", text::rate(fpr));
        Problem::at(file.path(), Code::TooFull, why).hint("build a larger filter from its keys")
    })
}
