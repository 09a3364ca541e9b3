//! How long single insertions wait while a dynamic filter grows.

use crate::harness;
use crate::keys::mix;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};
use std::error::Error;

/// Options of `pauses`.
#[derive(clap::Args)]
pub struct Options {
    /// Numbers of keys at which a row ends.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000, 30_000_000])]
    keys: Vec<u64>,
}

/// Insertions that take longer than this are counted.
const LONG: f64 = 0.1e-3;

/// Single insertions into filters that begin with room for 1,000 keys, at 1 % up to 10^9 keys; CPU time of
/// the thread.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("| | keys | over 0.1 ms | the hundredth longest | the tenth | the longest |");
    println!("|---|---|---|---|---|---|");
    for mode in [Mode::Set, Mode::Counting] {
        let plan = DynamicOptions::new(1_000, 0.01).up_to(1_000_000_000).mode(mode);
        let mut filter = DynamicFilter::new(plan)?;
        let mut done = 0;
        for &end in &options.keys {
            let mut long = Vec::new();
            for key in done..end {
                let mut inserted = Ok(false);
                let seconds = harness::time(1, || inserted = filter.insert(mix(key).to_le_bytes()));
                inserted?;
                if seconds > LONG {
                    long.push(seconds);
                }
            }
            long.sort_by(|a, b| b.total_cmp(a));
            let at =
                |i: usize| long.get(i).map_or("–".to_owned(), |seconds| format!("{:.2} ms", 1e3 * seconds));
            println!(
                "| {} | {done} to {end} | {} | {} | {} | {} |",
                mode.name(),
                long.len(),
                at(99),
                at(9),
                at(0)
            );
            done = end;
        }
    }
    Ok(())
}
