//! The options for the size of a filter.

use crate::numbers;
use clap::Args;
use fullbloom::sizing::Target;
use fullbloom_any::BuildOptions;

/// `--fpr` or `--bits-per-key`.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Keep the false-positive rate at this: 0.01, 1e-6, 1%
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true, group = "target")]
    pub fpr: Option<f64>,

    /// Give each key this many bits
    #[arg(long, value_name = "B", allow_negative_numbers = true, group = "target")]
    pub bits_per_key: Option<f64>,
}

impl TargetArgs {
    /// The requested target, if any.
    pub fn target(&self) -> Option<Target> {
        self.fpr.map(Target::Fpr).or(self.bits_per_key.map(Target::BitsPerKey))
    }
}

/// The heading of what the caller knows about filter files.
pub const FILES: &str = "Filter files";

/// `--bits` with `--probes`.
#[derive(Debug, Args)]
pub struct GeometryArgs {
    /// Set the length of the bit array in bits
    #[arg(long, value_name = "M", value_parser = numbers::count, allow_negative_numbers = true, requires = "probes",
          help_heading = FILES)]
    pub bits: Option<u64>,

    /// Set the probes for each key
    #[arg(long, value_name = "K", value_parser = numbers::small_count, allow_negative_numbers = true,
          requires = "bits", help_heading = FILES)]
    pub probes: Option<u32>,
}

impl GeometryArgs {
    /// Both numbers, or none.
    pub fn geometry(&self) -> Option<(u64, u32)> {
        self.bits.zip(self.probes)
    }
}

/// The geometry of a filter to be built: some dialects know the probes.
#[derive(Debug, Args)]
pub struct NewGeometryArgs {
    /// Set the length of the bit array in bits
    #[arg(long, value_name = "M", value_parser = numbers::count, allow_negative_numbers = true)]
    pub bits: Option<u64>,

    /// Set the probes for each key (not for parquet, spark)
    #[arg(long, value_name = "K", value_parser = numbers::small_count, allow_negative_numbers = true,
          requires = "bits")]
    pub probes: Option<u32>,
}

/// The target of a filter to be built.
pub fn target(target: &TargetArgs, geometry: &NewGeometryArgs) -> Target {
    match geometry.bits.zip(geometry.probes) {
        Some((bit_len, probes)) => Target::Exact { bit_len, probes },
        None => target.target().unwrap_or(BuildOptions::DEFAULT_TARGET),
    }
}
