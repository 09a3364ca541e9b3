//! The fields in the name of an sstable file: version, format, generation, component.
//!
//! | since | name | example |
//! |---|---|---|
//! | 2.2 | `<version>-<id>-<format>-<component>` | `nb-1-big-Filter.db`, `da-3-bti-Filter.db` |
//! | 1.1 | `<keyspace>-<table>-[tmp-]<version>-<generation>-<component>` | `foo-atable-ka-1-Filter.db` |
//! | 0.7 | `<table>-<version>-<generation>-<component>` | `Standard1-e-1-Filter.db` |
//! | before | `<table>-<generation>-<component>` | `Standard1-12-Filter.db` |
//!
//! Version letters give no order. Format token and letters together select the dialect, in one table
//! ([`Descriptor::dialect`]):
//!
//! | token | letters | written by | dialect |
//! |---|---|---|---|
//! | big | `a`, `b` | Cassandra 0.3 – 0.7 beta | `cassandra-0` |
//! | big | `c` – `e` | Cassandra 0.7.0 | `cassandra-0.7` |
//! | big | `f` – `hf` | Cassandra 0.7.1 – 1.1 | `cassandra-1` |
//! | big | `ia` – `lb` | Cassandra 1.2 – 2.2, ScyllaDB | `cassandra-2` |
//! | big | `ma` – `me` | Cassandra 3.0 – 3.11, ScyllaDB | `cassandra-3` |
//! | big | `ms`, `mt` | ScyllaDB, with a trie as index | `cassandra-3` |
//! | big | `na` – `nc`, `oa`, `pa` | Cassandra 4.0, 5.0, 6.0 | `cassandra` |
//! | bti | `aa`, `ac`, `ad` | DataStax Enterprise 6.0, 6.7 | `cassandra-3` |
//! | bti | `b`, `ba`, `bb` | DataStax Enterprise 6.8 | `cassandra` |
//! | bti | `ca`, `cb`, `cc` | Hyper-Converged Database | `cassandra` |
//! | bti | `da`, `ea` | Cassandra 5.0, 6.0 | `cassandra` |

use crate::Name;
use core::fmt;
use std::path::Path;

/// The sstable format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Index.db and Summary.db beside the data; the only format before 5.0.
    Big,
    /// Partitions.db and Rows.db (tries), since 5.0 and in DataStax Enterprise since 6.0.
    Bti,
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableFormat::Big => "big",
            TableFormat::Bti => "bti",
        })
    }
}

/// The parts of an sstable file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descriptor {
    /// Keyspace, where the name contains it (1.1 to 2.1).
    pub keyspace: Option<String>,
    /// Table (column family), where the name contains it (before 2.2).
    pub table: Option<String>,
    /// Version letters; `a` where the name has none.
    pub version: String,
    /// Generation: a number, or since 4.1 possibly a time-ordered identifier.
    pub id: String,
    /// BIG or BTI.
    pub format: TableFormat,
    /// The component, e.g. `Filter.db`.
    pub component: String,
    /// Marked `tmp` or `tmplink` (up to 2.2): the sstable was still being written.
    pub temporary: bool,
    /// The dialect of this sstable's filter, by format *and* version: `e` (big) and `ea` (bti) have
    /// nothing in common.
    pub dialect: Name,
}

/// The name is not that of a known sstable component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnSstable {
    /// Format and letters that are in no row of the table; `None` for names of another form.
    unknown: Option<(TableFormat, String)>,
}

impl NotAnSstable {
    /// Why not, in words, without the letters.
    pub fn what(&self) -> &'static str {
        match &self.unknown {
            None => "the file name is not that of an sstable component",
            Some(_) => "the file name has unknown sstable version letters",
        }
    }

    /// The name has the form of an sstable component, but its version letters are unknown.
    pub fn is_unknown_version(&self) -> bool {
        self.unknown.is_some()
    }
}

