//! Which row groups may contain a value, by the filters of its column.
//!
//! ```text
//!   values ─► the column's physical form ─► xxh64, once ─► filter of row group 0: no
//!                                                      ├─► filter of row group 1: maybe
//!                                                      └─► no filter in row group 2: kept
//! ```
//!
//! A row group is dropped only if its filter was read, is well formed, and answers "no" for every form that
//! one of the values can have in the column. Whatever else happens, the row group is kept.

use crate::error::Error;
use crate::footer::{Chunk, Footer};
use crate::types::{Column, PhysicalType};
use fullbloom::keys::Hashes;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_dialects::filter::Dialect as _;
use fullbloom_dialects::hash::xxh64;

/// Hashes looked up at once: enough to overlap the reads of memory, and few enough to stop early.
const BATCH: usize = 256;

/// A value to look up, in the physical form that a Parquet file stores: a timestamp or a date is its integer
/// in the column's unit, a decimal its unscaled integer or its big-endian bytes, text its UTF-8 bytes.
///
/// | column | values that fit | all others |
/// |---|---|---|
/// | `BOOLEAN` | `Boolean`; every row group is kept, because Parquet has no filters of booleans | error |
/// | `INT32`, `INT64` | `Int32` and `Int64`; dates and times only in their own width | error |
/// | `INT96` | `Int96` | error |
/// | `FLOAT` | `Float`, and a `Double` that is exactly a `Float` | error |
/// | `DOUBLE` | `Double` and `Float` | error |
/// | `BYTE_ARRAY` | `ByteArray` and `FixedLenByteArray` | error |
/// | `FIXED_LEN_BYTE_ARRAY` | `FixedLenByteArray` and `ByteArray` of the column's length | error |
///
/// - An `Int64` outside -2^31 .. 2^32 cannot be in an `INT32` column, signed or unsigned, and is a certain
///   "no".
/// - A negative `Int32` is looked up in an `INT64` column as itself and as the unsigned number of its bits.
/// - Zero is looked up with both signs, since `0.0 == -0.0` although their bits differ. A NaN keeps every row
///   group, because a NaN with other bits may be in the column.
/// - Bytes are compared as bytes. A decimal in a `BYTE_ARRAY` can be padded by its writer: it is found only
///   in the form that it has in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Filters do not record nulls, so a null keeps every row group. For the SQL conditions `=` and `IN`,
    /// which nulls never meet, leave nulls out of the values.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A 32-bit integer.
    Int32(i32),
    /// A 64-bit integer.
    Int64(i64),
    /// The timestamp of an old writer: nanoseconds of the day in eight bytes, Julian day in four, both
    /// little-endian.
    Int96([u8; 12]),
    /// A 32-bit floating-point number.
    Float(f32),
    /// A 64-bit floating-point number.
    Double(f64),
    /// Bytes, or text.
    ByteArray(&'a [u8]),
    /// Bytes of the length that all values of the column have.
    FixedLenByteArray(&'a [u8]),
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Value::$variant(value)
            }
        }
    )*};
}

from!(bool => Boolean, i32 => Int32, i64 => Int64, f32 => Float, f64 => Double);

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::ByteArray(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::ByteArray(value.as_bytes())
    }
}

/// Values hashed for lookups in the filters of one column, by [`File::query`](crate::File::query).
///
/// It also fits other files whose column of this number has the same name and type; their answers for a
/// column that differs are [`Answer::Unreadable`].
#[derive(Debug, Clone)]
pub struct Query {
    number: usize,
    column: Column,
    /// Sorted, so that a filter is walked through in order.
    hashes: Vec<u64>,
    /// A value may be anywhere whatever a filter says.
    keeps_all: bool,
}

/// What is known about a row group.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// None of the values is in the row group.
    No,
    /// At least one of the values may be there.
    Maybe,
    /// There is no filter, so the values may be there.
    NoFilter,
    /// The filter could not be read or is damaged, so the values may be there.
    Unreadable(Error),
}

impl Answer {
    /// Whether the row group must be read.
    pub fn may_contain(&self) -> bool {
        !matches!(self, Answer::No)
    }
}

/// The row groups of a file, after a lookup in their filters.
#[derive(Debug)]
pub struct Pruned {
    answers: Vec<Answer>,
}

impl Pruned {
    pub(crate) fn new(answers: Vec<Answer>) -> Pruned {
        Pruned { answers }
    }

    /// The numbers of the row groups that must be read, from 0 and ascending.
    pub fn row_groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.answers.iter().enumerate().filter(|(_, answer)| answer.may_contain()).map(|(group, _)| group)
    }

    /// The answer for each row group of the file.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }
}

