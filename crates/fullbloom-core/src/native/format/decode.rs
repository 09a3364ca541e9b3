//! Decoding a `.bloom` file: no field is trusted before it has been checked against the file.

use super::*;
use crate::checksum::crc32c;
use crate::error::DecodeError;
use crate::native::exceptions::{Exceptions, MAX_LEVELS};
use crate::native::hashing::{Hashing, Secret};
use crate::native::head::{Head, MAX_LABEL};
use crate::native::key_type;
use crate::native::shape::Shape;
use crate::sizing::Layout;
use crate::typed::{KeyField, KeyForm};
use crate::wire::Cursor;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// The sections of a file whose header is undamaged. Its layout says of which kind the filter is; the kind
/// reads the rest.
#[derive(Debug)]
pub struct Decoded {
    pub layout: u8,
    pub table: Table,
    /// The filter section.
    pub filter: Section,
    pub bits: Section,
    data: Range<usize>,
    chunk_len: usize,
    sums: Range<usize>,
}

/// A section, as listed in the table.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub at: u64,
    pub len: u64,
}

impl Section {
    /// Inside the file, as checked with the table; so it fits in a `usize`.
    pub fn range(self) -> Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }

    /// The section as a sequence of fields; offsets in errors are offsets in the file.
    pub fn cursor(self, bytes: &[u8]) -> Cursor<'_> {
        Cursor::at_offset(&bytes[..self.range().end], self.at as usize)
    }
}

/// The known sections.
#[derive(Debug, Default)]
pub struct Table([Option<Section>; kind::KEY_FIELD as usize + 1]);

impl Table {
    pub fn required(&self, kind: u32, field: &'static str) -> Result<Section, DecodeError> {
        self.0[kind as usize].ok_or(DecodeError::Truncated { field, at: FIXED_LEN, need: ENTRY_LEN, have: 0 })
    }

    pub fn optional(&self, kind: u32) -> Option<Section> {
        self.0[kind as usize]
    }
}

/// Reads and checks the header.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    cursor.magic("magic", MAGIC)?;
    let checksum = cursor.u32_le("header checksum")?;
    let at = cursor.at();
    let version = cursor.u16_le("version")?;
    if version != VERSION {
        return Err(DecodeError::Newer { field: "version", at, got: version.into() });
    }
    let count = cursor.u16_le("sections")?;
    let header_len = u64::from(cursor.u32_le("header length")?);
    let least = FIXED_LEN + ENTRY_LEN * u64::from(count);
    if header_len % ALIGN != 0 || header_len < least || header_len > bytes.len() as u64 {
        let allowed = "a multiple of 64, at least the section table, at most the file";
        return Err(DecodeError::Value { field: "header length", at: 16, got: header_len.into(), allowed });
    }
    // From here on the header is known to be undamaged.
    if crc32c(&bytes[CHECKED_FROM..header_len as usize]) != checksum {
        let len = header_len - CHECKED_FROM as u64;
        return Err(DecodeError::Checksum { field: "header", at: CHECKED_FROM as u64, len });
    }
    let chunk_len = cursor.u32_le("chunk length")?;
    if !(chunk_len.is_power_of_two() && chunk_len >= 64) {
        let allowed = "a power of two from 64 on";
        return Err(DecodeError::Value { field: "chunk length", at: 20, got: chunk_len.into(), allowed });
    }
    let file_len = cursor.u64_le("file length")?;
    let have = bytes.len() as u64;
    if file_len > have {
        return Err(DecodeError::Truncated { field: "file", at: 0, need: file_len, have });
    }
    if file_len < have {
        return Err(DecodeError::Trailing { at: file_len, extra: have - file_len });
    }
    let at = cursor.at();
    let required = cursor.u64_le("required features")?;
    if required != 0 {
        return Err(DecodeError::Newer { field: "required features", at, got: required });
    }
    let table = read_table(bytes, count, header_len)?;

    let data = header_len as usize..bytes.len();
    let sums = table.required(kind::SUMS, "checksums")?;
    let expected = (data.len() as u64).div_ceil(chunk_len.into()) * 4;
    if sums.len != expected {
        return Err(DecodeError::Mismatch {
            field: "checksums' length",
            at: sums.at,
            got: sums.len,
            expected,
        });
    }
    let bits = table.required(kind::BITS, "bits")?;
    let filter = table.required(kind::FILTER, "filter")?;
    let layout = read_layout(&table, filter, bytes)?;
    let (chunk_len, sums) = (chunk_len as usize, sums.range());
    Ok(Decoded { layout, table, filter, bits, data, chunk_len, sums })
}

