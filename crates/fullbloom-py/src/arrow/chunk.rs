//! One Arrow array as runs of keys.
#![allow(unsafe_code)]

use super::abi::Array;
use super::types::Type;
use crate::column::Elements;
use crate::errors::value;
use crate::run::{PIECE, Run};
use fullbloom::native::{Offset, Offsets};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::ptr::NonNull;
use std::sync::Arc;

/// Keys that have to be gathered are handed on in groups of this many.
const GROUP: usize = 4096;

/// An array of keys, which it owns.
pub struct Chunk {
    array: Array,
    keys: Arc<Type>,
}

/// A part of an array: what its parent shows of it.
#[derive(Clone, Copy)]
struct Part<'a> {
    array: &'a Array,
    keys: &'a Type,
    start: usize,
    count: usize,
}

impl Chunk {
    pub(super) fn new(array: Array, keys: Arc<Type>) -> PyResult<Chunk> {
        let chunk = Chunk { array, keys };
        chunk.part()?;
        Ok(chunk)
    }

    /// How many keys there are, nulls included.
    pub fn count(&self) -> usize {
        self.array.length as usize // checked when it was made
    }

    /// How many of them are null.
    pub fn nulls(&self) -> PyResult<usize> {
        let part = self.part()?;
        let validity = part.validity()?;
        Ok((0..part.count).filter(|&i| !validity.is_valid(i)).count())
    }

    /// Hands on all keys that are not null, in order.
    pub fn runs_without_nulls(&self, mut each: impl FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let part = self.part()?;
        let validity = part.validity()?;
        if matches!(validity, Validity::All) {
            return part.runs(&mut each);
        }
        let mut first = 0;
        part.runs(&mut |run| {
            valid_ones(run, |i| validity.is_valid(first + i), &mut each)?;
            first += run.count();
            Ok(())
        })
    }

    /// Asks for all keys, and hands on the answers in order; nulls are answered no.
    pub fn ask(
        &self,
        ask: &mut impl FnMut(Run<'_>, &mut [bool]) -> PyResult<()>,
        mut each: impl FnMut(&[bool]),
    ) -> PyResult<()> {
        let part = self.part()?;
        let validity = part.validity()?;
        let mut answers = vec![false; PIECE.min(part.count)];
        let mut first = 0;
        part.runs(&mut |run| {
            for piece in run.pieces() {
                let answers = &mut answers[..piece.count()];
                match (ask(piece, answers), piece) {
                    // What stands for a null may be wider than the filter's integers: only then it is worth a copy.
                    (Err(_), Run::Numbers(numbers)) if !matches!(validity, Validity::All) => {
                        let numbers = numbers.iter().enumerate();
                        let numbers =
                            numbers.map(|(i, &number)| if validity.is_valid(first + i) { number } else { 0 });
                        ask(Run::Numbers(&numbers.collect::<Vec<_>>()), answers)?;
                    }
                    (asked, _) => asked?,
                }
                if !matches!(validity, Validity::All) {
                    for (i, answer) in answers.iter_mut().enumerate() {
                        *answer &= validity.is_valid(first + i);
                    }
                }
                each(answers);
                first += answers.len();
            }
            Ok(())
        })?;
        // An array of nothing but nulls has no keys.
        (first..part.count).for_each(|_| each(&[false]));
        Ok(())
    }

    fn part(&self) -> PyResult<Part<'_>> {
        let whole = Part::whole(&self.array, &self.keys)?;
        let Type::Table(column) = &*self.keys else { return Ok(whole) };
        if self.array.n_children != 1 || self.array.children.is_null() {
            return Err(value("the Arrow table has not the one column that its schema says"));
        }
        if whole.bitmap()?.is_some() {
            return Err(value("the Arrow table has rows that are null; give its column instead"));
        }
        // SAFETY: by the specification one child, which lives as long as this array.
        let child = Part::whole(unsafe { &**self.array.children }, column)?;
        if whole.start.checked_add(whole.count).is_none_or(|end| end > child.count) {
            return Err(value("the Arrow table is longer than its column"));
        }
        Ok(Part { start: child.start + whole.start, count: whole.count, ..child })
    }
}

