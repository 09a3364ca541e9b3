//! Writes one table of each kind into a directory, for the real engines to open.
//!
//! ```text
//! cargo run --release -p fullbloom-table --example write_tables -- DIRECTORY [KEYS]
//! ```
//!
//! Keys are `key%010d` of the even numbers below twice KEYS (20,000 unless given), so that odd numbers are
//! absent and inside the range of the file; the value of a key is `value-` and the key.

use fullbloom_dialects::Name;
use fullbloom_table::checksum::Checksum;
use fullbloom_table::compression::Compression;
use fullbloom_table::filter::build::{FilterOptions, Layout, Partitioning};
use fullbloom_table::filter::{Holds, Policy};
use fullbloom_table::writer::{Format, IndexLayout, TableWriter, WriterOptions};
use fullbloom_table::{EnginePrefix, TableError};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("which directory?")?;
    let keys: u64 = args.next().map_or(Ok(20_000), |n| n.parse())?;
    std::fs::create_dir_all(&dir)?;
    for (name, options) in kinds()? {
        let path = Path::new(&dir).join(&name);
        let written = write(&path, options, keys)?;
        println!("{name} {written}");
    }
    Ok(())
}

/// Names of files say what is in them; the checking programs go by the parts between the dashes.
fn kinds() -> Result<Vec<(String, WriterOptions)>, Box<dyn Error>> {
    let mut kinds = Vec::new();
    let filter = |dialect, layout| -> Result<FilterOptions, Box<dyn Error>> {
        Ok(FilterOptions { layout, ..FilterOptions::new(Policy::new(dialect, 10.0)?) })
    };
    let partitions = |with_index| Layout::Partitioned(Partitioning { with_index, ..Partitioning::default() });
    for version in 2..=6 {
        let bloom = if version < 5 { Name::RocksDbLegacy } else { Name::RocksDb };
        let policies = [("bloom", bloom), ("ribbon", Name::RocksDbRibbon)];
        for (policy, dialect) in policies {
            for (layout, shape) in
                [("full", Layout::Full), ("coupled", partitions(true)), ("decoupled", partitions(false))]
            {
                let index = match shape {
                    Layout::Partitioned(_) => IndexLayout::TwoLevel { target: 4096 },
                    _ => IndexLayout::Binary,
                };
                let filter = Some(filter(dialect, shape)?);
                let format = Format::RocksDb { version };
                let options = WriterOptions { format, index, filter, ..WriterOptions::default() };
                kinds.push((format!("v{version}-{policy}-{layout}.sst"), options));
            }
        }
    }
    let default = WriterOptions::default;
    for compression in Compression::ALL {
        // Blocks past zlib's usual window.
        let options = WriterOptions { compression, block_size: 100_000, ..default() };
        kinds.push((format!("v5-bloom-{}.sst", compression.as_str()), options));
    }
    for checksum in Checksum::ALL {
        for version in [5, 6] {
            let options = WriterOptions { checksum, format: Format::RocksDb { version }, ..default() };
            kinds.push((format!("v{version}-bloom-checksum_{}.sst", checksum.as_str()), options));
        }
    }
    kinds.push(("v5-bloom-firstkey.sst".into(), WriterOptions { index: IndexLayout::FirstKey, ..default() }));
    for whole_keys in [true, false] {
        for (name, shape) in [("full", Layout::Full), ("decoupled", partitions(false))] {
            let holds = Holds::with_prefixes(whole_keys, EnginePrefix::Fixed(11));
            let filter = Some(FilterOptions { holds, ..filter(Name::RocksDb, shape)? });
            let index = IndexLayout::TwoLevel { target: 4096 };
            let holds = if whole_keys { "both" } else { "prefix" };
            kinds
                .push((format!("v5-bloom-{name}-{holds}.sst"), WriterOptions { filter, index, ..default() }));
        }
    }
    kinds.push((
        "leveldb-plain.ldb".into(),
        WriterOptions { compression: Compression::None, ..WriterOptions::leveldb() },
    ));
    kinds.push(("leveldb-snappy.ldb".into(), WriterOptions::leveldb()));
    Ok(kinds)
}

fn write(path: &Path, options: WriterOptions, keys: u64) -> Result<String, TableError> {
    let file = File::create(path).map_err(|cause| fullbloom_table::Problem::Io {
        action: "create",
        at: 0,
        cause,
    })?;
    let mut writer = TableWriter::new(BufWriter::new(file), options)?;
    for i in 0..keys {
        let key = format!("key{:010}", 2 * i);
        writer.put(key.as_bytes(), format!("value-{key}").as_bytes())?;
    }
    let written = writer.finish()?;
    Ok(format!(
        "{} entries, {} bytes, filter {} bytes",
        written.entries, written.file_len, written.filter_len
    ))
}
