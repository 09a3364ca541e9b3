//! Which parts of a key a filter stores, and which a lookup tests.

use slatedb::{FilterTarget, PrefixExtractor, PrefixTarget};
use std::sync::Arc;

/// Which parts of keys are stored.
#[derive(Clone)]
pub(crate) struct Targets {
    pub(crate) whole_key: bool,
    pub(crate) extractor: Option<Arc<dyn PrefixExtractor>>,
}

/// What a query looks up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Probe<'a> {
    Key(&'a [u8]),
    Prefix(&'a [u8]),
    /// Nothing that the filter stores: the answer is "maybe".
    Nothing,
}

impl Targets {
    /// The policy's name. Filters of policies with different names are never mixed up.
    pub(crate) fn name(&self, base: &str) -> String {
        let prefix =
            self.extractor.as_ref().map_or(String::new(), |extractor| format!(":p={}", extractor.name()));
        format!("{base}{prefix}{}", if self.whole_key { "" } else { ":wh=0" })
    }

    /// What to look up for a query.
    #[inline]
    pub(crate) fn probe<'a>(&self, target: &'a FilterTarget) -> Probe<'a> {
        match target {
            FilterTarget::Point(key) if self.whole_key => Probe::Key(key),
            FilterTarget::Point(bytes) | FilterTarget::Prefix(bytes) => self.prefix(bytes, target),
            FilterTarget::Range { .. } => Probe::Nothing,
        }
    }

    fn prefix<'a>(&self, bytes: &'a [u8], target: &FilterTarget) -> Probe<'a> {
        let length = |extractor: &Arc<dyn PrefixExtractor>| extractor.prefix_len(&target.as_prefix_target()?);
        let prefix = self.extractor.as_ref().and_then(length).and_then(|length| bytes.get(..length));
        prefix.map_or(Probe::Nothing, Probe::Prefix)
    }

    /// The length of the prefix of a stored key.
    pub(crate) fn stored_prefix(&self, key: &bytes::Bytes) -> Option<usize> {
        self.extractor.as_ref()?.prefix_len(&PrefixTarget::Point(key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::ops::Bound;

    /// Prefixes of this length, if the key is that long.
    struct Fixed(usize);

    impl PrefixExtractor for Fixed {
        fn name(&self) -> &str {
            "fixed"
        }

        fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
            let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
            (bytes.len() >= self.0).then_some(self.0)
        }
    }

    /// A length that no key has.
    struct TooLong;

    impl PrefixExtractor for TooLong {
        fn name(&self) -> &str {
            "too-long"
        }

        fn prefix_len(&self, _: &PrefixTarget) -> Option<usize> {
            Some(usize::MAX)
        }
    }

    fn point(key: &'static str) -> FilterTarget {
        FilterTarget::Point(Bytes::from_static(key.as_bytes()))
    }

    fn prefix(prefix: &'static str) -> FilterTarget {
        FilterTarget::Prefix(Bytes::from_static(prefix.as_bytes()))
    }

    #[test]
    fn whole_keys_are_preferred_to_prefixes() {
        let targets = Targets { whole_key: true, extractor: Some(Arc::new(Fixed(2))) };
        assert_eq!(targets.probe(&point("abc")), Probe::Key(b"abc"));
        assert_eq!(targets.probe(&prefix("abc")), Probe::Prefix(b"ab"));
        assert_eq!(targets.probe(&prefix("a")), Probe::Nothing);
        assert_eq!(targets.name("x"), "x:p=fixed");
    }

    #[test]
    fn without_whole_keys_the_prefix_of_a_key_is_looked_up() {
        let targets = Targets { whole_key: false, extractor: Some(Arc::new(Fixed(2))) };
        assert_eq!(targets.probe(&point("abc")), Probe::Prefix(b"ab"));
        assert_eq!(targets.probe(&point("a")), Probe::Nothing);
        assert_eq!(targets.name("x"), "x:p=fixed:wh=0");
    }

    #[test]
    fn without_an_extractor_only_keys_can_be_looked_up() {
        let keys = Targets { whole_key: true, extractor: None };
        assert_eq!(keys.probe(&prefix("abc")), Probe::Nothing);
        assert_eq!(keys.name("x"), "x");
        let nothing = Targets { whole_key: false, extractor: None };
        assert_eq!(nothing.probe(&point("abc")), Probe::Nothing);
        assert_eq!(nothing.name("x"), "x:wh=0");
    }

    #[test]
    fn ranges_and_impossible_prefixes_are_not_looked_up() {
        let targets = Targets { whole_key: true, extractor: Some(Arc::new(TooLong)) };
        let range = FilterTarget::Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
        assert_eq!(targets.probe(&range), Probe::Nothing);
        assert_eq!(targets.probe(&prefix("abc")), Probe::Nothing);
    }
}