/// Which keys are not null.
enum Validity<'a> {
    All,
    None,
    /// Bit `start + i` for key `i`.
    Bits {
        bits: &'a [u8],
        start: usize,
    },
    /// A dictionary with nulls among its values.
    Both(Box<Validity<'a>>, Vec<bool>),
}

impl Validity<'_> {
    fn is_valid(&self, i: usize) -> bool {
        match self {
            Validity::All => true,
            Validity::None => false,
            Validity::Bits { bits, start } => bits[(start + i) / 8] >> ((start + i) % 8) & 1 == 1,
            Validity::Both(first, second) => first.is_valid(i) && second[i],
        }
    }
}

impl<'a> Part<'a> {
    fn whole(array: &'a Array, keys: &'a Type) -> PyResult<Part<'a>> {
        let number = |n: i64| usize::try_from(n).ok();
        match (number(array.offset), number(array.length)) {
            (Some(start), Some(count))
                if start.checked_add(count).is_some_and(|end| end < isize::MAX as usize / 16) =>
            {
                Ok(Part { array, keys, start, count })
            }
            _ => Err(value("the Arrow array has no possible length")),
        }
    }

    /// The start of a buffer; `None` where the array has none.
    fn buffer(&self, i: usize) -> PyResult<Option<NonNull<u8>>> {
        if i as i64 >= self.array.n_buffers || self.array.buffers.is_null() {
            return Err(value("the Arrow array has fewer buffers than its type says"));
        }
        // SAFETY: there are `n_buffers` pointers.
        Ok(NonNull::new(unsafe { *self.array.buffers.add(i) }.cast_mut().cast()))
    }

    /// Elements of a buffer where they are, or copied if they are not aligned. `T` is an integer.
    fn elements<T: Copy>(&self, i: usize, first: usize, count: usize) -> PyResult<Cow<'a, [T]>> {
        let Some(start) = self.buffer(i)? else {
            return if count == 0 {
                Ok(Cow::Borrowed(&[]))
            } else {
                Err(value("the Arrow array lacks a buffer"))
            };
        };
        // SAFETY: by the specification the buffer has the elements that length and offset say, here up to `first + count`.
        unsafe {
            let start = start.cast::<T>().as_ptr().wrapping_add(first);
            Ok(match start.is_aligned() {
                true => Cow::Borrowed(std::slice::from_raw_parts(start, count)),
                false => Cow::Owned((0..count).map(|i| start.add(i).read_unaligned()).collect()),
            })
        }
    }

    /// The bitmap of valid keys, if some are null.
    fn bitmap(&self) -> PyResult<Option<&'a [u8]>> {
        if self.array.null_count == 0 || self.array.n_buffers == 0 {
            return Ok(None);
        }
        let Some(start) = self.buffer(0)? else { return Ok(None) };
        let bytes = (self.start + self.count).div_ceil(8);
        // SAFETY: by the specification a bit for every element up to the end of the array.
        Ok(Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }))
    }

    fn validity(&self) -> PyResult<Validity<'a>> {
        if *self.keys == Type::Null {
            return Ok(Validity::None);
        }
        let own = match self.bitmap()? {
            Some(bits) => Validity::Bits { bits, start: self.start },
            None => Validity::All,
        };
        let Type::Dictionary { values, .. } = self.keys else { return Ok(own) };
        let values = Part::whole(self.dictionary()?, values)?;
        let of_values = values.validity()?;
        if matches!(of_values, Validity::All) {
            return Ok(own);
        }
        let indices = self.indices()?;
        let valid = |i| {
            let index = indices.number(i);
            own.is_valid(i) && index < values.count as u64 && of_values.is_valid(index as usize)
        };
        let both = (0..self.count).map(valid).collect();
        Ok(Validity::Both(Box::new(own), both))
    }

    fn dictionary(&self) -> PyResult<&'a Array> {
        if self.array.dictionary.is_null() {
            return Err(value("the Arrow array lacks the dictionary that its schema says"));
        }
        // SAFETY: not null, so by the specification an array that lives as long as this one.
        Ok(unsafe { &*self.array.dictionary })
    }

    /// The elements of the second buffer, each of `width` bytes.
    fn values(&self, width: usize) -> PyResult<*const u8> {
        let Some(skipped) = self.start.checked_mul(width) else {
            return Err(value("the Arrow array is longer than memory"));
        };
        match self.buffer(1)? {
            Some(start) => Ok(start.as_ptr().wrapping_add(skipped)),
            None if self.count == 0 || width == 0 => Ok(NonNull::dangling().as_ptr()),
            None => Err(value("the Arrow array lacks a buffer")),
        }
    }

    fn indices(&self) -> PyResult<Elements> {
        let Type::Dictionary { width, signed, .. } = *self.keys else {
            return Err(value("the Arrow array is no dictionary"));
        };
        // SAFETY: by the specification there are `start + count` of them, for as long as the array lives.
        Ok(unsafe { Elements::integers(self.values(width)?, self.count, width, signed) })
    }

    /// Hands on all keys, in order; what stands for nulls is any key.
    fn runs(&self, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        match self.keys {
            Type::Int { width, signed } => {
                // SAFETY: as for the indices.
                let elements =
                    unsafe { Elements::integers(self.values(*width)?, self.count, *width, *signed) };
                elements.runs(each)
            }
            Type::Fixed(width) => {
                // SAFETY: as for the indices.
                let elements = unsafe { Elements::fixed(self.values(*width)?, self.count, *width) };
                elements.runs(each)
            }
            Type::Narrow => {
                let offsets = self.elements::<i32>(1, self.start, self.offset_count()?)?;
                each(Run::Narrow(self.offsets(&offsets)?))
            }
            Type::Wide => {
                let offsets = self.elements::<i64>(1, self.start, self.offset_count()?)?;
                each(Run::Wide(self.offsets(&offsets)?))
            }
            Type::View => self.views(each),
            Type::Dictionary { values, .. } => self.looked_up(values, each),
            Type::Null | Type::Table(_) => Ok(()),
        }
    }

    /// One more than there are keys; an array without keys may have none.
    fn offset_count(&self) -> PyResult<usize> {
        Ok(if self.count == 0 && self.buffer(1)?.is_none() { 0 } else { self.count + 1 })
    }

    fn offsets<'b, O: Offset>(&self, offsets: &'b [O]) -> PyResult<Offsets<'b, O>>
    where
        'a: 'b,
    {
        let end = offsets.last().map_or(0, |&end| end.into());
        let data = match usize::try_from(end) {
            Ok(end) => self.elements::<u8>(2, 0, end)?,
            Err(_) => Cow::Borrowed(&[][..]),
        };
        let Cow::Borrowed(data) = data else { return Err(value("bytes are always aligned")) };
        Offsets::new(data, offsets).map_err(value)
    }

    /// Sixteen bytes for each key: its length, then itself if it is short, else its first bytes and where it is.
    fn views(&self, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let start = self.values(16)?;
        // SAFETY: by the specification `start + count` views of sixteen bytes.
        let views: &[[u8; 16]] = unsafe { std::slice::from_raw_parts(start.cast(), self.count) };
        // After validity and views the buffers that views speak of, and last the lengths of these.
        let others = usize::try_from(self.array.n_buffers).unwrap_or(0).saturating_sub(3);
        let lengths =
            if others == 0 { Cow::Borrowed(&[][..]) } else { self.elements::<i64>(2 + others, 0, others)? };
        let mut buffers = Vec::with_capacity(others);
        for (i, &length) in lengths.iter().enumerate() {
            let length =
                usize::try_from(length).map_err(|_| value("an Arrow buffer has a negative length"))?;
            let Cow::Borrowed(bytes) = self.elements::<u8>(2 + i, 0, length)? else { continue };
            buffers.push(bytes);
        }
        let validity = self.validity()?;
        let mut group: Vec<&[u8]> = Vec::with_capacity(GROUP.min(self.count));
        for (i, view) in views.iter().enumerate() {
            // What stands in the place of a null may be anything.
            group.push(if validity.is_valid(i) { viewed(view, &buffers)? } else { &[] });
            if group.len() == GROUP {
                each(Run::Slices(&group))?;
                group.clear();
            }
        }
        each(Run::Slices(&group))
    }

    /// Keys that stand in a dictionary.
    fn looked_up(&self, values: &Type, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let (mut numbers, mut data, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
        Part::whole(self.dictionary()?, values)?.runs(&mut |run| {
            let mut keep = |key: &[u8]| {
                data.extend_from_slice(key);
                offsets.push(data.len() as i64);
            };
            match run {
                Run::Numbers(some) => numbers.extend_from_slice(some),
                Run::Slices(slices) => slices.iter().for_each(|key| keep(key)),
                Run::Narrow(keys) => (0..run.count()).for_each(|i| keep(keys.get(i))),
                Run::Wide(keys) => (0..run.count()).for_each(|i| keep(keys.get(i))),
            }
            Ok(())
        })?;
        let keys = Offsets::new(&data, &offsets).map_err(value)?;
        let (indices, validity) = (self.indices()?, self.validity()?);
        let is_numbers = matches!(values, Type::Int { .. });
        let len = if is_numbers { numbers.len() } else { offsets.len() - 1 };
        let place = |i: usize| match indices.number(i) {
            _ if !validity.is_valid(i) => Ok(None),
            index if index < len as u64 => Ok(Some(index as usize)),
            index => Err(value(format_args!("key {i} is number {index} of a dictionary of {len}"))),
        };
        for first in (0..self.count).step_by(GROUP) {
            let group = first..self.count.min(first + GROUP);
            if is_numbers {
                let group = group.map(|i| Ok(place(i)?.map_or(0, |at| numbers[at])));
                each(Run::Numbers(&group.collect::<PyResult<Vec<_>>>()?))?;
            } else {
                let group = group.map(|i| Ok(place(i)?.map_or(&[][..], |at| keys.get(at))));
                each(Run::Slices(&group.collect::<PyResult<Vec<_>>>()?))?;
            }
        }
        Ok(())
    }
}

