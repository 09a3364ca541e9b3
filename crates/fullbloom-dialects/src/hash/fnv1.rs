//! FNV-1 with 64 bits, as DCSO's filters use it.

/// FNV-1 of a key: multiply, then xor. (FNV-1a, the other way round, is the more common one.)
///
/// ```
/// use fullbloom_dialects::hash::fnv1_64;
/// assert_eq!(fnv1_64(b""), 0xcbf2_9ce4_8422_2325);
/// assert_eq!(fnv1_64(b"a"), 0xaf63_bd4c_8601_b7be);
/// assert_eq!(fnv1_64(b"foobar"), 0x340d_8765_a4dd_a9c2);
/// ```
#[inline]
pub fn fnv1_64(key: &[u8]) -> u64 {
    key.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte))
}
