//! Arrow arrays as keys of fullbloom's filters, and boolean arrays as answers.
//!
//! ```
//! use arrow_array::{BooleanArray, Int32Array, Int64Array};
//! use fullbloom::Filter;
//!
//! let mut filter = Filter::with_fpr(1_000, 0.001)?;
//! fullbloom_arrow::insert(&mut filter, &Int32Array::from(vec![Some(5), None, Some(7)]))?;
//!
//! // An integer is the same key in every width. A null is not inserted, and its answer is null.
//! let answers = fullbloom_arrow::may_contain(&filter, &Int64Array::from(vec![Some(7), Some(6), None]))?;
//! assert_eq!(answers, BooleanArray::from(vec![Some(true), Some(false), None]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`ArrowKeys`] is a batch for every other filter of fullbloom: those of other systems, shared, compact and dynamic
//! ones. All arrays are read in place.
//!
//! | Arrow type | keys |
//! |---|---|
//! | `Utf8`, `LargeUtf8`, `Utf8View`, `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | the bytes |
//! | `Int8` to `Int64`, `UInt8` to `UInt64` | integers: eight bytes in native filters and Spark's, their own width in others |
//! | others | an error that says what to convert them to |

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;
use fullbloom::Filter;
use fullbloom::error::{InsertError, KeysError};
use fullbloom::keys::{Column, KeyHasher, Keys};
use fullbloom::typed::KeyType;
use fullbloom_core::keys::Validity;
use fullbloom_core::sealed::Sealed;
use std::fmt;

/// An array cannot be the keys of a filter.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Arrays of this type are not keys.
    Unsupported(DataType),
    /// The keys do not fit the filter.
    Keys(KeysError),
    /// The keys could not be inserted.
    Insert(InsertError),
}

impl From<KeysError> for Error {
    fn from(error: KeysError) -> Error {
        Error::Keys(error)
    }
}

