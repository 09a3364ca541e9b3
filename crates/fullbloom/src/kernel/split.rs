//! Parquet's split block: 256 bits as eight 32-bit words, one bit of each for every key.
//!
//! ```text
//!   hash = upper | lower      block = upper * blocks >> 32      bit of word i = (lower * SALTS[i]) >> 27
//! ```

/// 256 bits that one key's probes stay in, one in each little-endian word of 32 bits.
pub(crate) type SplitBlock = [u8; 32];

/// One multiplier for each word.
pub(crate) const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The eight bits of a key, in the order of the words.
#[inline(always)]
fn masks(lower: u32) -> [u32; 8] {
    SALTS.map(|salt| 1 << (lower.wrapping_mul(salt) >> 27))
}

/// Whether all eight bits are set: the definition.
#[inline(always)]
pub(crate) fn test(block: &SplitBlock, lower: u32) -> bool {
    let words = block.as_chunks::<4>().0;
    let missing =
        words.iter().zip(masks(lower)).fold(0, |m, (word, bit)| m | (!u32::from_le_bytes(*word) & bit));
    missing == 0
}

/// Sets all eight bits; true if at least one was clear: the definition.
#[inline(always)]
pub(crate) fn set(block: &mut SplitBlock, lower: u32) -> bool {
    let mut missing = 0;
    for (word, bit) in block.as_chunks_mut::<4>().0.iter_mut().zip(masks(lower)) {
        let old = u32::from_le_bytes(*word);
        missing |= !old & bit;
        *word = (old | bit).to_le_bytes();
    }
    missing != 0
}
