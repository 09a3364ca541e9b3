//! What a rate costs sstables, each sized by Cassandra's rule for its own keys.

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Name;
use serde::Serialize;

/// The usual rates, from the lowest.
pub const RATES: [f64; 7] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// The filter of one sstable, as far as planning needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// The family of its version.
    pub dialect: Name,
    /// Its partition keys.
    pub keys: u64,
    /// The share of lookups that meet it, by its tokens.
    pub share: f64,
}

/// The cost and effect of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// The rate, as `bloom_filter_fp_chance`.
    pub fpr: f64,
    /// Bits for each key, by Cassandra's rule.
    pub bits_per_key: u32,
    /// Probes for each key.
    pub probes: u32,
    /// Bytes of all filters in a node's memory.
    pub memory_bytes: u64,
    /// Bytes of all `Filter.db`.
    pub bytes: u64,
    /// The rate to expect, over all keys. Whole bits make it better than the requested one; where Cassandra's
    /// table of rates fits exactly, its rounded figures can make it worse, by less than one part in two
    /// hundred.
    pub expected_fpr: f64,
    /// Sstables that a lookup of an absent key reads needlessly, on average: the sum over all of them, each
    /// by the share of lookups that meet it; null for several tables, because a lookup reads one.
    pub useless_reads: Option<f64>,
}

/// What a rate would cost these sstables, each as Cassandra would size it for its own keys.
pub fn row(parts: &[Part], fpr: f64) -> Result<Row, SizeError> {
    let spec = fullbloom_dialects::cassandra::sizing::spec_by_fpr(1, fpr)?;
    let mut row = Row {
        fpr,
        bits_per_key: spec.map_or(0, |spec| spec.bits_per_key),
        probes: spec.map_or(0, |spec| spec.probes),
        memory_bytes: 0,
        bytes: 0,
        expected_fpr: 0.0,
        useless_reads: None,
    };
    let (mut keys, mut weighted, mut useless_reads) = (0.0, 0.0, 0.0);
    for part in parts {
        let request = Request { expected_keys: part.keys, target: Target::Fpr(fpr) };
        let plan = any::plan(part.dialect, &request)?;
        row.memory_bytes += plan.geometry.byte_len();
        row.bytes += plan.encoded_len;
        useless_reads += plan.expected_fpr * part.share;
        keys += part.keys as f64;
        weighted += plan.expected_fpr * part.keys as f64;
    }
    row.useless_reads = Some(useless_reads);
    row.expected_fpr = if keys > 0.0 { weighted / keys } else { 0.0 };
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_cassandra() {
        let parts = [Part { dialect: Name::Cassandra, keys: 1_000_000, share: 0.5 }; 2];
        let (usual, half) = (row(&parts, 0.01).unwrap(), row(&parts, 0.1).unwrap());
        assert_eq!((usual.bits_per_key, usual.memory_bytes), (10, 2 * 1_250_008));
        assert!(
            (usual.useless_reads.unwrap() - usual.expected_fpr).abs() < 1e-12,
            "a lookup meets one of two"
        );
        assert_eq!((half.bits_per_key, half.memory_bytes), (5, 2 * 625_008));
    }

    #[test]
    fn lower_rates_cost_more_and_keep_what_they_promise() {
        let parts = [
            Part { dialect: Name::Cassandra, keys: 1_000_000, share: 1.0 },
            Part { dialect: Name::Cassandra3, keys: 50_000, share: 1.0 },
            Part { dialect: Name::Cassandra07, keys: 700, share: 1.0 },
        ];
        let rows: Vec<Row> = RATES.iter().map(|fpr| row(&parts, *fpr).unwrap()).collect();
        for pair in rows.windows(2) {
            assert!(pair[0].memory_bytes > pair[1].memory_bytes);
            assert!(pair[0].expected_fpr < pair[1].expected_fpr);
        }
        for row in &rows {
            assert!(row.expected_fpr <= row.fpr * 1.005, "{row:?}");
            assert!(row.bytes > row.memory_bytes);
        }
        assert!(row(&parts, f64::NAN).is_err());
        assert_eq!(row(&parts[..2], 1.0).unwrap().memory_bytes, 0, "a rate of 1 is no filter");
        assert_eq!(row(&[], 0.01).unwrap().memory_bytes, 0);
    }
}
