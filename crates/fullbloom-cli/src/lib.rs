//! The `fullbloom` command: Bloom filters of storage engines, planned, built, asked and inspected.
//!
//! ```text
//!   args ─► commands/<name> ─► input (keys, filter files) ─► the library ─► output, exit code
//! ```
//!
//! The command translates between people and the library; what a filter is and how large it must be is
//! decided there. A library only so that fuzzing reaches what reads keys.

mod args;
mod cassandra;
mod claim;
mod commands;
mod database;
mod destination;
mod directory;
mod error;
mod facts;
mod input;
mod numbers;
mod output;
mod parquet;
mod progress;
mod report;
mod secret;
mod sizing;
mod table;
mod text;

#[cfg(fuzzing)]
pub use input::fuzz::read_keys;

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
