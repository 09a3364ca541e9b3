//! What a filter saves in a real storage engine: a SlateDB store on a local object store, written, compacted,
//! restarted and read under four filter policies.
//!
//! Every store gets the same operations: puts in random order through write-ahead log and memory tables,
//! deletes, compaction, a restart, more puts. It is then read by a new process of the engine, with indexes
//! and filters in its cache and no data blocks, as in a store that is much larger than memory.
//!
//!     cargo run --release --example store [KEYS]

mod counting;
#[path = "../../tests/it/engine.rs"]
mod engine;
mod report;

use counting::Counting;
use engine::{compacted, flush, settings, without_compaction};
use fullbloom_slatedb::FullbloomPolicy;
use report::Row;
use slatedb::config::Settings;
use slatedb::db_cache::{SplitCache, moka::MokaCache};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::local::LocalFileSystem;
use slatedb::{BloomFilterPolicy, Db, Error, FilterPolicy};
use std::sync::Arc;

/// Bytes of a value, and of a sorted table in level 0.
const VALUE: usize = 100;
const TABLE: usize = 1 << 20;
/// Sorted tables of level 0 that are written after the restart.
const RECENT_TABLES: u64 = 6;
const LOOKUPS: u64 = 20_000;

type Policies = Vec<Arc<dyn FilterPolicy>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys = std::env::args().nth(1).map_or(Ok(200_000), |keys| keys.parse())?;
    let policies: Vec<(&str, Policies)> = vec![
        ("no filter", vec![]),
        ("SlateDB, 10 bits per key", vec![Arc::new(BloomFilterPolicy::new(10))]),
        ("fullbloom fast(10)", vec![Arc::new(FullbloomPolicy::fast(10)?)]),
        ("fullbloom compact(0.01)", vec![Arc::new(FullbloomPolicy::compact(0.01)?)]),
    ];
    let mut rows = Vec::new();
    for (name, policies) in policies {
        let directory = tempfile::tempdir()?;
        let objects = Arc::new(Counting::new(LocalFileSystem::new_with_prefix(directory.path())?));
        write(objects.clone(), &policies, keys).await?;
        rows.push(read(name, objects, &policies, keys).await?);
    }
    println!(
        "{keys} keys, {LOOKUPS} lookups of absent and of present keys; indexes and filters cached, blocks not\n"
    );
    report::table(&rows);
    println!();
    report::chart("KiB fetched for each lookup of an absent key", &rows, |row| {
        row.absent.bytes_per_lookup() / 1024.0
    });
    Ok(())
}

async fn open(objects: Arc<dyn ObjectStore>, policies: &Policies, settings: Settings) -> Result<Db, Error> {
    let cache = SplitCache::new().with_meta_cache(Some(Arc::new(MokaCache::new()))).build();
    Db::builder("store", objects)
        .with_settings(settings)
        .with_filter_policies(policies.clone())
        .with_db_cache(Arc::new(cache), 0)
        .build()
        .await
}

fn key(number: u64) -> String {
    format!("user:{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Keys with even numbers are written, those with odd numbers stay absent. Every tenth of them is deleted
/// again.
async fn write(objects: Arc<dyn ObjectStore>, policies: &Policies, keys: u64) -> Result<(), Error> {
    let db = open(objects.clone(), policies, settings(TABLE)).await?;
    for number in 0..keys {
        db.put(key(2 * number), [b'v'; VALUE]).await?;
    }
    for number in (0..keys).step_by(10) {
        db.delete(key(2 * number)).await?;
    }
    flush(&db).await?;
    compacted(&db).await?;
    db.close().await?;

    let db = open(objects, policies, without_compaction(TABLE)).await?;
    for table in 0..RECENT_TABLES {
        for number in (table..keys).step_by(10 * RECENT_TABLES as usize) {
            db.put(key(2 * number + u64::from(number % 10 == 0)), [b'w'; VALUE]).await?;
        }
        flush(&db).await?;
    }
    db.close().await
}

async fn read(
    name: &'static str,
    objects: Arc<Counting<LocalFileSystem>>,
    policies: &Policies,
    keys: u64,
) -> Result<Row, Error> {
    let db = open(objects.clone(), policies, without_compaction(TABLE)).await?;
    // Warms the cache of indexes and filters.
    for number in 0..1_000 {
        db.get(key(2 * (keys + number))).await?;
        db.get(key(2 * (number * keys / 1_000))).await?;
    }
    let mut lookups = Vec::new();
    for first in [2 * keys, 0] {
        objects.taken();
        let mut found = 0;
        for number in 0..LOOKUPS {
            let number = first + 2 * (number * 7 % keys);
            found += u64::from(db.get(key(number)).await?.is_some());
        }
        let (requests, bytes) = objects.taken();
        lookups.push(report::Lookups { count: LOOKUPS, found, requests, bytes });
    }
    let manifest = db.manifest();
    let tables =
        manifest.l0().len() + manifest.compacted().iter().map(|run| run.sst_views().len()).sum::<usize>();
    let runs = manifest.l0().len() + manifest.compacted().len();
    db.close().await?;
    let [absent, present] = lookups.try_into().expect("two rounds");
    assert_eq!(absent.found, 0, "{name}: an absent key was found");
    assert!(present.found * 10 >= LOOKUPS * 8, "{name}: {} of {LOOKUPS} keys found", present.found);
    Ok(Row { name, tables, runs, absent, present })
}