/// The key of a view.
fn viewed<'b>(view: &'b [u8; 16], buffers: &[&'b [u8]]) -> PyResult<&'b [u8]> {
    let number = |at: usize| i32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]);
    let wrong = || value("a view of an Arrow array points outside its buffers");
    let length = usize::try_from(number(0)).map_err(|_| wrong())?;
    if length <= 12 {
        return Ok(&view[4..4 + length]);
    }
    let (buffer, start) = (usize::try_from(number(8)).ok(), usize::try_from(number(12)).ok());
    let bytes = buffer.and_then(|buffer| buffers.get(buffer)).ok_or_else(wrong)?;
    start.and_then(|start| bytes.get(start..)?.get(..length)).ok_or_else(wrong)
}

/// Hands on the keys of a run that are valid.
fn valid_ones(
    run: Run<'_>,
    is_valid: impl Fn(usize) -> bool,
    each: &mut impl FnMut(Run<'_>) -> PyResult<()>,
) -> PyResult<()> {
    for first in (0..run.count()).step_by(GROUP) {
        let group = (first..run.count().min(first + GROUP)).filter(|&i| is_valid(i));
        match run {
            Run::Numbers(numbers) => each(Run::Numbers(&group.map(|i| numbers[i]).collect::<Vec<_>>()))?,
            Run::Slices(slices) => each(Run::Slices(&group.map(|i| slices[i]).collect::<Vec<_>>()))?,
            Run::Narrow(keys) => each(Run::Slices(&group.map(|i| keys.get(i)).collect::<Vec<_>>()))?,
            Run::Wide(keys) => each(Run::Slices(&group.map(|i| keys.get(i)).collect::<Vec<_>>()))?,
        }
    }
    Ok(())
}
