//! What to do next about a problem, unless more is known about it: the hint that it begins with.

use crate::problem::Code;

impl Code {
    /// What helps against problems with this code and message.
    pub(crate) fn next_step(self, message: &str) -> Option<&'static str> {
        Some(match self {
            Code::Unreadable | Code::FilterUnreadable if message.contains("ermission denied") => {
                "run the command as the user that owns the files"
            }
            Code::UnknownDialect | Code::NotAFilter => "give the dialect, or restore the file from a backup",
            Code::SecretMissing => "give the secret that the filter was built with",
            Code::FilterMissing
            | Code::FilterEmpty
            | Code::FilterTruncated
            | Code::TrailingBytes
            | Code::FilterMalformed
            | Code::KeyMissing
            | Code::BytesDiffer => "rebuild the filter from its keys: fullbloom rebuild",
            Code::Mislabelled => "rename the file to the version it was written with, or rebuild it",
            Code::Doubtful => "build the filter again from its keys",
            Code::Overfull | Code::Weak => "build a larger filter from its keys",
            Code::TooFull | Code::TooLarge => "rebuild it at the rate of the table",
            Code::KeysUnreadable | Code::IndexOutOfOrder | Code::ComponentLost => {
                "restore the sstable from a snapshot, or let another replica repair the table"
            }
            Code::StatisticsUnreadable
            | Code::TocMissing
            | Code::TocUnreadable
            | Code::ComponentsMissing
            | Code::NotListed => "restore the component from a snapshot",
            Code::TableUnreadable
            | Code::Checksum
            | Code::TableMissing
            | Code::LengthDiffers
            | Code::EntriesDiffer => {
                "restore the table from a backup; rebuilding its filter does not bring data back"
            }
            Code::ManifestUnreadable => {
                "restore the MANIFEST from a backup, or repair the database with its engine"
            }
            Code::Unflushed => "flush the database with its engine first",
            Code::FilterWasted => "switch the filters of this column off in the writer",
            Code::NoFilter | Code::NoColumnFilters => "configure a filter policy and rewrite the data",
            Code::UnknownFilter => {
                "use the program that wrote it; compaction with a known policy replaces it"
            }
            Code::OldKind | Code::OldFormat | Code::FilterIgnored => {
                "compact the table with a current release"
            }
            _ => return None,
        })
    }
}
