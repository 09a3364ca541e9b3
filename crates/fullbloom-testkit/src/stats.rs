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

/// The probability of a count as far from the mean as this one, or farther on the same side, when counts are
/// Poisson-distributed. Exact for small means too, where standard deviations say little.
pub fn poisson_tail(mean: f64, count: u64) -> f64 {
    if mean <= 0.0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    let log_factorial: f64 = (2..=count).map(|i| (i as f64).ln()).sum();
    let mut term = (count as f64 * mean.ln() - mean - log_factorial).exp();
    let (mut sum, mut at) = (0.0, count as f64);
    // Away from the mean, terms only decrease.
    if at > mean {
        while term > sum * 1e-12 && term > 0.0 {
            sum += term;
            at += 1.0;
            term *= mean / at;
        }
    } else {
        while term > sum * 1e-12 && term > 0.0 {
            sum += term;
            term *= at / mean;
            at -= 1.0;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_tails_are_those_of_the_tables() {
        let close = |mean, count, expected: f64| {
            let tail = poisson_tail(mean, count);
            assert!((tail / expected - 1.0).abs() < 1e-6, "{mean} {count}: {tail}");
        };
        close(2.0, 0, 0.135_335_283);
        close(2.0, 5, 0.052_653_017);
        close(100.0, 100, 0.526_562_199);
        close(100.0, 140, 9.164_651_43e-5);
        close(0.001, 1, 9.995_001_666e-4);
    }

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
