//! Numbers as people type them: `1000000`, `1e6`, `1M`, `64MiB`, `0.01`, `1%`.
//!
//! Counts are exact: they are computed in integers, so that 2^63 is 2^63 and 1.5M is 1,500,000. Fractions are
//! refused.

use std::time::{Duration, SystemTime};

/// A count: digits, with a decimal exponent or one of `k`, `M`, `G`, `T` (powers of 1000).
pub fn count(text: &str) -> Result<u64, String> {
    let (number, zeros) = match text.char_indices().next_back() {
        Some((at, letter)) => match decimal_unit(letter) {
            Some(zeros) => (&text[..at], zeros),
            None => (text, 0),
        },
        None => return Err("empty; a count is written 1000000, 1e6 or 1M".to_owned()),
    };
    let value = Decimal::parse(number)
        .ok_or("not a count; a count is written 1000000, 1e6 or 1M")?
        .times_ten_to(zeros)
        .times(1)
        .ok_or("larger than 2^64 - 1")?;
    if value.rest {
        return Err("not a whole number".to_owned());
    }
    Ok(value.whole)
}

/// A count that fits 32 bits.
pub fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| "larger than 2^32 - 1".to_owned())
}

/// A seed: a whole number, perhaps negative.
pub fn seed(text: &str) -> Result<i128, String> {
    match text.strip_prefix('-') {
        Some(digits) => count(digits).map(|number| -i128::from(number)),
        None => count(text).map(i128::from),
    }
}

/// A size in bytes: a number and one of `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`,
/// `TiB` (powers of 1024); the `B` may be left out. Parts of a byte are dropped.
pub fn size(text: &str) -> Result<u64, String> {
    const HOW: &str = "a size is written 64MiB, 2GiB, 500MB or 1e9";
    let unitless = text.strip_suffix('B').unwrap_or(text);
    let (unitless, binary) = match unitless.strip_suffix('i') {
        Some(rest) => (rest, true),
        None => (unitless, false),
    };
    let unit = unitless.chars().next_back().and_then(decimal_unit);
    let (number, zeros) = match unit {
        Some(zeros) => (&unitless[..unitless.len() - 1], zeros),
        None if binary => return Err(format!("not a size; {HOW}")),
        None => (unitless, 0),
    };
    let number = Decimal::parse(number).ok_or_else(|| format!("not a size; {HOW}"))?;
    let bytes =
        if binary { number.times(1u64 << (10 * (zeros / 3))) } else { number.times_ten_to(zeros).times(1) };
    Ok(bytes.ok_or("larger than 2^64 - 1 bytes")?.whole)
}

/// A time: a number and one of `ms`, `s`, `m`, `h`, `d`, `w`. Parts of a millisecond are dropped.
pub fn duration(text: &str) -> Result<Duration, String> {
    const HOW: &str = "not a time; a time is written 7d, 12h, 90m, 30s or 2w";
    let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or(HOW)?;
    let unit = match &text[at..] {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err(HOW.to_owned()),
    };
    let number = Decimal::parse(&text[..at]).ok_or(HOW)?;
    Ok(Duration::from_millis(number.times(unit).ok_or("more than 2^64 - 1 milliseconds")?.whole))
}

/// A moment: `7d` is a week ago, `2026-11-18` and `2026-11-18T06:30` are in UTC.
pub fn since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = duration(text) {
        return SystemTime::now().checked_sub(ago).ok_or_else(|| "before all time".to_owned());
    }
    let how = || "not a moment; it is written 7d, 12h, 2026-11-18 or 2026-11-18T06:30 (UTC)".to_owned();
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let parts = |text: &str, separator| -> Option<Vec<u64>> {
        text.split(separator).map(|part| part.parse().ok().filter(|_| part.len() <= 4)).collect()
    };
    let (date, time) = (parts(date, '-').ok_or_else(how)?, parts(time, ':').ok_or_else(how)?);
    let ([year @ 1970..=9999, month @ 1..=12, day @ 1..=31], [hour @ 0..=23, minute @ 0..=59]) =
        (date.as_slice(), time.as_slice())
    else {
        return Err(how());
    };
    // Years that begin in March, so that the leap day is the last.
    let (year, month) = if *month > 2 { (*year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = 86_400 * days + 3_600 * hour + 60 * minute;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// A rate: `0.01`, `1e-6` or `1%`. The dialect decides whether it is valid.
pub fn rate(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) => Ok(value / scale),
        Err(_) => Err("not a rate; a rate is written 0.01, 1e-6 or 1%".to_owned()),
    }
}

/// The power of ten that a letter stands for.
fn decimal_unit(letter: char) -> Option<i32> {
    match letter {
        'k' | 'K' => Some(3),
        'M' => Some(6),
        'G' => Some(9),
        'T' => Some(12),
        _ => None,
    }
}

/// `digits · 10^exponent`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

/// The whole part of a number, and whether something was cut off.
#[derive(Debug, Clone, Copy)]
struct Whole {
    whole: u64,
    rest: bool,
}

