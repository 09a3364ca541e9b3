//! The facts of a compact filter in its file.

use super::decode::{Section, Table};
use super::*;
use crate::error::DecodeError;
use crate::native::compact::{Compact, MAX_LAYERS, PARTS, Shape};
use crate::native::dialect::Head;
use crate::native::exceptions::Exceptions;
use crate::probe::systems::MAX_LINES;
use alloc::vec::Vec;

/// A compact filter without its array.
#[derive(Debug)]
pub(in crate::native) struct DecodedCompact {
    pub(super) head: Head,
    shape: Shape,
}

impl DecodedCompact {
    /// The filter without its array.
    pub(in crate::native) fn assemble(self, exceptions: Option<Exceptions>, locked: Option<u64>) -> Compact {
        let mut compact = Compact::from_parts(self.shape, self.head).closed(exceptions);
        compact.locked = locked;
        compact
    }

    /// The array, whose length follows from the numbers of the compact section.
    pub(super) fn read(
        head: Head,
        [words, further, reserve]: [u8; 3],
        record: Section,
        table: &Table,
        bits: Section,
        bytes: &[u8],
    ) -> Result<DecodedCompact, DecodeError> {
        let in_line = match words {
            1 | 2 | 4 | 8 => 8 / words,
            _ => {
                let (field, at, allowed) = ("words of a column", record.at + 2, "1, 2, 4 or 8");
                return Err(DecodeError::Value { field, at, got: words.into(), allowed });
            }
        };
        // A key has 64 bits of fingerprint: eight for the columns of the line, one of `words` each for the
        // others.
        if u32::from(further) * u32::from(words) > 56 || u32::from(in_line) + u32::from(further) > 64 {
            let (field, at, allowed) = ("further columns", record.at + 3, "at most 56 words of them");
            return Err(DecodeError::Value { field, at, got: further.into(), allowed });
        }
        if reserve != 0 {
            return Err(DecodeError::Newer { field: "layout", at: record.at + 4, got: reserve.into() });
        }
        let section = table.required(kind::COMPACT, "compact")?;
        let layers = section.len.saturating_sub(COMPACT_LEN) / LAYER_LEN;
        if section.len != COMPACT_LEN + layers * LAYER_LEN || layers > MAX_LAYERS as u64 {
            let (field, at, allowed) =
                ("compact section's length", section.at, "8, and 16 for each of at most 20 layers");
            return Err(DecodeError::Value { field, at, got: section.len.into(), allowed });
        }
        let mut cursor = section.cursor(bytes);
        let listed = cursor.u64_le("listed hashes")?;
        let mut shape = Shape { words: words.into(), further: further.into(), layers: Vec::new(), listed };
        for _ in 0..layers {
            let at = cursor.at();
            let lines = cursor.u64_le("lines of a layer")?;
            if lines == 0 || lines > MAX_LINES {
                let (field, allowed) = ("lines of a layer", "1 to 4294967295");
                return Err(DecodeError::Value { field, at, got: lines.into(), allowed });
            }
            let at = cursor.at();
            let split = cursor.u64_le("split")?;
            let uneven = split < lines * PARTS;
            let most = u32::from(in_line) + u32::from(further) + u32::from(uneven);
            if split > lines * PARTS
                || most > 64
                || (uneven && (u32::from(further) + 1) * u32::from(words) > 56)
            {
                let (field, allowed) =
                    ("split", "at most 256 times the lines; exactly that, if there can be no more columns");
                return Err(DecodeError::Value { field, at, got: split.into(), allowed });
            }
            shape.push(lines, split);
        }
        let expected = shape.byte_len();
        if bits.len != expected {
            return Err(DecodeError::Mismatch {
                field: "bits' length",
                at: bits.at,
                got: bits.len,
                expected,
            });
        }
        Ok(DecodedCompact { head, shape })
    }
}

/// The section of a filter.
pub(super) fn section(shape: &Shape) -> Vec<u8> {
    let layers = shape.layers.iter().flat_map(|layer| [layer.lines, layer.split]);
    core::iter::once(shape.listed).chain(layers).flat_map(u64::to_le_bytes).collect()
}
