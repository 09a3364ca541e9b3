//! libbloom's sizing: textbook formulas with 15-digit constants, and the widths of two ABIs.

use fullbloom_core::error::{Quantity, SizeError};
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// `ln(2)^2` as libbloom writes it: 15 digits, not the nearest double.
const LN_2_SQUARED: f64 = 0.480453013918201;
/// `ln(2)` as libbloom writes it.
#[expect(clippy::approx_constant, reason = "libbloom's literal, which is not the nearest double of ln 2")]
const LN_2: f64 = 0.693147180559945;

/// The fewest entries that `bloom_init` accepts, since 1.5.
pub const MIN_ENTRIES: u32 = 1000;

/// The numbers that `bloom_init2` of 2.0 computes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Length of the array in bits.
    pub bits: u64,
    /// The number of whole bytes that hold the bits.
    pub bytes: u64,
    /// Probes per key: the low eight bits of the true number, so 256 probes become 0.
    pub hashes: u8,
    /// Bits per key.
    pub bpe: f64,
}

/// 2.0's parameter rule. NaN, which the original passes on to an allocation that fails, is refused.
pub fn params_2_0(entries: u32, error: f64) -> Result<Params, SizeError> {
    check_entries(entries.into())?;
    let refused = SizeError::Value { what: Quantity::Fpr, got: error, allowed: "0 < fpr < 1" };
    if error.is_nan() {
        return Err(refused);
    }
    computed_2_0(entries, error).ok_or(refused)
}

/// The numbers that `bloom_init2` has computed when it allocates memory; `None` where it fails earlier. NaN
/// leads to 2^60 bytes.
pub fn computed_2_0(entries: u32, error: f64) -> Option<Params> {
    if entries < MIN_ENTRIES || error <= 0.0 || error >= 1.0 {
        return None;
    }
    let bpe = -error.ln() / LN_2_SQUARED;
    let bits = if bpe.is_nan() { 1 << 63 } else { extended_product(entries, bpe) };
    Some(Params { bits, bytes: bits.div_ceil(8), hashes: truncated((LN_2 * bpe).ceil()) as u8, bpe })
}

/// The conversion of a double to an int by C on x86-64: truncated, and the smallest int where it does not
/// fit.
fn truncated(number: f64) -> i32 {
    if number > -2_147_483_649.0 && number < 2_147_483_648.0 { number as i32 } else { i32::MIN }
}

fn check_entries(entries: i64) -> Result<(), SizeError> {
    if entries >= MIN_ENTRIES.into() {
        return Ok(());
    }
    let got = u64::try_from(entries).unwrap_or(0);
    Err(SizeError::Count { what: Quantity::ExpectedKeys, got, allowed: "1000 or more, as in libbloom" })
}

/// `trunc((long double)entries * bpe)` as an x87 computes it: the exact product rounded to 64 significant
/// bits, ties to even, then truncated.
///
/// Neither a double product nor the exact integer gives the same result: 1193886142 entries at 0.01 have a
/// product just below an integer, and the rounding to 64 bits lifts it to the integer.
fn extended_product(entries: u32, bpe: f64) -> u64 {
    let bits = bpe.to_bits();
    let significand = (bits & ((1 << 52) - 1)) | 1 << 52; // bpe is normal: at least 1.5e-16
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    let mut product = u128::from(significand) * u128::from(entries);
    let excess = (128 - product.leading_zeros()).saturating_sub(64);
    if excess > 0 {
        let (half, rest) = (1u128 << (excess - 1), product & ((1 << excess) - 1));
        product >>= excess;
        if rest > half || (rest == half && product & 1 == 1) {
            product += 1;
        }
        exponent += excess as i32;
    }
    // The largest product, 2^32 entries at 5e-324, is below 2^43: the exponent is always negative.
    product.checked_shr(exponent.unsigned_abs()).unwrap_or(0) as u64
}

/// The numbers that `bloom_init` of 1.6 computes: the same in signed ints with a plain double product.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Params1 {
    /// Length of the array in bits; 0 or -1 for a rate at 1 or just above it.
    pub bits: i32,
    /// The number of whole bytes that hold the bits.
    pub bytes: i32,
    /// Probes per key, not truncated to eight bits.
    pub hashes: i32,
    /// Bits per key.
    pub bpe: f64,
}