impl Decimal {
    /// `12`, `1_000`, `1.5`, `2e9`, `1.5E+6`; no sign, no spaces.
    fn parse(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?.into()),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        if !whole.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let mut digits = 0u128;
        for c in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
            // A saturated number is still too large for a u64; a fraction that long is not a whole number.
            digits = digits.saturating_mul(10).saturating_add(c.to_digit(10)?.into());
        }
        Some(Decimal { digits, exponent: exponent - i32::try_from(fraction.len()).ok()? })
    }

    fn times_ten_to(self, zeros: i32) -> Decimal {
        Decimal { exponent: self.exponent + zeros, ..self }
    }

    /// The product with `factor`; `None` when it is past 2^64 - 1.
    fn times(self, factor: u64) -> Option<Whole> {
        let product = self.digits.checked_mul(factor.into())?;
        if product == 0 {
            return Some(Whole { whole: 0, rest: false });
        }
        let (whole, rest) = if self.exponent >= 0 {
            let zeros = 10u128.checked_pow(self.exponent.unsigned_abs())?;
            (product.checked_mul(zeros)?, false)
        } else {
            match 10u128.checked_pow(self.exponent.unsigned_abs()) {
                Some(unit) => (product / unit, product % unit != 0),
                None => (0, true), // a unit past 2^128 is more than any product
            }
        };
        Some(Whole { whole: u64::try_from(whole).ok()?, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, millis) in [
            ("7d", 604_800_000),
            ("1.5h", 5_400_000),
            ("90m", 5_400_000),
            ("30s", 30_000),
            ("250ms", 250),
            ("2w", 1_209_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "7", "d", "7 days", "-1d", "7y", "1e30d", "1h30m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_those_of_the_calendar_or_so_long_ago() {
        for (text, shown) in [
            ("1970-01-01", "1970-01-01 00:00:00 UTC"),
            ("2000-02-29", "2000-02-29 00:00:00 UTC"),
            ("2000-03-01T23:59", "2000-03-01 23:59:00 UTC"),
            ("2026-11-18 06:30", "2026-11-18 06:30:00 UTC"),
            ("9999-12-31", "9999-12-31 00:00:00 UTC"),
        ] {
            assert_eq!(since(text).map(crate::text::time), Ok(shown.to_owned()), "{text}");
        }
        let then = since("2h").unwrap();
        let ago = SystemTime::now().duration_since(then).unwrap();
        assert!((7_200..7_260).contains(&ago.as_secs()), "{ago:?}");
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-32",
            "1969-12-31",
            "2026-11-18T24:00",
            "2026-11",
            "18-11-2026",
        ] {
            assert!(since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_are_exact_in_every_way_of_writing_them() {
        for (text, value) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1e6", 1_000_000),
            ("1E+6", 1_000_000),
            ("1M", 1_000_000),
            ("1k", 1_000),
            ("1K", 1_000),
            ("2e9", 2_000_000_000),
            ("1.5M", 1_500_000),
            ("1.0", 1),
            ("2500e-2", 25),
            ("0e99", 0),
            ("9223372036854775808", 1 << 63),
            ("18446744073709551615", u64::MAX),
            ("18.446744073709551615e18", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "empty"),
            ("1.5", "not a whole number"),
            ("1e-3", "not a whole number"),
            ("1e-32000", "not a whole number"),
            ("18446744073709551616", "larger than"),
            ("1e20", "larger than"),
            ("1e32000", "larger than"),
            ("99999999999999999999999999999999999999999999", "larger than"),
            ("0.99999999999999999999999999999999999999999999", "not a whole number"),
            ("-5", "not a count"),
            ("M", "not a count"),
            ("1MiB", "not a count"),
            ("ten", "not a count"),
            ("1e", "not a count"),
            ("1e99999", "not a count"),
            ("_1", "not a count"),
            ("1 000", "not a count"),
            ("0x10", "not a count"),
            ("1ü", "not a count"),
            ("٣", "not a count"),
        ] {
            let refusal = count(text).expect_err(text);
            assert!(refusal.contains(why), "{text}: {refusal}");
        }
        assert!(small_count("4294967296").is_err());
        assert_eq!(small_count("4294967295"), Ok(u32::MAX));
    }

    #[test]
    fn sizes_tell_powers_of_1000_from_powers_of_1024() {
        for (text, value) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("64MiB", 64 << 20),
            ("64Mi", 64 << 20),
            ("1.5KiB", 1536),
            ("0.1KiB", 102),
            ("500MB", 500_000_000),
            ("500M", 500_000_000),
            ("2GiB", 2 << 30),
            ("1e9", 1_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(size(text), Ok(value), "{text}");
        }
        for text in ["", "B", "iB", "12iB", "MiB", "-1MiB", "1XiB", "16777216TiB", "1ü"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_may_be_written_in_percent() {
        assert_eq!(rate("0.01"), Ok(0.01));
        assert_eq!(rate("1%"), Ok(0.01));
        assert_eq!(rate("1e-6"), Ok(1e-6));
        assert!(rate("nan").is_ok_and(f64::is_nan), "refused later, by the dialect");
        assert!(rate("one").is_err());
        assert!(rate("").is_err());
    }
}
