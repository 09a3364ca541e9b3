//! NumPy arrays and other buffers (`array.array`, `memoryview`) as runs of keys.
#![allow(unsafe_code)]

use crate::errors::{value, wrong_type};
use crate::keys::FLOATS;
use crate::run::{PIECE, Run};
use fullbloom::keys::Offsets;
use fullbloom::storage::Owned;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// Elements that have to be converted are converted in groups of this many.
const GROUP: usize = 4096;

/// An array of one dimension, and the buffer that keeps its memory alive.
pub struct Column {
    elements: Elements,
    /// While it is held, its owner neither moves nor frees the memory.
    _buffer: PyUntypedBuffer,
}

/// Elements in memory, each `stride` bytes after the one before.
#[derive(Debug, Clone, Copy)]
pub struct Elements {
    start: *const u8,
    count: usize,
    stride: isize,
    width: usize,
    kind: Kind,
}

// SAFETY: the memory is only read, and `Column` keeps it there. Another thread may write to it meanwhile, as
// it may during any of NumPy's own operations: elements are plain bytes, and no length or offset is read from
// them.
unsafe impl Send for Elements {}
// SAFETY: as above.
unsafe impl Sync for Elements {}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Int {
        signed: bool,
        swapped: bool,
    },
    /// NumPy's `S`: zeros at the end are padding.
    Padded,
    /// NumPy's `V`: all bytes count.
    Exact,
    /// NumPy's `U`: code points of 32 bits, zeros at the end are padding.
    Text {
        swapped: bool,
    },
}

impl Column {
    /// The column of an object; `None` if it has no buffer, or one of Python objects.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
        let Ok(buffer) = PyUntypedBuffer::get(object) else { return Ok(None) };
        if object.hasattr("mask")? && object.hasattr("compressed")? {
            // Its buffer has the values under the mask too.
            return Err(wrong_type("a masked array is not a column of keys: give its .compressed() values"));
        }
        if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|offset| *offset >= 0)) {
            return Err(value(
                "keys must be elements in memory, not pointers to them: give a copy of the array",
            ));
        }
        let format = buffer.format().to_str().unwrap_or_default();
        if format == "O" || buffer.dimensions() == 0 {
            return Ok(None);
        }
        if buffer.dimensions() != 1 {
            return Err(value(format_args!(
                "an array of keys has one dimension, not {}",
                buffer.dimensions()
            )));
        }
        let width = buffer.item_size();
        let kind =
            kind(format, width).ok_or_else(|| match format.trim_start_matches(['<', '>', '=', '@']) {
                "e" | "f" | "d" | "g" => wrong_type(format_args!(
                    "keys are integers, text or bytes, not floating-point numbers{FLOATS}"
                )),
                _ => wrong_type(format_args!(
                    "keys are integers, text or bytes, not an array of format {format:?}"
                )),
            })?;
        let elements = Elements {
            start: buffer.buf_ptr().cast_const().cast(),
            count: buffer.shape()[0],
            stride: buffer.strides()[0],
            width,
            kind,
        };
        Ok(Some(Column { elements, _buffer: buffer }))
    }

    /// The elements, which can be read without Python.
    pub fn elements(&self) -> Elements {
        self.elements
    }
}

