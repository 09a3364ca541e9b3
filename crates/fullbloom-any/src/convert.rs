//! Conversion of a filter into the bytes of another dialect, without its keys.
//!
//! A filter holds bits at positions that its dialect's hash gave; the keys are gone. So only dialects that
//! put the same keys at the same positions can be converted into each other. There are few such pairs:
//!
//! | from | to | what changes |
//! |---|---|---|
//! | `cassandra-3` | `cassandra`, and back | the byte order of each word |
//! | `libbloom` | `libbloom-1` | the header is removed; only if the number of bits is a power of two, so that wrapping at 2^32 does not matter |
//! | `libbloom-1` | `libbloom` | a header is added; the same condition, and keys and rate must give the same bits and probes |

use super::build::boxed;
use super::erased::Erased;
use super::storage::Storage;
use super::{AnyFilter, ReadOptions};
use core::error::Error;
use core::fmt;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::sizing::Request;
use fullbloom_dialects::filter::{Check, Dialect, Filter, Format, Size};
use fullbloom_dialects::{Cassandra, Cassandra3, Libbloom, Libbloom1, Name};

/// Why a filter cannot be converted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConvertError {
    /// Its bytes are damaged.
    Decode(DecodeError),
    /// The requested size is invalid.
    Size(SizeError),
    /// The keys would be at other positions, so the original keys are needed.
    NeedsKeys {
        /// The reason.
        why: &'static str,
    },
    /// It already has this dialect.
    Same,
    /// The new format stores the number of keys and the rate, which must be given.
    NeedsNumbers,
    /// The given number of keys and rate give another size.
    OtherNumbers {
        /// Bits and probes of the filter.
        has: (u64, u32),
        /// Bits and probes that follow from the given numbers.
        given: (u64, u32),
    },
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Decode(e) => e.fmt(f),
            ConvertError::Size(e) => e.fmt(f),
            ConvertError::NeedsKeys { why } => write!(f, "the keys are needed: {why}"),
            ConvertError::Same => f.write_str("the filter already has this dialect"),
            ConvertError::NeedsNumbers => {
                f.write_str("the file of libbloom 2.0 stores the number of keys and the rate: give both")
            }
            ConvertError::OtherNumbers { has, given } => write!(
                f,
                "these keys and this rate make {} bits and {} probes, the filter has {} and {}",
                given.0, given.1, has.0, has.1
            ),
        }
    }
}

impl Error for ConvertError {}

impl From<DecodeError> for ConvertError {
    fn from(e: DecodeError) -> Self {
        ConvertError::Decode(e)
    }
}

impl From<SizeError> for ConvertError {
    fn from(e: SizeError) -> Self {
        ConvertError::Size(e)
    }
}

/// The same keys in the bytes of another dialect. `geometry` (bits and probes) is needed for raw bits, and
/// `made_for` where the new format stores the number of keys and the rate.
///
/// ```
/// use fullbloom_dialects::{Cassandra3, Filter, Name};
///
/// let mut old = Filter::<Cassandra3>::with_fpr(100, 0.01)?;
/// old.insert(b"apple");
/// let new = fullbloom_any::convert(Name::Cassandra3, &old.encode(), None, Name::Cassandra, None)?;
/// assert!(new.may_contain(b"apple"));
/// assert!(fullbloom_any::convert(Name::Cassandra3, &old.encode(), None, Name::LevelDb, None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    from: Name,
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
    to: Name,
    made_for: Option<Request>,
) -> Result<AnyFilter, ConvertError> {
    // Damaged bytes are reported before anything else.
    let options = ReadOptions::from(from);
    let options = match geometry {
        Some((bit_len, probes)) => options.geometry(bit_len, probes),
        None => options,
    };
    AnyFilter::decode(bytes, &options)?;
    match (from, to) {
        _ if from == to => Err(ConvertError::Same),
        (Name::Cassandra3, Name::Cassandra) => swapped::<Cassandra3, Cassandra>(bytes),
        (Name::Cassandra, Name::Cassandra3) => swapped::<Cassandra, Cassandra3>(bytes),
        (Name::Libbloom, Name::Libbloom1) => without_header(bytes),
        (Name::Libbloom1, Name::Libbloom) => with_header(bytes, geometry, made_for),
        _ => Err(ConvertError::NeedsKeys { why: why(from, to) }),
    }
}

