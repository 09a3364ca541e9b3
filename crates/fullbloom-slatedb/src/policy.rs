//! The policy: what SlateDB is configured with.

use crate::builder::Builder;
use crate::filter;
use crate::targets::Targets;
use fullbloom::SizeError;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom_compact::CompactFilter;
use slatedb::{Filter, FilterBuilder, FilterPolicy, PrefixExtractor};
use std::fmt;
use std::sync::Arc;

/// The number of keys with which the arguments of a policy are checked, and the size per key is computed.
const TYPICAL_KEYS: u64 = 100_000;

/// An upper bound of the bytes that an encoded filter needs besides its bits, for tables of usual size.
const FRONT_BYTES: usize = 512;

/// How a policy builds filters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Build {
    /// Kind `fast` with this many bits per key.
    Fast { bits_per_key: f64 },
    /// Kind `compact` with this rate.
    Compact { fpr: f64 },
}

impl Build {
    /// Checks the argument, and returns the bits per key of filters of usual size.
    fn check(self) -> Result<f64, SizeError> {
        match self {
            Build::Fast { bits_per_key } => {
                let target = Target::BitsPerKey(bits_per_key);
                Ok(Sizing::new(&Request { expected_keys: TYPICAL_KEYS, target })?.bits_per_key())
            }
            Build::Compact { fpr } => {
                Ok(CompactFilter::plan(TYPICAL_KEYS, fpr)?.bit_len as f64 / TYPICAL_KEYS as f64)
            }
        }
    }
}

/// A filter policy for SlateDB that stores fullbloom's native filters.
#[derive(Clone)]
pub struct FullbloomPolicy {
    build: Build,
    bits_per_key: f64,
    targets: Targets,
    name: String,
}

impl FullbloomPolicy {
    /// The beginning of the names of all policies.
    pub const NAME: &'static str = "fullbloom";

    /// Filters of kind `fast`, with this many bits per key: about 1 % false positives at 10, 0.06 % at 16. A
    /// lookup reads one cache line; above about 14 bits per key mostly one, sometimes two.
    ///
    /// # Errors
    /// When the number is not positive, or too large.
    pub fn fast(bits_per_key: impl Into<f64>) -> Result<Self, SizeError> {
        Self::new(Build::Fast { bits_per_key: bits_per_key.into() })
    }

    /// Filters of kind `compact`, with this rate, from 2^-64 to 0.5: 7.1 bits per key at 1 %, about 30 %
    /// fewer than `fast`. Building takes longer, and a lookup reads 1.15 cache lines on average.
    ///
    /// # Errors
    /// When the rate is out of range.
    pub fn compact(fpr: f64) -> Result<Self, SizeError> {
        Self::new(Build::Compact { fpr })
    }

    fn new(build: Build) -> Result<Self, SizeError> {
        let bits_per_key = build.check()?;
        let targets = Targets { whole_key: true, extractor: None };
        Ok(FullbloomPolicy { build, bits_per_key, name: targets.name(Self::NAME), targets })
    }

    /// Also stores the prefix of each key, so that `scan_prefix` skips tables without a matching prefix.
    /// Adjacent keys with the same prefix store it once.
    pub fn with_prefix_extractor(mut self, extractor: Arc<dyn PrefixExtractor>) -> Self {
        self.targets.extractor = Some(extractor);
        self.name = self.targets.name(Self::NAME);
        self
    }

    /// Whether whole keys are stored; on by default. Without them filters are smaller, and a lookup of a key
    /// tests whether a key with its prefix is in the table.
    pub fn with_whole_key_filtering(mut self, enabled: bool) -> Self {
        self.targets.whole_key = enabled;
        self.name = self.targets.name(Self::NAME);
        self
    }
}

impl fmt::Debug for FullbloomPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FullbloomPolicy").field("build", &self.build).field("name", &self.name).finish()
    }
}

impl FilterPolicy for FullbloomPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Builder::new(self.build, self.targets.clone()))
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        filter::decode(data, self.targets.clone())
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        let bits = match self.build {
            Build::Fast { .. } => num_keys as f64 * self.bits_per_key,
            // The last layers of a small filter count: it is planned as it would be built.
            Build::Compact { fpr } => CompactFilter::plan(num_keys as u64, fpr)
                .map_or(num_keys as f64 * self.bits_per_key, |plan| plan.bit_len as f64),
        };
        FRONT_BYTES + (bits / 8.0) as usize
    }

    fn supports_prefix_queries(&self) -> bool {
        self.targets.extractor.is_some()
    }
}
