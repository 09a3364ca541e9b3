//! The columns of a file's schema, and how their values are stored.

use parquet::basic::Type;
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

/// A column of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name, with those of the groups it is in, joined by dots.
    pub(crate) name: String,
    pub(crate) physical_type: PhysicalType,
}

impl Column {
    pub(crate) fn new(column: &ColumnDescriptor) -> Column {
        let physical_type = PhysicalType::new(column.physical_type());
        Column { name: column.path().string(), physical_type }
    }
}
