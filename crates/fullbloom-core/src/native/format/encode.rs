//! Writing the file of a filter that was built for its keys: of kind fast or compact.

use super::*;
use crate::checksum::crc32c_append;
use crate::native::exceptions::Exceptions;
use crate::native::hashing::Hashing;
use crate::native::head::Head;
use crate::native::key_type;
use crate::native::shape::Shape;
use crate::typed::KeyField;
use crate::wire::{Output, Stop};
use alloc::vec;
use alloc::vec::Vec;

/// A filter ready to be written.
pub struct Encoder<'a> {
    pub head: &'a Head,
    /// The number of keys.
    pub keys: u64,
    /// The layout and its numbers.
    pub layout: [u8; 4],
    pub blocks: u64,
    pub byte_len: u64,
    /// Empty if they are stored elsewhere: then only the [`header`](Encoder::header) is available.
    pub bits: &'a [u8],
    /// The compact section.
    pub compact: Option<Vec<u8>>,
}

impl<'a> Encoder<'a> {
    /// A fast filter; `keys` is [`Shape::stored_keys`].
    pub fn fast(head: &'a Head, shape: &Shape, bits: &'a [u8], keys: u64) -> Self {
        let layout = shape.layout;
        let numbers = [layout.lines() as u8, layout.block_lines() as u8, layout.line_probes() as u8];
        Encoder {
            head,
            keys,
            layout: [LAYOUT_LINES, numbers[0], numbers[1], numbers[2]],
            blocks: shape.blocks,
            byte_len: shape.byte_len(),
            bits,
            compact: None,
        }
    }

    fn exceptions(&self) -> Option<&'a Exceptions> {
        self.head.exceptions.as_deref()
    }

    /// Length of the file.
    pub fn encoded_len(&self) -> u64 {
        let (record, described) = (self.filter_record(), self.exceptions().map(exceptions_section));
        let field = self.head.key_field.map(KeyField::to_bytes);
        let small = self.small_sections(&record, field.as_ref().map(|f| &f[..]), described.as_deref());
        // The checksums are not computed for it.
        let lengths = small.iter().map(|(.., bytes)| bytes.len() as u64).chain([sums_len(self.data_len())]);
        header_len(lengths, small.len() + 1 + self.data_sections().len(), self.byte_len) + self.data_len()
    }

    fn data_len(&self) -> u64 {
        self.data_sections().iter().map(|(_, len)| len).sum()
    }

    /// The kinds and lengths of the sections after the header.
    fn data_sections(&self) -> Vec<(u32, u64)> {
        let exceptions = self.exceptions().map(|exceptions| (kind::EXCEPTION_DATA, exceptions.byte_len()));
        [(kind::BITS, self.byte_len)].into_iter().chain(exceptions).collect()
    }

    /// The sections in the header, except the checksums: kind, flags and bytes.
    fn small_sections<'s>(
        &'s self,
        record: &'s [u8],
        key_field: Option<&'s [u8]>,
        described: Option<&'s [u8]>,
    ) -> Vec<(u32, u32, &'s [u8])> {
        let mut sections = vec![(kind::FILTER, REQUIRED, record)];
        if !self.head.label.is_empty() {
            sections.push((kind::LABEL, 0, self.head.label.as_bytes()));
        }
        if let Some(secret) = self.head.stored_secret() {
            sections.push((kind::SECRET, 0, secret));
        }
        sections.extend(key_field.map(|field| (kind::KEY_FIELD, 0, field)));
        sections.extend(described.map(|described| (kind::EXCEPTIONS, REQUIRED, described)));
        sections.extend(self.compact.as_deref().map(|compact| (kind::COMPACT, REQUIRED, compact)));
        sections
    }

    /// Writes the file.
    pub fn write_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        let list: Vec<u8> =
            self.exceptions().iter().flat_map(|e| e.list()).flat_map(|hash| hash.to_le_bytes()).collect();
        let level_bits = self.exceptions().map_or(&[][..], |e| e.lines().as_flattened());
        let data = [self.bits, level_bits, &list];
        let data_len: u64 = data.iter().map(|part| part.len() as u64).sum();
        out.write_all(&self.header(&checksums(&data, chunk_len(data_len) as usize)))?;
        data.iter().try_for_each(|part| out.write_all(part))
    }

    /// Everything before the data; `sums` are the checksums of the data.
    pub fn header(&self, sums: &[u8]) -> Vec<u8> {
        let (record, described) = (self.filter_record(), self.exceptions().map(exceptions_section));
        let field = self.head.key_field.map(KeyField::to_bytes);
        let mut small = self.small_sections(&record, field.as_ref().map(|f| &f[..]), described.as_deref());
        small.insert(1, (kind::SUMS, REQUIRED, sums));
        header(&small, &self.data_sections(), chunk_len(self.data_len()))
    }

    fn filter_record(&self) -> Vec<u8> {
        let Head { hashing, expected_keys, .. } = self.head;
        let (hash, seed) = match (self.head.locked, hashing) {
            (Some(check), _) => (HASH_SIPHASH13, check),
            (None, Hashing::Seed(seed)) => (HASH_FOLD64, *seed),
            (None, Hashing::Secret(secret)) => (HASH_SIPHASH13, secret.check()),
        };
        let flags = self.head.key_form.flags();
        let [layout, one, two, three] = self.layout;
        // All 64 bits are 0.
        let hash_bits = self.head.hash_bits as u8 % 64;
        let key_type = key_type::code(self.head.key_type);
        let mut section = vec![layout, hash, one, two, three, flags, key_type, hash_bits];
        for number in [self.blocks, seed, *expected_keys, self.keys] {
            section.extend_from_slice(&number.to_le_bytes());
        }
        section.resize(FILTER_LEN as usize, 0);
        section
    }
}

/// Data bytes per checksum: more in huge files, so that the checksums stay within a megabyte.
pub fn chunk_len(data_len: u64) -> u64 {
    (data_len >> 18).next_power_of_two().max(CHUNK_LEN.into())
}

/// Length of the file of a filter of this many bytes, with only the mandatory sections.
pub fn plain_len(bits: u64) -> u64 {
    header_len([FILTER_LEN, sums_len(bits)].into_iter(), 3, bits) + bits
}

/// Length of the checksums of this many bytes of data.
fn sums_len(data_len: u64) -> u64 {
    data_len.div_ceil(chunk_len(data_len)) * 4
}

fn exceptions_section(exceptions: &Exceptions) -> Vec<u8> {
    let mut section = Vec::new();
    section.extend_from_slice(&(exceptions.levels().len() as u64).to_le_bytes());
    section.extend_from_slice(&(exceptions.list().len() as u64).to_le_bytes());
    for level in exceptions.levels() {
        section.extend_from_slice(&level.shape.blocks.to_le_bytes());
        section.extend_from_slice(&u64::from(level.shape.layout.line_probes()).to_le_bytes());
    }
    section
}

/// The checksum of each chunk of the parts, one after the other.
pub fn checksums(parts: &[&[u8]], chunk_len: usize) -> Vec<u8> {
    let mut sums = Vec::new();
    let (mut sum, mut room) = (0, chunk_len);
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(room.min(rest.len()));
            sum = crc32c_append(sum, now);
            room -= now.len();
            if room == 0 {
                sums.extend_from_slice(&u32::to_le_bytes(sum));
                (sum, room) = (0, chunk_len);
            }
            rest = later;
        }
    }
    if room < chunk_len {
        sums.extend_from_slice(&sum.to_le_bytes());
    }
    sums
}
