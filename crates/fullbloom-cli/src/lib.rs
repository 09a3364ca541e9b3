//! The `fullbloom` command: Bloom filters of storage engines, planned, built, queried and inspected.
//!
//! ```text
//!   args ─► commands/<name> ─► input (keys) ─► fullbloom (filters), fullbloom-ops (places) ─► render ─► output, exit code
//! ```
//!
//! The command translates between people and the libraries, and decides nothing: `fullbloom` has the filters
//! and their sizes, `fullbloom-ops` everything about the files of engines. `render` shows its records as
//! text, `report` as HTML. This is a library only so that fuzzing reaches the code that reads keys.

mod args;
mod closed;
mod commands;
mod destination;
mod error;
mod filter_args;
mod help;
mod hints;
mod input;
mod metrics;
mod numbers;
mod output;
mod own_file;
mod progress;
mod render;
#[cfg(feature = "report")]
mod report;
pub mod reserve;
mod secret;
mod sizing;
mod table;

#[cfg(fuzzing)]
pub use input::fuzz::read_keys;

use fullbloom::kernel::Kernel;
use fullbloom_ops::text;
use std::process::ExitCode;

/// Runs the command line.
pub fn main() -> ExitCode {
    survive_file_size_limit();
    warn_of_wrong_kernel();
    match commands::run(std::env::args_os()) {
        Ok(status) => status.into(),
        Err(failure) => failure.report().into(),
    }
}

/// The library ignores a wrong `FULLBLOOM_KERNEL` silently, so the command reports it.
fn warn_of_wrong_kernel() {
    if let Err(e) = Kernel::forced() {
        output::warning(&format!("FULLBLOOM_KERNEL: {e}; using {}", Kernel::in_use()));
    }
}

/// A write beyond the limit of `ulimit -f` must fail with a message and leave no file behind. By default the
/// signal ends the process.
fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::default();
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen); // without the handler, the default applies
    }
}
