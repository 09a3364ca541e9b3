"""Keys of Parquet columns as values of pyarrow: the inverse of what conformance/make/typed.py does."""

import decimal
import struct
import uuid

import pyarrow as pa


def physical(request, key):
    """The integer or float of a plain encoding; bytes for byte arrays."""
    data = bytes.fromhex(key)
    kind = request["physical"]
    if kind in ("INT32", "INT64"):
        return int.from_bytes(data, "little", signed=not request["type"].startswith("uint"))
    if kind == "FLOAT":
        return struct.unpack("<f", data)[0]
    if kind == "DOUBLE":
        return struct.unpack("<d", data)[0]
    if kind == "INT96":
        nanos, day = struct.unpack("<qi", data)
        return (day - 2440588) * 86_400_000_000_000 + nanos
    return data


def arrow_type(label):
    """The Arrow type of a type of the corpus."""
    name, _, rest = label.partition("(")
    parameters = [int(n) for n in rest.rstrip(")").split(",") if n.isdigit()]
    if name == "decimal":
        return pa.decimal128(*parameters)
    if name == "fixed":
        return pa.binary(*parameters)
    return {
        "float": pa.float32(), "double": pa.float64(), "float16": pa.float16(), "string": pa.string(), "binary": pa.binary(),
        "date": pa.date32(), "time": pa.time32("ms"), "timestamp": pa.timestamp("us" if "us" in rest else "ns"),
        "uuid": pa.uuid(),
    }.get(name) or getattr(pa, name)()


def plain(request, key):
    """The value in Python: an int, float, str, bytes, Decimal or UUID. Dates and times are integers."""
    value = physical(request, key)
    name, _, rest = request["type"].partition("(")
    if name == "decimal":
        if isinstance(value, bytes):
            value = int.from_bytes(value, "big", signed=True)
        with decimal.localcontext(prec=60):
            return decimal.Decimal(value).scaleb(-int(rest.rstrip(")").split(",")[1]))
    if name == "float16":
        return struct.unpack("<e", value)[0]
    if name == "string":
        return value.decode()
    if name == "uuid":
        return uuid.UUID(bytes=value)
    return value


def scalar(request, key):
    """The value as a scalar of pyarrow."""
    value, kind = plain(request, key), arrow_type(request["type"])
    if request["type"] == "uuid":
        return pa.scalar(value.bytes, pa.binary(16))
    if request["type"].startswith(("date", "time")):
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.scalar(value, storage).cast(kind)
    if request["type"] == "float16":
        return pa.scalar(value, pa.float32()).cast(pa.float16())
    return pa.scalar(value, kind)
