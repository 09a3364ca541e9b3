//! How long filter blocks take to build, and lookups through them: medians of rounds.
//!
//! ```text
//! cargo run --release -p fullbloom-table --example bench_filters -- [KEYS] [ROUNDS]
//! ```
//!
//! Keys are sorted, 16 bytes, 10 bits per key. `interop/tables/rocksdb_bench.cc` measures RocksDB's builder
//! on the same keys; `interop/tables/bench` runs both in turns.

use fullbloom_dialects::Name;
use fullbloom_table::filter::Policy;
use fullbloom_table::filter::build::{FilterBlockBuilder, FilterOptions, Layout, Partitioning};
use fullbloom_table::writer::{IndexLayout, TableWriter, WriterOptions};
use fullbloom_table::{BlockCache, Keep, Role, Table, TableOptions};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let keys: u64 = args.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let rounds: usize = args.next().map_or(Ok(7), |n| n.parse())?;
    let keys: Vec<[u8; 16]> = (0..keys).map(|i| key(2 * i)).collect();
    for (name, dialect, layout) in [
        ("full bloom", Name::RocksDb, Layout::Full),
        ("partitioned bloom", Name::RocksDb, Layout::Partitioned(Partitioning::default())),
        ("full ribbon", Name::RocksDbRibbon, Layout::Full),
        ("partitioned ribbon", Name::RocksDbRibbon, Layout::Partitioned(Partitioning::default())),
    ] {
        let options = FilterOptions { layout, ..FilterOptions::new(Policy::new(dialect, 10.0)?) };
        report("build", name, rounds, keys.len(), || build(&options, &keys))?;
    }
    lookups(&keys, rounds)
}

fn key(n: u64) -> [u8; 16] {
    *format!("key{n:013}").as_bytes().first_chunk().expect("sixteen characters")
}

fn build(options: &FilterOptions, keys: &[[u8; 16]]) -> Result<(), Box<dyn Error>> {
    let mut builder = FilterBlockBuilder::new(options.clone())?;
    for key in keys {
        builder.add(key)?;
    }
    black_box(builder.finish()?);
    Ok(())
}

fn report(
    what: &str,
    name: &str,
    rounds: usize,
    each: usize,
    mut run: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_nanos() as f64 / each as f64);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{what} {name}: {:.1} ns per key ({:.1} to {:.1})",
        times[times.len() / 2],
        times[0],
        times[times.len() - 1]
    );
    Ok(())
}

/// Absent keys, in random order, through the filters of one table.
fn lookups(keys: &[[u8; 16]], rounds: usize) -> Result<(), Box<dyn Error>> {
    let absent: Vec<[u8; 16]> = (0..keys.len() as u64)
        .map(|i| key(2 * (i.wrapping_mul(7_368_787) % keys.len() as u64) + 1))
        .collect();
    let partitions = Layout::Partitioned(Partitioning::default());
    for (name, dialect, layout) in [
        ("full", Name::RocksDb, Layout::Full),
        ("partitioned", Name::RocksDb, partitions),
        ("full native", Name::Native, Layout::Full),
        ("partitioned native", Name::Native, partitions),
    ] {
        let filter = Some(FilterOptions { layout, ..FilterOptions::new(Policy::new(dialect, 10.0)?) });
        let index = IndexLayout::TwoLevel { target: 4096 };
        let options = WriterOptions { filter, index, ..WriterOptions::default() };
        let mut writer = TableWriter::new(Vec::new(), options)?;
        for key in keys {
            writer.put(key, b"")?;
        }
        let file: Arc<[u8]> = writer.finish()?.into_inner().into();
        let cache = BlockCache::new(256 << 20);
        let open = |cache: &Arc<BlockCache>, keep| {
            let options = TableOptions { cache: Some(Arc::clone(cache)), keep, ..TableOptions::default() };
            Table::new(Arc::clone(&file), options)
        };
        let table = open(&cache, Keep::Pinned)?;
        let filter = table.filter()?;
        for key in &absent {
            filter.may_contain(key)?;
        }
        report("look up, cached", name, rounds, absent.len(), || {
            for key in &absent {
                black_box(filter.may_contain(key)?);
            }
            Ok(())
        })?;
        // A full filter is one block; partitions are read one by one, under a top level that stays.
        let keep = if layout == Layout::Full { Keep::Cache } else { Keep::Pinned };
        cold(name, &open(&BlockCache::new(0), keep)?, &absent)?;
        cold(&format!("{name}, cache of 256 KiB"), &open(&BlockCache::new(256 << 10), keep)?, &absent)?;
    }
    Ok(())
}

/// Bytes of filter read for each lookup when nothing, or little, is kept.
fn cold(name: &str, table: &Table<Arc<[u8]>>, absent: &[[u8; 16]]) -> Result<(), Box<dyn Error>> {
    let filter = table.filter()?;
    let read =
        || Role::ALL.iter().filter(|role| role.is_filter()).map(|role| table.reads(*role).bytes).sum::<u64>();
    let before = read();
    let asked = &absent[..absent.len().min(2000)];
    for key in asked {
        filter.may_contain(key)?;
    }
    println!(
        "look up, cold {name}: {:.0} bytes of filter read per lookup",
        (read() - before) as f64 / asked.len() as f64
    );
    Ok(())
}
