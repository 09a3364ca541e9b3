//! Writing a `.bloom` file.

use super::*;
use crate::checksum::{crc32c, crc32c_append};
use crate::native::dialect::{Head, Native};
use crate::native::exceptions::Exceptions;
use crate::native::growing::Growth;
use crate::native::hashing::Hashing;
use crate::native::key_type;
use crate::native::shape::Shape;
use crate::native::{GrowingFilter, Keep, NativeFilter, RemovingFilter, RotatingFilter, Rotation};
use crate::wire::{Output, Stop};
use alloc::vec;
use alloc::vec::Vec;

/// A filter ready to be written.
pub(in crate::native) struct Encoder<'a> {
    /// One filter, or the links of all generations.
    parts: Vec<Part<'a>>,
    kind: Kind<'a>,
    exceptions: Option<&'a Exceptions>,
    /// The check value of the secret of a locked filter, which can be copied without the secret.
    locked: Option<u64>,
}

/// One filter and its bits.
struct Part<'a> {
    head: &'a Head,
    shape: &'a Shape,
    bits: &'a [u8],
}

impl<'a> Part<'a> {
    fn new(native: &'a Native, bits: &'a [u8]) -> Self {
        Part { head: &native.head, shape: &native.shape, bits }
    }
}

/// The parts specific to the kind.
enum Kind<'a> {
    Fast,
    Growing(Growth),
    Rotating(Growth, Vec<u8>),
    Removing(&'a [u8]),
}

/// A section and its location; its bytes only if it is in the front.
pub(super) struct Section<'a> {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> Section<'a> {
    fn in_front(kind: u32, flags: u32, bytes: &'a [u8]) -> Self {
        Section { kind, flags, at: 0, len: bytes.len() as u64, bytes }
    }

    fn of_data(kind: u32, at: u64, len: u64) -> Self {
        Section { kind, flags: REQUIRED, at, len, bytes: &[] }
    }
}

