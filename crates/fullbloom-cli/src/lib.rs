//! The `fullbloom` command: Bloom filters of storage engines, planned, built, asked and inspected.
//!
//! ```text
//!   args ─► commands/<name> ─► input (keys) ─► fullbloom (filters), fullbloom-ops (places) ─► render ─► output, exit code
//! ```
//!
//! The command translates between people and the libraries, and decides nothing: filters and their sizes are `fullbloom`'s,
//! everything about files of engines is in `fullbloom-ops`, whose records `render` shows as text and `report` as HTML. This is
//! a library only so that fuzzing reaches the code that reads keys.

mod args;
mod claim;
mod commands;
mod destination;
mod error;
mod input;
mod numbers;
mod output;
mod progress;
mod render;
#[cfg(feature = "report")]
mod report;
mod secret;
mod sizing;
mod table;

#[cfg(fuzzing)]
pub use input::fuzz::read_keys;

use fullbloom_ops::text;
use std::process::ExitCode;

/// Does what the command line says.
pub fn main() -> ExitCode {
    survive_file_size_limit();
    match commands::run(std::env::args_os()) {
        Ok(status) => status.into(),
        Err(failure) => failure.report().into(),
    }
}

/// A file past the limit of `ulimit -f` shall be a write that fails, with a message and nothing left behind; by
/// default the signal ends the process.
fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::default();
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen); // else as it was
    }
}
