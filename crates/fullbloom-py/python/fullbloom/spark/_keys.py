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


def key_type(kind):
    """The type that a filter records for keys of this kind: dates and timestamps are integers."""
    return "bytes" if kind in ("string", "binary") else "long"


def _arrow_kind(data_type):
    """The kind of a column as it reaches Python, where collations and fixed lengths are not seen."""
    if pa.types.is_date32(data_type):
        return "date"
    if pa.types.is_timestamp(data_type):
        return "timestamp_ntz" if data_type.tz is None else "timestamp"
    if pa.types.is_integer(data_type):
        return "integer"
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
        return "string"
    return "binary"


def same_kind(ours, theirs):
    """Refuses keys of another kind than those in the filter; ``None`` is a filter whose kind is not known."""
    if ours not in (None, theirs):
        raise TypeError(f"the filter was built of {ours} keys, and this column has {theirs} keys: cast the column")


def keys_of(array, wanted=None):
    """A column of Arrow's in the form that a filter takes: dates and timestamps as the integers they are. Refused if it is of
    another kind than wanted."""
    if wanted is not None:
        same_kind(wanted, _arrow_kind(array.type))
    if pa.types.is_date32(array.type):
        return array.view(pa.int32())
    if pa.types.is_timestamp(array.type):
        return array.view(pa.int64())
    return array
