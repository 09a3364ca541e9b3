//! What is printed about a filter that was written.

use crate::destination::Destination;
use crate::error::{Failure, Status};
use crate::filter_args::PrintArgs;
use crate::output::{self, Output};
use crate::render;
use fullbloom_any::AnyFilter;
use fullbloom_ops::Found;
use fullbloom_ops::filter::{FilterRecord, NativeRecord, Source};
use std::path::Path;

/// Writes a filter that was made of others; warns if it holds too many keys; prints its record unless
/// `quiet`.
pub fn save(
    path: &Path,
    mut destination: Destination,
    filter: &AnyFilter,
    print: PrintArgs,
) -> Result<Status, Failure> {
    destination.write_filter(filter)?;
    let native = filter.native_facts().map(|facts| NativeRecord::of(&facts));
    if let Some(warning) = native.as_ref().and_then(NativeRecord::overfull_message) {
        output::warning(&format!("{}: {warning}", path.display()));
    }
    if !print.quiet {
        Made { path, destination: &destination, filter, keys: None, native }.print(print.json)?;
    }
    Ok(Status::Yes)
}

/// A filter that was written.
pub struct Made<'a> {
    /// Where.
    pub path: &'a Path,
    /// The same, as it was opened.
    pub destination: &'a Destination,
    /// The filter.
    pub filter: &'a AnyFilter,
    /// Keys that were inserted, where the command inserted them.
    pub keys: Option<u64>,
    /// What only a native filter has.
    pub native: Option<NativeRecord>,
}

impl Made<'_> {
    /// Prints its record on standard output, unless the filter itself went there.
    pub fn print(self, json: bool) -> Result<(), Failure> {
        if self.path == Path::new("-") {
            return Ok(());
        }
        let bytes = self.destination.byte_len().unwrap_or_else(|| self.filter.encoded_len());
        let Found { record, problems } =
            FilterRecord::of(self.path, self.filter, bytes, self.native, Source::Keys(self.keys));
        let mut out = Output::stdout();
        let mut print = || {
            if json {
                let mut object = super::value(&record);
                object["problems"] = super::value(&problems);
                out.json(&object)?;
            } else {
                out.bytes(render::filter(&record, &problems).as_bytes())?;
            }
            out.pause()
        };
        print().map_err(|failure| failure.after_saving(self.path.display()))
    }
}
