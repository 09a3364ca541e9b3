//! Which sstables a lookup meets: the share of the table's tokens that each one covers.
//!
//! A node looks a key up only in sstables whose tokens reach from before the key to behind it. In a leveled
//! table the sstables of a level do not overlap, and a key meets one of them; in a size-tiered one every
//! sstable covers nearly everything.

use fullbloom_sstable::TokenRange;

/// The share of lookups that meet each of these sstables, for keys whose tokens the table covers at all. An
/// sstable whose tokens are not known counts as met by every lookup.
pub(crate) fn shares(ranges: &[Option<TokenRange>]) -> Vec<f64> {
    let mut known: Vec<(i128, i128)> =
        ranges.iter().flatten().map(|range| (range.first.into(), i128::from(range.last) + 1)).collect();
    known.sort_unstable();
    let (mut covered, mut reached) = (0, i128::MIN);
    for (first, end) in known {
        covered += (end - first.max(reached)).max(0);
        reached = reached.max(end);
    }
    let share = |range: &Option<TokenRange>| match range {
        Some(range) => (i128::from(range.last) + 1 - i128::from(range.first)) as f64 / covered as f64,
        None => 1.0,
    };
    ranges.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(ranges: &[(i64, i64)]) -> Vec<f64> {
        let ranges: Vec<_> =
            ranges.iter().map(|(first, last)| Some(TokenRange::new(*first, *last))).collect();
        shares(&ranges)
    }

    #[test]
    fn sstables_that_do_not_overlap_share_the_lookups_and_others_do_not() {
        assert_eq!(share(&[(0, 99), (100, 199), (200, 399)]), [0.25, 0.25, 0.5]);
        assert_eq!(share(&[(0, 99), (0, 99)]), [1.0, 1.0]);
        assert_eq!(share(&[(0, 99), (50, 99)]), [1.0, 0.5]);
        assert_eq!(share(&[(i64::MIN, i64::MAX)]), [1.0]);
        assert_eq!(share(&[(-5, -5), (7, 7)]), [0.5, 0.5], "gaps are not looked up");
        assert_eq!(shares(&[None, Some(TokenRange::new(0, 9))]), [1.0, 1.0]);
        assert!(shares(&[]).is_empty());
    }
}