/// The words in the other byte order; the header with the number of probes stays in front.
fn swapped<A: Format, B: Format>(bytes: &[u8]) -> Result<AnyFilter, ConvertError>
where
    Filter<B, Storage>: Erased,
{
    let (_, range) = A::decode(bytes, Check::Header)?;
    let mut other = copied(bytes)?;
    for word in other.as_mut()[range].chunks_exact_mut(8) {
        word.reverse();
    }
    Ok(AnyFilter::from_dialect(boxed(Filter::<B>::decode(other.as_ref())?)))
}

fn copied(bytes: &[u8]) -> Result<Owned, SizeError> {
    let mut copy = Owned::zeroed(bytes.len() as u64)?;
    copy.as_mut().copy_from_slice(bytes);
    Ok(copy)
}

/// Version 1.6 lets the sum of its hashes wrap at 2^32; version 2.0 does not. Modulo a power of two both
/// leave the same remainder.
fn same_rest(bit_len: u64) -> Result<(), ConvertError> {
    const WHY: &str = "libbloom 1.6 lets the sum of hashes wrap at 2^32 and 2.0 does not, so that keys are at other \
                       positions unless the number of bits is a power of two";
    match bit_len.is_power_of_two() && bit_len <= 1 << 32 {
        true => Ok(()),
        false => Err(ConvertError::NeedsKeys { why: WHY }),
    }
}

fn without_header(bytes: &[u8]) -> Result<AnyFilter, ConvertError> {
    let (dialect, range) = Libbloom::decode(bytes, Check::Header)?;
    let geometry = dialect.geometry();
    same_rest(geometry.bit_len)?;
    let bits = &bytes[range];
    let used = usize::try_from(geometry.bit_len.div_ceil(8)).map_or(bits, |len| &bits[..len]);
    let filter = Filter::<Libbloom1>::decode_exact(used, geometry.bit_len, geometry.probes)?;
    Ok(AnyFilter::from_dialect(boxed(filter)))
}

fn with_header(
    bytes: &[u8],
    geometry: Option<(u64, u32)>,
    made_for: Option<Request>,
) -> Result<AnyFilter, ConvertError> {
    let (bit_len, probes) = geometry.ok_or(ConvertError::NeedsNumbers)?;
    let view = Filter::<Libbloom1>::view_exact(bytes, bit_len, probes)?;
    let has = view.geometry();
    same_rest(has.bit_len)?;
    let dialect = Libbloom::size(&made_for.ok_or(ConvertError::NeedsNumbers)?)?;
    let given = dialect.geometry();
    if (has.bit_len, has.probes) != (given.bit_len, given.probes) {
        return Err(ConvertError::OtherNumbers {
            has: (has.bit_len, has.probes),
            given: (given.bit_len, given.probes),
        });
    }
    let mut bits = Owned::zeroed(dialect.byte_len())?;
    bits.as_mut()[..view.bits().len()].copy_from_slice(view.bits());
    Ok(AnyFilter::from_dialect(boxed(Filter::from_parts(dialect, bits)?)))
}

