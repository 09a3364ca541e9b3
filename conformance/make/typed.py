"""Values of every type that Parquet has a filter for, and the columns that four programs write.

A value is kept as the bytes that the filter hashes: the plain encoding without a length. `Kind.values` has the values
that a column holds, in two row groups, and values that it does not hold.
"""

import dataclasses
import random
import struct

ROWS = 14  # in a row group: twelve values, one of them twice, and a null
LONG = 2048  # in a row group of DuckDB, which makes no smaller ones


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type: what it is for a query, its physical type, and its name in a schema of parquet-java."""

    name: str
    physical: str
    logical: str
    java: str

    def values(self):
        """The values of the first row group, of the second, and absent ones."""
        rng = random.Random(f"{self.logical} as {self.physical}")
        edges = [value for value in EDGES.get(self.family(), []) if self.fits(value)]
        rng.shuffle(edges)
        seen, drawn = set(), []
        for value in edges:
            if value not in seen:
                seen.add(value)
                drawn.append(value)
        drawn = drawn[:22]
        while len(drawn) < 32:
            value = self.draw(rng)
            if value not in seen:
                seen.add(value)
                drawn.append(value)
        # Absent values are drawn ones, so that edges are in the filter.
        return ([self.bytes(v) for v in part] for part in (drawn[0:24:2], drawn[1:24:2], drawn[24:]))

    def rows(self, group_rows):
        """The values of both row groups in order: one value twice, then a null, and again up to that many rows."""
        first, second, _ = self.values()
        groups = ([*part, part[0], None] for part in (first, second))
        return [value for group in groups for value in (group * (group_rows // len(group) + 1))[:group_rows]]

    def family(self):
        return self.logical.split("(")[0]

    def parameters(self):
        return [int(n) for n in self.logical.partition("(")[2].rstrip(")").split(",") if n.strip("-").isdigit()]

    def width(self):
        """The bytes of a fixed-length value."""
        return int(self.physical.partition("(")[2].rstrip(")"))

    def bits(self):
        """How many bits an integer has, and whether it is signed."""
        name = self.logical
        if name.startswith(("int", "uint")):
            return int(name.lstrip("uint")), not name.startswith("u")
        return (32, True) if self.physical == "INT32" else (64, True)

    def fits(self, value):
        family = self.family()
        if family.startswith(("int", "uint")):
            bits, signed = self.bits()
            return -(1 << bits - 1) * signed <= value < 1 << bits - signed
        if family == "decimal":
            return abs(value) < 10 ** self.parameters()[0]
        return True

    def draw(self, rng):
        family = self.family()
        if family.startswith(("int", "uint")):
            bits, signed = self.bits()
            return rng.randrange(-(1 << bits - 1) * signed, 1 << bits - signed)
        if family == "decimal":
            return rng.randrange(-(10 ** self.parameters()[0]) + 1, 10 ** self.parameters()[0])
        if family in ("float", "float16"):
            return rng.randrange(-2000, 2000) / 4
        if family == "double":
            return rng.uniform(-1e6, 1e6)
        if family == "string":
            return "".join(rng.choice("abcäöü漢😀 ") for _ in range(rng.randrange(1, 30)))
        if family == "date":
            return rng.randrange(-20000, 40000)
        if family == "time":
            return rng.randrange(86_400_000)
        if family == "timestamp":
            return rng.randrange(0, 2 * 10**15)
        if family == "binary":
            return rng.randbytes(rng.randrange(1, 40))
        return rng.randbytes(self.width())

    def bytes(self, value):
        """The plain encoding of a value."""
        family = self.family()
        if family == "decimal" and self.physical == "BYTE_ARRAY":
            return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)
        if family == "decimal" and self.physical.startswith("FIXED"):
            return value.to_bytes(self.width(), "big", signed=True)
        if self.physical == "INT96":
            # Nanoseconds of a day and a Julian day.
            days, micros = divmod(value, 86_400_000_000)
            return struct.pack("<qi", micros * 1000, 2440588 + days)
        if self.physical in ("INT32", "INT64"):
            bytes = 4 if self.physical == "INT32" else 8
            return (value & (1 << 8 * bytes) - 1).to_bytes(bytes, "little")
        if family == "float16":
            return struct.pack("<e", value)
        if self.physical == "FLOAT":
            return struct.pack("<f", value)
        if self.physical == "DOUBLE":
            return struct.pack("<d", value)
        return value.encode() if family == "string" else value


INTEGERS = [0, 1, -1]
for power in (7, 8, 15, 16, 31, 32, 63, 64):
    INTEGERS += [2**power - 1, 2**power, -(2**power), -(2**power) - 1]
# Zeros and NaN have a file of their own: equal ones have different bytes.
FLOATS = [1.5, -1.5, 1.0, 16777216.0, float("inf"), float("-inf"), 2.0**-149, 3.4028234663852886e38]
TEXTS = ["", " ", "a", "a ", "A", "key0", "\0", "a\0b", "ä", "a\u0308", "漢字", "😀", "\ud7ff", "\ue000", "\uffff",
         "\U00010000", "\U0010ffff", "'quoted'", '"', "\\", "%", "x" * 300]
EDGES = {name: INTEGERS for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
EDGES |= {
    "float": FLOATS,
    "double": [*FLOATS, 0.1, -0.1, 5e-324, 1.7976931348623157e308],
    "float16": [1.5, -1.5, 1.0, 65504.0, 2.0**-24, float("inf"), float("-inf")],
    "string": TEXTS,
    "binary": [b"", b"\0", b"\0\0", b"\xff", b"\xff\xfe", b"a", b"\\xFF", b"\xed\xa0\x80", b"\xed\xb0\x80\xed\xa0\x80", b"\x80" * 40, bytes(range(32)), bytes(range(31)), bytes(range(33)), b"12345678", b"1234567", b"123456789"],
    "decimal": [sign * n for n in (0, 1, 99, 100, 255, 256, 12345, 2**31 - 1, 2**31, 10**9 - 1, 2**63, 10**18, 10**18 - 1, 10**37) for sign in (1, -1)],
    "date": [0, 1, -1, 19000, -719162, 2932896],
    "time": [0, 1, 86_399_999],
    "timestamp": [0, 1, 999_999, 1_000_000, 1_700_000_000_000_000],
}

_ALL = """
int8      INT32      int8               int32 {} (INTEGER(8,true))
int16     INT32      int16              int32 {} (INTEGER(16,true))
int32     INT32      int32              int32 {}
int64     INT64      int64              int64 {}
uint8     INT32      uint8              int32 {} (INTEGER(8,false))
uint16    INT32      uint16             int32 {} (INTEGER(16,false))
uint32    INT32      uint32             int32 {} (INTEGER(32,false))
uint64    INT64      uint64             int64 {} (INTEGER(64,false))
float     FLOAT      float              float {}
double    DOUBLE     double             double {}
float16   FIXED(2)   float16            fixed_len_byte_array(2) {} (FLOAT16)
string    BYTE_ARRAY string             binary {} (STRING)
binary    BYTE_ARRAY binary             binary {}
fixed5    FIXED(5)   fixed(5)           fixed_len_byte_array(5) {}
fixed16   FIXED(16)  fixed(16)          fixed_len_byte_array(16) {}
uuid      FIXED(16)  uuid               fixed_len_byte_array(16) {} (UUID)
date      INT32      date               int32 {} (DATE)
time      INT32      time(ms)           int32 {} (TIME(MILLIS,false))
timestamp INT64      timestamp(us)      int64 {} (TIMESTAMP(MICROS,false))
int96     INT96      timestamp(ns)      int96 {}
d9        INT32      decimal(9,2)       int32 {} (DECIMAL(9,2))
d4wide    INT64      decimal(4,2)       int64 {} (DECIMAL(4,2))
d18       INT64      decimal(18,4)      int64 {} (DECIMAL(18,4))
d9fixed   FIXED(4)   decimal(9,2)       fixed_len_byte_array(4) {} (DECIMAL(9,2))
d18fixed  FIXED(8)   decimal(18,4)      fixed_len_byte_array(8) {} (DECIMAL(18,4))
d19fixed  FIXED(9)   decimal(19,2)      fixed_len_byte_array(9) {} (DECIMAL(19,2))
d38fixed  FIXED(16)  decimal(38,10)     fixed_len_byte_array(16) {} (DECIMAL(38,10))
d9long    FIXED(12)  decimal(9,2)       fixed_len_byte_array(12) {} (DECIMAL(9,2))
d20bytes  BYTE_ARRAY decimal(20,3)      binary {} (DECIMAL(20,3))
"""
KINDS = {}
for _line in _ALL.strip().splitlines():
    _name, _physical, _logical, _java = _line.split(None, 3)
    KINDS[_name] = Kind(_name, _physical, _logical, _java)

# What each program writes. pyarrow, DuckDB and DataFusion select the physical type of a decimal themselves.
WRITTEN = {
    "parquet-java": list(KINDS),
    "pyarrow": [name for name in KINDS if name not in ("uuid", "int96", "d9", "d4wide", "d18", "d9long", "d20bytes", "fixed16")],
    "pyarrow-integers": ["d9", "d18"],
    "datafusion": [name for name in KINDS if name not in ("uuid", "int96", "d4wide", "d9fixed", "d18fixed", "d9long", "d20bytes", "fixed16")],
    "duckdb": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "string", "binary",
               "uuid", "date", "timestamp", "d9", "d18"],
}