impl From<InsertError> for Error {
    fn from(error: InsertError) -> Error {
        Error::Insert(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported(of) => {
                write!(f, "arrays of type {of} are not keys: ")?;
                f.write_str(match of {
                    DataType::Dictionary(..) => "cast the dictionary to the type of its values",
                    DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Time32(_)
                    | DataType::Time64(_) | DataType::Duration(_) => {
                        "cast times to the integers that they are stored as, in one unit for the filter and its lookups"
                    }
                    DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                        "equal floating-point numbers may have different bytes; cast them to integers or text"
                    }
                    _ => "cast them to integers, text or bytes",
                })
            }
            Error::Keys(error) => error.fmt(f),
            Error::Insert(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// The keys of an array, for `insert_batch` and `may_contain_batch` of any filter.
#[derive(Debug, Clone, Copy)]
pub struct ArrowKeys<'a> {
    array: &'a dyn Array,
}

/// Evaluates an expression on the array as its own type, which [`ArrowKeys::new`] has checked.
macro_rules! as_typed {
    ($array:expr, numbers $numbers:ident => $of_numbers:expr, bytes $bytes:ident => $of_bytes:expr) => {{
        macro_rules! numbers {
            ($of:ty) => {{
                let $numbers = Column($array.as_primitive::<$of>().values());
                $of_numbers
            }};
        }
        macro_rules! bytes {
            ($typed:expr) => {{
                let $bytes = $typed;
                $of_bytes
            }};
        }
        match $array.data_type() {
            DataType::Int8 => numbers!(Int8Type),
            DataType::Int16 => numbers!(Int16Type),
            DataType::Int32 => numbers!(Int32Type),
            DataType::Int64 => numbers!(Int64Type),
            DataType::UInt8 => numbers!(UInt8Type),
            DataType::UInt16 => numbers!(UInt16Type),
            DataType::UInt32 => numbers!(UInt32Type),
            DataType::UInt64 => numbers!(UInt64Type),
            DataType::Utf8 => bytes!($array.as_string::<i32>()),
            DataType::LargeUtf8 => bytes!($array.as_string::<i64>()),
            DataType::Utf8View => bytes!($array.as_string_view()),
            DataType::Binary => bytes!($array.as_binary::<i32>()),
            DataType::LargeBinary => bytes!($array.as_binary::<i64>()),
            DataType::BinaryView => bytes!($array.as_binary_view()),
            DataType::FixedSizeBinary(_) => bytes!($array.as_fixed_size_binary()),
            _ => unreachable!("the type was checked when the keys were made"),
        }
    }};
}

impl<'a> ArrowKeys<'a> {
    /// The keys of this array.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn new(array: &'a dyn Array) -> Result<ArrowKeys<'a>, Error> {
        use DataType::{
            Binary, BinaryView, FixedSizeBinary, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, UInt8,
            UInt16, UInt32, UInt64, Utf8, Utf8View,
        };
        match array.data_type() {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Utf8 | LargeUtf8 | Utf8View
            | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Ok(ArrowKeys { array }),
            other => Err(Error::Unsupported(other.clone())),
        }
    }

    /// The answers of a lookup as an array: null where the key is null. `lookup` fills a bitmap of one bit
    /// for each key, as `may_contain_batch_into` of every filter does.
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use fullbloom_arrow::ArrowKeys;
    /// use fullbloom_dialects::{Filter, Parquet};
    ///
    /// let names = StringArray::from(vec![Some("alice"), None]);
    /// let keys = ArrowKeys::new(&names)?;
    /// let mut filter = Filter::<Parquet>::with_fpr(10, 0.01)?;
    /// filter.insert_batch(&keys)?;
    /// let answers = keys.answers(|bits| filter.may_contain_batch_into(&keys, bits))?;
    /// assert!(answers.value(0) && answers.is_null(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `lookup`.
    pub fn answers<E>(&self, lookup: impl FnOnce(&mut [u64]) -> Result<(), E>) -> Result<BooleanArray, E> {
        let mut words = vec![0; self.array.len().div_ceil(64)];
        lookup(&mut words)?;
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let bits = BooleanBuffer::new(Buffer::from_vec(bytes), 0, self.array.len());
        Ok(BooleanArray::new(bits, self.array.nulls().cloned()))
    }
}

impl Sealed for ArrowKeys<'_> {}

impl<H: KeyHasher> Keys<H> for ArrowKeys<'_> {
    fn count(&self) -> usize {
        self.array.len()
    }

    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        as_typed!(self.array,
            numbers column => column.hash_into(hasher, start, out, wide),
            bytes array => {
                let keys = start..start + out.len();
                hasher.hash_iter(keys.map(|i| AsRef::<[u8]>::as_ref(array.value(i))), out);
            }
        );
    }

    fn require(&self, hasher: &H, recorded: Option<KeyType>) -> Result<(), KeysError> {
        as_typed!(self.array, numbers column => column.require(hasher, recorded), bytes _array => Ok(()))
    }

    fn validity(&self) -> Option<Validity<'_>> {
        let nulls = self.array.nulls()?;
        Some(Validity::new(nulls.validity(), nulls.offset()))
    }
}

/// Inserts the keys of an array. Nulls are left out.
///
/// # Errors
/// If arrays of this type are not keys, or the keys do not fit the filter.
pub fn insert(filter: &mut Filter, keys: &dyn Array) -> Result<(), Error> {
    Ok(filter.insert_batch(&ArrowKeys::new(keys)?)?)
}

/// Looks up the keys of an array. The answer for a null is null.
///
/// # Errors
/// As of [`insert`].
pub fn may_contain<S: AsRef<[u8]>>(filter: &Filter<S>, keys: &dyn Array) -> Result<BooleanArray, Error> {
    let keys = ArrowKeys::new(keys)?;
    Ok(keys.answers(|bits| filter.may_contain_batch_into(&keys, bits))?)
}

#[cfg(test)]
mod tests;
