//! The columns of a file's schema, and how their values are stored.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::schema::types::ColumnDescriptor;
use std::fmt;

/// How a column stores its values. Prints as Parquet's specification spells it: `INT64`, `BYTE_ARRAY`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// One bit. Parquet defines no hash for it, so there are no filters of booleans.
    Boolean,
    /// 32-bit integers: also dates, times in milliseconds, and small decimals.
    Int32,
    /// 64-bit integers: also timestamps, times, and decimals.
    Int64,
    /// 12 bytes: the timestamps of old writers.
    Int96,
    /// 32-bit floating-point numbers.
    Float,
    /// 64-bit floating-point numbers.
    Double,
    /// Bytes of any length: also text, and decimals.
    ByteArray,
    /// Bytes of one length for the whole column: also decimals, UUIDs, and 16-bit floating-point numbers.
    FixedLenByteArray,
}

impl PhysicalType {
    pub(crate) fn new(physical_type: Type) -> PhysicalType {
        match physical_type {
            Type::BOOLEAN => PhysicalType::Boolean,
            Type::INT32 => PhysicalType::Int32,
            Type::INT64 => PhysicalType::Int64,
            Type::INT96 => PhysicalType::Int96,
            Type::FLOAT => PhysicalType::Float,
            Type::DOUBLE => PhysicalType::Double,
            Type::BYTE_ARRAY => PhysicalType::ByteArray,
            Type::FIXED_LEN_BYTE_ARRAY => PhysicalType::FixedLenByteArray,
        }
    }
}

impl fmt::Display for PhysicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PhysicalType::Boolean => "BOOLEAN",
            PhysicalType::Int32 => "INT32",
            PhysicalType::Int64 => "INT64",
            PhysicalType::Int96 => "INT96",
            PhysicalType::Float => "FLOAT",
            PhysicalType::Double => "DOUBLE",
            PhysicalType::ByteArray => "BYTE_ARRAY",
            PhysicalType::FixedLenByteArray => "FIXED_LEN_BYTE_ARRAY",
        })
    }
}

/// A column of the schema, as far as it decides which bytes of a value are hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name, with those of the groups it is in, joined by dots.
    pub(crate) name: String,
    pub(crate) physical_type: PhysicalType,
    /// Bytes of a value, if the column is of fixed length.
    pub(crate) value_len: Option<i32>,
    /// Its integers are dates or times: a number of another width is probably in another unit.
    pub(crate) is_time: bool,
    /// Its two bytes are floating-point numbers, which have two zeros and many NaNs.
    pub(crate) is_float16: bool,
    /// No value is null.
    pub(crate) is_required: bool,
}

impl Column {
    pub(crate) fn new(column: &ColumnDescriptor) -> Column {
        let physical_type = PhysicalType::new(column.physical_type());
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let is_fixed = physical_type == PhysicalType::FixedLenByteArray;
        Column {
            name: column.path().string(),
            physical_type,
            value_len: is_fixed.then(|| column.type_length()),
            // Old files have the converted type alone.
            is_time: matches!(
                logical,
                Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. })
            ) || matches!(
                converted,
                ConvertedType::DATE
                    | ConvertedType::TIME_MILLIS
                    | ConvertedType::TIME_MICROS
                    | ConvertedType::TIMESTAMP_MILLIS
                    | ConvertedType::TIMESTAMP_MICROS
            ),
            is_float16: matches!(logical, Some(LogicalType::Float16)),
            is_required: column.max_def_level() == 0,
        }
    }
}
