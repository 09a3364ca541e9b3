//! The buffers of one Arrow array, read where they are.
#![allow(unsafe_code)]

use super::abi::Array;
use super::types::Type;
use super::validity::{GROUP, Validity};
use crate::column::Elements;
use crate::errors::value;
use crate::run::Run;
use fullbloom::keys::{Offset, Offsets, Views};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::ptr::NonNull;

/// A range of an array: the part that its parent shows.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) array: &'a Array,
    pub(super) keys: &'a Type,
    pub(super) start: usize,
    pub(super) count: usize,
}

impl<'a> Part<'a> {
    pub(super) fn whole(array: &'a Array, keys: &'a Type) -> PyResult<Part<'a>> {
        let number = |n: i64| usize::try_from(n).ok();
        match (number(array.offset), number(array.length)) {
            (Some(start), Some(count))
                if start.checked_add(count).is_some_and(|end| end < isize::MAX as usize / 16) =>
            {
                Ok(Part { array, keys, start, count })
            }
            _ => Err(value("the Arrow array has an impossible length")),
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

    /// Elements of a buffer, where they are if they are aligned, else copied. `T` is an integer.
    fn elements<T: Copy>(&self, i: usize, first: usize, count: usize) -> PyResult<Cow<'a, [T]>> {
        let Some(start) = self.buffer(i)? else {
            return if count == 0 {
                Ok(Cow::Borrowed(&[]))
            } else {
                Err(value("the Arrow array lacks a buffer"))
            };
        };
        // SAFETY: by the specification the buffer has the elements that length and offset say, here up to
        // `first + count`.
        unsafe {
            let start = start.cast::<T>().as_ptr().wrapping_add(first);
            Ok(match start.is_aligned() {
                true => Cow::Borrowed(std::slice::from_raw_parts(start, count)),
                false => Cow::Owned((0..count).map(|i| start.add(i).read_unaligned()).collect()),
            })
        }
    }

    /// The bitmap of valid keys, if some are null.
    pub(super) fn bitmap(&self) -> PyResult<Option<&'a [u8]>> {
        if self.array.null_count == 0 || self.array.n_buffers == 0 {
            return Ok(None);
        }
        let Some(start) = self.buffer(0)? else { return Ok(None) };
        let bytes = (self.start + self.count).div_ceil(8);
        // SAFETY: by the specification a bit for every element up to the end of the array.
        Ok(Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }))
    }

    /// Which keys are not null.
    pub(super) fn validity(&self) -> PyResult<Validity<'a>> {
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
        if of_values.is_all() {
            return Ok(own);
        }
        let indices = self.indices()?;
        let is_valid = |i| {
            let index = indices.number(i);
            own.is_valid(i) && index < values.count as u64 && of_values.is_valid(index as usize)
        };
        Ok(Validity::Each((0..self.count).map(is_valid).collect()))
    }

    fn dictionary(&self) -> PyResult<&'a Array> {
        if self.array.dictionary.is_null() {
            return Err(value("the Arrow array lacks the dictionary that its schema declares"));
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
            return Err(value("the Arrow array is not a dictionary"));
        };
        // SAFETY: by the specification there are `start + count` of them, for as long as the array lives.
        Ok(unsafe { Elements::integers(self.values(width)?, self.count, width, signed) })
    }

    /// Calls `each` with all keys, in order. In the place of a null there may be any key.
    pub(super) fn runs(&self, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
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
                each(Run::bytes(self.offsets(&offsets)?))
            }
            Type::Wide => {
                let offsets = self.elements::<i64>(1, self.start, self.offset_count()?)?;
                each(Run::bytes(self.offsets(&offsets)?))
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

    fn views(&self, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let start = self.values(16)?;
        // SAFETY: by the specification there are `start + count` views of sixteen bytes.
        let views: &[[u8; 16]] = unsafe { std::slice::from_raw_parts(start.cast(), self.count) };
        // After validity and views come the buffers that the views refer to, and last the lengths of these.
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
        let views = if cfg!(target_endian = "little") { Cow::Borrowed(views) } else { little_endian(views) };
        match Views::new(&views, &buffers) {
            Ok(keys) => each(Run::bytes(keys)),
            Err(invalid) => {
                // In the place of a null there may be any bytes; only then is a copy worth it.
                let validity = self.validity()?;
                let kept = |(i, view): (usize, &[u8; 16])| if validity.is_valid(i) { *view } else { [0; 16] };
                let views: Vec<_> = views.iter().enumerate().map(kept).collect();
                each(Run::bytes(Views::new(&views, &buffers).map_err(|_| value(invalid))?))
            }
        }
    }

    /// The keys of an array that holds indices into a dictionary. The dictionary's values are copied once.
    fn looked_up(&self, values: &Type, each: &mut dyn FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let (mut numbers, mut data, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
        Part::whole(self.dictionary()?, values)?.runs(&mut |run| {
            match run {
                Run::Numbers(some) => numbers.extend_from_slice(some),
                Run::Bytes(keys) => {
                    for key in (0..keys.count()).filter_map(|i| keys.get(i)) {
                        data.extend_from_slice(key);
                        offsets.push(data.len() as i64);
                    }
                }
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
            index => Err(value(format_args!("key {i} has index {index} in a dictionary of {len} values"))),
        };
        for first in (0..self.count).step_by(GROUP) {
            let group = first..self.count.min(first + GROUP);
            if is_numbers {
                let group = group.map(|i| Ok(place(i)?.map_or(0, |at| numbers[at])));
                each(Run::Numbers(&group.collect::<PyResult<Vec<_>>>()?))?;
            } else {
                let group = group.map(|i| Ok(place(i)?.map_or(&[][..], |at| keys.get(at))));
                each(Run::bytes(group.collect::<PyResult<Vec<_>>>()?.as_slice()))?;
            }
        }
        Ok(())
    }
}

/// Views of a big-endian machine as the core reads them: the length, and for long values the number of the
/// buffer and the offset.
fn little_endian(views: &[[u8; 16]]) -> Cow<'_, [[u8; 16]]> {
    let swapped = |view: &[u8; 16]| {
        let mut view = *view;
        view[..4].reverse();
        if u32::from_le_bytes([view[0], view[1], view[2], view[3]]) > 12 {
            view[8..12].reverse();
            view[12..].reverse();
        }
        view
    };
    views.iter().map(swapped).collect()
}
