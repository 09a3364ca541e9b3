"""Which columns can be keys, and in what form they reach a filter."""

import pyarrow as pa
from pyspark.sql import Column, functions, types

#: Integers of every width are the same key if they are the same number; dates are days and timestamps microseconds, both
#: since 1970, as Parquet and Arrow hold them.
_KINDS = {
    types.ByteType: "integer",
    types.ShortType: "integer",
    types.IntegerType: "integer",
    types.LongType: "integer",
    types.StringType: "string",
    types.VarcharType: "string",
    types.BinaryType: "binary",
    types.DateType: "date",
    types.TimestampType: "timestamp",
    types.TimestampNTZType: "timestamp_ntz",
}


#: Where Spark keeps that a text column was declared as ``char(n)`` or ``varchar(n)``.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


def named(column):
    """The column of a name, or itself."""
    if isinstance(column, str):
        return functions.col(column)
    if isinstance(column, Column):
        return column
    raise TypeError(f"a column is named by a str or a Column, not {type(column).__name__}")


def kind(df, column):
    """What the keys of this column are; refused if they can be none."""
    field = df.select(named(column)).schema[0]
    data_type = field.dataType
    declared = field.metadata.get(_DECLARED, data_type.simpleString())
    if declared.startswith("char("):
        raise TypeError(f"{declared} is padded when it is compared, so equal text may differ in bytes: give rtrim of the column")
    found = _KINDS.get(type(data_type))
    if found is None:
        shown = data_type.simpleString()
        raise TypeError(f"keys are integers, text, bytes, dates and timestamps, not {shown}: cast the column")
    if getattr(data_type, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        shown = data_type.collation
        raise TypeError(f"text that is compared by the collation {shown} cannot be a key: equal text may differ in bytes")
    return found


def keys_of(array):
    """A column of Arrow's in the form that a filter takes: dates and timestamps as the integers they are."""
    if pa.types.is_date32(array.type):
        return array.view(pa.int32())
    if pa.types.is_timestamp(array.type):
        return array.view(pa.int64())
    return array