/// Why two dialects have a key at different positions.
fn why(from: Name, to: Name) -> &'static str {
    use Name::*;
    let words = |name| matches!(name, Cassandra | Cassandra3 | Cassandra2);
    match (from, to) {
        (LevelDb, RocksDbBlock) | (RocksDbBlock, LevelDb) => {
            "the two hash a key alike only if none of its last three bytes is above 0x7f"
        }
        (Cassandra0, Cassandra07) | (Cassandra07, Cassandra0) => {
            "versions a and b hash text in UTF-16, later ones the key's bytes"
        }
        _ if words(from) && words(to) => {
            "up to 2.2 Cassandra began at the first hash and stepped by the second, since 3.0 it is the other way round"
        }
        _ => "the two dialects hash keys differently, so the bits are at other positions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use fullbloom_core::sizing::Target;

    const KEYS: [&[u8]; 4] = [b"apple", b"pear", b"\xff\xfe", b""];

    fn made_for(expected_keys: u32, fpr: f64) -> Request {
        Request { expected_keys: expected_keys.into(), target: Target::Fpr(fpr) }
    }

    fn built(dialect: Name, target: Target) -> Vec<u8> {
        let mut builder = crate::Builder::new(dialect, &Request { expected_keys: 5000, target }).unwrap();
        builder.add_batch(&KEYS);
        builder.build().unwrap().encode()
    }

    #[test]
    fn the_two_orders_of_cassandra_are_made_of_each_other_byte_for_byte() {
        let (three, four) =
            (built(Name::Cassandra3, Target::Fpr(0.01)), built(Name::Cassandra, Target::Fpr(0.01)));
        let made = convert(Name::Cassandra3, &three, None, Name::Cassandra, None).unwrap();
        assert_eq!(made.encode(), four);
        let back = convert(Name::Cassandra, &four, None, Name::Cassandra3, None).unwrap();
        assert_eq!(back.encode(), three);
        assert!(convert(Name::Cassandra3, &three[..20], None, Name::Cassandra, None).is_err());
    }

    #[test]
    fn libbloom_loses_and_gains_its_header_where_a_wrapped_sum_does_not_matter() {
        // 2^20 bits with 7 probes, as 1.6 would write it, and the 2.0 form of these numbers.
        let (bits, probes) = (1u64 << 20, 7);
        let raw = built(Name::Libbloom1, Target::Exact { bit_len: bits, probes });
        let numbers = (1000..200_000u32).find_map(|expected_keys| {
            let fpr = (-(bits as f64) / f64::from(expected_keys) * std::f64::consts::LN_2.powi(2)).exp();
            let near = [fpr, fpr * (1.0 + 1e-7), fpr * (1.0 - 1e-7)];
            near.into_iter().find_map(|fpr| {
                let made = Libbloom::with_params(expected_keys, fpr).ok()?.geometry();
                ((made.bit_len, made.probes) == (bits, probes)).then_some(made_for(expected_keys, fpr))
            })
        });
        let numbers = numbers.expect("some numbers make 2^20 bits");
        let two =
            convert(Name::Libbloom1, &raw, Some((bits, probes)), Name::Libbloom, Some(numbers)).unwrap();
        assert!(KEYS.iter().all(|key| two.may_contain(key)));
        let one = convert(Name::Libbloom, &two.encode(), None, Name::Libbloom1, None).unwrap();
        assert_eq!(one.encode(), raw);

        let missing = convert(Name::Libbloom1, &raw, Some((bits, probes)), Name::Libbloom, None);
        assert_eq!(missing.err(), Some(ConvertError::NeedsNumbers));
        let other = Some(made_for(1000, 0.01));
        let refused =
            convert(Name::Libbloom1, &raw, Some((bits, probes)), Name::Libbloom, other).err().unwrap();
        assert!(refused.to_string().contains("make 9585 bits and 7 probes"), "{refused}");
        let usual = built(Name::Libbloom, Target::Fpr(0.01));
        let refused = convert(Name::Libbloom, &usual, None, Name::Libbloom1, None).err().unwrap();
        assert!(refused.to_string().contains("power of two"), "{refused}");
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        let mut refused = 0;
        for &from in Name::ALL {
            let target = match from.is_raw() {
                true => Target::Exact { bit_len: 4096, probes: 5 },
                false => Target::BitsPerKey(10.0),
            };
            let (bytes, geometry) = match target {
                Target::Exact { bit_len, probes } => (built(from, target), Some((bit_len, probes))),
                _ => (built(from, target), None),
            };
            for &to in Name::ALL {
                match convert(from, &bytes, geometry, to, None) {
                    Ok(filter) => assert!(KEYS.iter().all(|key| filter.may_contain(key)), "{from} {to}"),
                    Err(ConvertError::Decode(e)) => panic!("{from} {to}: {e}"),
                    Err(_) => refused += 1,
                }
            }
        }
        assert_eq!(refused, Name::ALL.len() * Name::ALL.len() - 2);
    }
}
