//! Lower-case hex, the notation for bytes in the vectors.

/// Decodes an even number of hex digits.
///
/// # Panics
/// If the text is anything else: the vectors are ours, so a bad one is a bug in the test.
pub fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).unwrap_or_else(|| panic!("{c:?} in hex {text:?}")) as u8)
        .collect();
    let (pairs, odd) = digits.as_chunks::<2>();
    assert!(odd.is_empty(), "odd number of hex digits in {text:?}");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

/// Two lower-case hex digits for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_there_and_back_is_the_same_bytes() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), bytes);
        assert_eq!(to_hex(&[0, 0x9f, 0xa0]), "009fa0");
    }

    #[test]
    #[should_panic(expected = "odd number")]
    fn half_a_byte_is_refused() {
        from_hex("abc");
    }
}