impl<'a> Encoder<'a> {
    fn new<S: AsRef<[u8]> + 'a>(filters: impl Iterator<Item = &'a NativeFilter<S>>, kind: Kind<'a>) -> Self {
        let part = |filter: &'a NativeFilter<S>| Part::new(&filter.dialect, filter.bits.as_ref());
        Encoder { parts: filters.map(part).collect(), kind, exceptions: None, locked: None }
    }

    pub(in crate::native) fn fast(native: &'a Native, bits: &'a [u8]) -> Self {
        let (exceptions, locked) = (native.exceptions.as_deref(), native.locked);
        Encoder { parts: vec![Part::new(native, bits)], kind: Kind::Fast, exceptions, locked }
    }

    pub(in crate::native) fn growing<S: AsRef<[u8]>>(filter: &'a GrowingFilter<S>) -> Self {
        let kind = Kind::Growing(filter.growth);
        Encoder { locked: filter.locked, ..Encoder::new(filter.links.iter(), kind) }
    }

    pub(in crate::native) fn removing<S: AsRef<[u8]>>(filter: &'a RemovingFilter<S>) -> Self {
        let kind = Kind::Removing(filter.counters.as_ref());
        Encoder { locked: filter.locked, ..Encoder::new(core::iter::once(&filter.filter), kind) }
    }

    pub(in crate::native) fn rotating<S: AsRef<[u8]>>(filter: &'a RotatingFilter<S>) -> Self {
        let kind = Kind::Rotating(filter.growth, rotating_section(filter));
        let links = filter.generations.iter().flat_map(|one| &one.filter.links);
        Encoder { locked: filter.generations[0].filter.locked, ..Encoder::new(links, kind) }
    }

    /// The filter without its bits, which are stored elsewhere: only its [`front`](Encoder::front) is
    /// available.
    pub(in crate::native) fn of_front(head: &'a Head, shape: &'a Shape) -> Self {
        let parts = vec![Part { head, shape, bits: &[] }];
        Encoder { parts, kind: Kind::Fast, exceptions: None, locked: None }
    }

    fn head(&self) -> &'a Head {
        self.parts[0].head
    }

    fn bits_len(&self) -> u64 {
        self.parts.iter().map(|part| part.shape.byte_len()).sum()
    }

    fn counters(&self) -> &'a [u8] {
        match self.kind {
            Kind::Removing(counters) => counters,
            _ => &[],
        }
    }

    /// Length of the file.
    pub(in crate::native) fn encoded_len(&self) -> u64 {
        self.front_len() + self.data_len()
    }

    fn data_len(&self) -> u64 {
        let exceptions = self.exceptions.map_or(0, Exceptions::byte_len);
        self.bits_len() + exceptions + self.counters().len() as u64
    }

    /// The offset of the data.
    fn front_len(&self) -> u64 {
        let mut entries = 0;
        let mut small = FILTER_LEN * (self.parts.len() as u64 - 1);
        if !self.head().label.is_empty() {
            entries += 1;
            small += (self.head().label.len() as u64).next_multiple_of(8);
        }
        if self.stored_secret().is_some() {
            entries += 1;
            small += 16;
        }
        if let Some(exceptions) = self.exceptions {
            entries += 2;
            small += EXCEPTIONS_LEN + LEVEL_LEN * exceptions.levels().len() as u64;
        }
        match &self.kind {
            Kind::Fast => {}
            Kind::Removing(_) => entries += 1,
            Kind::Growing(_) => {
                entries += 1;
                small += GROWING_LEN;
            }
            Kind::Rotating(_, section) => {
                entries += 2;
                small += GROWING_LEN + section.len() as u64;
            }
        }
        front_len(self.bits_len(), self.data_len(), entries, small)
    }

    /// Whether the file contains the secret of the hash.
    pub(in crate::native) fn stores_secret(&self) -> bool {
        self.stored_secret().is_some()
    }

    fn stored_secret(&self) -> Option<&'a [u8; 16]> {
        match &self.head().hashing {
            Hashing::Secret(secret) if self.head().store_secret && self.locked.is_none() => {
                Some(secret.as_bytes())
            }
            _ => None,
        }
    }

    /// Writes the file.
    pub(in crate::native) fn write_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        let list: Vec<u8> =
            self.exceptions.iter().flat_map(|e| e.list()).flat_map(|hash| hash.to_le_bytes()).collect();
        let level_bits = self.exceptions.map_or(&[][..], |e| e.lines().as_flattened());
        let mut data: Vec<&[u8]> = self.parts.iter().map(|part| part.bits).collect();
        data.extend([self.counters(), level_bits, &list]);
        let data_len: u64 = data.iter().map(|part| part.len() as u64).sum();
        out.write_all(&self.front(&checksums(&data, chunk_len(data_len) as usize)))?;
        data.iter().try_for_each(|part| out.write_all(part))
    }

    /// Everything before the data; `sums` are the checksums of the data.
    pub(in crate::native) fn front(&self, sums: &[u8]) -> Vec<u8> {
        let (front_len, data_len, bits_len) = (self.front_len(), self.data_len(), self.bits_len());
        let records: Vec<u8> = self.parts.iter().flat_map(|part| self.filter_record(part)).collect();
        let described = self.exceptions.map(exceptions_section);
        let growth = match &self.kind {
            Kind::Growing(growth) | Kind::Rotating(growth, _) => growing_section(growth),
            _ => Vec::new(),
        };
        let mut sections = vec![
            Section::in_front(kind::FILTER, REQUIRED, &records),
            Section::in_front(kind::SUMS, REQUIRED, sums),
        ];
        if !self.head().label.is_empty() {
            sections.push(Section::in_front(kind::LABEL, 0, self.head().label.as_bytes()));
        }
        if let Some(secret) = self.stored_secret() {
            sections.push(Section::in_front(kind::SECRET, 0, secret));
        }
        if let Some(described) = &described {
            sections.push(Section::in_front(kind::EXCEPTIONS, REQUIRED, described));
        }
        if !growth.is_empty() {
            sections.push(Section::in_front(kind::GROWING, REQUIRED, &growth));
        }
        if let Kind::Rotating(_, rotation) = &self.kind {
            sections.push(Section::in_front(kind::ROTATING, REQUIRED, rotation));
        }
        let of_data = 1 + u64::from(described.is_some()) + u64::from(!self.counters().is_empty());
        let mut at = HEADER_LEN + ENTRY_LEN * (sections.len() as u64 + of_data);
        for section in &mut sections {
            section.at = at;
            at += section.len.next_multiple_of(8);
        }
        sections.push(Section::of_data(kind::BITS, front_len, bits_len));
        let (at, rest) = (front_len + bits_len, data_len - bits_len);
        if !self.counters().is_empty() {
            sections.push(Section::of_data(kind::COUNTERS, at, rest));
        }
        if described.is_some() {
            sections.push(Section::of_data(kind::EXCEPTION_DATA, at, rest));
        }

        let mut front = vec![0; front_len as usize];
        write_header(&mut front, &sections, front_len, chunk_len(data_len), front_len + data_len);
        for section in sections.iter().filter(|section| section.at < front_len) {
            front[section.at as usize..][..section.bytes.len()].copy_from_slice(section.bytes);
        }
        let sum = crc32c(&front[CHECKED_FROM..]);
        front[8..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
        front
    }

    fn filter_record(&self, part: &Part<'_>) -> Vec<u8> {
        let Head { hashing, expected_keys, keys, estimated, .. } = part.head;
        let (hash, seed) = match (self.locked, hashing) {
            (Some(check), _) => (HASH_SIPHASH13, check),
            (None, Hashing::Seed(seed)) => (HASH_FOLD64, *seed),
            (None, Hashing::Secret(secret)) => (HASH_SIPHASH13, secret.check()),
        };
        let layout = part.shape.layout;
        let flags = if *estimated { KEYS_ESTIMATED } else { 0 };
        let mut section = vec![
            LAYOUT_LINES,
            hash,
            layout.lines() as u8,
            layout.block_lines() as u8,
            layout.line_probes() as u8,
            flags,
            key_type::code(self.head().key_type),
            // All 64 bits are 0.
            part.head.hash_bits as u8 % 64,
        ];
        for number in [part.shape.blocks, seed, *expected_keys, *keys] {
            section.extend_from_slice(&number.to_le_bytes());
        }
        section.resize(FILTER_LEN as usize, 0);
        section
    }
}

