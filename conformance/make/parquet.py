"""The corpus of Parquet: columns of every type by four programs, sound filters of unusual form, and damaged ones."""

import splitblock
import thrift
import typed
from corpus import System
from parquet_file import OFFSET, ParquetFile, filter_bytes, header

SPECIFICATION = "https://github.com/apache/parquet-format/blob/master/BloomFilter.md and parquet.thrift beside it"

SILENT = [
    "what a reader does with a filter that it cannot read. Here a query must return its rows, because the filter only saves"
    " time; a reader that is asked for the filter itself may report an error",
    "whether a reader compares bloom_filter_length with the header of the filter, or offsets with the length of the file",
    "whether the number of blocks is a power of two: BloomFilter.md maps a hash to any number of blocks, so any number is sound",
    "which bytes are hashed for values that are equal but encoded otherwise: -0.0 and 0.0, and the payloads of NaN. Only"
    " agreement of a query with and without the filter is asked for",
    "whether readers pass over fields of the header that they do not know; Thrift's rules say that they do",
]

WRITER = "conformance/make/typed.py lists the values; interop/conformance/write.py has the calls"


def hashes(system):
    """The hash of every typed value, in the columns of the corpus or absent from them."""
    keys = {key for kind in typed.KINDS.values() for part in kind.values() for key in part}
    assert splitblock.xxhash64(b"key0") == 0x6290E6BC61D244BB  # as parquet-java printed it, in vectors/parquet
    pairs = [(key.hex(), f"{splitblock.xxhash64(key):016x}") for key in sorted(keys)]
    system.hashes("xxHash64 with seed 0, as a number", "conformance/make/splitblock.py, which agrees with vectors/parquet", pairs)


def lookup(file, column, keys):
    """What the filters of a column say: whether some row group may contain a key. Read here, from the specification."""
    bitsets = []
    for group in range(file.row_groups()):
        offset = file.chunk(group, column).get(OFFSET)
        if offset is None:
            return [1] * len(keys)
        reader = thrift.Reader(file.body, offset)
        byte_len = reader.struct().get(1)
        bitsets.append(bytes(reader.take(byte_len)))
    return [int(any(splitblock.contains(bitset, key) for bitset in bitsets)) for key in keys]


def typed_files(system, real, versions):
    """Each type, by each program: the filter's answers, and the rows of queries."""
    for writer, names in typed.WRITTEN.items():
        program = writer.removesuffix("-integers")
        data = (real / f"{writer}.parquet").read_bytes()
        file = ParquetFile(data)
        name = system.file(f"{writer}.parquet", data, f"{versions[program]}; {WRITER}")
        for kind in (typed.KINDS[n] for n in names):
            first, second, absent = kind.values()
            rows = kind.rows(typed.LONG if writer == "duckdb" else typed.ROWS)
            found = [*first, *second]
            if file.chunk(0, kind.name).get(OFFSET) is None:
                raise SystemExit(f"{writer} wrote no filter for {kind.name}")
            if not all(lookup(file, kind.name, found)):
                raise SystemExit(f"{writer} wrote a filter for {kind.name} in which values are missing")
            keys = system.keys(
                f"{writer} {kind.name}", found, absent, answers=lookup(file, kind.name, absent),
                rows=[rows.count(key) for key in found] + [0] * len(absent),
                column=kind.name, physical=kind.physical, type=kind.logical,
            )
            what = f"{kind.logical} as {kind.physical}, by {program}"
            system.case(f"{writer}/{kind.name}/column", name, "column", keys, "exact", what)
            system.case(f"{writer}/{kind.name}/rows", name, "rows", keys, "rows", what)


