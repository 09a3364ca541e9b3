//! Batches with nulls.

use super::{Hashes, KeyHasher, Keys};
use crate::error::KeysError;
use crate::kernel::pipeline::{Answers, ones};
use crate::sealed::Sealed;
use crate::typed::KeyType;

/// Which keys of a batch are not null: one bit for each key, numbered from the lowest bit of each byte, as in
/// Arrow.
#[derive(Debug, Clone, Copy)]
pub struct Validity<'a> {
    bytes: &'a [u8],
    /// The number of the first key's bit.
    first: usize,
}

impl<'a> Validity<'a> {
    /// The bits of these bytes, of which bit `first` belongs to the first key.
    pub fn new(bytes: &'a [u8], first: usize) -> Validity<'a> {
        Validity { bytes, first }
    }

    #[inline(always)]
    fn is_valid(self, key: usize) -> bool {
        let bit = self.first + key;
        self.bytes[bit / 8] >> (bit % 8) & 1 == 1
    }

    /// The bits of up to 64 keys from this one on. Bits from `count` on are zero.
    fn word(self, start: usize, count: usize) -> u64 {
        (0..count).filter(|i| self.is_valid(start + i)).fold(0, |word, i| word | 1 << i)
    }

    /// Moves the hashes of keys that are not null to the front, where `hashes` are those of the keys from
    /// `start` on. Returns how many they are.
    pub fn keep_valid<T: Copy>(self, start: usize, hashes: &mut [T]) -> usize {
        let mut kept = 0;
        for i in 0..hashes.len() {
            hashes[kept] = hashes[i];
            kept += usize::from(self.is_valid(start + i));
        }
        kept
    }

    /// Changes the answers for null keys to "no".
    pub fn clear_nulls(self, answers: &mut Answers<'_>, keys: usize) {
        match answers {
            Answers::Bools(bools) => {
                bools.iter_mut().enumerate().for_each(|(i, yes)| *yes &= self.is_valid(i));
            }
            Answers::Bits(words) => {
                for (i, word) in words.iter_mut().enumerate() {
                    *word &= self.word(64 * i, (keys - 64 * i).min(64));
                }
            }
        }
    }
}

/// A batch in which some keys are null: those are not inserted, and lookups of them answer "no".
///
/// ```
/// use fullbloom::Filter;
/// use fullbloom::keys::{Column, Nullable};
///
/// let mut filter = Filter::with_fpr(1_000, 0.01)?;
/// let column = [7, 0, 9]; // Arrow stores 0 for a null
/// filter.insert_batch(&Nullable::new(Column(&column), &[0b101], 0))?;
/// assert!(filter.may_contain(7) && filter.may_contain(9) && !filter.may_contain(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Nullable<'a, K> {
    keys: K,
    validity: Validity<'a>,
}

impl<'a, K> Nullable<'a, K> {
    /// Keys, and one bit for each: 1 where the key is not null. Bit `offset` of `bitmap` belongs to the first
    /// key; bits are numbered from the lowest of each byte.
    ///
    /// A bitmap with too few bits is an error of the insertion or lookup.
    pub fn new(keys: K, bitmap: &'a [u8], offset: usize) -> Self {
        Nullable { keys, validity: Validity::new(bitmap, offset) }
    }
}

impl<K> Sealed for Nullable<'_, K> {}

impl<H: KeyHasher, K: Keys<H>> Keys<H> for Nullable<'_, K> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.keys.count()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        self.keys.hash_into(hasher, start, out, wide);
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        self.keys.prefetch(start, count);
    }

    fn require(&self, hasher: &H, recorded: Option<KeyType>) -> Result<(), KeysError> {
        let Validity { bytes, first } = self.validity;
        let (keys, places) = (self.keys.count(), bytes.len().saturating_mul(8).saturating_sub(first));
        if places < keys {
            return Err(KeysError::Answers { keys, places });
        }
        self.keys.require(hasher, recorded)
    }

    #[inline(always)]
    fn validity(&self) -> Option<Validity<'_>> {
        Some(self.validity)
    }
}

/// The lookup of a batch: checks the keys and the places for the answers, calls `test`, and answers "no" for null
/// keys. What every filter does around its own pipeline.
#[inline]
pub fn look_up<H: KeyHasher, K: Keys<H> + ?Sized>(
    keys: &K,
    hasher: &H,
    recorded: Option<KeyType>,
    mut answers: Answers<'_>,
    test: impl FnOnce(Answers<'_>),
) -> Result<(), KeysError> {
    answers.require_places(keys.count())?;
    keys.require(hasher, recorded)?;
    test(answers.reborrow());
    if let Some(validity) = keys.validity() {
        validity.clear_nulls(&mut answers, keys.count());
    }
    Ok(())
}

/// Calls `take` with the hashes of the keys that are not null, some at a time.
pub fn each_valid<H: KeyHasher, K: Keys<H> + ?Sized, E>(
    keys: &K,
    validity: Validity<'_>,
    hasher: &H,
    mut take: impl FnMut(&Hashes<'_, H>) -> Result<(), E>,
) -> Result<(), E> {
    each_chunk(keys, validity, hasher, |_, _, hashes| take(&Hashes::new(hashes, hasher)))
}

/// As [`each_valid`], of keys that are inserted: `take` reports in its second argument which of them were
/// new, and `new` receives that for every key. A null key is not new.
pub fn each_valid_new<H: KeyHasher, K: Keys<H> + ?Sized, E>(
    keys: &K,
    validity: Validity<'_>,
    hasher: &H,
    new: &mut Answers<'_>,
    mut take: impl FnMut(&Hashes<'_, H>, Answers<'_>) -> Result<(), E>,
) -> Result<(), E> {
    each_chunk(keys, validity, hasher, |start, valid, hashes| {
        let mut of_valid = [0];
        let words = &mut of_valid[..hashes.len().div_ceil(CHUNK)];
        take(&Hashes::new(hashes, hasher), Answers::Bits(words))?;
        let place = |word, (i, key): (usize, usize)| word | (of_valid[0] >> i & 1) << key;
        new.put(start, ones(valid).enumerate().fold(0, place), (keys.count() - start).min(CHUNK));
        Ok(())
    })
}

/// Keys that are hashed together here.
const CHUNK: usize = 64;

/// Calls `take` for every 64 keys with the index of the first, the bits of those that are not null, and their
/// hashes.
fn each_chunk<H: KeyHasher, K: Keys<H> + ?Sized, E>(
    keys: &K,
    validity: Validity<'_>,
    hasher: &H,
    mut take: impl FnMut(usize, u64, &[H::Hash]) -> Result<(), E>,
) -> Result<(), E> {
    for start in (0..keys.count()).step_by(CHUNK) {
        let mut hashes = [H::Hash::default(); CHUNK];
        let count = (keys.count() - start).min(CHUNK);
        keys.hash_into(hasher, start, &mut hashes[..count], false);
        let kept = validity.keep_valid(start, &mut hashes[..count]);
        take(start, validity.word(start, count), &hashes[..kept])?;
    }
    Ok(())
}
