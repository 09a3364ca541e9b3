//! The machine, the date, the commit, and the versions of all that is compared.

use fullbloom::kernel::Kernel;
use std::fmt::Write as _;
use std::process::Command;

/// A few lines for the head of a table.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!("{}, {cores} cores{}", cpu_name(), caches());
    let system = std::fs::read_to_string("/proc/version").unwrap_or_default();
    let system: Vec<&str> = system.split_whitespace().take(3).collect();
    let compilers = concat!(env!("FULLBLOOM_BENCH_RUSTC"), "; C++: ", env!("FULLBLOOM_BENCH_CXX"));
    let _ = write!(text, "\n{}; {compilers}", system.join(" "));
    let kernel = Kernel::in_use();
    let _ = write!(
        text,
        "\nfullbloom {}, commit {}, {}, kernel {kernel}",
        version_of("fullbloom"),
        commit(),
        today()
    );
    let peers = [
        "fastbloom",
        "foldhash",
        "sbbf-rs-safe",
        "xxhash-rust",
        "xorf",
        "sux",
        "qfilter",
        "cuckoofilter",
        "parquet",
    ];
    for (i, peer) in peers.iter().enumerate() {
        let _ = write!(text, "{}{peer} {}", if i == 0 { "\n" } else { "; " }, version_of(peer));
    }
    #[cfg(boost_bloom)]
    let _ = write!(text, "; Boost {}", crate::ffi::boost::version());
    #[cfg(librocksdb)]
    let _ = write!(text, "; RocksDB {}", crate::ffi::librocksdb::version());
    text
}

fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown CPU".to_owned(), |(_, name)| name.trim().to_owned())
}

/// The commit of the sources that this program was compiled from; marked if they were changed since.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    let commit = git(&["rev-parse", "--short=8", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    if changed { format!("{commit} with changes") } else { commit }
}

/// The date, in UTC.
fn today() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    output
        .map_or("unknown date".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The version of a crate in the lock file that this program was compiled with.
fn version_of(name: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
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