def groups(system, real, versions):
    """Many row groups, nested columns, and predicates over several values or columns."""
    data = (real / "groups.parquet").read_bytes()
    file = ParquetFile(data)
    origin = f"{versions['pyarrow']}; 60 row groups of 5 rows; {WRITER}"
    name = system.file("groups.parquet", data, origin)
    numbers = sample_numbers()
    int32 = lambda n: n.to_bytes(4, "little", signed=True)
    columns = {
        "a": ([int32(n) for n in numbers[:300]], "INT32", "int32"),
        "b": ([b"name%d" % n for n in numbers[300:]], "BYTE_ARRAY", "string"),
        "nested.c": ([int32(n) for n in numbers[300:]], "INT32", "int32"),
    }
    for column, (values, physical, logical) in columns.items():
        found, absent = values[::5], [int32(7), int32(-7)] if physical == "INT32" else [b"name7", b"name-7"]
        keys = system.keys(f"groups {column}", found, absent, answers=lookup(file, column, absent),
                           rows=[1] * len(found) + [0] * len(absent), column=column, physical=physical, type=logical)
        why = f"each key is in one of 60 row groups, each with a filter; column {column}"
        system.case(f"groups/{column}/column", name, "column", keys, "exact", why)
        system.case(f"groups/{column}/rows", name, "rows", keys, "rows", why)

    # The filters of some row groups only: the first, every other one, all but the first.
    for label, kept in (("first", lambda g: g == 0), ("half", lambda g: g % 2 == 0), ("not-first", lambda g: g > 0)):
        changed = ParquetFile(data)
        for group in range(changed.row_groups()):
            if not kept(group):
                changed.set_filter(group, "a", None, None)
        part = system.file(f"groups-{label}.parquet", changed.bytes(), "groups.parquet without the filters of other row groups")
        system.case(f"groups-{label}/rows", part, "rows", "groups a", "rows", "row groups without a filter beside ones with")

    # The filters of the row groups in the reverse order, without lengths, and at odd offsets.
    changed = ParquetFile(data)
    for group in reversed(range(changed.row_groups())):
        metadata = changed.chunk(group, "a")
        offset, length = metadata.get(OFFSET), metadata.get(15)
        changed.append(b"\0" * (group % 7 + 1))
        changed.set_filter(group, "a", changed.append(bytes(changed.body[offset : offset + length])), None)
    part = system.file("groups-moved.parquet", changed.bytes(), "groups.parquet, its filters moved and without lengths")
    why = "filters in the reverse order of the row groups, at offsets that are not aligned, without bloom_filter_length"
    system.case("groups-moved/column", part, "column", "groups a", "exact", why)
    system.case("groups-moved/rows", part, "rows", "groups a", "rows", why)

    data = (real / "pairs.parquet").read_bytes()
    name = system.file("pairs.parquet", data, f"{versions['pyarrow']}; 6 row groups of 10 rows; {WRITER}")
    a, b = ([int32(n) for n in part] for part in (numbers[:60], numbers[60:120]))
    none = int32(7)
    shape = {"physical": "INT32", "type": "int32", "column": "a"}
    keys = system.keys("pairs in", [[key, none] for key in a[::7]] + [[none, key] for key in a[::9]], [[none, int32(-7)]],
                       rows=[1] * (len(a[::7]) + len(a[::9])) + [0], **shape)
    system.case("pairs/in", name, "rows", keys, "rows", "a IN (x, y), of which one is there", where="in")
    pairs = [[a[i], none] for i in range(0, 60, 7)] + [[none, b[i]] for i in range(0, 60, 7)] + [[a[0], b[59]]]
    keys = system.keys("pairs or", pairs, [[none, none]], rows=[1] * (len(pairs) - 1) + [2, 0], other="b", **shape)
    system.case("pairs/or", name, "rows", keys, "rows", "a = x OR b = y, of which one is there", where="or")
    keys = system.keys("pairs crossed", [], [[b[i], a[i]] for i in range(0, 60, 7)] + [[a[0], b[59]]],
                       rows=[0] * len(range(0, 60, 7)) + [0], other="b", **shape)
    system.case("pairs/and-absent", name, "rows", keys, "rows", "a = x AND b = y, never in one row", where="and")
    keys = system.keys("pairs and", [[a[i], b[i]] for i in range(0, 60, 7)], rows=[1] * len(range(0, 60, 7)), other="b", **shape)
    system.case("pairs/and", name, "rows", keys, "rows", "a = x AND b = y, both in one row", where="and")
    keys = system.keys("pairs not", a[::7], [none], rows=[59] * len(a[::7]) + [60], **shape)
    system.case("pairs/not-equal", name, "rows", keys, "rows", "a <> x, whose absence proves nothing", where="<>")


