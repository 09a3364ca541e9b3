//! The machine and the versions of all that is compared.

use crate::harness;
use fullbloom::kernel::Kernel;
use std::fmt::Write as _;

/// A few lines for the head of a table.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!("{}, {cores} cores{}", harness::cpu_name(), caches());
    let system = std::fs::read_to_string("/proc/version").unwrap_or_default();
    let system: Vec<&str> = system.split_whitespace().take(3).collect();
    let compilers = concat!(env!("FULLBLOOM_BENCH_RUSTC"), "; C++: ", env!("FULLBLOOM_BENCH_CXX"));
    let _ = write!(text, "\n{}; {compilers}", system.join(" "));
    let kernel = Kernel::in_use();
    let _ = write!(text, "\nfullbloom {}, kernel {kernel}", version_of("fullbloom"));
    for peer in ["fastbloom", "foldhash", "sbbf-rs-safe", "xxhash-rust", "xorf", "qfilter", "parquet"] {
        let _ = write!(text, "; {peer} {}", version_of(peer));
    }
    #[cfg(boost_bloom)]
    let _ = write!(text, "; Boost {}", super::boost::version());
    #[cfg(librocksdb)]
    let _ = write!(text, "; RocksDB {}", crate::librocksdb::version());
    text
}

/// The version of a crate in the lock file that this program was compiled with.
fn version_of(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let package = lock.split("[[package]]").find_map(|package| {
        let mut lines = package.trim().lines();
        let quoted =
            |line: &'static str, field: &str| line.strip_prefix(field)?.trim().trim_matches('"').into();
        let found: Option<&str> = quoted(lines.next()?, "name =");
        let version: Option<&str> = quoted(lines.next()?, "version =");
        (found == Some(name)).then_some(version).flatten()
    });
    package.unwrap_or("?")
}

/// The sizes of the first core's caches, as Linux reports them.
fn caches() -> String {
    let mut text = String::new();
    for index in 0..8 {
        let read = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
            std::fs::read_to_string(path).map(|text| text.trim().to_owned())
        };
        let (Ok(kind), Ok(level), Ok(size)) = (read("type"), read("level"), read("size")) else { break };
        if kind != "Instruction" {
            let _ = write!(text, ", L{level} {size}");
        }
    }
    text
}
