//! The bytes of a dynamic filter.
//!
//! ```text
//!   header  filter section (64 bytes: layout 4 …), checksums, label, secret, dynamic section
//!   data    | lines | overflow lines | list: 8 bytes each | counts: 16 bytes each |
//! ```
//!
//! The file is a function of the fingerprints, their tags and the options: it has the number of lines that
//! follows from the number of fingerprints ([`Shape::for_keys`]), whatever the shards in memory have. A
//! reader checks that. So equal filters have equal files, whatever the order of insertions was, and a mapped
//! file answers in place.

use super::expiry::Clock;
use super::filter::{DynamicFilter, MANY, Plan, Store};
use super::flat::Flat;
use super::lines::{self, Lines};
use super::merge::Items;
use super::options::{Expiry, Keep, Mode};
use super::shape::{GROUP, MAX_BITS, MIN_BITS, Shape};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;
use fullbloom_core::checksum::crc32c_append;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::memory;
use fullbloom_core::native::format::{
    self, Decoded, FILTER_LEN, HASH_FOLD64, HASH_SIPHASH13, LAYOUT_DYNAMIC, REQUIRED, chunk_len, kind,
};
use fullbloom_core::native::hashing::Hashing;
use fullbloom_core::native::head::Head;
use fullbloom_core::native::key_type;
use fullbloom_core::part::Check;
use fullbloom_core::typed::{KeyField, KeyForm};
use fullbloom_core::wire::{Output, Stop};

/// Length of the dynamic section, without and with the clock, and before the keys of the generations.
const DYNAMIC_LEN: u64 = 16;
const EXPIRING_LEN: u64 = 48;

/// Codes of the mode.
const SET: u8 = 0;
const COUNTING: u8 = 1;
const BY_TIME: u8 = 2;
const BY_KEYS: u8 = 3;

