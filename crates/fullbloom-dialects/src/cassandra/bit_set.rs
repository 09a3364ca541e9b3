//! The families of 0.x before 0.7.1: the filter of the 0.x classes, whose bits are a Java object stream of
//! `BitSet`.
//!
//! ```text
//!   | probes: i32 BE | stream header and class descriptions, 68 bytes | words: i32 BE | words * i64 BE | 0x78 |
//! ```

use super::sizing;
use crate::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Dialect, Format, Insert, Size};
use crate::hash::{murmur2_32_cassandra, utf16_units};
use crate::probe::{self, Mod32};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;
use fullbloom_core::bits::BIG_ENDIAN_WORDS;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
use fullbloom_core::sizing::{self as rates, Geometry, Request, Target};
use fullbloom_core::wire::{Cursor, Output, Stop};

/// Versions `a` and `b`: Cassandra 0.3 to the betas of 0.7. Keys are text and hashed as UTF-16.
pub type Cassandra0 = BitSet<Utf16Keys>;
/// Versions `c` to `e`: Cassandra 0.7.0. Keys are bytes.
pub type Cassandra07 = BitSet<RawKeys>;

/// The bytes that Java writes before the words: stream magic and version, the class `java.util.BitSet` with
/// its one field, and the array class `long[]`. Identical in files from 2010 and from JDK 17.
const STREAM: &[u8; 68] = b"\xac\xed\x00\x05sr\x00\x10java.util.BitSet\x6e\xfd\x88\x7e\x39\x34\xab\x21\x03\
    \x00\x01[\x00\x04bitst\x00\x02[Jxpur\x00\x02[J\x78\x20\x04\xb5\x12\xb1\x75\x93\x02\x00\x00xp";

/// End of the data that `BitSet` writes itself.
const END: u8 = 0x78;

/// Readers refuse more probes than the scratch array of later classes holds; 0.x wrote at most 14.
const MAX_PROBES: u32 = sizing::MAX_PROBES;

/// The maximum number of words for which `BitSet.size()` fits in an int.
const MAX_WORDS: u32 = i32::MAX as u32 / 64;

/// How a key becomes the bytes that are hashed.
pub trait KeyForm: Copy + Send + Sync + Sealed + 'static {
    /// The dialect's name.
    const NAME: Name;
    /// `hash1` and `hash2` of a key.
    fn hash(key: &[u8]) -> [i32; 2];
}

/// Keys are text, hashed as Java's "UTF-16": a byte order mark `FE FF`, then big-endian code units; the empty
/// text gives zero bytes, without the mark.
///
/// In an sstable the text is the key as found in `Index.db` (for RandomPartitioner: token, colon, key).
/// [`utf16_units`] defines how bytes become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf16Keys;

/// Keys are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawKeys;

impl Sealed for RawKeys {}
impl Sealed for Utf16Keys {}

impl KeyForm for RawKeys {
    const NAME: Name = Name::Cassandra07;

    #[inline(always)]
    fn hash(key: &[u8]) -> [i32; 2] {
        let hash1 = murmur2_32_cassandra(key, 0);
        [hash1 as i32, murmur2_32_cassandra(key, hash1) as i32]
    }
}

impl KeyForm for Utf16Keys {
    const NAME: Name = Name::Cassandra0;

    fn hash(key: &[u8]) -> [i32; 2] {
        if key.is_empty() {
            return RawKeys::hash(key);
        }
        let mut bytes = Vec::with_capacity(2 + 2 * key.len());
        bytes.extend_from_slice(&[0xfe, 0xff]);
        // Java's encoder has no encoding for an unpaired surrogate.
        let characters =
            char::decode_utf16(utf16_units(key)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let mut units = [0; 2];
        for character in characters {
            bytes.extend(character.encode_utf16(&mut units).iter().flat_map(|unit| unit.to_be_bytes()));
        }
        RawKeys::hash(&bytes)
    }
}

/// A filter of the 0.x classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitSet<K> {
    bit_len: Mod32,
    probes: u32,
    keys: PhantomData<K>,
}

impl<K: KeyForm> BitSet<K> {
    fn with_geometry(bit_len: u32, probes: u32) -> Option<Self> {
        let whole = bit_len.is_multiple_of(64) && bit_len / 64 <= MAX_WORDS;
        let sound = whole && (1..=MAX_PROBES).contains(&probes);
        let bit_len = Mod32::new(bit_len).filter(|_| sound)?;
        Some(BitSet { bit_len, probes, keys: PhantomData })
    }

    fn words(&self) -> u32 {
        self.bit_len.divisor() / 64
    }