/// The layout in the filter section, which has only the sections that belong to it.
fn read_layout(table: &Table, filter: Section, bytes: &[u8]) -> Result<u8, DecodeError> {
    let at = filter.at;
    let layout = filter.cursor(bytes).u8("layout")?;
    if layout < LAYOUT_LINES {
        let allowed = "2: the file was written by a development version";
        return Err(DecodeError::Value { field: "layout", at, got: layout.into(), allowed });
    }
    if layout > LAYOUT_DYNAMIC {
        return Err(DecodeError::Newer { field: "layout", at, got: layout.into() });
    }
    let belongs = [
        (kind::COMPACT, layout == LAYOUT_COMPACT, "only with the layout 3"),
        (kind::DYNAMIC, layout == LAYOUT_DYNAMIC, "only with the layout 4"),
        (kind::EXCEPTIONS, layout != LAYOUT_DYNAMIC, "not with the layout 4"),
    ];
    for (kind, belongs, allowed) in belongs {
        if let Some(section) = table.optional(kind).filter(|_| !belongs) {
            let (field, at) = ("section kind", section.at);
            return Err(DecodeError::Value { field, at, got: kind.into(), allowed });
        }
    }
    Ok(layout)
}

/// Reads the label, the field of the keys, and the secret if it is in the file. Returns the check value of the
/// right secret if it is not.
fn read_owner(
    head: &mut Head,
    check: Option<u64>,
    table: &Table,
    bytes: &[u8],
) -> Result<Option<u64>, DecodeError> {
    if let Some(label) = table.optional(kind::LABEL) {
        head.label = read_label(label, bytes)?;
    }
    if let Some(section) = table.optional(kind::KEY_FIELD) {
        head.key_field = Some(read_key_field(section, bytes)?);
    }
    read_secret(head, check, table.optional(kind::SECRET), bytes)
}

/// Sections are in file order and do not overlap; data sections begin at multiples of a line.
fn read_table(bytes: &[u8], count: u16, header_len: u64) -> Result<Table, DecodeError> {
    if count > MAX_SECTIONS {
        return Err(DecodeError::Value {
            field: "sections",
            at: 14,
            got: count.into(),
            allowed: "at most 64",
        });
    }
    let mut cursor = Cursor::at_offset(bytes, FIXED_LEN as usize);
    let mut table = Table::default();
    let mut free = FIXED_LEN + ENTRY_LEN * u64::from(count);
    for _ in 0..count {
        let entry = cursor.at();
        let kind = cursor.u32_le("section kind")?;
        let flags = cursor.u32_le("section flags")?;
        let at = cursor.u64_le("section offset")?;
        let len = cursor.u64_le("section length")?;
        cursor.u64_le("section reserve")?;
        let allowed = "after the previous section, inside the file";
        if at < free || at > bytes.len() as u64 || len > bytes.len() as u64 - at {
            return Err(DecodeError::Value {
                field: "section offset",
                at: entry + 8,
                got: at.into(),
                allowed,
            });
        }
        free = at + len;
        let is_data = matches!(kind, kind::BITS | kind::EXCEPTION_DATA);
        match table.0.get_mut(kind as usize).filter(|_| kind::KNOWN.contains(&kind)) {
            Some(slot) => {
                let well_placed =
                    if is_data { at >= header_len && at % ALIGN == 0 } else { free <= header_len };
                if slot.is_some() || !well_placed {
                    let allowed = "one section of each kind; bits after the header at a multiple of 64, others inside it";
                    return Err(DecodeError::Value {
                        field: "section kind",
                        at: entry,
                        got: kind.into(),
                        allowed,
                    });
                }
                *slot = Some(Section { at, len });
            }
            None if flags & REQUIRED != 0 && kind < kind::DYNAMIC => {
                let allowed = "a section that is still in use: the file was written by a development version";
                return Err(DecodeError::Value {
                    field: "section kind",
                    at: entry,
                    got: kind.into(),
                    allowed,
                });
            }
            None if flags & REQUIRED != 0 => {
                return Err(DecodeError::Newer { field: "section kind", at: entry, got: kind.into() });
            }
            None => {}
        }
    }
    Ok(table)
}

/// The numbers of a filter section that depend on its layout.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub numbers: [u8; 3],
    pub blocks: u64,
}