/// With the unknown letters, and what would settle the dialect of the filter.
impl fmt::Display for NotAnSstable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unknown {
            None => f.write_str(self.what()),
            Some((TableFormat::Bti, letters)) if letters == "ab" => f.write_str(
                "sstable version ab (bti) is a pre-release of DataStax Enterprise 6.8, and its readers disagree \
                 about the byte order of the filter: cassandra or cassandra-3",
            ),
            Some((format, letters)) => {
                write!(f, "unknown sstable version {letters:?} of format {format}")?;
                match VERSIONS.iter().find(|row| row.0 != *format && row.1.contains(&letters.as_str())) {
                    Some((other, ..)) => write!(f, "; {letters} is a version of format {other}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl core::error::Error for NotAnSstable {}

const NO_NAME: NotAnSstable = NotAnSstable { unknown: None };

/// Markers of sstables that are still being written.
const TEMPORARY: [&str; 2] = ["tmp", "tmplink"];

impl Descriptor {
    /// Reads the last part of a path.
    ///
    /// ```
    /// use fullbloom_dialects::cassandra::descriptor::Descriptor;
    /// use fullbloom_dialects::Name;
    ///
    /// let new = Descriptor::parse("data/ks/t-1b255f4def25/da-3-bti-Filter.db".as_ref())?;
    /// assert_eq!((new.version.as_str(), new.dialect), ("da", Name::Cassandra));
    /// let old = Descriptor::parse("foo-atable-ka-1-Filter.db".as_ref())?;
    /// assert_eq!((old.table.as_deref(), old.dialect), (Some("atable"), Name::Cassandra2));
    /// # Ok::<(), fullbloom_dialects::cassandra::descriptor::NotAnSstable>(())
    /// ```
    pub fn parse(path: &Path) -> Result<Descriptor, NotAnSstable> {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or(NO_NAME)?;
        let parts: Vec<&str> = name.split('-').collect();
        let (component, parts) = parts.split_last().ok_or(NO_NAME)?;
        if !component.contains('.') || component.starts_with('.') {
            return Err(NO_NAME);
        }
        // 2.2 puts its marker before the version; older names have it after the table.
        let (temporary, modern) = match parts {
            [mark, rest @ ..] if TEMPORARY.contains(mark) => (true, rest),
            _ => (false, parts),
        };
        let found = match modern {
            [version, id, "big"] => Self::modern(version, id, TableFormat::Big, component),
            [version, id, "bti"] => Self::modern(version, id, TableFormat::Bti, component),
            _ => return Self::ancient(parts, component),
        };
        found.map(|descriptor| Descriptor { temporary, ..descriptor })
    }

    fn modern(
        version: &str,
        id: &str,
        format: TableFormat,
        component: &str,
    ) -> Result<Descriptor, NotAnSstable> {
        if id.is_empty() {
            return Err(NO_NAME);
        }
        Ok(Descriptor {
            keyspace: None,
            table: None,
            dialect: family(version, format)?,
            version: version.to_owned(),
            id: id.to_owned(),
            format,
            component: component.to_owned(),
            temporary: false,
        })
    }

    fn ancient(parts: &[&str], component: &str) -> Result<Descriptor, NotAnSstable> {
        let (id, rest) = parts.split_last().ok_or(NO_NAME)?;
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NO_NAME);
        }
        let (version, rest) = match rest {
            [front @ .., letters] if !front.is_empty() && is_version(letters) => (*letters, front),
            _ => ("a", rest), // before 0.7: no letters
        };
        let (temporary, rest) = match rest {
            [front @ .., mark] if !front.is_empty() && TEMPORARY.contains(mark) => (true, front),
            _ => (false, rest),
        };
        let (keyspace, table) = match rest {
            [] => return Err(NO_NAME),
            [table] => (None, (*table).to_owned()),
            [keyspace, table @ ..] => (Some((*keyspace).to_owned()), table.join("-")),
        };
        Ok(Descriptor {
            keyspace,
            table: Some(table),
            dialect: family(version, TableFormat::Big)?,
            version: version.to_owned(),
            id: (*id).to_owned(),
            format: TableFormat::Big,
            component: component.to_owned(),
            temporary,
        })
    }
}

/// One or two lower-case letters.
fn is_version(letters: &str) -> bool {
    matches!(letters.len(), 1 | 2) && letters.bytes().all(|b| b.is_ascii_lowercase())
}

/// Every known version: those that were released or appear in the engines' own test fixtures. `ab` (bti) is
/// left out on purpose: the two public readers of it disagree about the byte order.
const VERSIONS: [(TableFormat, &[&str], Name); 8] = [
    (TableFormat::Big, &["a", "b"], Name::Cassandra0),
    (TableFormat::Big, &["c", "d", "e"], Name::Cassandra07),
    (TableFormat::Big, &["f", "g", "h", "ha", "hb", "hc", "hd", "he", "hf"], Name::Cassandra1),
    (TableFormat::Big, &["ia", "ib", "ic", "ja", "jb", "ka", "la", "lb"], Name::Cassandra2),
    (TableFormat::Big, &["ma", "mb", "mc", "md", "me", "ms", "mt"], Name::Cassandra3),
    (TableFormat::Big, &["na", "nb", "nc", "oa", "pa"], Name::Cassandra),
    (TableFormat::Bti, &["aa", "ac", "ad"], Name::Cassandra3),
    (TableFormat::Bti, &["b", "ba", "bb", "ca", "cb", "cc", "da", "ea"], Name::Cassandra),
];

/// The dialect of a version. Unknown letters are not guessed.
fn family(version: &str, format: TableFormat) -> Result<Name, NotAnSstable> {
    let row = VERSIONS.iter().find(|row| row.0 == format && row.1.contains(&version));
    row.map(|row| row.2).ok_or_else(|| NotAnSstable { unknown: Some((format, version.to_owned())) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(name: &str) -> Option<Name> {
        Descriptor::parse(Path::new(name)).ok().map(|d| d.dialect)
    }

    #[test]
    fn every_released_version_has_its_family() {
        let families: [(&[&str], Name); 6] = [
            (&["a", "b"], Name::Cassandra0),
            (&["c", "d", "e"], Name::Cassandra07),
            (&["f", "g", "h", "hb", "hc", "hd", "he", "hf"], Name::Cassandra1),
            (&["ia", "ib", "ic", "ja", "jb", "ka", "la", "lb"], Name::Cassandra2),
            (&["ma", "mb", "mc", "md", "me", "ms", "mt"], Name::Cassandra3),
            (&["na", "nb", "nc", "oa", "pa"], Name::Cassandra),
        ];
        for (versions, name) in families {
            for version in versions {
                assert_eq!(dialect(&format!("ks-table-{version}-7-Filter.db")), Some(name), "{version}");
                assert_eq!(dialect(&format!("{version}-7-big-Filter.db")), Some(name), "{version}");
            }
        }
    }

    #[test]
    fn token_and_letters_together_select_the_dialect() {
        for (name, expected) in [
            ("da-1-bti", Some(Name::Cassandra)),
            ("da-1-big", None),
            ("na-1-bti", None),
            ("pa-1-big", Some(Name::Cassandra)),
            ("pa-1-bti", None),
            ("ea-3h5k_0qss_25l7k2s7fnoez39z57-bti", Some(Name::Cassandra)),
            ("ea-1-big", None),
            ("e-1-big", Some(Name::Cassandra07)),
            ("ms-1-big", Some(Name::Cassandra3)),
            ("mt-3h5k_0qss_25l7k2s7fnoez39z57-big", Some(Name::Cassandra3)),
            ("ms-1-bti", None),
            ("aa-1-bti", Some(Name::Cassandra3)),
            ("aa-1-big", None),
            ("ab-1-bti", None),
            ("ad-1-bti", Some(Name::Cassandra3)),
            ("b-1-bti", Some(Name::Cassandra)),
            ("b-1-big", Some(Name::Cassandra0)),
            ("ba-1-bti", Some(Name::Cassandra)),
            ("cc-1-bti", Some(Name::Cassandra)),
        ] {
            assert_eq!(dialect(&format!("{name}-Filter.db")), expected, "{name}");
        }
    }

    #[test]
    fn unknown_letters_are_named_with_what_is_known_about_them() {
        let error = |name: &str| Descriptor::parse(Path::new(name)).unwrap_err().to_string();
        assert_eq!(error("zz-1-big-Filter.db"), "unknown sstable version \"zz\" of format big");
        let other = "unknown sstable version \"ea\" of format big; ea is a version of format bti";
        assert_eq!(error("ea-1-big-Filter.db"), other);
        assert!(error("ab-1-bti-Filter.db").contains("cassandra or cassandra-3"));
    }

    #[test]
    fn old_file_names_are_parsed() {
        let d = Descriptor::parse(Path::new("/x/Keyspace1-Standard1.idx-tmp-jb-12-Filter.db")).unwrap();
        assert_eq!(d.keyspace.as_deref(), Some("Keyspace1"));
        assert_eq!(d.table.as_deref(), Some("Standard1.idx"));
        assert_eq!((d.version.as_str(), d.id.as_str(), d.temporary), ("jb", "12", true));
        let d = Descriptor::parse(Path::new("Standard1-e-1-Filter.db")).unwrap();
        assert_eq!((d.keyspace, d.table.as_deref(), d.version.as_str()), (None, Some("Standard1"), "e"));
        let d = Descriptor::parse(Path::new("Standard1-12-Filter.db")).unwrap();
        assert_eq!((d.table.as_deref(), d.version.as_str()), (Some("Standard1"), "a"));
    }

    #[test]
    fn unfinished_sstables_are_distinguished_from_finished_ones() {
        let temporary = |name: &str| Descriptor::parse(Path::new(name)).unwrap().temporary;
        for name in [
            "ks-t-tmp-ka-1-Data.db",
            "ks-t-tmplink-ka-1-Data.db",
            "tmp-lb-2-big-Data.db",
            "t-tmp-e-1-Data.db",
        ] {
            assert!(temporary(name), "{name}");
        }
        for name in ["ks-t-ka-1-Data.db", "lb-2-big-Data.db", "tmp-1-Data.db", "ks-tmp.idx-ka-1-Data.db"] {
            assert!(!temporary(name), "{name}");
        }
    }

    #[test]
    fn unknown_letters_are_distinguished_from_names_of_other_files() {
        let unknown = |name: &str| Descriptor::parse(Path::new(name)).unwrap_err().is_unknown_version();
        assert!(unknown("zz-1-big-Filter.db"));
        assert!(unknown("na-1-bti-Filter.db"));
        assert!(!unknown("notes.txt"));
    }

    #[test]
    fn text_ids_are_taken_and_other_names_are_not() {
        assert_eq!(dialect("nb-3gu5_0r5n_1bqpc2nzgrsg2y8jyj-big-Filter.db"), Some(Name::Cassandra));
        for name in [
            "",
            "Filter.db",
            "x-Filter.db",
            "nb-1-big",
            "nb--big-Filter.db",
            "zz-1-big-Filter.db",
            "qa-1-big-Filter.db",
            "-1-Filter.db-",
        ] {
            assert_eq!(dialect(name), None, "{name}");
        }
    }
}
