//! `String.hashCode` over UTF-16 code units, and how key bytes become those units.

/// Java's `String.hashCode`: `h = 31 * h + unit` in wrapping 32-bit arithmetic.
///
/// ```
/// use fullbloom_dialects::hash::java_string_hash;
/// assert_eq!(java_string_hash("Aa".encode_utf16()), java_string_hash("BB".encode_utf16()));
/// ```
#[inline]
pub fn java_string_hash(units: impl IntoIterator<Item = u16>) -> i32 {
    units.into_iter().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The UTF-16 code units of a text key.
///
/// Keys are UTF-8. Java's own extensions are accepted too: a surrogate as three bytes of its own (so unpaired
/// surrogates can be expressed), and NUL as `C0 80`, as in the modified UTF-8 of `writeUTF`. Each maximal
/// ill-formed sequence becomes U+FFFD, as in Java's decoder.
///
/// ```
/// use fullbloom_dialects::hash::utf16_units;
/// assert_eq!(utf16_units("a😀".as_bytes()).collect::<Vec<_>>(), [0x61, 0xd83d, 0xde00]);
/// assert_eq!(utf16_units(b"\xed\xa0\x80\xc0\x80\xff").collect::<Vec<_>>(), [0xd800, 0, 0xfffd]);
/// ```
#[inline]
pub fn utf16_units(key: &[u8]) -> impl Iterator<Item = u16> + '_ {
    Units { rest: key, low: None }
}

struct Units<'a> {
    rest: &'a [u8],
    /// The second half of a surrogate pair whose first half was just returned.
    low: Option<u16>,
}

impl Iterator for Units<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        if let Some(low) = self.low.take() {
            return Some(low);
        }
        let &first = self.rest.first()?;
        if first < 0x80 {
            self.rest = &self.rest[1..];
            return Some(u16::from(first));
        }
        let (scalar, used) = decode(self.rest);
        self.rest = &self.rest[used..];
        if scalar < 0x1_0000 {
            return Some(scalar as u16);
        }
        let above = scalar - 0x1_0000;
        self.low = Some(0xdc00 | (above & 0x3ff) as u16);
        Some(0xd800 | (above >> 10) as u16)
    }
}

const REPLACEMENT: u32 = 0xfffd;

/// One non-ASCII code point and its length in bytes; ill-formed sequences give the replacement character.
fn decode(bytes: &[u8]) -> (u32, usize) {
    let first = bytes[0];
    if let [0xc0, 0x80, ..] = bytes {
        return (0, 2);
    }
    let (extra, second_low, second_high) = match first {
        0xc2..=0xdf => (1, 0x80, 0xbf),
        0xe0 => (2, 0xa0, 0xbf),
        0xe1..=0xef => (2, 0x80, 0xbf), // surrogates (ED A0..BF) included
        0xf0 => (3, 0x90, 0xbf),
        0xf1..=0xf3 => (3, 0x80, 0xbf),
        0xf4 => (3, 0x80, 0x8f),
        _ => return (REPLACEMENT, 1),
    };
    let mut scalar = u32::from(first) & (0x3f >> extra);
    for i in 1..=extra {
        let (low, high) = if i == 1 { (second_low, second_high) } else { (0x80, 0xbf) };
        match bytes.get(i) {
            Some(&b) if (low..=high).contains(&b) => scalar = scalar << 6 | u32::from(b & 0x3f),
            _ => return (REPLACEMENT, i),
        }
    }
    (scalar, extra + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_text_gives_the_units_of_the_standard_library() {
        for text in ["", "plain", "grün", "中文", "a😀b", "\u{10ffff}\u{0}x", "\u{e000}\u{ffff}"] {
            assert!(utf16_units(text.as_bytes()).eq(text.encode_utf16()), "{text}");
        }
    }

    #[test]
    fn ill_formed_bytes_are_replaced_as_the_standard_library_does() {
        for bytes in
            [&b"\xff"[..], b"a\x80b", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xf5\x80", b"\xc3(", b"\xe0\x80\x80"]
        {
            let lossy = String::from_utf8_lossy(bytes);
            assert!(utf16_units(bytes).eq(lossy.encode_utf16()), "{bytes:x?}");
        }
    }
}
