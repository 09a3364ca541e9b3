//! The kinds of native filters.

use core::fmt;
use core::str::FromStr;
use fullbloom_core::error::UnknownName;

/// The kinds of native filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Kind {
    /// For a known number of keys; takes keys at any time.
    #[default]
    Fast,
    /// Built from all its keys at once; the smallest.
    Compact,
    /// Grows with its keys; supports deletion or expiry.
    Dynamic,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Fast, Kind::Compact, Kind::Dynamic];

    /// `fast`, `compact` or `dynamic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Fast => "fast",
            Kind::Compact => "compact",
            Kind::Dynamic => "dynamic",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Kind, UnknownName> {
        UnknownName::or_found("kind", name, &Kind::ALL, Kind::as_str)
    }
}