/// 1.6's parameter rule. It accepts a rate of 1 and slightly above (no bits, every key reported present).
/// Sizes that fail there in the allocation are refused.
pub fn params_1_6(entries: i32, error: f64) -> Result<Params1, SizeError> {
    check_entries(entries.into())?;
    let refused = SizeError::Value { what: Quantity::Fpr, got: error, allowed: "0 < fpr <= 1" };
    let params = computed_1_6(entries, error).ok_or(refused.clone())?;
    let product = f64::from(entries) * params.bpe;
    if product >= 2_147_483_648.0 {
        let bit_len = if product < 1.8e19 { product as u64 } else { u64::MAX };
        return Err(SizeError::TooLarge { bit_len, limit: i32::MAX as u64 });
    }
    if params.bytes < 0 { Err(refused) } else { Ok(params) }
}

/// The numbers that `bloom_init` of 1.6 has computed when it allocates memory; `None` where it fails earlier.
/// Sizes that do not fit in an int, and NaN, become the smallest int, and so a negative number of bytes.
pub fn computed_1_6(entries: i32, error: f64) -> Option<Params1> {
    if i64::from(entries) < MIN_ENTRIES.into() || error == 0.0 {
        return None;
    }
    let bpe = -(error.ln() / LN_2_SQUARED);
    let bits = truncated(f64::from(entries) * bpe);
    let bytes = bits / 8 + i32::from(bits % 8 != 0);
    Some(Params1 { bits, bytes, hashes: truncated((LN_2 * bpe).ceil()), bpe })
}

/// The rate whose filter uses this many bits per key: the inverse of the formula for `bpe`.
pub fn fpr_for_bits_per_key(bits_per_key: f64) -> Result<f64, SizeError> {
    let fpr = (-bits_per_key * LN_2_SQUARED).exp();
    if fpr > 0.0 && fpr < 1.0 {
        return Ok(fpr);
    }
    Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits_per_key, allowed: "above 0, below 1550" })
}

/// Rephrases an error about the rate as one about the bits per key that led to it.
pub fn in_bits_per_key(bits_per_key: f64, refusal: SizeError) -> SizeError {
    match refusal {
        SizeError::Value { what: Quantity::Fpr, .. } => SizeError::Value {
            what: Quantity::BitsPerKey,
            got: bits_per_key,
            allowed: "enough for one bit in total, and below 1550",
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extended_product_differs_from_double_and_from_exact_where_the_original_does() {
        let bits = |entries, error| params_2_0(entries, error).unwrap().bits;
        assert_eq!(bits(119_030_633, 0.1), 570_457_782);
        assert_eq!(params_1_6(119_030_633, 0.1).unwrap().bits, 570_457_783);
        assert_eq!(bits(1_193_886_142, 0.01), 11_443_468_367);
        assert_eq!(bits(u32::MAX, 0.01), 41_167_512_251);
    }

    #[test]
    fn probe_counts_wrap_at_256_in_2_0_only() {
        assert_eq!(params_2_0(1000, 1e-77).unwrap().hashes, 0);
        assert_eq!(params_1_6(1000, 1e-77).unwrap().hashes, 256);
        assert_eq!(params_2_0(1000, 5e-324).unwrap().hashes, 51);
    }

    #[test]
    fn rates_at_and_above_one_are_taken_by_1_6_as_far_as_memory_can_be_had() {
        assert_eq!(params_1_6(1000, 1.0).map(|p| (p.bits, p.bytes, p.hashes)), Ok((0, 0, 0)));
        assert_eq!(params_1_6(1000, 1.0005).map(|p| (p.bits, p.bytes, p.hashes)), Ok((-1, 1, 0)));
        for error in [1.1, 2.0, -1.0, f64::INFINITY, f64::NAN, 0.0, -0.0] {
            assert!(params_1_6(1000, error).is_err(), "{error}");
            assert!(params_2_0(1000, error).is_err(), "{error}");
        }
        assert!(params_2_0(1000, 1.0).is_err());
        assert!(params_2_0(999, 0.01).is_err());
    }
}