/// The shape of a filter that sets bits.
fn read_shape(record: &Record, section: Section, bytes: &[u8]) -> Result<Shape, DecodeError> {
    let Record { numbers: [lines, block_lines, line_probes], blocks } = *record;
    let at = section.at;
    let Some(layout) = Layout::new(lines.into(), block_lines.into(), line_probes.into()) else {
        let got = i128::from(u32::from_be_bytes([0, lines, block_lines, line_probes]));
        let allowed = "1, 2 or 4 lines; blocks of a power of two up to 64 lines; 1 to 8 probes";
        return Err(DecodeError::Value { field: "layout's numbers", at: at + 2, got, allowed });
    };
    // The bits are in the file, so a size that does not fit there is wrong. After this check nothing below
    // can overflow.
    if blocks == 0 || blocks > bytes.len() as u64 {
        let allowed = "at least one, and all of them in the file";
        return Err(DecodeError::Value { field: "blocks", at: at + 8, got: blocks.into(), allowed });
    }
    Ok(Shape::new(layout, blocks))
}

/// The filter section of the layouts 2 and 3.
fn read_record(section: Section, bytes: &[u8]) -> Result<(Head, Record, Option<u64>), DecodeError> {
    let mut cursor = section.cursor(bytes);
    let at = section.at;
    cursor.u8("layout")?;
    let hash = cursor.u8("hash")?;
    let numbers = [cursor.u8("lines")?, cursor.u8("lines in a block")?, cursor.u8("probes in a line")?];
    let flags = cursor.u8("flags")?;
    if flags & !KeyForm::FLAGS != 0 {
        return Err(DecodeError::Newer { field: "flags", at: at + 5, got: flags.into() });
    }
    let code = cursor.u8("key type")?;
    let Some(key_type) = key_type::from_code(code) else {
        return Err(DecodeError::Newer { field: "key type", at: at + 6, got: code.into() });
    };
    let hash_bits = match cursor.u8("bits of the hash")? {
        0 => 64,
        bits @ 10..=63 => u32::from(bits),
        got => {
            let (field, at, allowed) = ("bits of the hash", at + 7, "10 to 63, or 0 for all 64");
            return Err(DecodeError::Value { field, at, got: got.into(), allowed });
        }
    };
    let blocks = cursor.u64_le("blocks")?;
    let seed = cursor.u64_le("seed")?;
    let expected_keys = cursor.u64_le("expected keys")?;
    let keys = cursor.u64_le("keys")?;
    let (hashing, check) = match hash {
        HASH_FOLD64 => (Hashing::Seed(seed), None),
        HASH_SIPHASH13 => (Hashing::Seed(0), Some(seed)),
        _ => return Err(DecodeError::Newer { field: "hash", at: at + 1, got: hash.into() }),
    };
    let head = Head {
        keys,
        key_type,
        key_form: KeyForm::from_flags(flags),
        hash_bits,
        ..Head::new(hashing, expected_keys)
    };
    Ok((head, Record { numbers, blocks }, check))
}

fn read_label(section: Section, bytes: &[u8]) -> Result<String, DecodeError> {
    let text = &bytes[section.range()];
    let label = core::str::from_utf8(text).ok().filter(|label| label.len() <= MAX_LABEL);
    let refused = DecodeError::Value {
        field: "label",
        at: section.at,
        got: section.len.into(),
        allowed: "at most 65535 bytes of UTF-8",
    };
    label.map(str::to_owned).ok_or(refused)
}

fn read_key_field(section: Section, bytes: &[u8]) -> Result<KeyField, DecodeError> {
    let (at, got) = (section.at, section.len.into());
    let refused = DecodeError::Value { field: "key field", at, got, allowed: KeyField::ALLOWED };
    KeyField::from_bytes(&bytes[section.range()]).ok_or(refused)
}

/// Puts the secret into the header if it is in the file; otherwise returns the check value of the right
/// secret.
fn read_secret(
    head: &mut Head,
    check: Option<u64>,
    stored: Option<Section>,
    bytes: &[u8],
) -> Result<Option<u64>, DecodeError> {
    let (Some(check), Some(section)) = (check, stored) else { return Ok(check) };
    let Ok(secret) = <[u8; 16]>::try_from(&bytes[section.range()]) else {
        let (at, got) = (section.at, section.len.into());
        return Err(DecodeError::Value { field: "secret's length", at, got, allowed: "16" });
    };
    let secret = Secret::new(secret);
    if secret.check() != check {
        let (at, got) = (section.at, secret.check());
        return Err(DecodeError::Mismatch { field: "secret's check value", at, got, expected: check });
    }
    head.hashing = Hashing::Secret(secret);
    head.store_secret = true;
    Ok(None)
}

