//! Measures fullbloom and its peers in one process: filters take turns, round by round, and every round is timed
//! by CPU time.
//!
//! | command | measures |
//! |---|---|
//! | `compare` | the kind `fast` and other Bloom filters; one key in 64 filters (`--many`) |
//! | `kinds` | the kinds `compact` and `dynamic` and other static, growing and deleting filters; how long an insertion waits (`--pauses`) |
//! | `dialects` | the dialects `rocksdb`, `parquet` and `libbloom-1` and the libraries they imitate |
//! | `engines` | the replacements for libbloom's shared library; the dialects `cassandra` and `guava` and the originals on a JVM |
//! | `rates` | false-positive rates, planned and measured, and that no key is lost |
//! | `report` | `compare`, `kinds` and `dialects` as docs/performance.md shows them, and writes the tables of that page |

mod compare;
mod contender;
mod dialects;
mod engines;
mod ffi;
mod harness;
mod keys;
mod kinds;
mod limit;
mod machine;
mod memory;
mod ours;
mod peers;
mod plot;
mod race;
mod rates;
mod report;

use clap::{Parser, Subcommand};
use fullbloom::kernel;
use fullbloom::kernel::Kernel;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::HugePages = memory::HugePages;

/// Measures fullbloom and its peers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Measure this kernel of fullbloom, such as avx2, instead of the fastest one of this CPU.
    #[arg(long, global = true, value_name = "NAME", value_parser = |name: &str| Kernel::by_name(name))]
    kernel: Option<Kernel>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare the kind fast with other Bloom filters.
    Compare(compare::Options),
    /// Compare the kinds compact and dynamic with other static, growing and deleting filters.
    Kinds(kinds::Options),
    /// Compare dialects with the libraries they imitate.
    Dialects(dialects::Options),
    /// Compare with shared libraries (libbloom) and with other processes (Cassandra and Guava on a JVM).
    #[command(subcommand)]
    Engines(engines::Command),
    /// Compare planned and measured false-positive rates, and check that no key is lost.
    Rates(rates::Options),
    /// Measure what docs/performance.md shows and write its tables and its plot.
    Report(report::Options),
}

fn main() -> ExitCode {
    // A closed pipe ends the program quietly, as it does others.
    // SAFETY: SIGPIPE gets its default action back; no other thread exists yet that could handle it.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let arguments = Arguments::parse();
    if let Some(kernel) = arguments.kernel {
        // SAFETY: this is the only thread so far, so nothing reads the environment at the same time.
        unsafe { std::env::set_var(kernel::VARIABLE, kernel.name()) };
    }
    let done = match arguments.command {
        Command::Compare(options) => compare::run(&options),
        Command::Kinds(options) => kinds::run(&options),
        Command::Dialects(options) => dialects::run(&options),
        Command::Engines(command) => engines::run(&command),
        Command::Rates(options) => rates::run(&options),
        Command::Report(options) => report::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