/// A repeated key restarts its time.
const REFRESH: u32 = 1;

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// The shape of the file's shards, and how many bits of prefix they have.
    fn file_shape(&self) -> (u32, Shape) {
        let (depth, lines) = Shape::for_keys(self.plan.bits, self.plan.tag, self.distinct());
        (depth, Shape::new(self.plan.bits - depth, self.plan.tag, lines))
    }

    /// Calls `main` with all lines of the file in order; returns the overflow lines, and the list.
    fn write_lines(
        &self,
        mut main: impl FnMut(&Line) -> Result<(), Stop>,
    ) -> Result<(Vec<Line>, Vec<u64>), Stop> {
        let (depth, shape) = self.file_shape();
        let mut items = Items::new(self)?.peekable();
        let mut overflow = memory::vec_of((shape.overflow.lines << depth) as usize)?;
        let (mut list, mut local) = (Vec::new(), Vec::new());
        let mut done = Ok(());
        for prefix in 0..1u64 << depth {
            let base = prefix << shape.bits << shape.tag;
            let end = (prefix + 1) << shape.bits << shape.tag;
            local.clear();
            while let Some(item) = items.next_if(|item| *item < end) {
                memory::push(&mut local, item - base)?;
            }
            let put = |_, line: Line| {
                if done.is_ok() {
                    done = main(&line);
                }
            };
            let listed =
                lines::fill(&shape, 0..shape.overflow.lines, &local, put, |_, line| overflow.push(line));
            for item in listed {
                memory::push(&mut list, item + base)?;
            }
            core::mem::replace(&mut done, Ok(()))?;
        }
        Ok((overflow, list))
    }

    /// The data of the file it was read from, if that is also the data of its file now, and the length of its
    /// list.
    fn data_in_place(&self) -> Option<(&[u8], u64)> {
        match &self.store {
            Store::Flat(flat) if self.clock.as_ref().is_none_or(|clock| clock.is_current()) => {
                Some((flat.bytes.as_ref(), flat.listed as u64))
            }
            _ => None,
        }
    }

    /// Length of the file in bytes. Reads all fingerprints, unless the filter is as it was read from a file.
    pub fn encoded_len(&self) -> u64 {
        let (data_len, listed) = match self.data_in_place() {
            Some((data, listed)) => (data.len() as u64, listed),
            None => {
                let (overflow, list) = self.write_lines(|_| Ok(())).unwrap_or_default();
                let lines_len = overflow.len() as u64 * (GROUP + 1) * 64;
                let tail = list.len() as u64 * 8 + self.counts.len() as u64 * 16;
                (lines_len + tail, list.len() as u64)
            }
        };
        let chunks = data_len.div_ceil(self.chunk_len());
        let label = self.head.label.len() as u64;
        let mut lengths = alloc::vec![FILTER_LEN, chunks * 4, self.dynamic_section(listed).len() as u64];
        lengths.extend((label > 0).then_some(label));
        lengths.extend(self.head.stored_secret().map(|secret| secret.len() as u64));
        lengths.extend(self.head.key_field.map(|field| field.to_bytes().len() as u64));
        let sections = lengths.len() + 1;
        format::header_len(lengths.into_iter(), sections, data_len) + data_len
    }

    /// Data bytes per checksum.
    fn chunk_len(&self) -> u64 {
        let (depth, shape) = self.file_shape();
        chunk_len((shape.overflow.lines << depth) * (GROUP + 1) * 64)
    }

    /// The list and the counts as bytes.
    fn tail(&self, list: &[u64]) -> Result<Vec<u8>, SizeError> {
        let counts = self.counts.iter().flat_map(|(fingerprint, count)| [*fingerprint, *count]);
        let mut bytes = memory::vec_of(list.len() * 8 + self.counts.len() * 16)?;
        bytes.extend(list.iter().copied().chain(counts).flat_map(u64::to_le_bytes));
        Ok(bytes)
    }

    /// Writes the file. The lines are computed twice: for the checksums, which come first, and for the data.
    #[doc(hidden)]
    pub fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        memory::require(0)?;
        let mut sums = Sums::new(self.chunk_len());
        if let Some((data, listed)) = self.data_in_place() {
            sums.add(data);
            out.write_all(&self.header(sums, listed, data.len() as u64))?;
            return out.write_all(data);
        }
        let (overflow, list) = self.write_lines(|line| {
            sums.add(line);
            Ok(())
        })?;
        sums.add(overflow.as_flattened());
        let tail = self.tail(&list)?;
        sums.add(&tail);
        let data_len = overflow.len() as u64 * (GROUP + 1) * 64 + tail.len() as u64;
        out.write_all(&self.header(sums, list.len() as u64, data_len))?;
        let mut buffer = Vec::with_capacity(1 << 16);
        self.write_lines(|line| {
            buffer.extend_from_slice(line);
            if buffer.len() == 1 << 16 {
                out.write_all(&buffer)?;
                buffer.clear();
            }
            Ok(())
        })?;
        out.write_all(&buffer)?;
        out.write_all(overflow.as_flattened())?;
        out.write_all(&tail)
    }

    /// Everything before the data, which has these checksums, a list of this length, and this length.
    fn header(&self, sums: Sums, listed: u64, data_len: u64) -> Vec<u8> {
        let chunk_len = sums.chunk_len as u64;
        let (sums, record, dynamic) = (sums.finish(), self.record(), self.dynamic_section(listed));
        let mut small = alloc::vec![(kind::FILTER, REQUIRED, &record[..]), (kind::SUMS, REQUIRED, &sums)];
        if !self.head.label.is_empty() {
            small.push((kind::LABEL, 0, self.head.label.as_bytes()));
        }
        if let Some(secret) = self.head.stored_secret() {
            small.push((kind::SECRET, 0, secret));
        }
        let field = self.head.key_field.map(KeyField::to_bytes);
        small.extend(field.as_ref().map(|field| (kind::KEY_FIELD, 0, &field[..])));
        small.push((kind::DYNAMIC, REQUIRED, &dynamic));
        format::header(&small, &[(kind::BITS, data_len)], chunk_len)
    }

    /// The filter section.
    fn record(&self) -> Vec<u8> {
        let (hash, seed) = match (self.head.locked, &self.head.hashing) {
            (Some(check), _) => (HASH_SIPHASH13, check),
            (None, Hashing::Seed(seed)) => (HASH_FOLD64, *seed),
            (None, Hashing::Secret(secret)) => (HASH_SIPHASH13, secret.check()),
        };
        let mode = match self.plan.mode {
            Mode::Set => SET,
            Mode::Counting => COUNTING,
            Mode::Expiring(expiry) if expiry.is_by_keys() => BY_KEYS,
            Mode::Expiring(_) => BY_TIME,
        };
        let (depth, shape) = self.file_shape();
        let mut record = alloc::vec![
            LAYOUT_DYNAMIC,
            hash,
            self.plan.bits as u8,
            mode,
            0,
            self.head.key_form.flags(),
            key_type::code(self.head.key_type),
            0
        ];
        let lines = shape.main.lines << depth;
        let fpr = self.plan.fpr.to_bits();
        for number in
            [lines, seed, self.head.expected_keys, self.keys(), fpr, self.plan.up_to, self.distinct()]
        {
            record.extend_from_slice(&number.to_le_bytes());
        }
        record
    }

    fn dynamic_section(&self, listed: u64) -> Vec<u8> {
        let mut numbers = alloc::vec![listed, self.counts.len() as u64];
        if let Some(clock) = &self.clock {
            let Expiry { generations, refresh, .. } = clock.expiry;
            let flags = if refresh { REFRESH } else { 0 };
            numbers.extend([
                clock.expiry.amount(),
                u64::from(generations) | u64::from(flags) << 32,
                clock.time,
                clock.origin,
            ]);
            numbers.extend(clock.by_age());
        }
        numbers.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// Checksums of chunks of bytes that come one after the other.
struct Sums {
    chunk_len: usize,
    sums: Vec<u8>,
    sum: u32,
    filled: usize,
}

impl Sums {
    fn new(chunk_len: u64) -> Sums {
        Sums { chunk_len: chunk_len as usize, sums: Vec::new(), sum: 0, filled: 0 }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.chunk_len - self.filled));
            self.sum = crc32c_append(self.sum, now);
            self.filled += now.len();
            if self.filled == self.chunk_len {
                self.end_chunk();
            }
            bytes = later;
        }
    }

    fn end_chunk(&mut self) {
        self.sums.extend_from_slice(&self.sum.to_le_bytes());
        (self.sum, self.filled) = (0, 0);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.end_chunk();
        }
        self.sums
    }
}

