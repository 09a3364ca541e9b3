//! Everything that reads bytes from outside, under libFuzzer. `fuzz/run` builds this with coverage and runs
//! it; the environment variable `FUZZ_TARGET` says which reader the bytes go to, `list` prints the names.
//!
//! Besides crashes, hangs and failed assertions, too much memory is a finding: at most twice the input and 64
//! KiB may be held at any time, unless a target says otherwise.
#![no_main]

mod build;
mod dialects;
mod engines;
mod journal;

use fullbloom_dialects::Name;
use fullbloom_testkit::alloc::{Counting, peak_of};
use std::sync::OnceLock;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Run = Box<dyn Fn(&[u8]) + Send + Sync>;

/// A reader, and what it may hold beyond twice the input.
struct Target {
    name: String,
    run: Run,
    allowance: u64,
}

const ALLOWANCE: u64 = 64 << 10;

fn targets() -> Vec<Target> {
    let mut targets = Vec::new();
    let mut target = |name: &str, allowance, run: Run| {
        targets.push(Target { name: name.to_owned(), run, allowance });
    };
    for &name in Name::ALL {
        target(name.as_str(), ALLOWANCE, Box::new(move |data| dialects::read(name, data)));
        // A filter is built there, of keys that the input holds.
        target(&format!("build-{name}"), 4 << 20, Box::new(move |data| build::round_trip(name, data)));
    }
    target("native-front", ALLOWANCE, Box::new(dialects::native_with_sound_front));
    // Shards are added.
    target("native-dynamic", 16 << 20, Box::new(dialects::native_dynamic));
    target("native-journal", 16 << 20, Box::new(journal::native_journal));
    target("native-compact", ALLOWANCE, Box::new(dialects::native_compact));
    // Its scratch memory does not depend on the input.
    target("build-compact", 16 << 20, Box::new(build::compact));
    target("rocksdb-reader", ALLOWANCE, Box::new(dialects::full_filter_beside_the_oracle));
    target("sniff", ALLOWANCE, Box::new(dialects::sniff));
    target("table", engines::TABLE_ALLOWANCE, Box::new(engines::table));
    target("filter-blocks", ALLOWANCE, Box::new(engines::filter_blocks));
    target("manifest", ALLOWANCE, Box::new(engines::manifest));
    target("cassandra-index", ALLOWANCE, Box::new(engines::cassandra_index));
    target("cassandra-statistics", ALLOWANCE, Box::new(engines::cassandra_statistics));
    target("cassandra-bti", ALLOWANCE, Box::new(engines::cassandra_bti));
    // Blocks of 256 KiB are read, and what is packed comes out longer.
    target("command-keys", 4 << 20, Box::new(fullbloom_cli::read_keys));
    target("cassandra-toc", ALLOWANCE, Box::new(engines::cassandra_toc));
    target("scylla-db", ALLOWANCE, Box::new(engines::scylla_db));
    targets
}

fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let asked = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let targets = targets();
        if asked == "list" {
            targets.iter().for_each(|target| println!("{}", target.name));
            std::process::exit(0);
        }
        let found = targets.into_iter().find(|target| target.name == asked);
        found.unwrap_or_else(|| {
            eprintln!("error: FUZZ_TARGET={asked}: no such target; FUZZ_TARGET=list prints them");
            std::process::exit(2)
        })
    })
}

libfuzzer_sys::fuzz_target!(init: { chosen(); }, |data: &[u8]| {
    let target = chosen();
    let ((), peak) = peak_of(|| (target.run)(data));
    let most = 2 * data.len() as u64 + target.allowance;
    assert!(peak <= most, "{}: {peak} bytes held for an input of {}", target.name, data.len());
});
