//! Whether a filter suits its keys: the thresholds.

use super::rebuild_hint;
use crate::problem::{Code, Problem};
use crate::text;
use fullbloom::any;
use fullbloom::dialect::cassandra::sizing::MAX_BITS_PER_KEY;
use fullbloom::sizing::{Request, Target};
use fullbloom_sstable::Sstable;
use fullbloom_sstable::report::FilterFacts;
use fullbloom_sstable::sstable::FILTER;

/// A rate worse than promised by this factor is reported; ScyllaDB rebuilds filters from there on.
const TOO_FULL: f64 = 1.25;

/// A filter with this many times the bits it needs is reported,
const TOO_LARGE: u64 = 2;

/// if it wastes at least this many bytes: Cassandra makes small filters for 128 keys, however few there are.
const TOO_LARGE_BYTES: u64 = 1024;

/// The rate a filter should keep. Without a recorded rate: a filter with this many probes serves best when
/// half of its bits are set, so Cassandra never sizes it for more.
fn promise(filter: &FilterFacts, recorded: Option<f64>) -> (f64, String) {
    match recorded {
        Some(fpr) => (fpr, format!("{fpr} is recorded")),
        None => {
            let fpr = 0.5f64.powf(filter.probes.into());
            (fpr, format!("{fpr:.3} suits its {} probes", filter.probes))
        }
    }
}

/// The problems of a filter that holds `keys` keys.
pub(super) fn judge(
    sstable: &Sstable,
    filter: &FilterFacts,
    keys: u64,
    recorded: Option<f64>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |code, message: String| {
        let problem = Problem::at(&sstable.path(FILTER), code, message);
        problems.push(Problem { hint: rebuild_hint(sstable), ..problem });
    };
    let recorded = recorded.filter(|fpr| *fpr > 0.0 && *fpr < 1.0);
    let (fpr, promised) = promise(filter, recorded);
    if filter.expected_fpr > fpr * TOO_FULL {
        add(Code::TooFull, format!("too full: the expected rate is {:.3}, {promised}", filter.expected_fpr));
    }
    let target = match recorded {
        Some(fpr) => Target::Fpr(fpr),
        // Without a rate: the most Cassandra ever spends.
        None => Target::BitsPerKey(MAX_BITS_PER_KEY.into()),
    };
    if let Ok(plan) = any::plan(filter.dialect, &Request { expected_keys: keys, target }) {
        let needed = plan.geometry.bit_len;
        if filter.bits >= needed.saturating_mul(TOO_LARGE) && filter.bits - needed >= 8 * TOO_LARGE_BYTES {
            let times = text::decimal(filter.bits as f64 / needed.max(1) as f64, 1);
            let bits = filter.bits;
            add(
                Code::TooLarge,
                format!("far larger than needed: {bits} bits where {needed} would do ({times} times)"),
            );
        }
    }
    problems
}
