//! Our drop-ins beside the original, each a shared library as a C program loads it: one call for each key.

use crate::harness::{self, Contestant, Row, Setting};
use crate::keys::mix;
use std::cell::UnsafeCell;
use std::error::Error;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};

/// What `libbloom` takes.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// The original.
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/x86_64-linux-gnu/libbloom.so.1")]
    theirs: PathBuf,
    /// Our library for 1.6, made by `make bloom1`.
    #[arg(long, value_name = "FILE", default_value = "target/c/bloom1/libbloom.so.1")]
    ours1: PathBuf,
    /// Our library for 2.0, made by `make bloom2`.
    #[arg(long, value_name = "FILE", default_value = "target/c/bloom2/libbloom.so.2")]
    ours2: PathBuf,
    /// How many entries the filters are made for.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100000,10000000")]
    entries: Vec<u64>,
    /// Bytes of a key.
    #[arg(long, value_name = "BYTES", default_value = "8")]
    key_len: usize,
    /// Rounds of each measurement.
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Fewer rounds.
    #[arg(long)]
    quick: bool,
    /// Have a second, sleeping thread in the process: then bits are set atomically.
    #[arg(long)]
    threaded: bool,
    /// Write the rows there, as a JSON list.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Room for the struct of either version.
type Struct = [u64; 8];
type OnKey = unsafe extern "C" fn(*mut Struct, *const c_void, c_int) -> c_int;

/// A filter of one of the libraries.
struct Loaded {
    name: &'static str,
    bloom: UnsafeCell<Struct>,
    add: OnKey,
    check: OnKey,
    reset: unsafe extern "C" fn(*mut Struct) -> c_int,
    free: unsafe extern "C" fn(*mut Struct),
    _library: libloading::Library,
}

impl Loaded {
    fn new(name: &'static str, path: &Path, entries: u64) -> Result<Loaded, Box<dyn Error>> {
        // SAFETY: these libraries have no initialisers that matter, and their functions have these types.
        unsafe {
            let library = libloading::Library::new(path)
                .map_err(|e| format!("{}: {e}; install libbloom1, and make bloom1 bloom2", path.display()))?;
            let init =
                *library.get::<unsafe extern "C" fn(*mut Struct, c_int, f64) -> c_int>(b"bloom_init")?;
            let mut bloom = [0; 8];
            if init(&mut bloom, c_int::try_from(entries)?, RATE) != 0 {
                return Err(format!("{}: no filter for {entries} entries", path.display()).into());
            }
            Ok(Loaded {
                name,
                bloom: UnsafeCell::new(bloom),
                add: *library.get(b"bloom_add")?,
                check: *library.get(b"bloom_check")?,
                reset: *library.get(b"bloom_reset")?,
                free: *library.get(b"bloom_free")?,
                _library: library,
            })
        }
    }

    fn each(&self, call: OnKey, keys: &[u8], len: usize) -> u64 {
        let bloom = self.bloom.get();
        // SAFETY: the struct was filled by the library's init, and the keys' bytes are there.
        keys.chunks_exact(len)
            .map(|key| unsafe { call(bloom, key.as_ptr().cast(), len as c_int) } as u64)
            .sum()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the struct was filled by the library's init.
        unsafe { (self.free)(self.bloom.get()) };
    }
}

const RATE: f64 = 0.01;
const ORIGINAL: &str = "libbloom 1.6, Debian";

/// Adds, hits and misses at every size.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.threaded {
        std::thread::spawn(std::thread::park);
    }
    println!("{}; {}-byte keys, rate {RATE}", harness::cpu_name(), options.key_len);
    let mut rows = Vec::new();
    for &entries in &options.entries {
        rows.extend(at_size(options, entries)?);
    }
    match &options.json {
        Some(path) => harness::save(&rows, path),
        None => Ok(()),
    }
}

fn keys(options: &Options, numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        let start = bytes.len();
        for word in 0..options.key_len.div_ceil(8) as u64 {
            bytes.extend(mix(number ^ (word << 56)).to_le_bytes());
        }
        bytes.truncate(start + options.key_len);
    }
    bytes
}

fn at_size(options: &Options, entries: u64) -> Result<Vec<Row>, Box<dyn Error>> {
    let usual = if entries <= 1_000_000 { 61 } else { 9 };
    let rounds = options.rounds.unwrap_or(if options.quick { usual / 3 } else { usual });
    let all = [
        Loaded::new(ORIGINAL, &options.theirs, entries)?,
        Loaded::new("fullbloom libbloom.so.1", &options.ours1, entries)?,
        Loaded::new("fullbloom libbloom.so.2", &options.ours2, entries)?,
    ];
    let len = options.key_len;
    let asked = entries.min(1_000_000);
    let added = keys(options, 0..entries);
    let hits = keys(options, (0..asked).map(|i| mix(i) % entries));
    let misses = keys(options, (0..asked).map(|i| i + (1 << 40)));

    // All fill their filters, and must give the same answers, as far as the two versions can.
    let codes: Vec<[u64; 3]> = all
        .iter()
        .map(|one| {
            [
                one.each(one.add, &added, len),
                one.each(one.check, &hits, len),
                one.each(one.check, &misses, len),
            ]
        })
        .collect();
    if codes[0] != codes[1] || codes[2][1] != asked {
        return Err(format!("the libraries do not agree: {codes:?}").into());
    }
    let bits_per_key = 9.585;
    let bytes = (entries as f64 * bits_per_key / 8.0) as u64;
    let mut rows = Vec::new();
    let runs: [(&str, &[u8], bool); 3] =
        [("add, empty filter", &added, true), ("check, hit", &hits, false), ("check, miss", &misses, false)];
    // Checks first: adds begin with a reset.
    for (what, asked, is_add) in [runs[1], runs[2], runs[0]] {
        println!("\n{what}, {entries} entries:");
        let contestants = all
            .iter()
            .map(|one| {
                Contestant::new(one.name, move |_| {
                    if is_add {
                        // SAFETY: the struct was filled by the library's init.
                        unsafe { (one.reset)(one.bloom.get()) };
                    }
                    black_box(one.each(if is_add { one.add } else { one.check }, asked, len));
                })
            })
            .collect();
        let setting =
            Setting { keys: "u64", bytes, bits_per_key, mode: if is_add { "build" } else { "single" } };
        let race = harness::race(&setting, (asked.len() / len) as u64, rounds, None, contestants);
        harness::print(&race, ORIGINAL);
        rows.extend(race);
    }
    Ok(rows)
}