/// What the header of a dynamic filter's file says.
#[derive(Debug)]
pub(crate) struct DecodedDynamic {
    pub(crate) head: Head,
    plan: Plan,
    clock: Option<Box<Clock>>,
    copies: u64,
    flat: Flat<()>,
    bits: Range<usize>,
}

impl DecodedDynamic {
    /// Reads the filter section and the dynamic section, and checks the rest if `check` says so.
    pub(crate) fn read(decoded: &Decoded, bytes: &[u8], check: Check) -> Result<DecodedDynamic, DecodeError> {
        decoded.require(LAYOUT_DYNAMIC)?;
        let mut read = DecodedDynamic::read_front(decoded, bytes)?;
        if check == Check::All {
            decoded.verify(bytes)?;
            read.verify(bytes)?;
            read.flat.is_checked = true;
        }
        Ok(read)
    }

    fn read_front(decoded: &Decoded, bytes: &[u8]) -> Result<DecodedDynamic, DecodeError> {
        let (section, bits) = (decoded.filter, decoded.bits);
        let mut cursor = section.cursor(bytes);
        let at = section.at;
        cursor.u8("layout")?;
        let hash = cursor.u8("hash")?;
        let fingerprint_bits = u32::from(cursor.u8("fingerprint bits")?);
        let mode = cursor.u8("mode")?;
        let [none, flags] = cursor.u16_le("flags")?.to_le_bytes();
        let code = cursor.u8("key type")?;
        let Some(key_type) = key_type::from_code(code) else {
            return Err(DecodeError::Newer { field: "key type", at: at + 6, got: code.into() });
        };
        cursor.u8("reserve")?;
        if none != 0 || flags & !KeyForm::FLAGS != 0 {
            let got = u16::from_le_bytes([none, flags]).into();
            return Err(DecodeError::Newer { field: "flags", at: at + 4, got });
        }
        let key_form = KeyForm::from_flags(flags);
        let lines = cursor.u64_le("lines")?;
        let seed = cursor.u64_le("seed")?;
        let expected_keys = cursor.u64_le("expected keys")?;
        let keys = cursor.u64_le("keys")?;
        let fpr = cursor.f64_le("fpr")?;
        let up_to = cursor.u64_le("promised keys")?;
        let distinct = cursor.u64_le("fingerprints")?;
        if !(fpr > 0.0 && fpr < 1.0) {
            let allowed = "a rate between 0 and 1";
            return Err(DecodeError::Value { field: "fpr", at: at + 40, got: fpr as i128, allowed });
        }
        let (hashing, check) = match hash {
            HASH_FOLD64 => (Hashing::Seed(seed), None),
            HASH_SIPHASH13 => (Hashing::Seed(0), Some(seed)),
            _ => return Err(DecodeError::Newer { field: "hash", at: at + 1, got: hash.into() }),
        };
        let section = decoded.table.required(kind::DYNAMIC, "dynamic section")?;
        let mut cursor = section.cursor(bytes);
        let listed = cursor.u64_le("listed")?;
        let counted = cursor.u64_le("counted")?;
        let (mode, clock) = match mode {
            SET => (Mode::Set, None),
            COUNTING => (Mode::Counting, None),
            BY_TIME | BY_KEYS => {
                let clock = read_clock(&mut cursor, mode)?;
                (Mode::Expiring(clock.expiry), Some(Box::new(clock)))
            }
            _ => return Err(DecodeError::Newer { field: "mode", at: at + 3, got: mode.into() }),
        };
        let expected_len = match &clock {
            None => DYNAMIC_LEN,
            Some(clock) => EXPIRING_LEN + 8 * (u64::from(clock.expiry.generations) + 1),
        };
        if section.len != expected_len {
            let (field, at, got) = ("dynamic section's length", section.at, section.len);
            return Err(DecodeError::Mismatch { field, at, got, expected: expected_len });
        }
        let tag = mode.tag_bits();
        if !(MIN_BITS..=MAX_BITS - tag).contains(&fingerprint_bits) || distinct > 1 << fingerprint_bits {
            let (at, allowed) = (at + 2, "10 to 62, less the bits of a tag, and enough for the fingerprints");
            let got = fingerprint_bits.into();
            return Err(DecodeError::Value { field: "fingerprint bits", at, got, allowed });
        }
        // The lines are in the file, so a number that does not fit there is wrong; and it must be the one
        // that follows from the number of fingerprints.
        let (depth, shard_lines) = Shape::for_keys(fingerprint_bits, tag, distinct);
        let expected = shard_lines << depth;
        if lines != expected {
            return Err(DecodeError::Mismatch { field: "lines", at: at + 8, got: lines, expected });
        }
        let lines_len = (lines / GROUP).checked_mul((GROUP + 1) * 64);
        let tail_len = listed.checked_mul(8).zip(counted.checked_mul(16)).and_then(|(a, b)| a.checked_add(b));
        let expected = lines_len.zip(tail_len).and_then(|(a, b)| a.checked_add(b)).unwrap_or(u64::MAX);
        if bits.len != expected {
            return Err(DecodeError::Mismatch {
                field: "bits' length",
                at: bits.at,
                got: bits.len,
                expected,
            });
        }
        let head = Head { keys: distinct, key_type, key_form, ..Head::new(hashing, expected_keys) };
        let shape = Shape::new(fingerprint_bits, tag, lines);
        let plan = Plan { bits: fingerprint_bits, tag, mode, fpr, up_to };
        let stated = match (&clock, mode) {
            (Some(clock), _) => clock.keys(),
            (None, Mode::Counting) => keys.max(distinct),
            _ => distinct,
        };
        if keys != stated || clock.is_some() && keys != distinct {
            return Err(DecodeError::Mismatch { field: "keys", at: at + 32, got: keys, expected: stated });
        }
        let flat = Flat {
            shape,
            depth,
            listed: listed as usize,
            counted: counted as usize,
            is_checked: false,
            bytes: (),
        };
        let copies = if mode == Mode::Counting { keys } else { 0 };
        let head = decoded.complete(head, check, bytes)?;
        Ok(DecodedDynamic { head, plan, clock, copies, flat, bits: bits.range() })
    }