    #[inline(always)]
    fn positions(&self, [hash1, hash2]: [i32; 2]) -> impl Iterator<Item = u64> {
        probe::int32(hash1, hash2, self.probes, self.bit_len).map(|position| position ^ BIG_ENDIAN_WORDS)
    }
}

impl<K: KeyForm> Sealed for BitSet<K> {}

impl<K: KeyForm> KeyHasher for BitSet<K> {
    type Hash = [i32; 2];

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> [i32; 2] {
        K::hash(key)
    }
}

impl<K: KeyForm> Dialect for BitSet<K> {
    const NAME: Name = K::NAME;
    type Hash = [i32; 2];
    type Hasher = Self;

    #[inline(always)]
    fn hasher(&self) -> &Self {
        self
    }

    fn geometry(&self) -> Geometry {
        Geometry::whole(self.bit_len.divisor().into(), self.probes)
    }

    by_positions!();

    fn fpr_with(&self, keys: f64) -> f64 {
        // An absolute value of 32 bits: 2^31 values, each hit twice, except for two.
        rates::modulo_fpr(keys, 1 << 31, self.bit_len.divisor().into(), self.probes)
    }
}

impl<K: KeyForm> Insert for BitSet<K> {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: [i32; 2]) -> bool {
        probe::set_all(bits, self.positions(hash))
    }
}

impl<K: KeyForm> Size for BitSet<K> {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = i64::try_from(request.expected_keys).unwrap_or(i64::MAX); // refused below
        let spec = match request.target {
            Target::Fpr(fpr) => sizing::spec_by_fpr_0_6(keys, fpr)?,
            Target::BitsPerKey(target) => {
                sizing::spec_by_target(keys, super::whole_target(target)?, sizing::Counter::Int)?
            }
            Target::Exact { bit_len, probes } => {
                if !(1..=MAX_PROBES).contains(&probes) {
                    return Err(SizeError::Count {
                        what: Quantity::Probes,
                        got: probes.into(),
                        allowed: "1..=21",
                    });
                }
                let sized = u32::try_from(bit_len).ok().and_then(|len| Self::with_geometry(len, probes));
                let allowed = "a multiple of 64 below 2^31 - 63";
                return sized.ok_or(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
            }
        };
        let bit_len = sizing::bit_set_len_0_6(keys, spec.bits_per_key)?;
        Ok(Self::with_geometry(bit_len, spec.probes)
            .expect("the sizing rule gives whole words and 1 to 14 probes"))
    }
}

impl<K: KeyForm> Format for BitSet<K> {
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let probes = cursor.i32_be("probes")?;
        cursor.magic("java.util.BitSet stream", STREAM)?;
        let at = cursor.at();
        let words = cursor.i32_be("words")?;
        if words < 1 || words as u32 > MAX_WORDS {
            return Err(DecodeError::Value {
                field: "words",
                at,
                got: words.into(),
                allowed: "1..=33554431",
            });
        }
        let array = cursor.take("bits", words as u64 * 8)?;
        cursor.magic("end of stream", &[END])?;
        cursor.finish()?;
        let sound =
            u32::try_from(probes).ok().and_then(|probes| Self::with_geometry(words as u32 * 64, probes));
        let dialect = sound.ok_or(DecodeError::Value {
            field: "probes",
            at: 0,
            got: probes.into(),
            allowed: "1..=21",
        })?;
        Ok((dialect, array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&self.probes.to_be_bytes())?;
        out.write_all(STREAM)?;
        out.write_all(&self.words().to_be_bytes())?;
        out.write_all(bits)?;
        out.write_all(&[END])
    }

    fn encoded_len(&self) -> u64 {
        4 + STREAM.len() as u64 + 4 + self.byte_len() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[test]
    fn text_keys_are_hashed_with_a_mark_except_the_empty_one() {
        assert_eq!(Utf16Keys::hash(b""), RawKeys::hash(b""));
        assert_eq!(Utf16Keys::hash(b"ab"), RawKeys::hash(b"\xfe\xff\0a\0b"));
        assert_eq!(Utf16Keys::hash("é😀".as_bytes()), RawKeys::hash(b"\xfe\xff\x00\xe9\xd8\x3d\xde\x00"));
        // An unpaired surrogate: the JDK's "UTF-16" gives FF FD.
        assert_eq!(Utf16Keys::hash(b"\xed\xa0\x80"), RawKeys::hash(b"\xfe\xff\xff\xfd"));
    }

    #[test]
    fn the_encoded_length_is_the_header_the_words_and_one_byte() {
        let filter = Filter::<Cassandra07>::with_fpr(10, 0.01).unwrap();
        let bytes = filter.encode();
        assert_eq!(bytes.len(), 4 + 68 + 4 + 16 + 1);
        assert_eq!(filter.dialect().encoded_len(), bytes.len() as u64);
    }
}
