//! How an existing filter differs from the one that the caller wants.

use super::Changing;
use fullbloom_any::KindFacts;
use fullbloom_dynamic::Expiry;

/// Rates that differ by less than this factor are the same.
const RATE_SLACK: f64 = 1.01;

/// The numbers of a filter that would be made if there were none.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// When keys expire, if they should.
    pub expiry: Option<Expiry>,
    /// The expected keys, if given.
    pub expected_keys: Option<u64>,
    /// The number of keys up to which the rate is kept, if given.
    pub up_to: Option<u64>,
    /// The rate, if given.
    pub fpr: Option<f64>,
    /// The rate that it has otherwise.
    pub default_fpr: f64,
}

/// How an existing filter differs from the wanted one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// Its keys do not expire.
    NoExpiry,
    /// Its keys expire at another time.
    Expiry(Expiry),
    /// It was made for this number of keys.
    ExpectedKeys(u64),
    /// It keeps its rate up to this number of keys.
    UpTo(u64),
    /// It was made for this rate.
    Rate(f64),
    /// No rate is wanted, and it was made for one that is higher than usual.
    HighRate(f64),
}

impl Changing {
    /// How the filter differs from one that would be made with these numbers.
    pub fn differs(&self, from: &Wanted) -> Vec<Difference> {
        let facts = self.facts();
        let mut differences = Vec::new();
        match (from.expiry, self.expiry()) {
            (Some(_), None) => differences.push(Difference::NoExpiry),
            (Some(wanted), Some(has)) if wanted != has => differences.push(Difference::Expiry(has)),
            _ => {}
        }
        let up_to = match facts.kind {
            KindFacts::Dynamic { up_to, .. } => Some(up_to),
            _ => None,
        };
        let made_for = facts.expected_keys;
        if from
            .expected_keys
            .is_some_and(|wanted| wanted != made_for && up_to.is_none_or(|up_to| wanted > up_to))
        {
            differences.push(Difference::ExpectedKeys(up_to.unwrap_or(made_for)));
        }
        if from.up_to.is_some_and(|wanted| Some(wanted) != up_to) {
            differences.push(Difference::UpTo(up_to.unwrap_or(made_for)));
        }
        let rate = facts.planned_fpr;
        match from.fpr {
            Some(wanted) if rate > wanted * RATE_SLACK || rate < wanted / RATE_SLACK => {
                differences.push(Difference::Rate(rate));
            }
            None if rate > from.default_fpr * RATE_SLACK => differences.push(Difference::HighRate(rate)),
            _ => {}
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom::sizing::Target;
    use fullbloom_any::BuildOptions;
    use fullbloom_any::Kind;
    use fullbloom_dialects::Name;

    #[test]
    fn rates_within_a_hundredth_are_the_same_and_other_numbers_are_reported() {
        let options = BuildOptions::new(Name::Native).kind(Kind::Dynamic).target(Target::Fpr(1e-4));
        let filter = Changing::new(options.expected_keys(1000).up_to(5000).empty().unwrap(), None);
        let planned = filter.facts().planned_fpr;
        let same =
            Wanted { expiry: None, expected_keys: None, up_to: None, fpr: Some(planned), default_fpr: 1e-4 };
        assert_eq!(filter.differs(&same), []);
        assert_eq!(filter.differs(&Wanted { fpr: Some(planned * 1.009), ..same }), []);
        let other = Wanted { fpr: Some(planned * 1.02), ..same };
        assert_eq!(filter.differs(&other), [Difference::Rate(planned)]);
        let usual = Wanted { fpr: None, default_fpr: planned / 2.0, ..same };
        assert_eq!(filter.differs(&usual), [Difference::HighRate(planned)]);
        assert_eq!(
            filter.differs(&Wanted { expected_keys: Some(3000), ..same }),
            [],
            "it keeps the rate for these"
        );
        let more = Wanted { expected_keys: Some(6000), up_to: Some(6000), ..same };
        assert_eq!(filter.differs(&more), [Difference::ExpectedKeys(5000), Difference::UpTo(5000)]);
    }
}
