//! The facts of a compact filter in its file.

use crate::probe::MAX_LINES;
use crate::shape::{MAX_LAYERS, PARTS, Shape};
use alloc::vec::Vec;
use fullbloom_core::error::DecodeError;
use fullbloom_core::native::format::{ALIGN, Decoded, Encoder, LAYOUT_COMPACT, kind};
use fullbloom_core::native::head::Head;

/// Length of the compact section before its layers, and of each layer.
const COMPACT_LEN: u64 = 8;
const LAYER_LEN: u64 = 16;

/// The header and the shape of a compact filter. The length of the array follows from the numbers of the
/// compact section.
pub(crate) fn decode(decoded: &Decoded, bytes: &[u8]) -> Result<(Head, Shape), DecodeError> {
    decoded.require(LAYOUT_COMPACT)?;
    let (head, file_record, check) = decoded.record(bytes)?;
    let (record, bits) = (decoded.filter, decoded.bits);
    if file_record.blocks != bits.len / ALIGN {
        let (field, at, expected) = ("blocks", record.at + 8, bits.len / ALIGN);
        return Err(DecodeError::Mismatch { field, at, got: file_record.blocks, expected });
    }
    let [words, further, reserve] = file_record.numbers;
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
    let section = decoded.table.required(kind::COMPACT, "compact")?;
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
        if split > lines * PARTS || most > 64 || (uneven && (u32::from(further) + 1) * u32::from(words) > 56)
        {
            let (field, allowed) =
                ("split", "at most 256 times the lines; exactly that, if there can be no more columns");
            return Err(DecodeError::Value { field, at, got: split.into(), allowed });
        }
        shape.push(lines, split);
    }
    let expected = shape.byte_len();
    if bits.len != expected {
        return Err(DecodeError::Mismatch { field: "bits' length", at: bits.at, got: bits.len, expected });
    }
    Ok((decoded.complete(head, check, bytes)?, shape))
}

/// A filter ready to be written.
pub(crate) fn encoder<'a>(head: &'a Head, shape: &Shape, bits: &'a [u8]) -> Encoder<'a> {
    let byte_len = shape.byte_len();
    Encoder {
        head,
        keys: head.keys,
        layout: [LAYOUT_COMPACT, shape.words as u8, shape.further as u8, 0],
        blocks: byte_len / ALIGN,
        byte_len,
        bits,
        compact: Some(section(shape)),
    }
}

/// The section of a filter.
pub(crate) fn section(shape: &Shape) -> Vec<u8> {
    let layers = shape.layers.iter().flat_map(|layer| [layer.lines, layer.split]);
    core::iter::once(shape.listed).chain(layers).flat_map(u64::to_le_bytes).collect()
}
