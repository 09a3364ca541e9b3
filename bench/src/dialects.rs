//! Dialects beside the libraries that they imitate: the same bits, so the same answers.

use crate::harness::{self, Mode, Row, Size};
use crate::machine;
use crate::memory::HugePages;
use crate::ours::OurKey;
use crate::peers;
use crate::race::{Common, Race};
use fullbloom_dialects::rocksdb::{FilterType, Policy};
use std::collections::BTreeSet;
use std::error::Error;

/// Options of `dialects`.
#[derive(clap::Args, Default)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,
    /// Measure only these dialects.
    #[arg(long = "dialect", value_name = "DIALECT", value_delimiter = ',', value_parser = DIALECTS)]
    pub dialects: Option<Vec<String>>,
    /// Measure these bits per key.
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    pub bits_per_key: Option<Vec<f64>>,
}

const DIALECTS: [&str; 3] = ["rocksdb", "parquet", "libbloom-1"];

pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}", machine::describe());
    measure(options).map(drop)
}

/// The rows of all dialects and sizes.
pub fn measure(options: &Options) -> Result<Vec<Row>, Box<dyn Error>> {
    HugePages::want();
    let common = &options.common;
    let sizes = common.sizes.clone().unwrap_or_else(|| match common.quick {
        true => vec![256 << 10, 8 << 20],
        false => vec![256 << 10, 8 << 20, 256 << 20],
    });
    let (mut notes, mut rows) = (BTreeSet::new(), Vec::new());
    for dialect in DIALECTS {
        if options.dialects.as_ref().is_some_and(|only| !only.iter().any(|name| name == dialect)) {
            continue;
        }
        for &bits in options.bits_per_key.as_deref().unwrap_or(&[10.0]) {
            for &bytes in &sizes {
                println!("\n{dialect}:");
                rows.extend(at_size(dialect, Size::with_bits(bytes, bits)?, common, &mut notes)?);
                if let Some(path) = &common.json {
                    harness::save(&rows, path)?;
                }
            }
        }
    }
    for note in &notes {
        println!("left out: {note}");
    }
    Ok(rows)
}

fn at_size(
    dialect: &str,
    size: Size,
    options: &Common,
    notes: &mut BTreeSet<String>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    type Key = [u8; 8];
    let (command, base, contenders) = match dialect {
        "rocksdb" => {
            let ours =
                Key::policy("fullbloom rocksdb", Policy::new(FilterType::FastLocal, size.bits_per_key)?);
            let mut all = vec![ours];
            all.extend(peers::rocksdb(size, notes));
            ("dialects rocksdb", "RocksDB AVX2", all)
        }
        "parquet" => {
            let rs = peers::sbbf_rs(size, "xxh64", peers::xxh64_of_parquet);
            ("dialects parquet", "sbbf-rs-safe + xxh64", vec![Key::parquet(size), peers::sbbf(size), rs])
        }
        _ => {
            let mut all = vec![Key::libbloom1(size)];
            all.extend(peers::libbloom(size, notes));
            ("dialects libbloom-1", "libbloom 1.6", all)
        }
    };
    let modes = &[Mode::Build, Mode::Single, Mode::Present, Mode::Batch];
    Race { command, options, modes, base, same_answers: true }.run(size, contenders, notes)
}