fn read_exceptions(table: &Table, bytes: &[u8]) -> Result<Option<Exceptions>, DecodeError> {
    let Some(section) = table.optional(kind::EXCEPTIONS) else { return Ok(None) };
    let data = table.required(kind::EXCEPTION_DATA, "exceptions' data")?;
    let mut cursor = section.cursor(bytes);
    let levels = cursor.u64_le("levels")?;
    if levels > MAX_LEVELS as u64 {
        let (at, got) = (section.at, levels.into());
        return Err(DecodeError::Value { field: "levels", at, got, allowed: "at most 64" });
    }
    let listed = cursor.u64_le("listed")?;
    let (mut shapes, mut lines) = (Vec::new(), 0u64);
    for _ in 0..levels {
        let at = cursor.at();
        let blocks = cursor.u64_le("level's blocks")?;
        let probes = cursor.u64_le("level's probes")?;
        let layout = u32::try_from(probes).ok().and_then(|probes| Layout::new(1, 1, probes));
        let Some(layout) = layout.filter(|_| (1..=data.len / ALIGN).contains(&blocks)) else {
            let allowed = "blocks that are in the file, 1 to 8 probes";
            return Err(DecodeError::Value { field: "level", at, got: blocks.into(), allowed });
        };
        lines += blocks; // at most 64 times the bytes in the file
        shapes.push(Shape::new(layout, blocks));
    }
    let list_len = data.len.checked_sub(lines * ALIGN);
    if list_len != listed.checked_mul(8) || list_len.is_none() {
        let (at, got) = (section.at + 8, listed);
        let expected = list_len.unwrap_or(0) / 8;
        return Err(DecodeError::Mismatch { field: "listed", at, got, expected });
    }
    let middle = (data.at + lines * ALIGN) as usize;
    let Range { start, end } = data.range();
    let list = bytes[middle..end].as_chunks::<8>().0;
    let hash = |i: usize| u64::from_le_bytes(list[i]);
    if let Some(i) = (1..list.len()).find(|&i| hash(i - 1) >= hash(i)) {
        let (at, got) = ((middle + 8 * i) as u64, hash(i).into());
        return Err(DecodeError::Value { field: "listed hash", at, got, allowed: "ascending hashes" });
    }
    let lines = bytes[start..middle].as_chunks().0.to_vec();
    let list = list.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
    Ok(Some(Exceptions::from_parts(shapes, lines, list)))
}

impl Decoded {
    /// Fails unless the filter has this layout.
    pub fn require(&self, layout: u8) -> Result<(), DecodeError> {
        let name = |layout| match layout {
            LAYOUT_LINES => "fast",
            LAYOUT_COMPACT => "compact",
            _ => "dynamic",
        };
        if self.layout == layout {
            return Ok(());
        }
        Err(DecodeError::Kind { found: name(self.layout), wanted: name(layout) })
    }

    /// The header and the shape of a fast filter.
    pub fn fast(&self, bytes: &[u8]) -> Result<(Head, Shape, u64), DecodeError> {
        self.require(LAYOUT_LINES)?;
        let (head, record, check) = self.record(bytes)?;
        let (keys, head) = (head.keys, Head { keys: 0, ..head });
        let shape = read_shape(&record, self.filter, bytes)?;
        if shape.byte_len() != self.bits.len {
            let (field, at, got) = ("bits' length", self.bits.at, self.bits.len);
            return Err(DecodeError::Mismatch { field, at, got, expected: shape.byte_len() });
        }
        Ok((self.complete(head, check, bytes)?, shape, keys))
    }

    /// The filter section of a fast or compact filter, and the check value of its secret if it is keyed.
    pub fn record(&self, bytes: &[u8]) -> Result<(Head, Record, Option<u64>), DecodeError> {
        read_record(self.filter, bytes)
    }

    /// The header with what other sections hold: label, key field, secret, exceptions.
    pub fn complete(&self, mut head: Head, check: Option<u64>, bytes: &[u8]) -> Result<Head, DecodeError> {
        head.locked = read_owner(&mut head, check, &self.table, bytes)?;
        head.exceptions = read_exceptions(&self.table, bytes)?.map(Arc::new);
        Ok(head)
    }

    /// The range of the data, the length of its chunks, and the range of their checksums.
    pub fn chunks(&self) -> (Range<usize>, usize, Range<usize>) {
        (self.data.clone(), self.chunk_len, self.sums.clone())
    }

    /// Compares the data with its checksums. Reads the whole file.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), DecodeError> {
        let chunks = bytes[self.data.clone()].chunks(self.chunk_len);
        let sums = bytes[self.sums.clone()].as_chunks().0;
        for (i, (chunk, sum)) in chunks.zip(sums).enumerate() {
            if crc32c(chunk) != u32::from_le_bytes(*sum) {
                let at = (self.data.start + i * self.chunk_len) as u64;
                return Err(DecodeError::Checksum { field: "data", at, len: chunk.len() as u64 });
            }
        }
        Ok(())
    }
}
