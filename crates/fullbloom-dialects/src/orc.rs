//! ORC's `BloomFilter` and `BloomFilterUtf8` as Protocol Buffers messages: `orc`.
//!
//! ```text
//!   BloomFilterUtf8   | 08 | probes: varint | 1a | bytes: varint | words: u64 LE each |
//!   BloomFilter       | 08 | probes: varint | 11 word | 11 word | …                  |
//! ```
//!
//! The plain class is the older one. It hashed texts in the platform's character set, which is why the other
//! class exists. Both hold the same bits for the same bytes. A decoded filter is encoded in the class it came
//! from; a new filter is encoded in the later class.
//!
//! Bytes and texts are hashed by [`murmur3_64_orc`], numbers by [`wang64_orc`]: see
//! [`typed`](fullbloom_core::typed).
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::Orc;
//! use fullbloom_dialects::typed::Value;
//!
//! let mut filter = Filter::<Orc>::with_fpr(1_000, 0.05)?;
//! filter.insert(b"text");
//! filter.insert_value(Value::Long(-1))?;
//! let bytes = filter.encode();
//! let view = Filter::<Orc>::view(&bytes)?;
//! assert!(view.may_contain(b"text") && view.may_contain_value(Value::Long(-1))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Name;
use crate::filter::by_positions;
use crate::filter::{Check, Dialect, Filter, Format, Insert, Size};
use crate::hash::{murmur3_64_orc, wang64_orc};
use crate::probe::{self, Mod32};
use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::LN_2;
use core::ops::Range;
use fullbloom_core::error::{DecodeError, MergeError, Quantity, SizeError};
use fullbloom_core::keys::KeyHasher;
use fullbloom_core::sealed::Sealed;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Geometry, Request, Target, classic_bits, collision_fpr, combine, modulo_fpr};
use fullbloom_core::wire::{Cursor, Output, Stop, put_varint};

/// Bits are counted in an `int`.
const MAX_WORDS: u64 = i32::MAX as u64 / 64;

/// The number of probes for one key at the smallest positive rate. A number in a file must not keep a lookup
/// busy for seconds.
const MAX_PROBES: u32 = 1109;

/// Field 1, a varint: the probes.
const PROBES_FIELD: u8 = 0x08;
/// Field 2, a fixed64: one word.
const WORD_FIELD: u8 = 0x11;
/// Field 3, bytes: all words.
const BYTES_FIELD: u8 = 0x1a;

/// The class that wrote the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `BloomFilter`: each word is a separate field.
    Plain,
    /// `BloomFilterUtf8`: all words are one field.
    Utf8,
}

impl Class {
    /// Bytes from one word to the next.
    fn stride(self) -> u64 {
        match self {
            Class::Plain => 9,
            Class::Utf8 => 8,
        }
    }
}

/// A filter of ORC.
///
/// Its array is stored as in the message; in the plain class a tag byte, which carries no information,
/// precedes each word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orc {
    bit_len: Mod32,
    probes: u32,
    class: Class,
    numbers: bool,
}

impl Orc {
    /// The filter with this many bits, whole words of 64, and 1 to 1109 probes, in the later class.
    fn with_geometry(bit_len: u64, probes: u32) -> Result<Self, SizeError> {
        if !bit_len.is_multiple_of(64) || bit_len / 64 > MAX_WORDS {
            let allowed = "a multiple of 64, 64 to 2147483584";
            return Err(SizeError::Count { what: Quantity::Bits, got: bit_len, allowed });
        }
        let Some(bit_len) = Mod32::new(bit_len as u32) else {
            return Err(SizeError::Count {
                what: Quantity::Bits,
                got: 0,
                allowed: "a multiple of 64, not 0",
            });
        };
        if !(1..=MAX_PROBES).contains(&probes) {
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed: "1..=1109" });
        }
        Ok(Orc { bit_len, probes, class: Class::Utf8, numbers: false })
    }

    /// The class that writes such a message.
    pub fn class(&self) -> Class {
        self.class
    }

    fn words(&self) -> u64 {
        u64::from(self.bit_len.divisor()) / 64
    }

    /// Positions in the stored array.
    #[inline(always)]
    fn positions(&self, hash: u64) -> impl Iterator<Item = u64> {
        let tags = u64::from(self.class == Class::Plain);
        probe::complement32(hash as u32, (hash >> 32) as u32, self.probes, Some(self.bit_len))
            .map(move |position| position + tags * (8 * (position / 64 + 1)))
    }
}

impl Filter<Orc> {
    /// The same filter as a message of this class.
    pub fn with_class(&self, class: Class) -> Result<Filter<Orc>, SizeError> {
        let mut other = Filter::from_dialect(Orc { class, ..*self.dialect() })?;
        for (i, word) in words(self.dialect(), self.bits()).enumerate() {
            let at = other.dialect().word_at(i);
            other.bits.as_mut()[at..at + 8].copy_from_slice(word);
        }
        Ok(other)
    }
}

impl Orc {
    /// The offset of word `i` in the array.
    fn word_at(&self, i: usize) -> usize {
        let stride = self.class.stride() as usize;
        i * stride + (stride - 8)
    }
}

/// The words, without tags.
fn words<'a>(dialect: &Orc, bits: &'a [u8]) -> impl Iterator<Item = &'a [u8; 8]> {
    bits.chunks_exact(dialect.class.stride() as usize).filter_map(|chunk| chunk.last_chunk())
}

/// `optimalNumOfBits`, then whole words; one word more than needed when the bits fill their words exactly.
/// For example, 958 bits become 960, and 960 become 1024.
pub fn rounded_bits(bits: u64) -> Option<u64> {
    let rounded = bits.checked_add(64 - bits % 64)?;
    (rounded / 64 <= MAX_WORDS).then_some(rounded)
}