    /// The filter over the storage of its data; `file` is the whole file.
    pub(crate) fn assemble<S>(self, file: &[u8], bytes: S) -> DynamicFilter<S> {
        let DecodedDynamic { head, plan, clock, copies, flat, bits } = self;
        let read = flat.clone_with(&file[bits]);
        let counts = (0..read.counted).map(|i| read.count(i)).collect();
        let mut filter = DynamicFilter::from_parts(plan, head, Store::Flat(Box::new(flat.map(|()| bytes))));
        (filter.clock, filter.counts, filter.copies) = (clock, counts, copies);
        filter
    }

    /// Checks that the data is what a writer writes for these fingerprints: reads the items of a few lines,
    /// writes the lines of these items, and compares.
    pub(crate) fn verify(&self, file: &[u8]) -> Result<(), DecodeError> {
        let flat = self.flat.clone_with(&file[self.bits.clone()]);
        let Shape { tag: tag_bits, main, overflow, .. } = &flat.shape;
        let refused = |line: u64| DecodeError::Value {
            field: "lines",
            at: self.bits.start as u64 + line * 64,
            got: line.into(),
            allowed: "sorted fingerprints in their lines (the value is the line number)",
        };
        let (mut items, mut at_list, mut keys, mut at_counts) = (Vec::new(), 0, 0u64, 0);
        let mut tags = alloc::vec![0u64; 1 << tag_bits];
        for start in (0..overflow.lines).step_by(VERIFIED_GROUPS) {
            let groups = start..(start + VERIFIED_GROUPS as u64).min(overflow.lines);
            items.clear();
            lines::read(&flat, &flat.shape, groups.clone(), &mut items);
            let range = overflow.base(groups.start) << tag_bits..overflow.base(groups.end) << tag_bits;
            let is_sorted = items.is_sorted_by(|a, b| a >> tag_bits < b >> tag_bits);
            let ends = [items.first(), items.last()];
            if !is_sorted || !ends.into_iter().flatten().all(|item| range.contains(item)) {
                return Err(refused(groups.start * GROUP));
            }
            keys += items.len() as u64;
            for item in &items {
                let tag = item & ((1 << tag_bits) - 1);
                tags[tag as usize] += 1;
                if self.plan.mode == Mode::Counting && tag == MANY {
                    if at_counts == flat.counted || flat.count(at_counts).0 != item >> tag_bits {
                        return Err(self.wrong_counts());
                    }
                    at_counts += 1;
                }
            }
            let (mut wrong, mut wrong_overflow) = (None, None);
            let list = lines::fill(
                &flat.shape,
                groups,
                &items,
                |line, expected| {
                    if expected != *flat.main(line) {
                        wrong = wrong.or(Some(line));
                    }
                },
                |line, expected| {
                    if expected != *flat.overflow(line) {
                        wrong_overflow = wrong_overflow.or(Some(main.lines + line));
                    }
                },
            );
            if let Some(line) = wrong.or(wrong_overflow) {
                return Err(refused(line));
            }
            // Items of the list that belong elsewhere are found here or at the end.
            let is_listed = |(i, item): (usize, &u64)| i < flat.list_len() && flat.listed(i) == *item;
            if !(at_list..).zip(&list).all(is_listed) {
                return Err(refused(start * GROUP));
            }
            at_list += list.len();
        }
        if at_list != flat.list_len() || keys != self.head.keys {
            return Err(refused(main.lines + overflow.lines));
        }
        if at_counts != flat.counted {
            return Err(self.wrong_counts());
        }
        self.verify_tags(&flat, &tags)
    }