/// Data bytes per checksum: more in huge files, so that the checksums stay within a megabyte.
pub(in crate::native) fn chunk_len(data_len: u64) -> u64 {
    (data_len >> 18).next_power_of_two().max(CHUNK_LEN.into())
}

/// Length of the front with these additional sections, besides filter, bits and checksums.
fn front_len(bits: u64, data_len: u64, further: u64, further_len: u64) -> u64 {
    let sums = data_len.div_ceil(chunk_len(data_len)) * 4;
    let len = HEADER_LEN + ENTRY_LEN * (3 + further) + FILTER_LEN + sums.next_multiple_of(8) + further_len;
    len.next_multiple_of(if bits >= PAGED_FROM { PAGE } else { ALIGN })
}

/// Length of the file of a filter of this many bytes, with only the mandatory sections.
pub(in crate::native) fn plain_len(bits: u64) -> u64 {
    front_len(bits, bits, 0, 0) + bits
}

pub(super) fn write_header(
    front: &mut [u8],
    sections: &[Section<'_>],
    front_len: u64,
    chunk_len: u64,
    file_len: u64,
) {
    front[..8].copy_from_slice(MAGIC);
    front[12..14].copy_from_slice(&VERSION.to_le_bytes());
    front[14..16].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    front[16..20].copy_from_slice(&(front_len as u32).to_le_bytes());
    front[20..24].copy_from_slice(&(chunk_len as u32).to_le_bytes());
    front[24..32].copy_from_slice(&file_len.to_le_bytes());
    let table = front[HEADER_LEN as usize..].chunks_exact_mut(ENTRY_LEN as usize);
    for (entry, section) in table.zip(sections) {
        entry[..4].copy_from_slice(&section.kind.to_le_bytes());
        entry[4..8].copy_from_slice(&section.flags.to_le_bytes());
        entry[8..16].copy_from_slice(&section.at.to_le_bytes());
        entry[16..24].copy_from_slice(&section.len.to_le_bytes());
    }
}

fn growing_section(growth: &Growth) -> Vec<u8> {
    let mut section = growth.fpr.to_le_bytes().to_vec();
    section.extend_from_slice(&growth.first.to_le_bytes());
    section.resize(GROWING_LEN as usize, 0);
    section
}

fn rotating_section<S>(filter: &RotatingFilter<S>) -> Vec<u8> {
    let Rotation { keep, generations, refresh } = filter.rotation;
    let by_keys = if matches!(keep, Keep::Keys(_)) { BY_KEYS } else { 0 };
    let flags = by_keys | if refresh { REFRESH } else { 0 };
    let mut section = filter.rotation.amount().to_le_bytes().to_vec();
    section.extend_from_slice(&generations.to_le_bytes());
    section.extend_from_slice(&flags.to_le_bytes());
    section.extend_from_slice(&filter.clock.to_le_bytes());
    section.extend_from_slice(&(filter.generations.len() as u64).to_le_bytes());
    for one in &filter.generations {
        section.extend_from_slice(&one.opened.to_le_bytes());
        section.extend_from_slice(&(one.filter.links.len() as u64).to_le_bytes());
    }
    section
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
pub(in crate::native) fn checksums(parts: &[&[u8]], chunk_len: usize) -> Vec<u8> {
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
