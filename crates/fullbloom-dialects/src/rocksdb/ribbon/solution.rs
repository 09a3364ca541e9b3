//! The solution of the linear system, as it is stored.
//!
//! ```text
//!   block 0          block 1          …   block b          …
//!   | c0 | c1 | …    | c0 | c1 | …        | c0 | c1 | … | cN |
//!   each segment: 16 bytes, bit i = that column's value of the block's slot i
//! ```
//!
//! The data's length need not be a multiple of the blocks: the blocks before `upper_start_block` then have
//! one column less than the others. Neither number is stored; both follow from the length and the number of
//! blocks.

use super::banding::Banding;
use super::sizing::BLOCK;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// The widest result of a key.
const MAX_COLUMNS: u32 = 32;

/// Bytes of a segment.
pub(crate) const SEGMENT: u64 = 16;

/// The location of the columns of each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    blocks: u32,
    upper_columns: u32,
    upper_start_block: u32,
}

impl Layout {
    /// The layout of `blocks` blocks, at least one, over this many bytes. An incomplete segment is unused,
    /// and so are the bytes left over when every block has all 32 columns.
    pub(crate) fn new(blocks: u32, data_len: u64) -> Layout {
        let segments = data_len / SEGMENT;
        let columns = segments.div_ceil(blocks.into());
        if columns > MAX_COLUMNS.into() {
            return Layout { blocks, upper_columns: MAX_COLUMNS, upper_start_block: 0 };
        }
        let upper_start_block = columns * u64::from(blocks) - segments;
        Layout { blocks, upper_columns: columns as u32, upper_start_block: upper_start_block as u32 }
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    pub(crate) fn upper_columns(&self) -> u32 {
        self.upper_columns
    }

    /// Segments in use.
    pub(crate) fn segments(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.upper_columns) - u64::from(self.upper_start_block)
    }

    /// The number of possible starts of a key's window of 128 slots.
    pub(crate) fn starts(&self) -> u64 {
        u64::from(self.blocks) * u64::from(BLOCK) - u64::from(BLOCK) + 1
    }

    #[inline(always)]
    pub(crate) fn first_segment(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.upper_columns) - u64::from(block.min(self.upper_start_block))
    }

    #[inline(always)]
    pub(crate) fn columns(&self, block: u32) -> u32 {
        self.upper_columns - u32::from(block < self.upper_start_block)
    }

    /// Each column halves the rate.
    pub(crate) fn expected_fpr(&self) -> f64 {
        let lower = f64::from(BLOCK) * f64::from(self.upper_start_block) / self.starts() as f64;
        let upper_rate = 0.5f64.powi(self.upper_columns as i32);
        lower * (2.0 * upper_rate) + (1.0 - lower) * upper_rate
    }
}

/// Back substitution: fills `data` with the values of all slots, from the last block to the first.
///
/// The rows are triangular: a slot's equation involves the slot and later ones. The values of later slots are
/// in the state of each column, one bit for each of the 128 slots after this one.
pub(crate) fn solve(layout: &Layout, banding: &Banding, data: &mut [u8]) {
    let (segments, _) = data.as_chunks_mut::<{ SEGMENT as usize }>();
    let mut states = [0u128; MAX_COLUMNS as usize];
    for block in (0..layout.blocks).rev() {
        // Towards the front the number of columns never grows: the top one is dropped at `upper_start_block`.
        let states = &mut states[..layout.columns(block) as usize];
        for (coefficients, result) in banding.block(block).rev() {
            for (column, state) in states.iter_mut().enumerate() {
                let later = *state << 1;
                let value = parity(later & coefficients) ^ result >> column & 1;
                *state = later | u128::from(value);
            }
        }
        let first = layout.first_segment(block) as usize;
        for (segment, state) in segments[first..].iter_mut().zip(states) {
            *segment = state.to_le_bytes();
        }
    }
}

/// One if an odd number of bits is set, else zero.
#[inline(always)]
pub(crate) fn parity(bits: u128) -> u32 {
    (bits as u64 ^ (bits >> 64) as u64).count_ones() & 1
}