    fn wrong_counts(&self) -> DecodeError {
        let allowed = "one for each fingerprint with more than three copies, in order";
        DecodeError::Value {
            field: "counts",
            at: self.bits.end as u64,
            got: self.flat.counted as i128,
            allowed,
        }
    }

    /// Checks the numbers of fingerprints with each tag.
    fn verify_tags(&self, flat: &Flat<&[u8]>, tags: &[u64]) -> Result<(), DecodeError> {
        let at = self.bits.start as u64;
        if (0..flat.counted).any(|i| flat.count(i).1 <= MANY) {
            return Err(self.wrong_counts());
        }
        if self.plan.mode == Mode::Counting {
            let inline: u64 =
                (1..).zip(&tags[..MANY as usize]).map(|(copies, keys): (u64, _)| copies * keys).sum();
            let expected = (0..flat.counted).fold(inline, |sum, i| sum.saturating_add(flat.count(i).1));
            if expected != self.copies {
                return Err(DecodeError::Mismatch { field: "keys", at, got: self.copies, expected });
            }
        }
        if let Some(clock) = &self.clock {
            let stated = clock.by_age();
            let of = |tag: u64| if clock.is_live(tag) { stated[clock.age(tag) as usize] } else { 0 };
            if (0..).zip(tags).any(|(tag, keys)| of(tag) != *keys) {
                let allowed = "the stated keys of each generation";
                return Err(DecodeError::Value { field: "generations", at, got: 0, allowed });
            }
        }
        Ok(())
    }
}

