//! The numbers of a compact filter: columns, layers, and where everything is in its array.
//!
//! ```text
//!   | lines of layer 0 | further columns of layer 0, pad | lines of layer 1 | further columns, pad | ... | list, pad |
//! ```
//!
//! All parts begin at multiples of 64 bytes.

use crate::probe::{MAX_LINES, Place, SLOTS};
use alloc::vec::Vec;
use fullbloom_core::error::{Quantity, SizeError};
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// Bytes of a line, and the unit of all positions in the array.
pub(crate) const LINE: u64 = 64;

/// The most layers: what is left then becomes the list, however long it is.
pub(crate) const MAX_LAYERS: usize = 20;

/// Up to this many keys are a list, not a layer.
pub(crate) const LISTED: u64 = 8;

/// The lowest and the highest rate of a compact filter.
pub(crate) const RATES: core::ops::RangeInclusive<f64> = 5.421_010_862_427_522e-20..=0.5;

/// The columns of a filter's lines: they determine the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Columns {
    /// Words of a column: 1, 2, 4 or 8. A line has `8 / words` columns.
    pub(crate) words: usize,
    /// Further columns of the first lines of a layer. Its other lines have one more.
    pub(crate) further: u32,
    /// The share of lines with fewer columns, from 0 to 1.
    pub(crate) share: f64,
}

impl Columns {
    /// The columns for a rate from 2^-64 to 0.5.
    pub(crate) fn for_fpr(fpr: f64) -> Result<Columns, SizeError> {
        if !RATES.contains(&fpr) {
            return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "2^-64 to 0.5" });
        }
        // The rate is a mean of 2^-fewer and half of it.
        let fewer = (-fpr.log2()).floor().clamp(1.0, 64.0);
        let share = (fpr * 2f64.powf(fewer + 1.0) - 1.0).clamp(0.0, 1.0);
        let in_line = match fewer as u32 {
            8.. => 8,
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        Ok(Columns { words: 8 / in_line as usize, further: fewer as u32 - in_line, share })
    }

    /// The lines of a layer for this many keys.
    ///
    /// A line of more slots is filled more evenly: the larger it is, the closer the number of keys is to the
    /// number of slots. More keys for a line make a filter smaller, and more of its keys are bumped: lines
    /// without further columns get fewer keys. A few lines, whose rest would be a layer of its own, get even
    /// fewer.
    pub(crate) fn lines_for(self, keys: u64) -> Result<u64, SizeError> {
        let slots = (SLOTS * self.words) as u64;
        let keys_per_slot = match (self.words, self.further) {
            (1, 0) => 1.12,
            (1, _) => 1.185,
            (2, _) => 1.07,
            _ => 1.05,
        };
        let lines = match keys {
            0 => 0,
            _ if keys <= slots - 5 => 1,
            _ if keys < 10 * slots => (keys as f64 / (0.89 * slots as f64)).ceil() as u64,
            _ => (keys as f64 / (keys_per_slot * slots as f64)).round() as u64,
        };
        if lines > MAX_LINES {
            let bit_len = lines.saturating_mul(LINE * 8);
            return Err(SizeError::TooLarge { bit_len, limit: MAX_LINES * LINE * 8 });
        }
        Ok(lines)
    }

    /// The share of the keys of a large layer that is bumped, as measured.
    fn moving(self) -> f64 {
        match (self.words, self.further) {
            (1, 0) => 0.142,
            (1, _) => 0.185,
            (2, _) => 0.091,
            (4, _) => 0.061,
            _ => 0.053,
        }
    }

    /// The keys of how many of this many lines, in 256ths of a line, are compared in fewer columns: never so
    /// many that the rate is above the requested one.
    pub(crate) fn split(self, lines: u64) -> u64 {
        let all = lines * PARTS;
        ((self.share * all as f64) as u64).min(all)
    }
}

/// One layer of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Its first line, counted from the start of the array.
    pub(crate) first: u64,
    pub(crate) lines: u64,
    /// Keys from this [position](Place::position) on are compared in one column more: in 256ths of a line.
    pub(crate) split: u64,
}

/// Positions of a line.
pub(crate) const PARTS: u64 = 256;

impl Layer {
    /// Whether all keys are compared in the same columns.
    pub(crate) fn is_even(&self) -> bool {
        self.split >= self.lines * PARTS
    }

    /// The first line with one column more.
    #[inline(always)]
    fn split_line(&self) -> u64 {
        self.split / PARTS
    }
}

/// The numbers of a whole filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) words: usize,
    pub(crate) further: u32,
    pub(crate) layers: Vec<Layer>,
    /// Hashes in the list.
    pub(crate) listed: u64,
}

impl Shape {
    /// A filter without keys.
    pub(crate) fn empty(columns: Columns) -> Shape {
        Shape { words: columns.words, further: columns.further, layers: Vec::new(), listed: 0 }
    }

