//! The families of 0.7.1 and later: `Filter.db` as probes, word count and words.
//!
//! ```text
//!   | probes: i32 BE | words: i32 BE | 8 * words bytes of bits |
//! ```

use super::sizing::{self, MAX_PROBES, MAX_WORDS};
use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Dialect, Filter, Format, Insert, Size, View};
use crate::hash::{murmur2_64_cassandra, murmur3_cassandra};
use crate::probe::{self, Mod63};
use core::marker::PhantomData;
use core::ops::Range;
use fullbloom_core::bits::BIG_ENDIAN_WORDS;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_core::wire::{Cursor, Output, Stop};

/// Versions `na` to `nc`, `oa`, `pa`, `da` and `ea`: Cassandra 4.0 to 6.0.
pub type Cassandra = Words<V4>;
/// Versions `ma` to `me`: Cassandra 3.0 to 3.11.
pub type Cassandra3 = Words<V3>;
/// Versions `ia` to `lb`: Cassandra 1.2 to 2.2.
pub type Cassandra2 = Words<V2>;
/// Versions `f` to `hf`: Cassandra 0.7.1 to 1.1.
pub type Cassandra1 = Words<V1>;

/// The rules in which the four families of versions differ.
pub trait Family: Copy + Send + Sync + Sealed + 'static {
    /// The dialect's name.
    const NAME: Name;
    /// XORed into each position to find it in the array on disk.
    const POSITION_XOR: u64;
    /// The two hashes of a key.
    fn hash(key: &[u8]) -> [u64; 2];
    /// Which of the two is the first position and which the step.
    fn base_and_step(hash: [u64; 2]) -> (u64, u64);
}

/// Selects the rules of [`Cassandra`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V4;
/// Selects the rules of [`Cassandra3`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V3;
/// Selects the rules of [`Cassandra2`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V2;
/// Selects the rules of [`Cassandra1`] at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1;

impl Sealed for V4 {}
impl Sealed for V3 {}
impl Sealed for V2 {}
impl Sealed for V1 {}

impl Family for V4 {
    const NAME: Name = Name::Cassandra;
    const POSITION_XOR: u64 = 0;

    #[inline(always)]
    fn hash(key: &[u8]) -> [u64; 2] {
        murmur3_cassandra(key)
    }

    #[inline(always)]
    fn base_and_step([h1, h2]: [u64; 2]) -> (u64, u64) {
        (h2, h1)
    }
}

impl Family for V3 {
    const NAME: Name = Name::Cassandra3;
    const POSITION_XOR: u64 = BIG_ENDIAN_WORDS;

    #[inline(always)]
    fn hash(key: &[u8]) -> [u64; 2] {
        murmur3_cassandra(key)
    }

    #[inline(always)]
    fn base_and_step([h1, h2]: [u64; 2]) -> (u64, u64) {
        (h2, h1)
    }
}

impl Family for V2 {
    const NAME: Name = Name::Cassandra2;
    const POSITION_XOR: u64 = BIG_ENDIAN_WORDS;

    #[inline(always)]
    fn hash(key: &[u8]) -> [u64; 2] {
        murmur3_cassandra(key)
    }

    #[inline(always)]
    fn base_and_step([h1, h2]: [u64; 2]) -> (u64, u64) {
        (h1, h2)
    }
}

impl Family for V1 {
    const NAME: Name = Name::Cassandra1;
    const POSITION_XOR: u64 = BIG_ENDIAN_WORDS;

    #[inline(always)]
    fn hash(key: &[u8]) -> [u64; 2] {
        let h1 = murmur2_64_cassandra(key, 0);
        [h1, murmur2_64_cassandra(key, h1)]
    }

    #[inline(always)]
    fn base_and_step([h1, h2]: [u64; 2]) -> (u64, u64) {
        (h1, h2)
    }
}

/// A filter of one of the four families that store plain words.
///
/// Without words it is the always-present filter: it answers "maybe" to every key and is encoded as zero
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words<F> {
    words: u32,
    /// Reduces by `64 * words`; by 64, unused, in the always-present filter.
    bit_len: Mod63,
    probes: u32,
    family: PhantomData<F>,
}

impl<F: Family> Words<F> {
    /// The filter that answers "maybe" to every key; a rate of 1 gives it.
    fn always_present() -> Self {
        Self::with_words(0, 0)
    }

    fn with_words(words: u32, probes: u32) -> Self {
        let bit_len = Mod63::new(u64::from(words.max(1)) * 64).expect("a multiple of 64 below 2^38");
        Words { words, bit_len, probes, family: PhantomData }
    }

