//! The hashes of a filter under construction, in the order of their keys, without neighbouring repeats.

use alloc::vec::Vec;
use fullbloom_core::error::SizeError;

/// Hashes are kept in groups of this many: 256 KiB of 64-bit hashes. Growing never copies more than one
/// group, and never allocates more than the hashes need plus one group.
pub(crate) const GROUP: usize = 32_768;

/// Hashes of type `H`.
#[derive(Debug)]
pub(crate) struct Entries<H> {
    /// Every group but the last is full.
    groups: Vec<Vec<H>>,
    len: u64,
    /// The alternative of the previous key, which may not have been stored.
    last_alt: Option<H>,
    /// The XOR of all hashes, computed as they are added.
    checksum: u64,
    /// The bytes of a failed allocation; from then on nothing is stored.
    refused: Option<u64>,
}

impl<H> Default for Entries<H> {
    fn default() -> Self {
        Entries { groups: Vec::new(), len: 0, last_alt: None, checksum: 0, refused: None }
    }
}

impl<H: Copy + PartialEq + Into<u64>> Entries<H> {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn first(&self) -> Option<H> {
        self.groups.first()?.first().copied()
    }

    fn last(&self) -> Option<H> {
        self.groups.last()?.last().copied()
    }

    /// The hashes, group by group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[H]> + Clone {
        self.groups.iter().map(Vec::as_slice)
    }

    /// Stores a hash unless it equals the last stored one. Returns true if it was stored.
    #[inline]
    pub(crate) fn add(&mut self, hash: H) -> bool {
        self.last() != Some(hash) && self.push(hash)
    }

    /// Stores a key's hash and its alternative's, the alternative first, by the rules of RocksDB 9.6: neither
    /// is stored if it equals a hash of the previous key, and the alternative is not stored if it equals its
    /// key. Returns which of the two were stored.
    #[inline]
    pub(crate) fn add_with_alt(&mut self, key: H, alt: H) -> [bool; 2] {
        let (last, last_alt) = (self.last(), self.last_alt.replace(alt));
        let alt_stored = Some(alt) != last_alt && alt != key && Some(alt) != last && self.push(alt);
        let key_stored = Some(key) != last && Some(key) != last_alt && self.push(key);
        [alt_stored, key_stored]
    }

    #[inline]
    fn push(&mut self, hash: H) -> bool {
        if self.refused.is_some() {
            return false;
        }
        match self.groups.last_mut() {
            Some(group) if group.len() < group.capacity() => group.push(hash),
            _ => {
                if let Err(bytes) = self.push_growing(hash) {
                    self.refused = Some(bytes);
                    return false;
                }
            }
        }
        self.len += 1;
        self.checksum ^= hash.into();
        true
    }

    /// The first group grows by doubling, since most filters are small; later groups are allocated whole.
    #[cold]
    fn push_growing(&mut self, hash: H) -> Result<(), u64> {
        let bytes = |hashes: usize| (hashes * size_of::<H>()) as u64;
        match self.groups.last_mut() {
            Some(group) if group.len() < GROUP => {
                let more = group.len().max(1);
                group.try_reserve_exact(more).map_err(|_| bytes(group.len() + more))?;
                group.push(hash);
            }
            last => {
                let first = last.is_none();
                let capacity = if first { 64 } else { GROUP };
                let mut group = Vec::new();
                group.try_reserve_exact(capacity).map_err(|_| bytes(capacity))?;
                group.push(hash);
                self.groups.try_reserve(1).map_err(|_| bytes(capacity))?;
                self.groups.push(group);
            }
        }
        Ok(())
    }

    /// Returns an error if a hash could not be stored.
    pub(crate) fn complete(&self) -> Result<(), SizeError> {
        self.refused.map_or(Ok(()), |bytes| Err(SizeError::Memory { bytes }))
    }

    /// Whether the hashes are still those that were added.
    pub(crate) fn unchanged(&self) -> bool {
        self.groups.iter().flatten().fold(0, |sum, &hash| sum ^ hash.into()) == self.checksum
    }

    /// Flips one bit of one hash, as failing memory would.
    #[cfg(test)]
    pub(crate) fn corrupt(&mut self, index: usize, flip: impl FnOnce(&mut H)) {
        flip(&mut self.groups[index / GROUP][index % GROUP]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(entries: &Entries<u64>) -> Vec<u64> {
        entries.groups().flatten().copied().collect()
    }

    #[test]
    fn only_a_repeat_of_the_last_stored_hash_is_dropped() {
        let mut entries = Entries::default();
        let kept: Vec<bool> = [7, 7, 8, 7, 7, 7].map(|hash| entries.add(hash)).to_vec();
        assert_eq!(kept, [true, false, true, true, false, false]);
        assert_eq!(stored(&entries), [7, 8, 7]);
        assert_eq!(entries.len(), 3);
    }

    /// Keys 1, 2, 3 …, alternatives 10, 20 …
    #[test]
    fn an_alternative_goes_first_and_is_stored_once_for_its_run_of_keys() {
        let mut entries = Entries::default();
        for (key, alt) in [(1, 10), (2, 10), (2, 10), (3, 20), (20, 20), (10, 30)] {
            entries.add_with_alt(key, alt);
        }
        // (20, 20): the key equals the alternative of the previous key, so it is already stored.
        assert_eq!(stored(&entries), [10, 1, 2, 20, 3, 30, 10]);
    }

    #[test]
    fn an_alternative_equal_to_the_last_key_or_its_own_key_is_not_stored() {
        let mut entries = Entries::default();
        assert_eq!(entries.add_with_alt(5, 5), [false, true]);
        assert_eq!(entries.add_with_alt(6, 5), [false, true]);
        assert_eq!(stored(&entries), [5, 6]);
        let mut entries = Entries::default();
        entries.add(5);
        assert_eq!(entries.add_with_alt(6, 5), [false, true]); // the previous key was 5
        assert_eq!(entries.add_with_alt(6, 9), [true, false]); // the key is compared with the hashes before 9
        assert_eq!(stored(&entries), [5, 6, 9]);
    }

    #[test]
    fn order_and_checksum_survive_many_groups() {
        let mut entries = Entries::<u64>::default();
        let hashes = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let n = 3 * GROUP as u64 + 5;
        for i in 0..n {
            assert!(entries.add(hashes(i)));
        }
        assert!(stored(&entries).into_iter().eq((0..n).map(hashes)));
        let sizes: Vec<usize> = entries.groups().map(<[u64]>::len).collect();
        assert_eq!(sizes, [GROUP, GROUP, GROUP, 5]);
        assert_eq!(entries.first(), Some(0));
        assert!(entries.unchanged());
        entries.corrupt(2 * GROUP + 17, |hash| *hash ^= 1 << 40);
        assert!(!entries.unchanged());
    }
}
