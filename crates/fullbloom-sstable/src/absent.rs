//! Absent keys, to measure a filter's rate with. They are the same every time.

/// The start of every such key; sixteen hexadecimal digits follow. It is text, because the oldest filters
/// take text only.
const MARK: &[u8] = b"fullbloom absent ";

/// Length of such a key.
const LEN: usize = MARK.len() + 16;

/// The keys, and which of them are in the index by chance.
#[derive(Debug)]
pub(crate) struct AbsentKeys {
    /// In ascending order.
    numbers: Vec<u64>,
    /// For each, whether the index has it.
    present: Vec<bool>,
}

impl AbsentKeys {
    /// `count` different keys.
    pub(crate) fn new(count: u64) -> AbsentKeys {
        let mut numbers: Vec<u64> = (1..=count).map(mix).collect();
        numbers.sort_unstable();
        AbsentKeys { present: vec![false; numbers.len()], numbers }
    }

    /// Excludes a key of the index, if it is one of ours.
    pub(crate) fn exclude(&mut self, key: &[u8]) {
        if key.len() != LEN || !key.starts_with(MARK) {
            return;
        }
        let digits = std::str::from_utf8(&key[MARK.len()..]).ok();
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if let Some(Ok(i)) = number.map(|number| self.numbers.binary_search(&number)) {
            self.present[i] = true;
        }
    }

    /// Calls `give` with each absent key.
    pub(crate) fn for_each(&self, mut give: impl FnMut(&[u8])) {
        let mut key = [0; LEN];
        key[..MARK.len()].copy_from_slice(MARK);
        for (number, _) in self.numbers.iter().zip(&self.present).filter(|(_, present)| !**present) {
            for (i, digit) in key[MARK.len()..].iter_mut().enumerate() {
                *digit = b"0123456789abcdef"[(number >> (60 - 4 * i)) as usize & 0xf];
            }
            give(&key);
        }
    }
}

/// Spreads numbers over all 64 bits (the finish of Murmur3); no two have the same result.
fn mix(mut number: u64) -> u64 {
    number ^= number >> 33;
    number = number.wrapping_mul(0xff51_afd7_ed55_8ccd);
    number ^= number >> 33;
    number = number.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all(keys: &AbsentKeys) -> BTreeSet<Vec<u8>> {
        let mut found = BTreeSet::new();
        keys.for_each(|key| assert!(found.insert(key.to_vec())));
        found
    }

    #[test]
    fn keys_of_the_index_are_left_out() {
        let mut keys = AbsentKeys::new(1000);
        let before = all(&keys);
        assert_eq!(before.len(), 1000);
        let met = before.iter().nth(500).unwrap();
        keys.exclude(met);
        keys.exclude(b"another key");
        keys.exclude(b"fullbloom absent 0123456789abcdeX");
        let after = all(&keys);
        assert_eq!(before.difference(&after).collect::<Vec<_>>(), [met]);
    }
}
