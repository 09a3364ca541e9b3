//! Numbers and names as people read them.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// `1.2 MiB`; whole bytes below 1 KiB.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 KiB would round to 1024.0 KiB.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// `0.97 %`, three digits of it; below a ten-thousandth of a percent `9.7e-7`. `unknown` for NaN.
pub fn rate(rate: f64) -> String {
    if !rate.is_finite() {
        return "unknown".to_owned();
    }
    if rate == 0.0 {
        return "0 %".to_owned();
    }
    if rate.abs() < 1e-6 {
        return format!("{rate:.2e}");
    }
    let percent = rate * 100.0;
    let decimals = (2 - percent.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let digits = format!("{percent:.decimals$}");
    format!("{} %", trim_zeros(&digits))
}

/// The number of absent keys for one false positive: `100`, `1.2e7`.
pub fn one_in(rate: f64) -> String {
    match 1.0 / rate {
        keys if keys < 1e6 => format!("{keys:.0}"),
        keys => format!("{keys:.1e}"),
    }
}

/// A count and its noun: `1 table`, `2 tables`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A number that is exact or estimated: `1048576`, `about 1203441`.
pub fn estimated(count: u64, is_exact: bool) -> String {
    if is_exact { count.to_string() } else { format!("about {count}") }
}

/// A count of entries: `1 entry`, `2 entries`.
pub fn counted_entries(count: u64) -> String {
    format!("{count} entr{}", if count == 1 { "y" } else { "ies" })
}

/// At most this many decimals, without zeros at the end.
pub fn decimal(value: f64, decimals: usize) -> String {
    trim_zeros(&format!("{value:.decimals$}")).to_owned()
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `2026-11-16 02:30:00 UTC`
pub fn time(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (since / 86_400, since % 86_400);
    // Years that begin in March, so that the leap day is the last: 400 of them are 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `7 days`, `36 h`, `1.5 s`: the largest unit that needs few digits.
pub fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units =
        [(604_800_000, "weeks"), (86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match units.iter().find(|(unit, _)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((unit, name)) => match millis / unit {
            1 => format!("1 {}", name.strip_suffix('s').filter(|name| !name.is_empty()).unwrap_or(name)),
            count => format!("{count} {name}"),
        },
        None if millis >= 1_000 => format!("{} s", decimal(millis as f64 / 1e3, 3)),
        None => format!("{millis} ms"),
    }
}

/// A path, quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !path.is_empty() && path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

pub use crate::hex::decode as decode_hex;

/// Bytes as people and `--hex` write them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a character steers a terminal (C0 and C1 controls) or makes text look like another one (the marks,
/// overrides and isolates of bidirectional writing).
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with [steering](is_steering) characters written out, so that a file name cannot steer a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_steering(c) {
            let _ = write!(clean, "{}", c.escape_default()); // a String takes everything
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        for (millis, text) in [
            (1, "1 ms"),
            (1_000, "1 s"),
            (1_500, "1.5 s"),
            (90_000, "90 s"),
            (86_400_000, "1 day"),
            (7 * 86_400_000, "1 week"),
            (8 * 86_400_000, "8 days"),
            (129_600_000, "36 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn sizes_use_binary_units_and_never_show_1024() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1_250_001), "1.2 MiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn rates_have_three_digits_from_one_to_a_millionth_and_exponents_below() {
        assert_eq!(rate(1.0), "100 %");
        assert_eq!(rate(0.999_99), "100 %");
        assert_eq!(rate(0.5), "50 %");
        assert_eq!(rate(0.0097), "0.97 %");
        assert_eq!(rate(0.009_535), "0.954 %");
        assert_eq!(rate(1e-6), "0.0001 %");
        assert_eq!(rate(9.7e-7), "9.70e-7");
        assert_eq!(rate(0.0), "0 %");
        assert_eq!(rate(f64::NAN), "unknown");
    }

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(printable("plain ä name"), "plain ä name");
        assert_eq!(printable("a\x1b[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(printable("a\u{9b}31m\u{202e}txt.exe"), "a\\u{9b}31m\\u{202e}txt.exe");
        for c in ['\u{80}', '\u{9f}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{2066}', '\u{2069}'] {
            assert!(is_steering(c), "{c:?}");
        }
        for c in ['\u{a0}', '\u{200d}', '\u{202f}', '\u{206a}', 'ש'] {
            assert!(!is_steering(c), "{c:?}");
        }
    }

    #[test]
    fn paths_in_hints_can_be_pasted_into_a_shell() {
        assert_eq!(quoted(Path::new("db/000012.sst")), "db/000012.sst");
        assert_eq!(quoted(Path::new("my data/it's")), "'my data/it'\\''s'");
        assert_eq!(quoted(Path::new("$(rm)")), "'$(rm)'");
    }

    #[test]
    fn decimals_end_without_zeros() {
        assert_eq!(decimal(10.0, 2), "10");
        assert_eq!(decimal(9.586, 2), "9.59");
        assert_eq!(decimal(100.0, 0), "100");
    }
}
