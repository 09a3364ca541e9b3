//! Lookups of present keys over sizes, rates, shapes of keys and ways to ask: none is lost. With `--kernel`
//! it is repeated for each kernel.

use fullbloom::kernel::Kernel;
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_testkit::keys::Shape;
use fullbloom_testkit::stats::Measured;
use std::error::Error;

/// Options of `compact-lost`.
#[derive(clap::Args)]
pub struct Options {
    /// Lookups of present keys, at least.
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    lookups: u64,
}

const RATES: [f64; 12] =
    [0.5, 0.3, 0.2, 0.1, 0.05, 0.01, 1.0 / 256.0, 1e-3, 1e-4, 1e-6, 1e-9, 5.421_010_862_427_522e-20];

/// Sizes around the limits of one line and of few lines, and some beyond.
const SIZES: [u64; 16] =
    [1, 8, 9, 58, 59, 121, 247, 629, 630, 1259, 5039, 5041, 20_000, 100_000, 1_000_000, 3_000_000];

/// Builds and looks up until there were enough lookups; an error at the first key that is lost.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut lookups, mut filters, mut worst) = (0u64, 0u64, 0.0f64);
    let (mut rates, mut outliers) = (0u64, 0u64);
    let mut round = 0u64;
    while lookups < options.lookups {
        for shape in Shape::ALL {
            for count in SIZES {
                // Small sets are many.
                for set in 0..(20_000 / count).clamp(1, 100) {
                    let first = (round * 1000 + set) * 4_000_000;
                    let owned: Vec<Vec<u8>> = (first..first + count).map(|i| shape.key(i)).collect();
                    let keys: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
                    let fpr = RATES[(filters % RATES.len() as u64) as usize];
                    let filter = one(&keys, fpr, filters)?;
                    filters += 1;
                    lookups += ask(&filter, &keys, fpr)?;
                    if count >= 5000 && fpr > 1e-5 {
                        let strangers: Vec<Vec<u8>> =
                            (0..200_000u64).map(|i| shape.key(i + (1 << 44) + filters * 300_000)).collect();
                        let strangers: Vec<&[u8]> = strangers.iter().map(Vec::as_slice).collect();
                        let hits = filter.count_batch(&strangers[..])?;
                        let measured = Measured { lookups: strangers.len() as u64, hits };
                        let sigma = measured.z_score(filter.expected_fpr()).abs();
                        worst = worst.max(sigma);
                        rates += 1;
                        outliers += u64::from(sigma > 3.0);
                    }
                }
            }
        }
        round += 1;
    }
    println!(
        "kernel {}: {lookups} lookups of present keys in {filters} filters, none lost",
        Kernel::in_use()
    );
    println!(
        "{rates} rates measured over 200000 absent keys each: {outliers} beyond 3 sigma, at most {worst:.2}"
    );
    // One in 370 is beyond by chance.
    if outliers as f64 > 3.0 + rates as f64 / 370.0 * 3.0 {
        return Err("too many rates are off".into());
    }
    Ok(())
}

fn one(keys: &[&[u8]], fpr: f64, number: u64) -> Result<CompactFilter, Box<dyn Error>> {
    let mut builder = CompactBuilder::new(fpr)?.threads(1 + number as usize % 2);
    for some in keys.chunks(50_000) {
        builder.add_batch(some)?;
    }
    let filter = builder.build()?;
    if filter.keys() != keys.len() as u64 {
        return Err(format!("{} keys at {fpr}: {} are counted", keys.len(), filter.keys()).into());
    }
    Ok(filter)
}

/// In batches of several lengths, and one by one. Large sets once.
fn ask(filter: &CompactFilter, keys: &[&[u8]], fpr: f64) -> Result<u64, Box<dyn Error>> {
    let mut lookups = 0;
    let mut check = |found: u64, of: usize| {
        lookups += of as u64;
        if found == of as u64 {
            Ok(())
        } else {
            Err(format!("{} keys at {fpr}: {} are lost", keys.len(), of as u64 - found))
        }
    };
    check(filter.count_batch(keys)?, keys.len())?;
    for len in [7, 100, 1000] {
        let found = keys.chunks(len).map(|some| filter.count_batch(some)).sum::<Result<u64, _>>()?;
        check(found, keys.len())?;
    }
    check(keys.iter().filter(|key| filter.may_contain(key)).count() as u64, keys.len())?;
    // The bulk: the same keys again, in other places of the batch.
    for start in 1..20.min(keys.len()) {
        check(filter.count_batch(&keys[start..])?, keys.len() - start)?;
    }
    Ok(lookups)
}