def sample_numbers():
    """The numbers of groups.parquet and pairs.parquet, as interop/conformance/write.py draws them."""
    import random

    return random.Random(1).sample(range(-(2**31), 2**31), 600)


def equal_values(system, real, versions):
    """Values that are equal for a query and have different bytes: judged against the same file without filters."""
    data = (real / "equal.parquet").read_bytes()
    name = system.file("equal.parquet", data, f"{versions['parquet-java']}; two row groups of two rows; {WRITER}")
    bare = ParquetFile(data)
    for column in ("zero", "nan"):
        for group in range(bare.row_groups()):
            bare.set_filter(group, column, None, None)
    twin = system.file("equal-without.parquet", bare.bytes(), "equal.parquet without offsets and lengths of filters")
    zero, minus = bytes(8), bytes(7) + b"\x80"
    nans = [bytes.fromhex(h) for h in ("000000000000f87f", "010000000000f8ff", "000000000000f8ff")]
    shape = {"physical": "DOUBLE", "type": "double"}
    keys = system.keys("equal zero", [zero, minus], [], rows=[1, 1], column="zero", **shape)
    system.case("equal/zero", name, "rows", keys, "twin", "-0.0 in one row group and 0.0 in the other", twin=twin)
    keys = system.keys("equal nan", nans, [], rows=[0, 0, 0], column="nan", **shape)
    system.case("equal/nan", name, "rows", keys, "twin", "NaN with different payloads in two row groups", twin=twin)


KEYS = [f"key{i}".encode() for i in range(64)]
ABSENT = [f"absent{i}".encode() for i in range(16)]
FOOTER = "footer"  # an offset or a length that depends on where the footer begins


