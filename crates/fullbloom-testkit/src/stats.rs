//! Compares a measured count of false positives with the predicted rate.

/// Positive answers for keys that are not in the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Absent keys looked up.
    pub lookups: u64,
    /// How many of them were reported present.
    pub hits: u64,
}

impl Measured {
    /// Counts the answers.
    pub fn of(answers: impl IntoIterator<Item = bool>) -> Measured {
        answers.into_iter().fold(Measured { lookups: 0, hits: 0 }, |sum, yes| Measured {
            lookups: sum.lookups + 1,
            hits: sum.hits + u64::from(yes),
        })
    }

    /// The share of hits; 0 when nothing was looked up.
    pub fn rate(&self) -> f64 {
        if self.lookups == 0 { 0.0 } else { self.hits as f64 / self.lookups as f64 }
    }

    /// How many standard deviations the count lies from what the rate `expected` predicts, when each lookup
    /// is an independent trial: `(hits - np) / sqrt(np(1 - p))`. Infinite when `expected` allows no other
    /// count.
    pub fn z_score(&self, expected: f64) -> f64 {
        let n = self.lookups as f64;
        let away = self.hits as f64 - n * expected;
        if away == 0.0 { 0.0 } else { away / (n * expected * (1.0 - expected)).sqrt() }
    }

    /// Fails unless the count lies within three standard deviations of `expected`.
    ///
    /// # Panics
    /// Panicking is its purpose; the message holds all figures.
    #[track_caller]
    pub fn assert_within_3_sigma(&self, expected: f64, what: &str) {
        let z = self.z_score(expected);
        assert!(
            z.abs() <= 3.0,
            "{what}: {} of {} is {:.6}, {z:+.2} sigma from the expected {expected:.6}",
            self.hits,
            self.lookups,
            self.rate()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_counts_standard_deviations() {
        // 10,000 draws at 1 %: mean 100, deviation sqrt(99) = 9.95.
        let measured = |hits| Measured { lookups: 10_000, hits };
        assert_eq!(measured(100).z_score(0.01), 0.0);
        assert!((measured(110).z_score(0.01) - 1.005).abs() < 1e-3);
        assert!(measured(70).z_score(0.01) < -3.0);
        assert_eq!(measured(0).z_score(0.0), 0.0);
        assert_eq!(measured(1).z_score(0.0), f64::INFINITY);
        assert_eq!(measured(10_000).z_score(1.0), 0.0);
        assert_eq!(Measured::of([true, false, true]), Measured { lookups: 3, hits: 2 });
    }

    #[test]
    #[should_panic(expected = "+3.02 sigma")]
    fn a_count_beyond_three_deviations_fails_and_says_so() {
        Measured { lookups: 10_000, hits: 130 }.assert_within_3_sigma(0.01, "example");
    }
}