/// What the elements are, in the notation of the module `struct`.
fn kind(format: &str, width: usize) -> Option<Kind> {
    let (swapped, code) = match format.as_bytes() {
        [b'<', rest @ ..] => (cfg!(target_endian = "big"), rest),
        [b'>' | b'!', rest @ ..] => (cfg!(target_endian = "little"), rest),
        [b'@' | b'=', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let is_number = matches!(width, 1 | 2 | 4 | 8);
    let digits = code.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match (digits, &code[digits..]) {
        (0, [b'b' | b'h' | b'i' | b'l' | b'q' | b'n']) if is_number => {
            Some(Kind::Int { signed: true, swapped })
        }
        (0, [b'B' | b'H' | b'I' | b'L' | b'Q' | b'N']) if is_number => {
            Some(Kind::Int { signed: false, swapped })
        }
        (_, [b's']) => Some(Kind::Padded),
        (_, [b'x']) => Some(Kind::Exact),
        (_, [b'w']) if width.is_multiple_of(4) => Some(Kind::Text { swapped }),
        _ => None,
    }
}

impl Elements {
    /// Integers of `width` bytes, one after the other.
    ///
    /// # Safety
    /// There are `count` of them from `start` on, for as long as the elements are used.
    pub unsafe fn integers(start: *const u8, count: usize, width: usize, signed: bool) -> Elements {
        Elements { start, count, stride: width as isize, width, kind: Kind::Int { signed, swapped: false } }
    }

    /// Keys of `width` bytes, one after the other.
    ///
    /// # Safety
    /// As for [`integers`](Elements::integers).
    pub unsafe fn fixed(start: *const u8, count: usize, width: usize) -> Elements {
        Elements { start, count, stride: width as isize, width, kind: Kind::Exact }
    }

    /// The integer of this number.
    pub fn number(&self, i: usize) -> u64 {
        match self.kind {
            Kind::Int { signed, swapped } => widen(self.bytes(i), signed, swapped),
            _ => 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of an element.
    fn bytes(&self, i: usize) -> &[u8] {
        debug_assert!(i < self.count);
        // SAFETY: the buffer's owner promised `count` elements of `width` bytes, `stride` bytes apart; the
        // callers stay below `count`, and the memory is kept for as long as these elements are used.
        unsafe { std::slice::from_raw_parts(self.start.offset(i as isize * self.stride), self.width) }
    }

    /// Calls `each` with all keys, in order.
    pub fn runs(&self, mut each: impl FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        match self.kind {
            Kind::Int { signed, swapped } => match self.words().filter(|_| !swapped) {
                Some(words) => each(Run::Numbers(words)),
                None => self.numbers(signed, swapped, each),
            },
            Kind::Padded => self.slices(each, |bytes| bytes.trim_zeros()),
            Kind::Exact => self.slices(each, |bytes| bytes),
            Kind::Text { swapped } => self.texts(swapped, &mut each),
        }
    }

    /// Looks up all keys: a byte of 0 or 1 for each.
    pub fn look_up(
        &self,
        look_up: &mut impl FnMut(Run<'_>, &mut [bool]) -> PyResult<()>,
        mut answers: &mut [u8],
    ) -> PyResult<()> {
        let mut some = vec![false; PIECE.min(self.count)];
        self.runs(|run| {
            for piece in run.pieces() {
                let some = &mut some[..piece.count()];
                look_up(piece, some)?;
                let (now, later) = std::mem::take(&mut answers).split_at_mut(some.len());
                now.iter_mut().zip(some).for_each(|(byte, answer)| *byte = u8::from(*answer));
                answers = later;
            }
            Ok(())
        })
    }

    /// Contiguous, aligned integers of 64 bits, where they are.
    fn words(&self) -> Option<&[u64]> {
        let start = self.start.cast::<u64>();
        if self.width != 8 || self.stride != 8 || !start.is_aligned() || self.count == 0 {
            return None;
        }
        // SAFETY: `count` contiguous elements of eight bytes, promised as above; aligned.
        Some(unsafe { std::slice::from_raw_parts(start, self.count) })
    }

    fn numbers(
        &self,
        signed: bool,
        swapped: bool,
        mut each: impl FnMut(Run<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let mut group = [0u64; GROUP];
        for first in (0..self.count).step_by(GROUP) {
            let group = &mut group[..GROUP.min(self.count - first)];
            for (i, slot) in group.iter_mut().enumerate() {
                *slot = widen(self.bytes(first + i), signed, swapped);
            }
            each(Run::Numbers(group))?;
        }
        Ok(())
    }

    fn slices(
        &self,
        mut each: impl FnMut(Run<'_>) -> PyResult<()>,
        trim: impl Fn(&[u8]) -> &[u8],
    ) -> PyResult<()> {
        let mut group: Vec<&[u8]> = Vec::with_capacity(GROUP.min(self.count));
        for first in (0..self.count).step_by(GROUP) {
            group.clear();
            group.extend((first..self.count.min(first + GROUP)).map(|i| trim(self.bytes(i))));
            each(Run::bytes(group.as_slice()))?;
        }
        Ok(())
    }

    fn texts(&self, swapped: bool, each: &mut impl FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let (mut text, mut offsets) = (String::new(), Vec::new());
        for first in (0..self.count).step_by(GROUP) {
            text.clear();
            offsets.clear();
            offsets.push(0i64);
            for i in first..self.count.min(first + GROUP) {
                let points = self.bytes(i).as_chunks::<4>().0.trim_zeros();
                for point in points {
                    let number = u32::from_ne_bytes(*point);
                    let number = if swapped { number.swap_bytes() } else { number };
                    let point = char::from_u32(number);
                    text.push(point.ok_or_else(|| {
                        value(format_args!("key {i} is not text: it has the code point {number:#x}"))
                    })?);
                }
                offsets.push(text.len() as i64);
            }
            let keys = Offsets::new(text.as_bytes(), &offsets);
            each(Run::bytes(keys.expect("offsets of appended keys do not decrease")))?;
        }
        Ok(())
    }
}

/// An integer of any width as one of 64 bits.
fn widen(bytes: &[u8], signed: bool, swapped: bool) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    if swapped != cfg!(target_endian = "big") {
        wide[..bytes.len()].reverse();
    }
    let shift = 64 - 8 * bytes.len() as u32;
    let wide = u64::from_le_bytes(wide) << shift;
    if signed { (wide.cast_signed() >> shift).cast_unsigned() } else { wide >> shift }
}

/// Without the zeros at the end.
trait TrimZeros {
    fn trim_zeros(&self) -> &Self;
}

impl TrimZeros for [u8] {
    fn trim_zeros(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self[..end]
    }
}

impl TrimZeros for [[u8; 4]] {
    fn trim_zeros(&self) -> &[[u8; 4]] {
        let end = self.iter().rposition(|point| *point != [0; 4]).map_or(0, |last| last + 1);
        &self[..end]
    }
}

/// A copy of the bytes of an object: `bytes`, or anything else with a contiguous buffer.
pub fn byte_copy(object: &Bound<'_, PyAny>) -> PyResult<Owned> {
    let buffer = PyUntypedBuffer::get(object).map_err(|_| wrong_type("data must be bytes"))?;
    if !buffer.is_c_contiguous() {
        return Err(value("data must be contiguous bytes"));
    }
    let len = buffer.len_bytes();
    let mut copy = Owned::zeroed(len as u64).map_err(crate::errors::size)?;
    if len > 0 {
        // SAFETY: a contiguous buffer has `len_bytes` bytes from `buf_ptr` on, and stays while it is held.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast_const().cast::<u8>(), len) };
        copy.as_mut().copy_from_slice(bytes);
    }
    Ok(copy)
}