class Damage:
    """Whole files and bare filters, made of one file and one filter."""

    def __init__(self, system, real, versions):
        self.system = system
        self.plain = (real / "plain.parquet").read_bytes()
        self.origin = f"the column of plain.parquet ({versions['pyarrow']}; key0 to key63, one row group)"
        self.good = filter_bytes(KEYS, 8)
        self.bitset = self.good[-256:]
        self.head = self.good[:-256]

    def keys(self, name, bitset=None):
        """The keys; what absent ones get depends on the filter."""
        bitset = bitset or self.bitset
        return self.system.keys(
            name, KEYS, ABSENT, answers=[splitblock.contains(bitset, key) for key in ABSENT], rows=[1] * 64 + [0] * 16,
            column="key", physical="BYTE_ARRAY", type="string",
        )

    def file(self, filter, offset=None, length="exact", before=b"", after=b""):
        """A whole file with this filter. `offset` and `length` replace the right ones; None means no length."""
        file = ParquetFile(self.plain)
        file.append(before)
        at = file.append(filter)
        file.append(after)
        end = len(file.body)
        offset = at if offset is None else end + offset[1] if isinstance(offset, tuple) else offset
        file.set_filter(0, "key", offset, len(filter) if length == "exact" else length)
        return file.bytes()

    def both(self, name, filter, expect, why, keys="damage", alone=True, **place):
        """Cases of one filter: alone, asked through the file, and in a query."""
        made = f"made by conformance/make/parquet.py: {why}; {self.origin}"
        if alone:
            bare = self.system.file(f"{name}.bin", filter, f"made by conformance/make/parquet.py: {why}")
            self.system.case(f"{name}/filter", bare, "filter", keys, expect, why)
        whole = self.system.file(f"{name}.parquet", self.file(filter, **place), made)
        self.system.case(f"{name}/column", whole, "column", keys, expect, why)
        self.system.case(f"{name}/rows", whole, "rows", keys, expect if expect in ("nothing", "control") else "rows", why)

    def make(self):
        """All cases."""
        good, bitset, head = self.good, self.bitset, self.head
        encode = thrift.encode
        self.keys("damage")
        both = self.both

        # Sound filters of unusual form.
        both("sound", good, "exact", "a sound filter of 8 blocks")
        both("sound-no-length", good, "exact", "a sound filter without bloom_filter_length, as writers before 2023 left it",
             alone=False, length=None)
        for blocks in (1, 3, 7, 12):
            built = filter_bytes(KEYS, blocks)
            self.keys(f"damage {blocks} blocks", built[-32 * blocks:])
            both(f"sound-{blocks}-blocks", built, "exact", f"a sound filter of {blocks} block{'s' * (blocks > 1)}",
                 keys=f"damage {blocks} blocks")
        for pad in (1, 3):
            both(f"sound-odd-offset-{pad}", good, "exact", f"a sound filter after {pad} other bytes, at an odd offset",
                 alone=False, before=b"\x15" * pad)
        far = filter_bytes(KEYS, 1024)
        self.keys("damage 1024 blocks", far[-32 * 1024:])
        both("sound-32-KiB", far, "exact", "a sound filter of 32 KiB, larger than what readers fetch with the header",
             keys="damage 1024 blocks")
        both("sound-all-ones", head + b"\xff" * 256, "exact", "every bit is set: every key may be there",
             keys=self.keys("damage all ones", b"\xff" * 256))
        both("sound-maximum-blocks-of-ones", head + b"\xff" * 256, "exact", "the same, without bloom_filter_length",
             keys="damage all ones", alone=False, length=None)

        # Legal for Thrift, and written by nobody yet: a reader may give up, but not answer no.
        unknown = header(256)
        unknown.set(9, thrift.I32, 12345)
        both("unknown-field", encode(unknown) + bitset, "safe", "the header has a field 9, which nobody knows")
        large = header(256)
        large.set(20, thrift.BINARY, b"x" * 200)
        both("large-header", encode(large) + bitset, "safe", "the header has an unknown field of 200 bytes")
        both("long-ids", long_form(header(256)) + bitset, "safe", "field ids in Thrift's long form instead of as differences")
        both("long-varint", b"\x15\x80\x84\x80\x80\x00" + head[3:] + bitset, "safe", "numBytes as a varint with leading zeros")

        # Damage that can be seen in the filter.
        both("unknown-algorithm", encode(header(256, algorithm=2)) + bitset, "safe", "an unknown algorithm")
        both("unknown-hash", encode(header(256, hash=2)) + bitset, "safe", "an unknown hash")
        both("unknown-compression", encode(header(256, compression=2)) + bitset, "safe", "an unknown compression")
        for id, what in ((1, "numBytes"), (2, "algorithm"), (3, "hash"), (4, "compression")):
            without = header(256)
            without.remove(id)
            both(f"no-{what}", encode(without) + bitset, "safe", f"the header lacks the required field {what}")
        for id, what in ((2, "algorithm"), (3, "hash"), (4, "compression")):
            emptied = header(256)
            emptied.set(id, thrift.STRUCT, thrift.Struct())
            both(f"empty-{what}", encode(emptied) + bitset, "safe", f"the union {what} has no member")
        for byte_len, what in ((0, "zero"), (-32, "negative"), (-(2**31), "least"), (33, "odd"), (255, "odd-below"), (31, "less-than-a-block")):
            both(f"bytes-{what}", encode(header(byte_len)) + bitset, "safe", f"numBytes is {byte_len}")
        for byte_len, what in ((2**31 - 32, "2-GiB"), (2**30, "1-GiB"), (2**27, "128-MiB"), (288, "a-block-more")):
            both(f"bytes-{what}", encode(header(byte_len)) + bitset, "safe",
                 f"numBytes is {byte_len}, beyond the end of the file")
        for byte_len in (128, 32):
            both(f"bytes-{byte_len}", encode(header(byte_len)) + bitset, "safe",
                 f"numBytes is {byte_len}, bloom_filter_length says 256 bytes and a header", alone=False)
            both(f"bytes-{byte_len}-no-length", encode(header(byte_len)) + bitset, "nothing",
                 f"numBytes is {byte_len} instead of 256, without bloom_filter_length: cannot be seen", alone=False, length=None)
        both("wrong-type", b"\x16" + head[1:] + bitset, "safe", "numBytes is an i64")
        both("text-header", b"not a header of a filter" + bitset, "safe", "text in place of a header")
        both("zero-header", bytes(len(head)) + bitset, "safe", "zeros in place of a header")
        both("endless-varint", b"\x15" + b"\xff" * 32 + bitset, "safe", "a varint that does not end")
        both("deep-header", b"\x1c" * 4096 + bitset, "safe", "4,096 structs within each other in place of a header")

        # The filter alone is cut. In a whole file something always follows, so the case is about lengths.
        for keep, what in ((0, "empty"), (1, "to-1-byte"), (len(head) - 1, "in-header"), (len(head), "to-header"),
                           (len(head) + 32, "to-a-block"), (len(good) - 32, "by-a-block"), (len(good) - 1, "by-a-byte")):
            bare = self.system.file(f"cut-{what}.bin", good[:keep], f"made by conformance/make/parquet.py: sound.bin cut to {keep} bytes")
            self.system.case(f"cut-{what}/filter", bare, "filter", "damage", "safe", f"the filter is cut to {keep} bytes")
        # At the end of the file's body: the header promises bytes that belong to the footer.
        both("into-footer", good[:-128], "safe", "the last 128 bytes of the filter are the footer's", alone=False)
        both("into-footer-no-length", good[:-128], "safe", "the same without bloom_filter_length", alone=False, length=None)

        # Damage that can be seen in the footer.
        for offset, what in ((-1, "negative"), (-(2**62), "very-negative"), (0, "zero"), (4, "in-data"), (2**31, "beyond-2-GiB"),
                             (2**62, "beyond-everything"), ((FOOTER, 0), "at-footer"), ((FOOTER, 10**6), "beyond-end")):
            shown = offset if isinstance(offset, int) else "the beginning of the footer" + f" + {offset[1]}" * bool(offset[1])
            # Nothing says that the bytes at such a place are no filter, unless they do not parse as one.
            both(f"offset-{what}", good, "safe", f"bloom_filter_offset is {shown}", alone=False, offset=offset)
            both(f"offset-{what}-no-length", good, "safe", f"bloom_filter_offset is {shown}, without bloom_filter_length", alone=False,
                 offset=offset, length=None)
        for length, what in ((0, "zero"), (1, "one"), (-1, "negative"), (len(head), "header-only"), (len(good) - 32, "a-block-less"),
                             (len(good) - 1, "a-byte-less"), (2**31 - 1, "2-GiB")):
            both(f"length-{what}", good, "safe", f"bloom_filter_length is {length} instead of {len(good)}", alone=False, length=length)
        both("length-longer", good, "safe", f"bloom_filter_length is {len(good) + 32} instead of {len(good)}", alone=False,
             length=len(good) + 32, after=bytes(64))

        # Damage that nobody can see.
        cleared = bytearray(good)
        at = next(i for i in range(len(head), len(good)) if cleared[i])
        cleared[at] &= cleared[at] - 1
        both("bit-cleared", bytes(cleared), "nothing", "one bit is cleared: the format has no checksum")
        both("all-zeros", head + bytes(256), "control", "every bit is cleared, which cannot be seen: shows whether filters are used")
        both("other-filter", filter_bytes(ABSENT, 8), "nothing", "the filter of other keys: cannot be seen")


