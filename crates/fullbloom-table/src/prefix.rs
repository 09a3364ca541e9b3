//! Prefix extractors: the part of a key that a prefix filter holds.

use std::fmt;
use std::str::FromStr;

/// Takes the prefix of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrefixExtractor {
    /// The first N bytes; shorter keys have no prefix. `fixed:N`, `rocksdb.FixedPrefix.N`.
    Fixed(usize),
    /// The first N bytes, or all of a shorter key. `capped:N`, `rocksdb.CappedPrefix.N`.
    Capped(usize),
    /// The whole key. `noop`, `rocksdb.Noop`.
    Noop,
}

impl PrefixExtractor {
    /// The prefix of a key; `None` when the key is outside the extractor's domain.
    #[inline]
    pub fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match *self {
            PrefixExtractor::Fixed(len) => key.get(..len),
            PrefixExtractor::Capped(len) => Some(&key[..len.min(key.len())]),
            PrefixExtractor::Noop => Some(key),
        }
    }

    /// The name a table carries in its properties.
    pub fn engine_name(&self) -> String {
        match self {
            PrefixExtractor::Fixed(len) => format!("rocksdb.FixedPrefix.{len}"),
            PrefixExtractor::Capped(len) => format!("rocksdb.CappedPrefix.{len}"),
            PrefixExtractor::Noop => "rocksdb.Noop".to_owned(),
        }
    }
}

impl fmt::Display for PrefixExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrefixExtractor::Fixed(len) => write!(f, "fixed:{len}"),
            PrefixExtractor::Capped(len) => write!(f, "capped:{len}"),
            PrefixExtractor::Noop => f.write_str("noop"),
        }
    }
}

/// The text is not the name of a prefix extractor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownExtractor(String);

impl fmt::Display for UnknownExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a prefix extractor; known are fixed:N, capped:N and noop", self.0)
    }
}

impl std::error::Error for UnknownExtractor {}

impl FromStr for PrefixExtractor {
    type Err = UnknownExtractor;

    /// Reads our names (`fixed:4`) and the engine's (`rocksdb.FixedPrefix.4`).
    fn from_str(text: &str) -> Result<PrefixExtractor, UnknownExtractor> {
        let number = |prefixes: [&str; 2]| {
            let digits = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
            // `parse` alone would take "+4".
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        if matches!(text, "noop" | "rocksdb.Noop") {
            return Ok(PrefixExtractor::Noop);
        }
        let fixed = number(["fixed:", "rocksdb.FixedPrefix."]).map(PrefixExtractor::Fixed);
        fixed
            .or_else(|| number(["capped:", "rocksdb.CappedPrefix."]).map(PrefixExtractor::Capped))
            .ok_or_else(|| UnknownExtractor(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_differ_for_short_keys() {
        assert_eq!(PrefixExtractor::Fixed(3).prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(PrefixExtractor::Fixed(3).prefix(b"ab"), None);
        assert_eq!(PrefixExtractor::Capped(3).prefix(b"ab"), Some(&b"ab"[..]));
        assert_eq!(PrefixExtractor::Capped(3).prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(PrefixExtractor::Noop.prefix(b""), Some(&b""[..]));
        assert_eq!(PrefixExtractor::Fixed(0).prefix(b""), Some(&b""[..]));
    }

    #[test]
    fn both_spellings_are_read_and_others_refused() {
        for extractor in [PrefixExtractor::Fixed(4), PrefixExtractor::Capped(12), PrefixExtractor::Noop] {
            assert_eq!(extractor.to_string().parse(), Ok(extractor));
            assert_eq!(extractor.engine_name().parse(), Ok(extractor));
        }
        for text in
            ["", "fixed", "fixed:", "fixed:-1", "fixed:+1", "fixed:x", "nullptr", "rocksdb.FixedPrefix"]
        {
            assert!(text.parse::<PrefixExtractor>().is_err(), "{text}");
        }
    }
}
