//! What filters save a log-structured store: data blocks read per lookup, by kind of filter.
//!
//! ```text
//! cargo run --release -p fullbloom-table --example read_path -- [KEYS] [TABLES]
//! ```
//!
//! Loads KEYS keys (300,000 unless given) into TABLES tables (6) that all cover the whole range of keys, as
//! the newest tables of a store do, and looks up keys that are there and keys that are not. Without filters
//! every lookup goes through the tables one by one, newest first, and reads a block of each until the key is
//! found.

use fullbloom_dialects::Name;
use fullbloom_table::filter::Policy;
use fullbloom_table::filter::build::{FilterOptions, Layout, Partitioning};
use fullbloom_table::writer::{IndexLayout, WriterOptions};
use fullbloom_table::{ReadCounts, Role, TableOptions, Tables};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let keys: u64 = args.next().map_or(Ok(300_000), |n| n.parse())?;
    let tables: u64 = args.next().map_or(Ok(6), |n| n.parse())?;
    println!("{keys} keys in {tables} tables, each over the whole range; {keys} lookups of each sort\n");
    let mut rows = Vec::new();
    for (name, filter) in kinds()? {
        rows.push(measure(name, filter, keys, tables)?);
    }
    print_rows(&rows);
    print_bars(&rows);
    print_claim(&rows);
    Ok(())
}

type Kinds = Vec<(&'static str, Option<FilterOptions>)>;

fn kinds() -> Result<Kinds, Box<dyn Error>> {
    let filter = |dialect, layout| -> Result<_, Box<dyn Error>> {
        Ok(Some(FilterOptions { layout, ..FilterOptions::new(Policy::new(dialect, 10.0)?) }))
    };
    let partitions = Layout::Partitioned(Partitioning::default());
    Ok(vec![
        ("no filter", None),
        ("per block", filter(Name::RocksDbBlock, Layout::PerBlock)?),
        ("full", filter(Name::RocksDb, Layout::Full)?),
        ("full, Ribbon", filter(Name::RocksDbRibbon, Layout::Full)?),
        ("partitioned", filter(Name::RocksDb, partitions)?),
    ])
}

struct Row {
    name: &'static str,
    filter_bytes: u64,
    present: Measured,
    absent: Measured,
}

struct Measured {
    blocks_per_lookup: f64,
    nanoseconds: f64,
    counts: ReadCounts,
}

/// Even numbers are there, odd ones are not; the hash spreads them over the tables.
fn key(n: u64) -> [u8; 16] {
    *format!("key{n:013}").as_bytes().first_chunk().expect("sixteen characters")
}

fn measure(
    name: &'static str,
    filter: Option<FilterOptions>,
    keys: u64,
    tables: u64,
) -> Result<Row, Box<dyn Error>> {
    let partitioned = matches!(filter.as_ref().map(|filter| filter.layout), Some(Layout::Partitioned(_)));
    let index = if partitioned { IndexLayout::TwoLevel { target: 4096 } } else { IndexLayout::Binary };
    let options = WriterOptions { filter, index, ..WriterOptions::default() };
    let mut store = Tables::new();
    for table in 0..tables {
        for i in (0..keys).filter(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % tables == table) {
            store.put(&key(2 * i), format!("value of {i}").as_bytes());
        }
        store.freeze();
        store.flush(&options, &TableOptions::default())?;
    }
    let filter_bytes = store
        .members()
        .map(|member| member.table().properties().number("rocksdb.filter.size"))
        .sum::<Option<u64>>();
    let present = look_up(&store, keys, 0)?;
    let absent = look_up(&store, keys, 1)?;
    Ok(Row { name, filter_bytes: filter_bytes.unwrap_or(0), present, absent })
}

/// Looks up all even numbers, or all odd ones, in an order that is not theirs.
fn look_up(store: &Tables, keys: u64, odd: u64) -> Result<Measured, Box<dyn Error>> {
    let blocks = || store.members().map(|member| member.table().reads(Role::Data).blocks).sum::<u64>();
    let (before, counts_before) = (blocks(), store.counts());
    let start = Instant::now();
    for i in 0..keys {
        let n = i.wrapping_mul(7_368_787) % keys;
        let found = store.get(&key(2 * n + odd))?;
        assert_eq!(found.is_some(), odd == 0, "key {n}");
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / keys as f64;
    let blocks_per_lookup = (blocks() - before) as f64 / keys as f64;
    let mut counts = store.counts();
    counts.useful -= counts_before.useful;
    counts.positives -= counts_before.positives;
    counts.true_positives -= counts_before.true_positives;
    counts.lookups -= counts_before.lookups;
    Ok(Measured { blocks_per_lookup, nanoseconds, counts })
}

fn print_rows(rows: &[Row]) {
    println!(
        "                 filter      present keys            absent keys                          rate of"
    );
    println!(
        "                  KiB      blocks      ns        blocks      ns       rejected  passed   false yes"
    );
    for row in rows {
        let rate = row.absent.counts.measured_fpr().filter(|_| row.filter_bytes > 0);
        println!(
            "{:<14} {:>8}  {:>8.3} {:>8.0}   {:>8.3} {:>8.0}   {:>10} {:>7}   {}",
            row.name,
            row.filter_bytes / 1024,
            row.present.blocks_per_lookup,
            row.present.nanoseconds,
            row.absent.blocks_per_lookup,
            row.absent.nanoseconds,
            row.absent.counts.useful,
            row.absent.counts.positives,
            rate.map_or("–".to_owned(), |rate| format!("{:.2} %", 100.0 * rate)),
        );
    }
}

fn print_bars(rows: &[Row]) {
    let most = rows.iter().map(|row| row.absent.blocks_per_lookup).fold(f64::MIN_POSITIVE, f64::max);
    println!("\nblocks read per lookup");
    for row in rows {
        for (sort, measured) in [("present", &row.present), ("absent", &row.absent)] {
            let eighths = (measured.blocks_per_lookup / most * 50.0 * 8.0).round() as usize;
            let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
            println!(
                "{:<14} {sort:<8} {}{rest} {:.3}",
                row.name,
                "█".repeat(eighths / 8),
                measured.blocks_per_lookup
            );
        }
    }
}

/// A useless read is a block looked into that does not hold the key.
fn print_claim(rows: &[Row]) {
    let useless = |row: &Row| row.absent.blocks_per_lookup + row.present.blocks_per_lookup - 1.0;
    println!("\nuseless reads avoided, present and absent keys together");
    for row in &rows[1..] {
        println!("{:<14} {:.2} %", row.name, 100.0 * (1.0 - useless(row) / useless(&rows[0])));
    }
}
