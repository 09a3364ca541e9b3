//! CRC-32C, the checksum of native files.

#[cfg(feature = "std")]
pub use crc32c::{crc32c, crc32c_append};

/// The remainder for each byte value, with the reversed polynomial of CRC-32C.
#[cfg(any(test, not(feature = "std")))]
const REMAINDERS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = (byte as u32, 0);
        while bit < 8 {
            remainder = remainder >> 1 ^ if remainder & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The checksum of bytes that follow others with the checksum `before`. Byte by byte: the crate that uses the
/// CPU's instruction needs `std`.
#[cfg(any(test, not(feature = "std")))]
fn append(before: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!before, |sum, byte| sum >> 8 ^ REMAINDERS[usize::from(sum as u8 ^ byte)])
}

#[cfg(not(feature = "std"))]
pub fn crc32c_append(before: u32, bytes: &[u8]) -> u32 {
    append(before, bytes)
}

#[cfg(not(feature = "std"))]
pub fn crc32c(bytes: &[u8]) -> u32 {
    append(0, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_implementations_agree_at_every_length() {
        let bytes: Vec<u8> = (0..300u32).map(|i| ((i * 37) >> 3) as u8).collect();
        for len in 0..bytes.len() {
            let (header, back) = bytes[..len].split_at(len / 3);
            assert_eq!(append(0, &bytes[..len]), crc32c(&bytes[..len]));
            assert_eq!(append(append(0, header), back), crc32c_append(crc32c(header), back));
        }
    }
}
