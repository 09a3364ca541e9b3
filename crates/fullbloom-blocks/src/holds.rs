//! What a filter holds, which decides the lookups it can answer.

use crate::prefix::PrefixExtractor;
use alloc::sync::Arc;

/// What the engine is about to do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Question {
    /// Look the key up.
    #[default]
    Get,
    /// Go to the first key not less than it, among those with its prefix.
    Seek,
    /// Go to the last key not greater than it, among those with its prefix.
    SeekBack,
}

/// Which parts of a table's keys went into its filter.
#[derive(Debug, Clone)]
pub struct Holds {
    /// Whether the filter holds whole keys.
    pub whole_keys: bool,
    /// Prefixes, taken by this extractor; keys outside its domain have none.
    pub prefixes: Option<Arc<dyn PrefixExtractor>>,
}

/// Extractors are compared by their names.
impl PartialEq for Holds {
    fn eq(&self, other: &Holds) -> bool {
        let name = |holds: &Holds| holds.prefixes.as_ref().map(|extractor| extractor.name());
        self.whole_keys == other.whole_keys && name(self) == name(other)
    }
}

impl Default for Holds {
    /// Whole keys and no prefixes, as the engines' defaults are.
    fn default() -> Holds {
        Holds { whole_keys: true, prefixes: None }
    }
}

impl Holds {
    /// Whole keys, or only prefixes, which this extractor takes.
    pub fn with_prefixes(whole_keys: bool, extractor: impl PrefixExtractor + 'static) -> Holds {
        Holds { whole_keys, prefixes: Some(Arc::new(extractor)) }
    }

    /// The bytes to look up in the filter; `None` if it cannot answer, which means "maybe".
    ///
    /// A lookup asks for the whole key if whole keys are in, else for the prefix. A seek can only be spared
    /// if no key has the prefix, whatever the filter holds besides.
    #[inline]
    pub fn probe<'k>(&self, question: Question, key: &'k [u8]) -> Option<&'k [u8]> {
        match question {
            Question::Get if self.whole_keys => Some(key),
            _ => self.prefix(key),
        }
    }

    /// The prefix of a key, if prefixes are in and the key has one.
    #[inline]
    pub fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        self.prefixes.as_ref()?.prefix(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::EnginePrefix;

    #[test]
    fn lookups_prefer_the_whole_key_and_seeks_need_a_prefix() {
        let fixed = Some(2);
        let probe = |whole_keys, len: Option<usize>, question, key| match len {
            Some(len) => Holds::with_prefixes(whole_keys, EnginePrefix::Fixed(len)).probe(question, key),
            None => Holds { whole_keys, prefixes: None }.probe(question, key),
        };
        assert_eq!(probe(true, fixed, Question::Get, b"abc"), Some(&b"abc"[..]));
        assert_eq!(probe(false, fixed, Question::Get, b"abc"), Some(&b"ab"[..]));
        assert_eq!(probe(false, fixed, Question::Get, b"a"), None);
        assert_eq!(probe(false, None, Question::Get, b"abc"), None);
        for question in [Question::Seek, Question::SeekBack] {
            assert_eq!(probe(true, fixed, question, b"abc"), Some(&b"ab"[..]));
            assert_eq!(probe(true, fixed, question, b"a"), None);
            assert_eq!(probe(true, None, question, b"abc"), None);
        }
    }
}
