//! `TOC.txt`: the components of an sstable by name, one per line.

use fullbloom::DecodeError;
use std::collections::HashSet;

/// The longest TOC that is read. A real one has ten short lines; each index of the table adds as many.
const MAX_LEN: usize = 64 << 10;

/// The names a whole `TOC.txt` lists, in its order, without empty lines and repetitions.
///
/// ```
/// use fullbloom_sstable::toc;
///
/// assert_eq!(toc::decode(b"Data.db\nFilter.db\r\n\nTOC.txt")?, ["Data.db", "Filter.db", "TOC.txt"]);
/// # Ok::<(), fullbloom::DecodeError>(())
/// ```
pub fn decode(toc_txt: &[u8]) -> Result<Vec<String>, DecodeError> {
    if toc_txt.len() > MAX_LEN {
        let (field, got, allowed) = ("length of TOC.txt", toc_txt.len() as i128, "at most 64 KiB");
        return Err(DecodeError::Value { field, at: 0, got, allowed });
    }
    let text = std::str::from_utf8(toc_txt)
        .map_err(|e| DecodeError::Magic { field: "TOC.txt, as UTF-8", at: e.valid_up_to() as u64 })?;
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(at) = line.bytes().position(|b| b == b'/' || b == 0) {
            let at = (line.as_ptr() as usize - text.as_ptr() as usize + at) as u64;
            return Err(DecodeError::Magic { field: "component name", at });
        }
        if seen.insert(line) {
            names.push(line.to_owned());
        }
    }
    Ok(names)
}

/// The bytes of a `TOC.txt` that lists this component too: in its place if the names are sorted, as Cassandra
/// 6.0 writes them, else at the end.
pub(crate) fn with(toc_txt: &[u8], component: &str) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = toc_txt.split_inclusive(|byte| *byte == b'\n').collect();
    let at = match lines.is_sorted() {
        true => lines.partition_point(|line| *line < component.as_bytes()),
        false => lines.len(),
    };
    let line = [component.as_bytes(), b"\n"].concat();
    let mut before = lines.drain(..at).collect::<Vec<_>>().concat();
    if !before.is_empty() && !before.ends_with(b"\n") {
        before.push(b'\n');
    }
    [before, line, lines.concat()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_added_in_its_place_or_at_the_end() {
        assert_eq!(with(b"Data.db\nTOC.txt\n", "Filter.db"), b"Data.db\nFilter.db\nTOC.txt\n");
        assert_eq!(with(b"TOC.txt\nData.db", "Filter.db"), b"TOC.txt\nData.db\nFilter.db\n");
        assert_eq!(with(b"", "Filter.db"), b"Filter.db\n");
    }

    #[test]
    fn lines_that_cannot_be_names_are_refused() {
        assert_eq!(decode(b"a\n../b"), Err(DecodeError::Magic { field: "component name", at: 4 }));
        assert_eq!(decode(b"a\n\xff"), Err(DecodeError::Magic { field: "TOC.txt, as UTF-8", at: 2 }));
        assert!(decode(&vec![b'\n'; MAX_LEN + 1]).is_err());
        assert_eq!(decode(b""), Ok(vec![]));
    }
}