/// `optimalNumOfHashFunctions`: computed from the rounded bits, so a single key gets dozens.
fn optimal_probes(keys: u64, bits: u64) -> u32 {
    (bits as f64 / keys as f64 * LN_2 + 0.5).floor().max(1.0) as u32
}

impl Sealed for Orc {}

impl KeyHasher for Orc {
    type Hash = u64;

    #[inline(always)]
    fn variant(&self) -> (u32, u64) {
        (self.numbers.into(), 0)
    }

    /// A number whose length is not eight bytes is hashed as bytes.
    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        match <[u8; 8]>::try_from(key) {
            Ok(number) if self.numbers => wang64_orc(i64::from_le_bytes(number)),
            _ => murmur3_64_orc(key),
        }
    }
}

impl Dialect for Orc {
    const NAME: Name = Name::Orc;
    type Hash = u64;
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
        let spread = modulo_fpr(keys, 1 << 31, self.bit_len.divisor().into(), self.probes);
        combine(spread, collision_fpr(keys, 64))
    }

    fn set_numbers(&mut self, numbers: bool) {
        self.numbers = numbers;
    }

    fn count_ones(&self, bits: &[u8]) -> u64 {
        words(self, bits).map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum()
    }

    fn byte_len(&self) -> u64 {
        self.words() * self.class.stride()
    }
}

impl Insert for Orc {
    #[inline(always)]
    fn set(&mut self, bits: &mut [u8], hash: u64) -> bool {
        probe::set_all(bits, self.positions(hash))
    }

    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        MergeError::require_equal("bits", self.bit_len.divisor(), other.bit_len.divisor())?;
        MergeError::require_equal("probes", self.probes, other.probes)?;
        let name = |class| if class == Class::Plain { "BloomFilter" } else { "BloomFilterUtf8" };
        MergeError::require_equal("class", name(self.class), name(other.class))
    }
}

impl Size for Orc {
    fn size(request: &Request) -> Result<Self, SizeError> {
        let keys = request.expected_keys.max(1);
        let bits = match request.target {
            Target::Fpr(fpr) if fpr > 0.0 && fpr < 1.0 => classic_bits(keys, fpr),
            Target::Fpr(fpr) => {
                return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
            }
            Target::BitsPerKey(bits) if bits > 0.0 && bits < 1550.0 => (keys as f64 * bits) as u64,
            Target::BitsPerKey(bits) => {
                let allowed = "above 0, below 1550";
                return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
            }
            Target::Exact { bit_len, probes } => return Self::with_geometry(bit_len, probes),
        };
        let too_large = SizeError::TooLarge { bit_len: bits, limit: 64 * MAX_WORDS };
        let rounded = rounded_bits(bits).ok_or(too_large)?;
        Self::with_geometry(rounded, optimal_probes(keys, rounded))
    }
}

/// Reads a protobuf varint.
fn varint(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64, DecodeError> {
    cursor.shortest_varint(field, "a number below 2^32 in its shortest form")
}

impl Format for Orc {
    /// Strict: the fields in ORC's order, each once, and no others.
    fn decode(bytes: &[u8], _: Check) -> Result<(Self, Range<usize>), DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.magic("field 1, probes", &[PROBES_FIELD])?;
        let probes = varint(&mut cursor, "probes")?;
        if !(1..=u64::from(MAX_PROBES)).contains(&probes) {
            let allowed = "1..=1109";
            return Err(DecodeError::Value { field: "probes", at: 1, got: probes.into(), allowed });
        }
        let at = cursor.at();
        let (class, array) = match bytes.get(at as usize) {
            Some(&WORD_FIELD) => {
                let whole = cursor.remaining() / 9 * 9;
                let array = cursor.take("words", whole)?;
                if cursor.remaining() > 0 {
                    let (at, have) = (cursor.at(), cursor.remaining());
                    return Err(DecodeError::Truncated { field: "word", at, need: 9, have });
                }
                let tags = bytes[array.clone()].iter().step_by(9);
                if let Some(i) = tags.into_iter().position(|&tag| tag != WORD_FIELD) {
                    return Err(DecodeError::Magic { field: "field 2, word", at: at + 9 * i as u64 });
                }
                (Class::Plain, array)
            }
            _ => {
                cursor.magic("field 3, words", &[BYTES_FIELD])?;
                let len = varint(&mut cursor, "bytes of words")?;
                if len == 0 || len % 8 != 0 {
                    let allowed = "a multiple of 8, not 0";
                    let field = "bytes of words";
                    return Err(DecodeError::Value { field, at: at + 1, got: len.into(), allowed });
                }
                (Class::Utf8, cursor.take("words", len)?)
            }
        };
        cursor.finish()?;
        let words = array.len() as u64 / class.stride();
        let dialect = Self::with_geometry(words * 64, probes as u32).map_err(DecodeError::Geometry)?;
        Ok((Orc { class, ..dialect }, array))
    }

    fn encode(&self, bits: &[u8], out: &mut dyn Output) -> Result<(), Stop> {
        out.write_all(&self.front())?;
        match self.class {
            Class::Utf8 => out.write_all(bits),
            Class::Plain => {
                for word in words(self, bits) {
                    out.write_all(&[WORD_FIELD])?;
                    out.write_all(word)?;
                }
                Ok(())
            }
        }
    }

    fn encoded_len(&self) -> u64 {
        self.front().len() as u64 + self.byte_len()
    }
}

impl Orc {
    /// Everything before the array.
    fn front(&self) -> Vec<u8> {
        let mut front = vec![PROBES_FIELD];
        put_varint(&mut front, self.probes.into());
        if self.class == Class::Utf8 {
            front.push(BYTES_FIELD);
            put_varint(&mut front, self.byte_len());
        }
        front
    }
}