/// Groups of lines that are verified at once: their fingerprints take about 50 KB.
const VERIFIED_GROUPS: usize = 8;

fn read_clock(cursor: &mut fullbloom_core::wire::Cursor<'_>, mode: u8) -> Result<Clock, DecodeError> {
    let amount = cursor.u64_le("time to remember")?;
    let generations = cursor.u32_le("generations")?;
    let at = cursor.at();
    let flags = cursor.u32_le("expiry flags")?;
    if flags & !REFRESH != 0 {
        return Err(DecodeError::Newer { field: "expiry flags", at, got: flags.into() });
    }
    let keep = match mode {
        BY_TIME => Keep::Time(Duration::from_millis(amount)),
        _ => Keep::Keys(amount),
    };
    let expiry = Expiry { keep, generations, refresh: flags & REFRESH != 0 };
    expiry.check().map_err(DecodeError::Geometry)?;
    let (time, origin) = (cursor.u64_le("time")?, cursor.u64_le("time of generation 0")?);
    let mut clock = Clock::new(expiry, time, origin);
    let mut counts = Vec::with_capacity(generations as usize + 1);
    for _ in 0..=generations {
        let at = cursor.at();
        let keys = cursor.u64_le("keys of a generation")?;
        if keys > 1 << MAX_BITS {
            let (field, allowed) = ("keys of a generation", "at most 2^62");
            return Err(DecodeError::Value { field, at, got: keys.into(), allowed });
        }
        counts.push(keys);
    }
    clock.set_by_age(&counts);
    Ok(clock)
}
