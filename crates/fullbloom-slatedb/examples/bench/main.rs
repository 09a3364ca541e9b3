//! Filters inside SlateDB: building and looking up through its traits, and whole gets of absent keys from a
//! warm cache.
//!
//! All policies are measured in one process, in turns. The figures are medians of the CPU time of the thread,
//! so other programs disturb them little.
//!
//!     cargo run --release --example bench [--quick]

mod around;
#[path = "../../tests/it/engine.rs"]
mod engine;

use around::CallAlone;
use bytes::Bytes;
use engine::{compacted, flush, settings, without_compaction};

use fullbloom_slatedb::FullbloomPolicy;
use rustix::time::{ClockId, clock_gettime};
use slatedb::db_cache::{SplitCache, moka::MokaCache};
use slatedb::object_store::{ObjectStore, memory::InMemory};
use slatedb::{
    BloomFilterPolicy, Db, Filter, FilterPolicy, FilterQuery, FilterTarget, RowEntry, ValueDeletable,
};
use std::hint::black_box;
use std::sync::Arc;

/// How often a round looks up each key.
const PASSES: usize = 32;
/// Entries that fit in the cache: 1,024 of them need 180 KB.
const IN_CACHE: usize = 1024;
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
        filters(&policies, keys, rounds)?;
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

/// Builds a filter, and returns the time it took. The engine has just encoded an entry when it adds it to the
/// filter: the entries are read into the cache before the clock starts.
fn build(policy: &dyn FilterPolicy, entries: &[RowEntry]) -> (Arc<dyn Filter>, f64) {
    let (mut builder, mut time) = (policy.builder(), 0.0);
    for entries in entries.chunks(IN_CACHE) {
        black_box(entries.iter().map(|entry| usize::from(entry.key[0])).sum::<usize>());
        let start = now();
        for entry in entries {
            builder.add_entry(entry);
        }
        time += now() - start;
    }
    let start = now();
    let filter = builder.build();
    (filter, time + now() - start)
}

/// The times of a build, of a lookup of an absent key, and of a present one.
type Times = [Vec<f64>; 3];

/// The entries of a table, and the queries.
struct Work {
    entries: Vec<RowEntry>,
    absent: Vec<FilterQuery>,
    present: Vec<FilterQuery>,
}

impl Work {
    fn new(keys: u64) -> Work {
        let mut sorted: Vec<Bytes> = (0..keys).map(key).collect();
        sorted.sort();
        // Copied, so that they are in memory in their order: the engine has just read a key when it adds it.
        let entry = |key: &Bytes| RowEntry {
            key: Bytes::copy_from_slice(key),
            value: ValueDeletable::Tombstone,
            seq: 1,
            create_ts: None,
            expire_ts: None,
        };
        let entries = sorted.iter().map(entry).collect();
        let query = |number| FilterQuery::point(key(number));
        // Few enough for the cache beside a small filter, and enough to touch most of a large one.
        let count = (keys / 50).clamp(1 << 10, 1 << 16);
        let absent = (keys..keys + count).map(query).collect();
        let present = (0..count).map(|number| query(number * 7 % keys)).collect();
        Work { entries, absent, present }
    }

    /// As the engine does it: through the trait objects.
    fn measure(&self, policy: &dyn FilterPolicy, times: &mut Times) {
        let (filter, time) = build(policy, &self.entries);
        times[0].push(time / self.entries.len() as f64);
        let mut bytes = Vec::new();
        filter.encode(&mut bytes);
        let filter = policy.decode(&bytes);
        self.look_up(|query| filter.might_match(query), times);
    }

    /// The filter of `fast(10)` without SlateDB's traits: its lookups are inlined into the loop.
    fn measure_bare(&self, times: &mut Times) -> Result<(), fullbloom::BuildError> {
        let mut builder = fullbloom::FilterBuilder::with_bits_per_key(10.0);
        self.entries.iter().for_each(|entry| builder.add(&entry.key));
        let filter = timed(self.entries.len(), &mut times[0], || builder.build())?;
        let look_up = |query: &FilterQuery| match &query.target {
            FilterTarget::Point(key) => filter.may_contain(key),
            _ => true,
        };
        self.look_up(look_up, times);
        Ok(())
    }

    fn look_up(&self, might_match: impl Fn(&FilterQuery) -> bool, times: &mut Times) {
        for (queries, times) in [&self.absent, &self.present].into_iter().zip(&mut times[1..]) {
            let pass = || black_box(queries.iter().filter(|query| might_match(query)).count());
            pass();
            timed(PASSES * queries.len(), times, || (0..PASSES).map(|_| pass()).sum::<usize>());
        }
    }
}

/// Runs `work`, and adds the time for each of its `count` operations.
fn timed<T>(count: usize, times: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = now();
    let done = work();
    times.push((now() - start) / count as f64);
    done
}

/// Building and single lookups of every policy. Two more rows show what surrounds the filter: the same filter
/// without SlateDB's traits (its build starts with hashes), and a policy that only reads the key.
fn filters(policies: &[Policy], keys: u64, rounds: usize) -> Result<(), fullbloom::BuildError> {
    let work = Work::new(keys);
    let (mut times, mut bare) = (vec![Times::default(); policies.len() + 1], Times::default());
    for _ in 0..rounds {
        for ((_, policy), times) in policies.iter().zip(&mut times) {
            work.measure(&**policy, times);
        }
        work.measure_bare(&mut bare)?;
        work.measure(&CallAlone, &mut times[policies.len()]);
    }
    times.insert(policies.len(), bare);
    let names = policies.iter().map(|(name, _)| *name).chain(["the filter of fast alone", "the call alone"]);
    let times: Vec<[f64; 3]> = times.into_iter().map(|of| of.map(median)).collect();
    for (name, time) in names.zip(&times) {
        let cells: String = time.iter().map(|time| format!("{:>12.1}", time * 1e9)).collect();
        let ratios: Vec<_> =
            time.iter().zip(&times[0]).map(|(ours, base)| format!("x {:.1}", base / ours)).collect();
        let ratios = if name == SLATEDB { String::new() } else { format!("   {}", ratios.join(", ")) };
        println!("{keys:>8} {name:25}{cells}{ratios}");
    }
    Ok(())
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
