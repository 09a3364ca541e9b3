//! The entries of a table in memory, to be sorted.

use std::collections::TryReserveError;

/// Keys and values, in the order they came or sorted by key. Asks for memory so that it can be refused.
#[derive(Debug, Default)]
pub struct Entries {
    /// Every key, followed by its value.
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// Where an entry is.
#[derive(Debug, Clone, Copy)]
struct Span {
    key: usize,
    value: usize,
    end: usize,
}

impl Entries {
    /// Adds an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), TryReserveError> {
        self.spans.try_reserve(1)?;
        self.bytes.try_reserve(key.len() + value.len())?;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.spans.push(Span { key: at, value: at + key.len(), end: self.bytes.len() });
        Ok(())
    }

    /// Sorts by key; equal keys stay in the order they came. Needs no memory.
    pub fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by(|a, b| {
            bytes[a.key..a.value].cmp(&bytes[b.key..b.value]).then(a.key.cmp(&b.key))
        });
    }

    /// The keys, and of several entries with the same key the value that came last. They are sorted.
    pub fn last_of_each_key(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let key = |span: &Span| &self.bytes[span.key..span.value];
        let is_last =
            move |i: &usize| self.spans.get(i + 1).is_none_or(|next| key(next) != key(&self.spans[*i]));
        (0..self.spans.len()).filter(is_last).map(move |i| {
            let span = &self.spans[i];
            (&self.bytes[span.key..span.value], &self.bytes[span.value..span.end])
        })
    }

    /// Entries whose key comes again later. They are sorted.
    pub fn repeated(&self) -> u64 {
        (self.spans.len() - self.last_of_each_key().count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_is_kept_and_empty_keys_are_keys() {
        let mut entries = Entries::default();
        for (key, value) in [("b", "1"), ("", "x"), ("a", "2"), ("b", "3"), ("", ""), ("aa", "4")] {
            entries.push(key.as_bytes(), value.as_bytes()).unwrap();
        }
        entries.sort();
        let all: Vec<_> = entries.last_of_each_key().collect();
        let expected: [(&[u8], &[u8]); 4] = [(b"", b""), (b"a", b"2"), (b"aa", b"4"), (b"b", b"3")];
        assert_eq!(all, expected);
        assert_eq!(entries.repeated(), 2);
    }
}
