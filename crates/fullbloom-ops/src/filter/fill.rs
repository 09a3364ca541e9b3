//! The fill of a filter along its bits.

/// Number of parts.
const PARTS: usize = 96;

/// Bytes of a part at least: with fewer bits some part of a small sound filter is empty by chance. With a
/// third of the bits set, a part of 64 bits is empty with probability 10^-11.
const PART_BYTES: usize = 8;

/// The share of set bits in each part of an array. An undamaged filter with many keys is filled evenly; a gap
/// is damage.
pub(crate) fn along(bits: &[u8]) -> Vec<f64> {
    let parts = PARTS.min(bits.len().div_ceil(PART_BYTES));
    let cut = |i: usize| (bits.len() as u128 * i as u128 / parts as u128) as usize;
    (0..parts)
        .map(|i| {
            let part = &bits[cut(i)..cut(i + 1)];
            let set: u64 = part.iter().map(|byte| u64::from(byte.count_ones())).sum();
            set as f64 / (8 * part.len()) as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_in_one_part() {
        assert!(along(&[]).is_empty());
        assert_eq!(along(&[0xff, 0x0f, 0, 0x0f]), [0.5]);
        let words = [[0xff; 8], [0x0f; 8], [0; 8]].concat();
        assert_eq!(along(&words), [1.0, 0.5, 0.0]);
        let bits: Vec<u8> = (0..1000).map(|i| if i < 500 { 0xff } else { 0 }).collect();
        let parts = along(&bits);
        assert_eq!((parts.len(), parts[0], parts[95]), (96, 1.0, 0.0));
        assert!((parts.iter().sum::<f64>() - 48.0).abs() < 0.2);
    }
}
