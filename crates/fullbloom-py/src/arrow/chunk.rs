//! One Arrow array as runs of keys.
#![allow(unsafe_code)]

use super::abi::Array;
use super::part::Part;
use super::types::Type;
use crate::errors::value;
use crate::run::{PIECE, Run};
use pyo3::prelude::*;
use std::sync::Arc;

/// An array of keys, which it owns.
pub struct Chunk {
    array: Array,
    keys: Arc<Type>,
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

    /// Calls `each` with all keys that are not null, in order.
    pub fn runs_without_nulls(&self, mut each: impl FnMut(Run<'_>) -> PyResult<()>) -> PyResult<()> {
        let part = self.part()?;
        let validity = part.validity()?;
        if validity.is_all() {
            return part.runs(&mut each);
        }
        let mut first = 0;
        part.runs(&mut |run| {
            validity.valid_keys(first, run, &mut each)?;
            first += run.count();
            Ok(())
        })
    }

    /// Looks up all keys, and calls `each` with the answers in order; nulls are answered no.
    pub fn look_up(
        &self,
        look_up: &mut impl FnMut(Run<'_>, &mut [bool]) -> PyResult<()>,
        mut each: impl FnMut(&[bool]),
    ) -> PyResult<()> {
        let part = self.part()?;
        let validity = part.validity()?;
        let mut answers = vec![false; PIECE.min(part.count)];
        let mut first = 0;
        part.runs(&mut |run| {
            for piece in run.pieces() {
                let answers = &mut answers[..piece.count()];
                match (look_up(piece, answers), piece) {
                    // The number in the place of a null may be too wide for the filter; only then is a copy
                    // worth it.
                    (Err(_), Run::Numbers(numbers)) if !validity.is_all() => {
                        let numbers = numbers.iter().enumerate();
                        let numbers =
                            numbers.map(|(i, &number)| if validity.is_valid(first + i) { number } else { 0 });
                        look_up(Run::Numbers(&numbers.collect::<Vec<_>>()), answers)?;
                    }
                    (looked_up, _) => looked_up?,
                }
                if !validity.is_all() {
                    for (i, answer) in answers.iter_mut().enumerate() {
                        *answer &= validity.is_valid(first + i);
                    }
                }
                each(answers);
                first += answers.len();
            }
            Ok(())
        })?;
        // An array of nulls only has no keys.
        (first..part.count).for_each(|_| each(&[false]));
        Ok(())
    }

    fn part(&self) -> PyResult<Part<'_>> {
        let whole = Part::whole(&self.array, &self.keys)?;
        let Type::Table(column) = &*self.keys else { return Ok(whole) };
        if self.array.n_children != 1 || self.array.children.is_null() {
            return Err(value("the Arrow table does not have the one column that its schema declares"));
        }
        if whole.bitmap()?.is_some() {
            return Err(value("the Arrow table has null rows: give its column instead"));
        }
        // SAFETY: by the specification one child, which lives as long as this array.
        let child = Part::whole(unsafe { &**self.array.children }, column)?;
        if whole.start.checked_add(whole.count).is_none_or(|end| end > child.count) {
            return Err(value("the Arrow table is longer than its column"));
        }
        Ok(Part { start: child.start + whole.start, count: whole.count, ..child })
    }
}
