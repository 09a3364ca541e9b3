//! Ways to damage a small file: every truncation, every changed byte, bytes appended.

use std::ops::Range;

/// Every proper prefix, including the empty one.
pub fn prefixes(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..file.len()).map(|len| &file[..len])
}

/// Every file that differs in one byte, with the offset of that byte: all 255 other values inside `header`,
/// each bit flipped alone elsewhere.
pub fn byte_changes(file: &[u8], header: Range<usize>) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..file.len()).flat_map(move |at| {
        let masks: Vec<u8> =
            if header.contains(&at) { (1..=255).collect() } else { (0..8).map(|bit| 1 << bit).collect() };
        masks.into_iter().map(move |mask| {
            let mut changed = file.to_vec();
            changed[at] ^= mask;
            (at, changed)
        })
    })
}

/// The file itself and every damaged form of it: prefixes, changed bytes, 1 to 17 bytes of `filler` appended.
pub fn every_form(file: &[u8], header: Range<usize>, filler: u8, mut judge: impl FnMut(&[u8])) {
    judge(file);
    prefixes(file).for_each(&mut judge);
    byte_changes(file, header).for_each(|(_, changed)| judge(&changed));
    for extra in 1..=17 {
        let mut longer = file.to_vec();
        longer.resize(file.len() + extra, filler);
        judge(&longer);
    }
}

/// The file with these bytes written at offset `at`.
pub fn patched(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = file.to_vec();
    changed[at..at + bytes.len()].copy_from_slice(bytes);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn changes_are_all_different_and_none_is_the_file_itself() {
        let file = [7, 8, 9];
        let changed: Vec<(usize, Vec<u8>)> = byte_changes(&file, 0..1).collect();
        assert_eq!(changed.len(), 255 + 8 + 8);
        assert_eq!(changed.iter().collect::<HashSet<_>>().len(), changed.len());
        for (at, other) in &changed {
            assert!(file.iter().zip(other).enumerate().all(|(i, (a, b))| (i == *at) == (a != b)));
        }
        assert_eq!(prefixes(&file).map(<[u8]>::len).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(patched(&file, 1, &[1, 2]), [7, 1, 2]);
        let mut forms = HashSet::new();
        every_form(&file, 0..1, 5, |form| assert!(forms.insert(form.to_vec()), "{form:?} twice"));
        assert_eq!(forms.len(), 1 + 3 + changed.len() + 17);
        assert!(forms.contains(&vec![7, 8, 9, 5, 5]));
    }
}