impl Query {
    pub(crate) fn new(footer: &Footer, column: &str, values: &[Value<'_>]) -> Result<Query, Error> {
        let number = footer.column(column)?;
        let column = footer.columns[number].clone();
        let mut query = Query { number, column, hashes: Vec::new(), keeps_all: false };
        values.iter().try_for_each(|value| query.add(*value))?;
        query.hashes.sort_unstable();
        query.hashes.dedup();
        Ok(query)
    }

    /// Hashes every form that a value can have in the column.
    fn add(&mut self, value: Value<'_>) -> Result<(), Error> {
        use PhysicalType as Type;
        let misfit = |value| Err(Error::ValueType { value, column: self.column.physical_type });
        match (self.column.physical_type, value) {
            (_, Value::Null) | (Type::Boolean, Value::Boolean(_)) => self.keeps_all = true,
            (Type::Int32, Value::Int32(v)) => self.hash(&v.to_le_bytes()),
            (Type::Int32, Value::Int64(v)) if !self.column.is_time => {
                if (i32::MIN.into()..=u32::MAX.into()).contains(&v) {
                    self.hash(&(v as u32).to_le_bytes());
                }
            }
            (Type::Int64, Value::Int64(v)) => self.hash(&v.to_le_bytes()),
            (Type::Int64, Value::Int32(v)) if !self.column.is_time => {
                self.hash(&i64::from(v).to_le_bytes());
                self.hash(&u64::from(v as u32).to_le_bytes());
            }
            (Type::Int96, Value::Int96(v)) => self.hash(&v),
            (Type::Float, Value::Float(v)) => self.float(v),
            (Type::Float, Value::Double(v)) if v.is_nan() || f64::from(v as f32) == v => {
                self.float(v as f32);
            }
            (Type::Double, Value::Double(v)) => self.double(v),
            (Type::Double, Value::Float(v)) => self.double(v.into()),
            (Type::ByteArray, Value::ByteArray(v) | Value::FixedLenByteArray(v)) => self.hash(v),
            (Type::FixedLenByteArray, Value::ByteArray(v) | Value::FixedLenByteArray(v)) => {
                self.fixed(v)?;
            }
            (_, Value::Boolean(_)) => return misfit(Type::Boolean),
            (_, Value::Int32(_)) => return misfit(Type::Int32),
            (_, Value::Int64(_)) => return misfit(Type::Int64),
            (_, Value::Int96(_)) => return misfit(Type::Int96),
            (_, Value::Float(_)) => return misfit(Type::Float),
            (_, Value::Double(_)) => return misfit(Type::Double),
            (_, Value::ByteArray(_)) => return misfit(Type::ByteArray),
            (_, Value::FixedLenByteArray(_)) => return misfit(Type::FixedLenByteArray),
        }
        Ok(())
    }

    fn hash(&mut self, key: &[u8]) {
        self.hashes.push(xxh64(key));
    }

    fn float(&mut self, value: f32) {
        self.keeps_all |= value.is_nan();
        self.hash(&value.to_le_bytes());
        if value == 0.0 {
            self.hash(&(-value).to_le_bytes());
        }
    }

    fn double(&mut self, value: f64) {
        self.keeps_all |= value.is_nan();
        self.hash(&value.to_le_bytes());
        if value == 0.0 {
            self.hash(&(-value).to_le_bytes());
        }
    }

    fn fixed(&mut self, value: &[u8]) -> Result<(), Error> {
        let column_len = self.column.value_len.unwrap_or(0);
        if usize::try_from(column_len) != Ok(value.len()) {
            return Err(Error::ValueLen { len: value.len(), column_len });
        }
        self.hash(value);
        if let (true, &[low, high]) = (self.column.is_float16, value) {
            let magnitude = u16::from_le_bytes([low, high & 0x7f]);
            self.keeps_all |= magnitude > 0x7c00; // beyond infinity: a NaN
            if magnitude == 0 {
                self.hash(&[low, high ^ 0x80]);
            }
        }
        Ok(())
    }

    /// The chunk whose filter must be read; or the answer, if it does not depend on a filter.
    pub(crate) fn chunk<'f>(&self, footer: &'f Footer, row_group: usize) -> Result<&'f Chunk, Answer> {
        let row_groups = footer.row_groups();
        if row_group >= row_groups {
            return Err(Answer::Unreadable(Error::NoRowGroup { row_group, row_groups }));
        }
        if footer.columns.get(self.number) != Some(&self.column) {
            return Err(Answer::Unreadable(Error::OtherColumn { name: self.column.name.clone() }));
        }
        if self.keeps_all {
            return Err(Answer::Maybe);
        }
        if self.hashes.is_empty() {
            return Err(Answer::No);
        }
        Ok(&footer.chunks[row_group * footer.columns.len() + self.number])
    }

    /// The answer of a chunk, given its filter's bytes.
    pub(crate) fn answer(&self, chunk: &Chunk, bytes: Result<Option<Vec<u8>>, Error>) -> Answer {
        match bytes.and_then(|bytes| bytes.map(|bytes| self.look_up(chunk, &bytes)).transpose()) {
            Ok(None) => Answer::NoFilter,
            Ok(Some(true)) => Answer::Maybe,
            Ok(Some(false)) => Answer::No,
            Err(e) => Answer::Unreadable(e),
        }
    }

    fn look_up(&self, chunk: &Chunk, bytes: &[u8]) -> Result<bool, Error> {
        let filter = Filter::<Parquet>::view(bytes)?;
        let mut answers = [false; BATCH];
        let may_contain = self.hashes.chunks(BATCH).any(|hashes| {
            let answers = &mut answers[..hashes.len()];
            let own = Hashes::new(hashes, filter.dialect().hasher());
            filter
                .may_contain_batch_into(&own, &mut *answers)
                .expect("a place for each of the filter's own hashes");
            answers.contains(&true)
        });
        // Filters have no checksum, but this damage shows: a hole in the file where the blocks should be.
        let nulls = chunk.nulls.unwrap_or(if self.column.is_required { 0 } else { chunk.values });
        if !may_contain && chunk.values > nulls && filter.bits().iter().all(|byte| *byte == 0) {
            return Err(Error::Malformed { what: "the filter of a column with values, which has no bits" });
        }
        Ok(may_contain)
    }
}