def long_form(fields):
    """A struct whose field ids are not differences: legal, and longer."""
    out = bytearray()
    for field in fields:
        out += bytes([field.type]) + thrift.zigzag(field.id) + thrift.encode_value(field.type, field.value)
    return bytes(out) + b"\0"


def by_fullbloom(system, tools):
    """A filter of our own command, alone and in a file of pyarrow."""
    kind = typed.KINDS["string"]
    first, second, absent = kind.values()
    found = [key for key in [*first, *second] if b"\n" not in key]
    filter, version = tools.build("parquet", found, 0.01)
    reader = thrift.Reader(filter)
    byte_len = reader.struct().get(1)
    bitset = reader.take(byte_len)
    keys = system.keys("by fullbloom", found, absent, answers=[splitblock.contains(bitset, key) for key in absent],
                       column="key", physical="BYTE_ARRAY", type="string")
    name = system.file("by-fullbloom.bin", filter, f"fullbloom {version}, build --dialect parquet")
    system.case("by-fullbloom/filter", name, "filter", keys, "exact", "a filter by fullbloom: the edge keys of text")


def make(corpus, tools):
    real, versions = tools.real, tools.versions
    system = System(corpus, "parquet", SPECIFICATION, SILENT)
    hashes(system)
    typed_files(system, real, versions)
    groups(system, real, versions)
    equal_values(system, real, versions)
    by_fullbloom(system, tools)
    Damage(system, real, versions).make()
    system.write()