    /// The shape that filters of this many random keys have on average.
    pub(crate) fn planned(columns: Columns, keys: u64) -> Result<Shape, SizeError> {
        let mut shape = Shape::empty(columns);
        let mut left = keys;
        while left > LISTED && shape.layers.len() < MAX_LAYERS {
            let lines = columns.lines_for(left)?;
            shape.push(lines, columns.split(lines));
            let slots = (SLOTS * columns.words) as u64;
            left = if left < 10 * slots { 0 } else { (left as f64 * columns.moving()) as u64 };
        }
        shape.listed = left.min(LISTED);
        Ok(shape)
    }

    /// Words of the further columns of the first `line` lines of a layer.
    #[inline(always)]
    pub(crate) fn further_words(&self, layer: &Layer, line: u64) -> u64 {
        (line * u64::from(self.further) + line.saturating_sub(layer.split_line())) * self.words as u64
    }

    /// The number of further columns of a line.
    #[inline(always)]
    pub(crate) fn further_of(&self, layer: &Layer, line: u64) -> u32 {
        self.further + u32::from(line >= layer.split_line())
    }

    /// The number of further columns that a key is compared in: of one line, some keys leave out the last
    /// column.
    #[inline(always)]
    pub(crate) fn further_for(&self, layer: &Layer, place: Place) -> u32 {
        self.further + u32::from(place.position() >= layer.split)
    }

    /// Where the further columns of a line begin, in bytes.
    #[inline(always)]
    pub(crate) fn further_at(&self, layer: &Layer, line: u64) -> u64 {
        (layer.first + layer.lines) * LINE + self.further_words(layer, line) * 8
    }

    /// The lines and further columns of a layer, in units of a line; saturated.
    pub(crate) fn layer_len(&self, lines: u64, split: u64) -> u64 {
        let columns =
            lines.saturating_mul(self.further.into()).saturating_add(lines.saturating_sub(split / PARTS));
        lines.saturating_add(columns.saturating_mul(self.words as u64).div_ceil(8))
    }

    /// Adds a layer. Its lines follow the layers so far.
    pub(crate) fn push(&mut self, lines: u64, split: u64) {
        let first = self.list_first();
        self.layers.push(Layer { first, lines, split });
    }

    /// Where the list begins, in units of a line; saturated.
    pub(crate) fn list_first(&self) -> u64 {
        self.layers.last().map_or(0, |last| last.first.saturating_add(self.layer_len(last.lines, last.split)))
    }

    /// Length of the array in bytes; saturated.
    pub(crate) fn byte_len(&self) -> u64 {
        let list = self.listed.div_ceil(LINE / 8);
        self.list_first().saturating_add(list).saturating_mul(LINE)
    }

    /// The probability that a line reports an absent key present: the mean over the lines of the first layer.
    pub(crate) fn planned_fpr(&self) -> f64 {
        let Some(layer) = self.layers.first() else { return 0.0 };
        let share = layer.split as f64 / (layer.lines.max(1) * PARTS) as f64;
        let fewer = 8 / self.words as i32 + self.further as i32;
        2f64.powi(-fewer) * (share + (1.0 - share) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fewer(columns: Columns) -> u32 {
        8 / columns.words as u32 + columns.further
    }

    #[test]
    fn the_rate_is_the_requested_one_or_a_little_below() {
        let mut fpr = *RATES.end();
        while RATES.contains(&fpr) {
            let columns = Columns::for_fpr(fpr).unwrap();
            assert!(matches!(fewer(columns), 1..=64) && (0.0..=1.0).contains(&columns.share));
            for lines in [1, 2, 3, 10, 1000, 1 << 30] {
                let mut shape = Shape::empty(columns);
                shape.push(lines, columns.split(lines));
                let planned = shape.planned_fpr();
                assert!(planned <= fpr * 1.000_001, "{fpr}: {planned}");
                assert!(planned > fpr * 0.996, "{fpr}: {planned}");
            }
            fpr *= 0.97;
        }
        for fpr in [0.0, 1.0, 0.6, -1.0, 1e-20, f64::NAN, f64::INFINITY] {
            assert!(Columns::for_fpr(fpr).is_err(), "{fpr}");
        }
        assert_eq!(fewer(Columns::for_fpr(*RATES.start()).unwrap()), 64);
    }

    #[test]
    fn a_layer_has_as_many_words_as_its_lines_have_further_columns() {
        let shape = Shape { words: 2, further: 3, layers: Vec::new(), listed: 0 };
        let layer = Layer { first: 7, lines: 10, split: 4 * PARTS + 17 };
        let mut words = 0;
        for line in 0..10 {
            assert_eq!(shape.further_words(&layer, line), words);
            assert_eq!(shape.further_at(&layer, line), 17 * 64 + words * 8);
            words += u64::from(shape.further_of(&layer, line)) * 2;
        }
        assert_eq!(shape.further_words(&layer, 10), words);
        assert_eq!(shape.layer_len(10, 4 * PARTS + 17), 10 + words.div_ceil(8));
        let columns = |position: u64| shape.further_for(&layer, Place::new(position << 24, 1 << 32));
        let split = 4 * PARTS + 17;
        assert_eq!([0, split - 1, split, 10 * PARTS].map(columns), [3, 3, 4, 4]);
    }
}
