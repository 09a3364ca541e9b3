#![allow(unsafe_code)]
//! Words of sixteen bytes as bytes, for columns of Arrow's views.

/// The bytes of these words, which the machine stores least significant first.
#[cfg(target_endian = "little")]
pub fn bytes_of_words(words: &[u128]) -> &[[u8; 16]] {
    // SAFETY: `u128` and `[u8; 16]` both have 16 bytes, every bit pattern is a valid `[u8; 16]`, and its
    // alignment of 1 divides that of `u128`; so the same number of elements at the same address is valid for
    // the same lifetime.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    #[test]
    fn the_bytes_are_those_of_each_word() {
        let words = [1u128 << 120 | 2, u128::MAX, 0];
        assert_eq!(super::bytes_of_words(&words), words.map(u128::to_le_bytes));
        assert!(super::bytes_of_words(&[]).is_empty());
    }
}
