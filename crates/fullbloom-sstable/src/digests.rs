//! The checksums that `Scylla.db` records, compared with the files.

use crate::scylla::{COMPONENTS, crc};
use crate::sstable::{COMPRESSION_INFO, FILTER, STATISTICS, SUMMARY, Sstable, TOC};
use std::fmt;

/// A component whose bytes are not those that ScyllaDB wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigestMismatch {
    /// The name of the component, such as `Filter.db`.
    pub component: &'static str,
    /// The checksum in `Scylla.db`.
    pub recorded: u32,
    /// The checksum of the file.
    pub computed: u32,
}

impl fmt::Display for DigestMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DigestMismatch { component, recorded, computed } = self;
        write!(f, "{component} has the checksum {computed:08x}, and Scylla.db records {recorded:08x}")?;
        match *component {
            SUMMARY => f.write_str(": ScyllaDB 2026.2 and later rebuilds it"),
            name if AT_LOADING.contains(&name) => {
                f.write_str(": ScyllaDB 2026.2 and later refuses the sstable and does not start")
            }
            _ => f.write_str(": `scylla sstable validate` refuses it"),
        }
    }
}

/// The components that a node compares when it loads an sstable.
const AT_LOADING: [&str; 5] = [TOC, STATISTICS, COMPRESSION_INFO, FILTER, SUMMARY];

/// Which components to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The checksums that a node compares when it loads an sstable; these components are small.
    AtLoading,
    /// All, the data included.
    All,
}

/// The components of an sstable that differ from their recorded checksums. Missing and unreadable ones are
/// reported elsewhere.
pub(crate) fn mismatches(sstable: &Sstable, which: Which) -> Vec<DigestMismatch> {
    let digests = sstable.scylla_db().and_then(|read| read.digests.as_deref()).unwrap_or_default();
    let compared = |digest: &crate::scylla::Digest| {
        let component = *COMPONENTS.get(digest.component as usize)?;
        if which == Which::AtLoading && !AT_LOADING.contains(&component) || !sstable.has(component) {
            return None;
        }
        let map = sstable.bytes(component).ok()?;
        let (recorded, computed) = (digest.crc, crc(map.as_ref()));
        (recorded != computed).then_some(DigestMismatch { component, recorded, computed })
    };
    digests.iter().filter_map(compared).collect()
}
