//! The layout of an sstable's components, by its format token and version letters.
//!
//! Versions are looked up here only. Letters alone give no order: `da` (BTI) is newer than `oa` (BIG). The
//! family of the filter is part of the file name's
//! [`Descriptor`](fullbloom_dialects::cassandra::descriptor::Descriptor), because a filter can be opened without its
//! sstable.
//!
//! | token | letters | keys from | `CompressionInfo.db` | `Statistics.db` |
//! |---|---|---|---|---|
//! | big | `a` – `hf`, but not `c` and `d` | `Index.db`, positions | not read | not read |
//! | big | `ia` – `jb` | `Index.db`, promoted indexes | not read | not read |
//! | big | `ka` – `lb` | `Index.db`, promoted indexes | not read | plain |
//! | big | `ma` – `me` | `Index.db`, vints | not read | plain |
//! | big | `ms`, `mt` | `Partitions.db` | without "longest compressed chunk" | plain |
//! | big | `na` – `nc`, `oa`, `pa` | `Index.db`, vints | not read | with checksums |
//! | bti | all | `Partitions.db` | with "longest compressed chunk" | with checksums |

use crate::{compression, index, statistics};
use fullbloom_dialects::cassandra::descriptor::TableFormat;

/// How the components of one version are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// The component that has the partition keys.
    pub(crate) keys: KeySource,
    /// The layout of `Statistics.db`; `None` where it is not read.
    pub(crate) statistics: Option<statistics::Layout>,
}

/// Where the partition keys of an sstable are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// In `Index.db`, with entries of this layout.
    Index(index::Layout),
    /// Reached through the trie of `Partitions.db`; `CompressionInfo.db` has this layout.
    Trie(compression::Layout),
    /// They cannot be read, for this reason.
    Unreadable(&'static str),
}

impl Version {
    /// Looks a version up.
    pub(crate) fn of(format: TableFormat, letters: &str) -> Version {
        use compression::Layout::{Limited, Unlimited};
        use index::Layout::{Position, Promoted, Vint};
        use statistics::Layout::{Checked, Plain};
        let version = |keys, statistics| Version { keys, statistics };
        match (format, letters.as_bytes().first()) {
            (TableFormat::Bti, Some(b'a'..=b'e')) => version(KeySource::Trie(Limited), Some(Checked)),
            (TableFormat::Big, _) if matches!(letters, "ms" | "mt") => {
                version(KeySource::Trie(Unlimited), Some(Plain))
            }
            (TableFormat::Big, _) if matches!(letters, "c" | "d") => version(
                KeySource::Unreadable(
                    "the index holds tokens before the keys, and the filter was built from other bytes",
                ),
                None,
            ),
            (TableFormat::Big, Some(b'a'..=b'h')) => version(KeySource::Index(Position), None),
            (TableFormat::Big, Some(b'i' | b'j')) => version(KeySource::Index(Promoted), None),
            (TableFormat::Big, Some(b'k' | b'l')) => version(KeySource::Index(Promoted), Some(Plain)),
            (TableFormat::Big, Some(b'm')) => version(KeySource::Index(Vint), Some(Plain)),
            (TableFormat::Big, Some(b'n'..=b'p')) => version(KeySource::Index(Vint), Some(Checked)),
            _ => version(KeySource::Unreadable("the layout of its index is unknown"), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compression::Layout::{Limited, Unlimited};
    use index::Layout::{Position, Promoted, Vint};
    use statistics::Layout::{Checked, Plain};

    #[test]
    fn token_and_letters_select_the_layouts() {
        for (versions, layout, statistics) in [
            (&["a", "b", "e", "f", "hf"][..], Position, None),
            (&["ia", "ic", "jb"], Promoted, None),
            (&["ka", "la", "lb"], Promoted, Some(Plain)),
            (&["ma", "mc", "me"], Vint, Some(Plain)),
            (&["na", "nb", "nc", "oa", "pa"], Vint, Some(Checked)),
        ] {
            for version in versions {
                let expected = Version { keys: KeySource::Index(layout), statistics };
                assert_eq!(Version::of(TableFormat::Big, version), expected, "{version}");
            }
        }
        for (format, versions, layout, statistics) in [
            (TableFormat::Bti, &["aa", "ad", "ba", "cc", "da", "ea"][..], Limited, Checked),
            (TableFormat::Big, &["ms", "mt"], Unlimited, Plain),
        ] {
            for version in versions {
                let expected = Version { keys: KeySource::Trie(layout), statistics: Some(statistics) };
                assert_eq!(Version::of(format, version), expected, "{version}");
            }
        }
        for (format, letters) in [
            (TableFormat::Big, "c"),
            (TableFormat::Big, "d"),
            (TableFormat::Big, "qa"),
            (TableFormat::Big, ""),
            (TableFormat::Bti, "na"),
        ] {
            let version = Version::of(format, letters);
            assert!(matches!(version.keys, KeySource::Unreadable(_)), "{letters}");
            assert_eq!(version.statistics, None, "{letters}");
        }
    }
}
