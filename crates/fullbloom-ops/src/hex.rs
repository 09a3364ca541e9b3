//! Keys written in hex.

/// The value of each byte as a hex digit; `BAD` for the others.
const VALUE: [u8; 256] = {
    let mut table = [BAD; 256];
    let mut i = 0;
    while i < 16 {
        table[b"0123456789abcdef"[i] as usize] = i as u8;
        table[b"0123456789ABCDEF"[i] as usize] = i as u8;
        i += 1;
    }
    table
};

const BAD: u8 = 0xff;

/// Appends the bytes that `digits` spell, or reports what is wrong with them.
pub fn decode(digits: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let start = out.len();
    let mut seen = 0; // all values or-ed: above 15 exactly if one of them is BAD
    out.extend(digits.chunks_exact(2).map(|pair| {
        let (high, low) = (VALUE[usize::from(pair[0])], VALUE[usize::from(pair[1])]);
        seen |= high | low;
        (high << 4) | (low & 15)
    }));
    if seen <= 15 && digits.len().is_multiple_of(2) {
        return Ok(());
    }
    out.truncate(start);
    Err(match digits.iter().position(|digit| VALUE[usize::from(*digit)] == BAD) {
        Some(at) => format!("column {}: '{}' is not a hex digit", at + 1, digits[at].escape_ascii()),
        None => format!("{} hex digits do not make whole bytes", digits.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_in_both_cases() {
        for byte in 0..=255u8 {
            let mut out = Vec::new();
            decode(format!("{byte:02x}{byte:02X}").as_bytes(), &mut out).unwrap();
            assert_eq!(out, [byte, byte]);
        }
        let mut out = vec![7];
        decode(b"", &mut out).unwrap();
        assert_eq!(out, [7], "no digits are the empty key");
    }

    #[test]
    fn every_byte_that_is_no_digit_is_refused_at_its_place() {
        for byte in (0..=255u8).filter(|byte| !byte.is_ascii_hexdigit()) {
            for place in 0..4 {
                let mut digits = *b"00ff";
                digits[place] = byte;
                let mut out = vec![7];
                let refusal = decode(&digits, &mut out).unwrap_err();
                assert!(refusal.starts_with(&format!("column {}:", place + 1)), "{refusal}");
                assert_eq!(out, [7], "nothing is left of a refused key");
            }
        }
        assert_eq!(decode(b"abc", &mut Vec::new()).unwrap_err(), "3 hex digits do not make whole bytes");
        assert!(decode(b"ab\r", &mut Vec::new()).unwrap_err().contains(r"'\r'"));
    }
}
