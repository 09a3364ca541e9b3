//! fullbloom beside its peers: one process, interleaved rounds, thread CPU time, medians.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml -- compare [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- rocksdb [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- classic [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- parquet [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- libbloom [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- jvm DIALECT … -- JAVA…    (interop/cassandra/bench, interop/guava/bench)
//! cargo run --release --manifest-path bench/Cargo.toml -- kinds [--quick] [--json FILE]
//! cargo run --release --manifest-path bench/Cargo.toml -- pauses [--keys N,…]
//! cargo run --release --manifest-path bench/Cargo.toml -- compact [--quick] [--json FILE] [--rates RATES]
//! cargo run --release --manifest-path bench/Cargo.toml -- compact-large [--keys N]
//! cargo run --release --manifest-path bench/Cargo.toml -- compact-lost [--lookups N] [--kernel NAME]
//! cargo run --release --manifest-path bench/Cargo.toml -- rate
//! cargo run --release --manifest-path bench/Cargo.toml -- rates
//! ```

mod classic;
mod compact;
mod compare;
mod drop_in;
#[cfg(fast_local)]
mod fast_local;
mod harness;
mod jvm;
mod keys;
mod kinds;
mod libbloom;
#[cfg(librocksdb)]
mod librocksdb;
mod limit;
mod memory;
mod parquet;
mod pauses;
mod rate;
mod rates;
mod rocksdb;

use clap::{Parser, Subcommand};
use fullbloom::kernel;
use fullbloom::kernel::Kernel;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::HugePages = memory::HugePages;

/// Measures fullbloom beside its peers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The kernel of fullbloom to measure, such as avx2; the fastest of this CPU unless given.
    #[arg(long, global = true, value_name = "NAME", value_parser = |name: &str| Kernel::by_name(name))]
    kernel: Option<Kernel>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The native filter beside Boost.Bloom, fastbloom, sbbf-rs-safe, xorf, qfilter, parquet, RocksDB and
    /// libbloom.
    Compare(compare::Options),
    /// The `rocksdb` dialect beside RocksDB's own reader and builder.
    Rocksdb(rocksdb::Options),
    /// The `libbloom`, `libbloom-1` and `cassandra` dialects beside libbloom 1.6.
    Classic(Common),
    /// The `parquet` dialect beside the parquet crate's Sbbf and sbbf-rs.
    Parquet(Common),
    /// Our libbloom.so.1 and libbloom.so.2 beside Debian's, all as shared libraries.
    Libbloom(drop_in::Options),
    /// The `cassandra` and `guava` dialects beside the originals on a JVM, which takes turns as a second
    /// process.
    Jvm(jvm::Options),
    /// The native kind `dynamic` beside `fast`, qfilter, fastbloom and a cuckoo filter.
    Kinds(Common),
    /// How long single insertions wait while a filter of kind `dynamic` grows.
    Pauses(pauses::Options),
    /// The native kind compact beside fast, xorf, sux and our Ribbon.
    Compact(compact::Options),
    /// A compact filter of 10^9 keys in bounded memory.
    CompactLarge(compact::large::Options),
    /// 10^9 lookups of present keys in compact filters.
    CompactLost(compact::lost::Options),
    /// The native filter's rate with 2·10^8 keys: planned and measured.
    Rate(rate::Options),
    /// The rates of every dialect for keys of three shapes: planned and measured.
    Rates(rates::Options),
}

/// What all comparisons take.
#[derive(clap::Args, Clone)]
pub struct Common {
    /// Fewer sizes and rounds.
    #[arg(long)]
    quick: bool,
    /// Write the rows there, as a JSON list.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Rounds of each measurement (builds of large filters take fewer).
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Filter sizes, such as 256K,8M,256M,1G.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = harness::parse_size)]
    sizes: Option<Vec<u64>>,
    /// Ask for 2 MiB pages, for all contestants alike.
    #[arg(long)]
    huge_pages: bool,
}

fn main() -> ExitCode {
    // A closed pipe ends the program quietly, as it does others.
    // SAFETY: the default action, before there are other threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let arguments = Arguments::parse();
    if let Some(kernel) = arguments.kernel {
        // SAFETY: there are no other threads yet, and no kernel is in use.
        unsafe { std::env::set_var(kernel::VARIABLE, kernel.name()) };
    }
    let done = match arguments.command {
        Command::Compare(options) => compare::run(&options),
        Command::Rocksdb(options) => rocksdb::run(&options),
        Command::Classic(options) => classic::run(&options),
        Command::Parquet(options) => parquet::run(&options),
        Command::Libbloom(options) => drop_in::run(&options),
        Command::Jvm(options) => jvm::run(&options),
        Command::Kinds(options) => kinds::run(&options),
        Command::Pauses(options) => pauses::run(&options),
        Command::Compact(options) => compact::run(&options),
        Command::CompactLarge(options) => compact::large::run(&options),
        Command::CompactLost(options) => compact::lost::run(&options),
        Command::Rate(options) => rate::run(&options),
        Command::Rates(options) => rates::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
