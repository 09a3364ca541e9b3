//! fullbloom beside its peers, in one process.
//!
//! ```text
//!   cargo run --release --manifest-path bench/Cargo.toml -- classic [--quick] [--json FILE]
//! ```

mod classic;
mod harness;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// fullbloom beside its peers: one process, interleaved rounds, medians
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// libbloom and cassandra: single inserts and lookups at 256 KiB, 8 MiB and 256 MiB
    Classic(Options),
}

#[derive(Args)]
struct Options {
    /// Few rounds, and no 256 MiB
    #[arg(long)]
    quick: bool,

    /// Write the rows to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Command::Classic(options) = Cli::parse().command;
    let sizes: &[(u64, usize)] = if options.quick {
        &[(256 << 10, 9), (8 << 20, 5)]
    } else {
        &[(256 << 10, 31), (8 << 20, 11), (256 << 20, 3)]
    };
    let mut rows = Vec::new();
    for &(bytes, rounds) in sizes {
        rows.extend(classic::run(bytes, rounds));
    }
    if let Some(path) = options.json {
        let rows: Vec<_> = rows.iter().map(harness::Row::json).collect();
        std::fs::write(path, serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}
