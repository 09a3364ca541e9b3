//! Prefix extractors: the part of a key that a prefix filter holds.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// Takes the prefix of a key: the part up to which a seek stays within one group of keys.
///
/// [`EnginePrefix`] has the extractors of RocksDB. An engine with keys of its own structure writes its own:
///
/// ```
/// use fullbloom_blocks::PrefixExtractor;
///
/// /// Up to the first slash; keys without one have no prefix.
/// #[derive(Debug)]
/// struct UpToSlash;
///
/// impl PrefixExtractor for UpToSlash {
///     fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
///         key.iter().position(|byte| *byte == b'/').map(|end| &key[..=end])
///     }
///
///     fn name(&self) -> String {
///         "example.UpToSlash".to_owned()
///     }
/// }
///
/// assert_eq!(UpToSlash.prefix(b"user/17"), Some(&b"user/"[..]));
/// ```
pub trait PrefixExtractor: fmt::Debug + Send + Sync {
    /// The prefix of a key; `None` when the key is outside the extractor's domain.
    ///
    /// Keys with one prefix must be next to each other in the order of the table, and the prefix of a prefix
    /// must be that prefix. Otherwise seeks miss keys.
    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]>;

    /// The name that a table carries in its properties. An extractor that finds other prefixes needs another
    /// name: the filters of tables depend on it.
    fn name(&self) -> String;
}

/// The prefix extractors of RocksDB, which it recognises by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnginePrefix {
    /// The first N bytes; shorter keys have no prefix. `fixed:N`, `rocksdb.FixedPrefix.N`.
    Fixed(usize),
    /// The first N bytes, or all of a shorter key. `capped:N`, `rocksdb.CappedPrefix.N`.
    Capped(usize),
    /// The whole key. `noop`, `rocksdb.Noop`.
    Noop,
}

impl PrefixExtractor for EnginePrefix {
    #[inline]
    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match *self {
            EnginePrefix::Fixed(len) => key.get(..len),
            EnginePrefix::Capped(len) => Some(&key[..len.min(key.len())]),
            EnginePrefix::Noop => Some(key),
        }
    }

    fn name(&self) -> String {
        match self {
            EnginePrefix::Fixed(len) => format!("rocksdb.FixedPrefix.{len}"),
            EnginePrefix::Capped(len) => format!("rocksdb.CappedPrefix.{len}"),
            EnginePrefix::Noop => "rocksdb.Noop".to_owned(),
        }
    }
}

impl From<EnginePrefix> for Arc<dyn PrefixExtractor> {
    fn from(extractor: EnginePrefix) -> Self {
        Arc::new(extractor)
    }
}

impl fmt::Display for EnginePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnginePrefix::Fixed(len) => write!(f, "fixed:{len}"),
            EnginePrefix::Capped(len) => write!(f, "capped:{len}"),
            EnginePrefix::Noop => f.write_str("noop"),
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

impl core::error::Error for UnknownExtractor {}

impl FromStr for EnginePrefix {
    type Err = UnknownExtractor;

    /// Reads our names (`fixed:4`) and the engine's (`rocksdb.FixedPrefix.4`).
    fn from_str(text: &str) -> Result<EnginePrefix, UnknownExtractor> {
        let number = |prefixes: [&str; 2]| {
            let digits = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
            // `parse` alone would take "+4".
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        if matches!(text, "noop" | "rocksdb.Noop") {
            return Ok(EnginePrefix::Noop);
        }
        let fixed = number(["fixed:", "rocksdb.FixedPrefix."]).map(EnginePrefix::Fixed);
        fixed
            .or_else(|| number(["capped:", "rocksdb.CappedPrefix."]).map(EnginePrefix::Capped))
            .ok_or_else(|| UnknownExtractor(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_differ_for_short_keys() {
        assert_eq!(EnginePrefix::Fixed(3).prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(EnginePrefix::Fixed(3).prefix(b"ab"), None);
        assert_eq!(EnginePrefix::Capped(3).prefix(b"ab"), Some(&b"ab"[..]));
        assert_eq!(EnginePrefix::Capped(3).prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(EnginePrefix::Noop.prefix(b""), Some(&b""[..]));
        assert_eq!(EnginePrefix::Fixed(0).prefix(b""), Some(&b""[..]));
    }

    #[test]
    fn both_spellings_are_read_and_others_refused() {
        for extractor in [EnginePrefix::Fixed(4), EnginePrefix::Capped(12), EnginePrefix::Noop] {
            assert_eq!(extractor.to_string().parse(), Ok(extractor));
            assert_eq!(extractor.name().parse(), Ok(extractor));
        }
        for text in
            ["", "fixed", "fixed:", "fixed:-1", "fixed:+1", "fixed:x", "nullptr", "rocksdb.FixedPrefix"]
        {
            assert!(text.parse::<EnginePrefix>().is_err(), "{text}");
        }
    }
}
