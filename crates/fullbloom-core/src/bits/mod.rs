//! Words in memory: the bit array under every filter.
//!
//! Position `p` is bit `p & 7` of byte `p >> 3`, least significant bit first. Every dialect here agrees on
//! that, or differs only by the order of bytes inside 64-bit words, which is a constant xor on the position
//! ([`BIG_ENDIAN_WORDS`]). So an array stays in the byte order of its file: it is saved unchanged, and a view
//! over mapped bytes needs no conversion.
//!
//! Storage is anything that gives bytes (`AsRef<[u8]>`): [`Owned`] memory, a borrowed `&[u8]`, a mapped file.
//! Storage that gives mutable bytes (`AsMut<[u8]>`) also supports insertion.

pub mod atomic;
mod owned;
pub mod prefetch;
mod words;

pub use owned::Owned;
#[cfg(feature = "std")]
pub use owned::Words;
#[cfg(target_endian = "little")]
pub use words::bytes_of_words;

/// XOR this into a position to find it in an array of big-endian 64-bit words: it reverses the byte index
/// within the group of eight and keeps the bit index.
pub const BIG_ENDIAN_WORDS: u64 = 0b11_1000;

/// One if the bit at `position` is set, else zero.
///
/// # Panics
/// If the position lies outside the array. Dialects reduce positions modulo a length that
/// `Filter` has checked against the storage, so their positions are always inside.
#[inline(always)]
pub fn get(bits: &[u8], position: u64) -> u8 {
    (bits[(position >> 3) as usize] >> (position & 7)) & 1
}

/// Sets the bit at `position`. Returns one if it was clear before.
///
/// # Panics
/// As [`get`].
#[inline(always)]
pub fn set(bits: &mut [u8], position: u64) -> u8 {
    let byte = &mut bits[(position >> 3) as usize];
    let mask = 1u8 << (position & 7);
    let was_clear = u8::from(*byte & mask == 0);
    *byte |= mask;
    was_clear
}

/// Number of set bits among the first `bit_len`; padding after them does not count.
pub fn count_ones(bits: &[u8], bit_len: u64) -> u64 {
    let whole = usize::try_from(bit_len >> 3).map_or(bits.len(), |n| n.min(bits.len()));
    let (words, rest) = bits[..whole].as_chunks::<8>();
    let in_words: u64 = words.iter().map(|w| u64::from(u64::from_ne_bytes(*w).count_ones())).sum();
    let in_rest: u64 = rest.iter().map(|b| u64::from(b.count_ones())).sum();
    let last = bits.get(whole).map_or(0, |b| b & ((1 << (bit_len & 7)) - 1));
    in_words + in_rest + u64::from(last.count_ones())
}

/// ORs `theirs` into `ours`. Both have the same length.
pub fn or_into(ours: &mut [u8], theirs: &[u8]) {
    for (a, b) in ours.iter_mut().zip(theirs) {
        *a |= b;
    }
}

/// ANDs `theirs` into `ours`. Both have the same length.
pub fn and_into(ours: &mut [u8], theirs: &[u8]) {
    for (a, b) in ours.iter_mut().zip(theirs) {
        *a &= b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_reports_new_bits_and_get_agrees() {
        let mut bits = [0u8; 16];
        for position in [0, 7, 8, 63, 64, 127] {
            assert_eq!(get(&bits, position), 0);
            assert_eq!(set(&mut bits, position), 1);
            assert_eq!(set(&mut bits, position), 0);
            assert_eq!(get(&bits, position), 1);
        }
        assert_eq!(count_ones(&bits, 128), 6);
        assert_eq!(count_ones(&bits, 127), 5);
        assert_eq!(count_ones(&bits, 64), 4);
        assert_eq!(count_ones(&bits, 8), 2);
        assert_eq!(count_ones(&bits, 1), 1);
        assert_eq!(count_ones(&bits, 0), 0);
        assert_eq!(count_ones(&bits[..2], 128), 3);
    }

    #[test]
    fn the_word_order_xor_is_a_byte_swap() {
        let mut little = [0u8; 8];
        let mut big = [0u8; 8];
        for position in [0u64, 5, 13, 40, 63] {
            set(&mut little, position);
            set(&mut big, position ^ BIG_ENDIAN_WORDS);
        }
        assert_eq!(u64::from_le_bytes(little), u64::from_be_bytes(big));
    }
}
