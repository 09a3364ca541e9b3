//! Without memory: every function returns FULLBLOOM_MEMORY or succeeds, and never ends the caller's process.

#![allow(unsafe_code)] // setrlimit

use crate::common::*;
use fullbloom_c::dialect::number;
use fullbloom_c::dynamic::Dynamic;
use fullbloom_c::filter::{fullbloom_filter_encode, fullbloom_filter_insert_batch};
use fullbloom_c::status::Status;
use fullbloom_dialects::Name;
use fullbloom_testkit::process::alone;
use fullbloom_testkit::steps::Steps;
use std::ffi::c_void;
use std::path::PathBuf;

const KEYS: u64 = 300_000;

/// Keys, and the arrays that the C function takes.
struct Batch {
    words: Vec<[u8; 8]>,
    starts: Vec<*const c_void>,
    lens: Vec<usize>,
}

impl Batch {
    fn new(range: std::ops::Range<u64>) -> Batch {
        let words: Vec<[u8; 8]> =
            range.map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
        let starts = words.iter().map(|word| word.as_ptr().cast()).collect();
        Batch { lens: vec![8; words.len()], starts, words }
    }

    fn insert_into(&self, filter: &Filter) -> Status {
        let (starts, lens) = (self.starts.as_ptr(), self.lens.as_ptr());
        // SAFETY: the handle is live, and the arrays have this many entries for keys of eight bytes.
        unsafe { fullbloom_filter_insert_batch(filter.0, starts, lens, self.words.len()) }
    }
}

/// Bytes of address space that the process has now.
fn space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

fn limit(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the struct outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// The most steps of a walk, in half megabytes.
const STEPS: u64 = 120;

/// Calls `work` with more and more memory, until it succeeds four times, or once if not all steps are taken.
/// Returns how often it failed.
fn walk(what: &str, steps: Steps, mut work: impl FnMut() -> Status) -> u64 {
    let (mut failed, mut succeeded) = (0, 0);
    for step in (0..STEPS).filter(|step| steps.takes(*step)) {
        // SAFETY: no arguments to get wrong. What was freed before is given back, so that it is missed.
        unsafe { libc::malloc_trim(0) };
        limit(space() + step * 512 * 1024);
        let status = work();
        limit(libc::RLIM_INFINITY);
        match status {
            Status::Ok => succeeded += 1,
            Status::Memory => failed += 1,
            other => panic!("{what} with {step} half megabytes: {other:?}: {}", message()),
        }
        if succeeded == steps.least(4, 1) {
            println!("{what}: {failed} failures");
            return failed;
        }
    }
    panic!("{what}: never enough");
}

fn status<T>(made: Result<T, Status>) -> Status {
    made.err().unwrap_or(Status::Ok)
}

#[test]
#[ignore = "not a test by itself; the other here runs it: cargo test -p fullbloom-capi --test it memory::"]
fn child() {
    let directory = PathBuf::from(std::env::var_os("FULLBLOOM_TEST_DIRECTORY").unwrap());
    let (ours, theirs) = (Batch::new(0..KEYS), Batch::new(KEYS..2 * KEYS));
    let size = fullbloom_c::sizing::Sizing { fpr: 1e-9, ..sizing(KEYS) };
    let native = number(Name::Native);
    let steps = Steps::every(6);
    let mut failed = 0;
    for (mode, deletable) in [("set", false), ("counting", true)] {
        let options = Dynamic { deletable: deletable.into(), ..SET };
        let (path, other) = (directory.join(mode), directory.join(format!("{mode}-2")));
        for (path, keys) in [(&path, &ours), (&other, &theirs)] {
            let filter = dynamic(&size, &options).unwrap();
            assert_eq!(keys.insert_into(&filter), Status::Ok);
            assert_eq!(filter.save(path), Status::Ok);
        }
        failed += walk(&format!("{mode}: load"), steps, || status(load(native, &path, (0, 0)).map(drop)));
        failed += walk(&format!("{mode}: create, insert"), steps, || match dynamic(&size, &options) {
            Ok(filter) => ours.insert_into(&filter),
            Err(status) => status,
        });
        let second = load(native, &other, (0, 0)).unwrap();
        // Each time with a filter as it was read.
        let fresh = || load(native, &path, (0, 0)).unwrap();
        let hashes: Vec<_> = theirs.words.iter().map(|word| second.hash(word).unwrap()).collect();
        for what in ["merge", "insert", "insert hashes", "remove", "clear", "save", "encode"] {
            let mut buffer = vec![0u8; 16 << 20];
            let mut filters: Vec<Filter> = (0..STEPS / 2 / steps.distance()).map(|_| fresh()).collect();
            let place = directory.join("saved");
            failed += walk(&format!("{mode}: {what}"), steps, || {
                let filter = filters.pop().unwrap();
                match what {
                    "merge" => filter.merge(&second),
                    "insert" => theirs.insert_into(&filter),
                    "insert hashes" => filter.insert_hashes(&hashes),
                    "remove" if deletable => status(filter.remove(&ours.words[7])),
                    "clear" => filter.clear(),
                    "save" => filter.save(&place),
                    "encode" => {
                        let mut len = 0;
                        let start = buffer.as_mut_ptr().cast();
                        // SAFETY: the handle is live, and the buffer has this length.
                        unsafe { fullbloom_filter_encode(filter.0, start, buffer.len(), &mut len) }
                    }
                    _ => Status::Ok,
                }
            });
        }
    }
    for dialect in Name::ALL {
        let bits = fullbloom_c::sizing::Sizing { bits_per_key: 10.0, ..sizing(KEYS) };
        failed += walk(dialect.as_str(), steps, || match create(*dialect, &bits) {
            Ok(filter) => match ours.insert_into(&filter) {
                Status::Ok => filter.finish(),
                status => status,
            },
            Err(status) => status,
        });
    }
    assert!(failed > steps.least(60, 6), "{failed}");
}

#[test]
fn no_call_ends_the_process_when_memory_is_exhausted() {
    let directory = tempfile::tempdir().unwrap();
    alone("memory::child", |child| {
        child.env("FULLBLOOM_TEST_DIRECTORY", directory.path());
        // The C library's allocator keeps freed memory, and reserves some for each thread: with these
        // settings the limit counts what is allocated.
        child
            .env("MALLOC_ARENA_MAX", "1")
            .env("MALLOC_MMAP_THRESHOLD_", "65536")
            .env("MALLOC_TRIM_THRESHOLD_", "0");
    });
}
