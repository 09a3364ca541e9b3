//! Filters inside SlateDB: building and looking up through its traits, and whole gets of absent keys from a warm cache.
//!
//! All policies are measured in one process, in turns. The figures are medians of the CPU time of the thread, so other
//! programs disturb them little.
//!
//!     cargo run --release --example bench [--quick]

#[path = "../../tests/it/engine.rs"]
mod engine;

use bytes::Bytes;
use engine::{compacted, flush, settings, without_compaction};
use fullbloom_slatedb::FullbloomPolicy;
use rustix::time::{ClockId, clock_gettime};
use slatedb::db_cache::{SplitCache, moka::MokaCache};
use slatedb::object_store::{ObjectStore, memory::InMemory};
use slatedb::{BloomFilterPolicy, Db, Filter, FilterPolicy, FilterQuery, RowEntry, ValueDeletable};
use std::hint::black_box;
use std::sync::Arc;

/// How often a round looks up each key.
const PASSES: usize = 32;
const SLATEDB: &str = "SlateDB, 10 bits per key";

type Policy = (&'static str, Arc<dyn FilterPolicy>);

fn policies() -> Result<Vec<Policy>, Box<dyn std::error::Error>> {
    Ok(vec![
        (SLATEDB, Arc::new(BloomFilterPolicy::new(10))),
        ("fullbloom fast(10)", Arc::new(FullbloomPolicy::fast(10)?)),
        ("fullbloom compact(0.01)", Arc::new(FullbloomPolicy::compact(0.01)?)),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let sizes: &[u64] = if quick { &[100_000] } else { &[10_000, 100_000, 1_000_000, 5_000_000] };
    let rounds = if quick { 7 } else { 15 };
    let policies = policies()?;
    println!("{:34}{:>12}{:>12}{:>12}   nanoseconds for each key", "", "build", "absent", "present");
    for &keys in sizes {
        filters(&policies, keys, rounds);
    }
    println!("\n{:34}{:>12}   nanoseconds for each get of an absent key", "", "get");
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(stores(&policies, rounds))?;
    Ok(())
}

/// CPU time of this thread in seconds.
fn now() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn key(number: u64) -> Bytes {
    Bytes::from(format!("user:{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn build(policy: &dyn FilterPolicy, entries: &[RowEntry]) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    for entry in entries {
        builder.add_entry(entry);
    }
    builder.build()
}

/// Building and single lookups, as the engine does them: through the trait objects.
fn filters(policies: &[Policy], keys: u64, rounds: usize) {
    let entry = |number| RowEntry {
        key: key(number),
        value: ValueDeletable::Tombstone,
        seq: 1,
        create_ts: None,
        expire_ts: None,
    };
    let mut entries: Vec<RowEntry> = (0..keys).map(entry).collect();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let query = |number| FilterQuery::point(key(number));
    // Few enough for the cache beside a small filter, and enough to touch most of a large one.
    let count = (keys / 50).clamp(1 << 10, 1 << 16);
    let absent: Vec<_> = (keys..keys + count).map(query).collect();
    let present: Vec<_> = (0..count).map(|number| query(number * 7 % keys)).collect();
    let mut times = vec![[const { Vec::new() }; 3]; policies.len()];
    for _ in 0..rounds {
        for ((_, policy), times) in policies.iter().zip(&mut times) {
            let start = now();
            let filter = build(&**policy, &entries);
            times[0].push((now() - start) / keys as f64);
            let mut bytes = Vec::new();
            filter.encode(&mut bytes);
            let filter = policy.decode(&bytes);
            for (queries, times) in [&absent, &present].into_iter().zip(&mut times[1..]) {
                black_box(queries.iter().filter(|query| filter.might_match(query)).count());
                let start = now();
                for _ in 0..PASSES {
                    black_box(queries.iter().filter(|query| filter.might_match(query)).count());
                }
                times.push((now() - start) / (PASSES * queries.len()) as f64);
            }
        }
    }
    let times: Vec<[f64; 3]> = times.into_iter().map(|of| of.map(median)).collect();
    for ((name, _), time) in policies.iter().zip(&times) {
        let cells: String = time.iter().map(|time| format!("{:>12.1}", time * 1e9)).collect();
        let ratios: Vec<_> =
            time.iter().zip(&times[0]).map(|(ours, base)| format!("x {:.1}", base / ours)).collect();
        let ratios = if *name == SLATEDB { String::new() } else { format!("   {}", ratios.join(", ")) };
        println!("{keys:>8} {name:25}{cells}{ratios}");
    }
}

/// Gets of absent keys from stores of equal content, everything in cache.
async fn stores(policies: &[Policy], rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    const KEYS: u64 = 100_000;
    let mut stores = Vec::new();
    for (_, policy) in policies {
        stores.push(store(policy, KEYS).await?);
    }
    let mut times = vec![Vec::new(); stores.len()];
    for round in 0..=rounds {
        for (db, times) in stores.iter().zip(&mut times) {
            let start = now();
            for number in KEYS..KEYS + 5_000 {
                black_box(db.get(key(number)).await?);
            }
            // The first round warms the cache.
            if round > 0 {
                times.push((now() - start) / 5_000.0);
            }
        }
    }
    let times: Vec<f64> = times.into_iter().map(median).collect();
    for ((name, _), time) in policies.iter().zip(&times) {
        println!("{KEYS:>8} {name:25}{:>12.0}   x {:.2}", time * 1e9, times[0] / time);
    }
    for db in stores {
        db.close().await?;
    }
    Ok(())
}

/// A sorted run and eight tables in level 0.
async fn store(policy: &Arc<dyn FilterPolicy>, keys: u64) -> Result<Db, slatedb::Error> {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let open = |settings| {
        let (block, meta) = (Arc::new(MokaCache::new()), Arc::new(MokaCache::new()));
        let cache = SplitCache::new().with_block_cache(Some(block)).with_meta_cache(Some(meta)).build();
        Db::builder("store", Arc::clone(&objects))
            .with_settings(settings)
            .with_filter_policies(vec![Arc::clone(policy)])
            .with_db_cache(Arc::new(cache), 0)
            .build()
    };
    let db = open(settings(1 << 20)).await?;
    for number in 0..keys {
        db.put(key(number), b"value").await?;
    }
    flush(&db).await?;
    compacted(&db).await?;
    db.close().await?;
    let db = open(without_compaction(1 << 20)).await?;
    for table in 0..8 {
        for number in (table..keys).step_by(100) {
            db.put(key(number), b"newer").await?;
        }
        flush(&db).await?;
    }
    Ok(db)
}