    #[inline(always)]
    fn positions(&self, hash: [u64; 2]) -> impl Iterator<Item = u64> {
        let (base, step) = F::base_and_step(hash);
        probe::long64(base, step, self.probes, self.bit_len).map(|position| position ^ F::POSITION_XOR)
    }

    /// The header as Cassandra reads it, and the bytes of the array; bytes after the array are ignored.
    fn header(cursor: &mut Cursor<'_>) -> Result<(i32, u32, Range<usize>), DecodeError> {
        let probes = cursor.i32_be("probes")?;
        let at = cursor.at();
        let words = cursor.i32_be("words")?;
        if words < 1 {
            return Err(DecodeError::Value {
                field: "words",
                at,
                got: words.into(),
                allowed: "1..=2147483647",
            });
        }
        let array = cursor.take("bits", words as u64 * 8)?;
        Ok((probes, words as u32, array))
    }
}

fn probes_error(got: i32) -> DecodeError {
    DecodeError::Value { field: "probes", at: 0, got: got.into(), allowed: "1..=21" }
}

impl<F: Family> Sealed for Words<F> {}

impl<F: Family> KeyHasher for Words<F> {
    type Hash = [u64; 2];

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [u64; 2] {
        F::hash(key)
    }
}

impl<F: Family> Dialect for Words<F> {
    const NAME: Name = F::NAME;
    type Hash = [u64; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(u64::from(self.words) * 64, self.probes)
    }

    by_positions!();
}

impl<F: Family> Insert for Words<F> {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [u64; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl<F: Family> Size for Words<F> {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let Ok(keys) = i64::try_from(request.expected_keys) else {
            let allowed = "below 2^63";
            return Err(SizeError::Count {
                what: Quantity::ExpectedKeys,
                got: request.expected_keys,
                allowed,
            });
        };
        let spec = match request.target {
            Target::Fpr(fpr) => match sizing::spec_by_fpr(keys, fpr)? {
                Some(spec) => spec,
                None => return Ok(Self::always_present()),
            },
            Target::BitsPerKey(target) => {
                sizing::spec_by_target(keys, super::whole_target(target)?, sizing::Counter::Long)?
            }
            Target::Exact { bit_len, probes } => {
                if bit_len == 0 || bit_len % 64 != 0 || bit_len / 64 > MAX_WORDS {
                    let allowed = "a multiple of 64, at most 64 * (2^31 - 1)";
                    return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
                }
                if !(1..=MAX_PROBES).contains(&probes) {
                    return Err(SizeError::Count {
                        what: Quantity::Probes,
                        got: probes.into(),
                        allowed: "1..=21",
                    });
                }
                return Ok(Self::with_words((bit_len / 64) as u32, probes));
            }
        };
        Ok(Self::with_words(sizing::words(keys, spec.bits_per_key)?, spec.probes))
    }
}

impl<F: Family> Format for Words<F> {
    /// Refuses everything Cassandra refuses. In addition, refuses a short array, bytes after it, and probe
    /// counts that make Cassandra answer "maybe" to every key (0 and less) or fail at the first lookup (more
    /// than 21).
    ///
    /// Zero bytes are the always-present filter, as in Cassandra 5.
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        if bytes.is_empty() {
            return Ok((Self::always_present(), 0..0));
        }
        let mut cursor = Cursor::new(bytes);
        let (probes, words, array) = Self::header(&mut cursor)?;
        let probes = u32::try_from(probes)
            .ok()
            .filter(|k| (1..=MAX_PROBES).contains(k))
            .ok_or(probes_error(probes))?;
        cursor.finish()?;
        Ok((Self::with_words(words, probes), array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        if self.words == 0 {
            return Ok(());
        }
        out.write_all(&self.probes.to_be_bytes())?;
        out.write_all(&self.words.to_be_bytes())?;
        out.write_all(bits)
    }

    fn encoded_len(&self) -> u64 {
        match self.words {
            0 => 0,
            words => 8 + 8 * u64::from(words),
        }
    }
}

impl<'a, F: Family> View<'a, Words<F>> {
    /// Reads bytes and answers as Cassandra does: bytes after the array are ignored, and a probe count of
    /// zero or less matches every key.
    ///
    /// Bytes that Cassandra cannot use are an error here too, and so is a short array: 4.0 and later load it
    /// silently and answer from uninitialised memory.
    pub fn compatible(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.is_empty() {
            return Filter::<Words<F>>::view(bytes);
        }
        let (probes, words, array) = Words::<F>::header(&mut Cursor::new(bytes))?;
        if probes > MAX_PROBES as i32 {
            return Err(probes_error(probes));
        }
        Filter::from_parts(Words::with_words(words, probes.max(0) as u32), &bytes[array])
    }
}
