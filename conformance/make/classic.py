"""The corpora of filters that are files of their own: Guava, Spark, ORC, Cassandra, RocksDB, LevelDB, libbloom, DCSO.

The sound filters are those of vectors/, which the real programs wrote. Edge keys come in a filter by our command; the real
program, through its adapter, says what absent keys get.
"""

import gzip
import re
import struct

from corpus import System, vectors

EDGE_KEYS = [
    b"", b"\0", b"\0\0", b"a", b"\xff", b"\x80", b"\x7f", bytes(8), bytes(16), b"\xff" * 8, b"\xff" * 7, b"key0", b"key1",
    "ä漢😀".encode(), b"\xed\xa0\x80", *(struct.pack("<q", n) for n in (1, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63))),
    *(bytes(range(200, 200 + n)) for n in range(1, 34)), b"x" * 300,
]
EDGE_ABSENT = [b"absent%d" % i for i in range(40)] + [bytes([200 + i]) * i for i in range(1, 17)]
LONGS = [0, 1, -1, *(sign * (2**p + d) for p in (7, 8, 15, 16, 31, 32, 62) for d in (-1, 0, 1) for sign in (1, -1)), 2**63 - 1, -(2**63)]
OTHER_LONGS = [n * 0x9E3779B97F4A7C15 % 2**64 - 2**63 for n in range(1, 60)]


def key(kind, text, int_len=8):
    """The bytes of a key as vectors/ writes it."""
    if text.startswith("hex:"):
        return bytes.fromhex(text[4:])
    if text.startswith("f64bits:"):
        return bytes.fromhex(text[8:])[::-1]
    if kind in ("int", "long"):
        return int(text).to_bytes(int_len if kind == "int" else 8, "little", signed=True)
    return text.encode()


def split(keys, probes, answers):
    """The keys that were inserted, and the others with their answers."""
    inserted = set(keys)
    absent = [(probe, int(answer)) for probe, answer in zip(probes, answers) if probe not in inserted]
    return list(dict.fromkeys(keys)), [probe for probe, _ in absent], [answer for _, answer in absent]


def slug(text):
    """A part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower().split(":")[0])


def put(data, at, packed):
    """The bytes with others at an offset."""
    return data[:at] + packed + data[at + len(packed):]


class Classic:
    """A system whose cases are filters alone."""

    def __init__(self, corpus, name, specification, silent):
        self.system = System(corpus, name, specification, silent)

    def golden(self, name, data, origin, found, absent, answers, expect="exact", **request):
        file = self.system.file(f"{name}.bin", data, origin)
        keys = self.system.keys(name, found, absent, answers=answers, **request)
        self.system.case(name, file, "filter", keys, expect, "a sound filter")

    def damaged(self, name, data, of, expect, why):
        file = self.system.file(f"{name}.bin", data, f"made by conformance/make/classic.py from {of}.bin: {why}")
        self.system.case(name, file, "filter", of, expect, why)

    def cut(self, of, data, lengths, expect="safe"):
        for length in sorted(set(lengths)):
            self.damaged(f"{of}-cut-to-{length}", data[:length], of, expect, f"cut to {length} of {len(data)} bytes")

    def edges(self, tools, made, name, program, extra=(), drop=lambda key: False, **request):
        """A filter by our command with the edge keys; the real program answers for absent keys."""
        found, absent = [k for k in EDGE_KEYS if not drop(k)], EDGE_ABSENT
        data, version = tools.build(made, found, 0.01, *extra)
        answers = tools.ask(self.system.manifest["system"], data, absent, request)
        self.golden(name, data, f"fullbloom {version}, build --dialect {made}; answers by {program}", found, absent, answers, **request)

    def longs(self, tools, made, name, program, **request):
        """The same with integers."""
        pack = lambda n: n.to_bytes(8, "little", signed=True)
        data, version = tools.build(made, [str(n).encode() for n in LONGS], 0.01, "--key-type", "long", plain=True)
        found, absent = [pack(n) for n in dict.fromkeys(LONGS)], [pack(n) for n in OTHER_LONGS if n not in LONGS]
        request["type"] = "long"
        answers = tools.ask(self.system.manifest["system"], data, absent, request)
        self.golden(name, data, f"fullbloom {version}, build --dialect {made} --key-type long; answers by {program}", found, absent,
                    answers, **request)


STREAM = ("whether bytes after the filter are damage: the reader takes a stream, in which something else may follow. Such cases ask"
          " for nothing that the bytes after the filter could change")
NO_CHECKSUM = "damage to the bits, which no reader can see: there is no checksum"


def guava(corpus, tools):
    made = Classic(corpus, "guava", "https://github.com/google/guava: BloomFilter.writeTo and readFrom, BloomFilterStrategies", [STREAM, NO_CHECKSUM])
    types = {"Funnels.stringFunnel(UTF-8)": "text", "Funnels.longFunnel()": "long", "Funnels.integerFunnel()": "int",
             "Funnels.byteArrayFunnel()": "bytes", "Funnels.unencodedCharsFunnel()": "utf16"}
    record = vectors("guava/guava.json")
    made.system.hashes("murmur3_128 with seed 0, as bytes: both halves little-endian", record["version"],
                       [(h["data"], h["hash"]) for h in record["murmur3_128"]])
    for f in record["filters"]:
        kind = types[f["funnel"]]
        as_bytes = lambda t: t.encode("utf-16-le") if kind == "utf16" else key(f["kind"], t, 4)
        found, absent, answers = split([as_bytes(k) for k in f["keys"]], [as_bytes(k) for k in f["probes"]], f["answers"])
        made.golden(f["name"], vectors(f"guava/{f['file']}"), f"{record['version']}, {f['funnel']}", found, absent, answers, type=kind)
    for dialect in ("guava", "guava-32"):
        made.edges(tools, dialect, f"edges-{dialect}", "Guava", type="bytes")
        made.longs(tools, dialect, f"longs-{dialect}", "Guava")
    for of in ("a_mitz64", "a_mitz32"):
        data = vectors(f"guava/{of}.bin")
        words = len(data) // 8
        made.cut(of, data, (0, 1, 2, 5, 6, 13, 14, len(data) - 8, len(data) - 1))
        made.damaged(f"{of}-longer", data + bytes(8), of, "safe", "eight zero bytes follow")
        for strategy in (2, 127, 255):
            made.damaged(f"{of}-strategy-{strategy}", put(data, 0, bytes([strategy])), of, "safe", f"the unknown strategy {strategy}")
        made.damaged(f"{of}-no-probes", put(data, 1, b"\0"), of, "safe", "0 probes")
        for n in (0, -1, -(2**31)):
            made.damaged(f"{of}-words-{n}", put(data, 2, struct.pack(">i", n)), of, "safe", f"{n} words")
        for n in (words + 1, 2**24, 2**31 - 1):
            made.damaged(f"{of}-words-{n}", put(data, 2, struct.pack(">i", n)), of, "safe", f"{n} words are announced, {words} are there")
        made.damaged(f"{of}-words-less", put(data, 2, struct.pack(">i", words - 1)), of, "nothing",
                     f"{words - 1} words are announced, {words} are there: a reader of a stream cannot see it")
        made.damaged(f"{of}-more-probes", put(data, 1, b"\xff"), of, "nothing", "255 probes: cannot be seen")
        made.damaged(f"{of}-other-strategy", put(data, 0, bytes([1 - data[0]])), of, "nothing", "the other strategy: cannot be seen")
        made.damaged(f"{of}-zeros", data[:6] + bytes(len(data) - 6), of, "control", "every bit is cleared, which cannot be seen")
    made.system.write()


def spark(corpus, tools):
    made = Classic(corpus, "spark", "https://github.com/apache/spark: org.apache.spark.util.sketch.BloomFilter, the comment on its Version", [STREAM, NO_CHECKSUM])
    types = {"str": "text", "uni": "text", "long": "long", "int": "long", "bytes": "bytes"}
    record = vectors("spark/spark.json")
    for f in record["filters"]:
        as_bytes = lambda t: key(f["kind"], t)
        found, absent, answers = split([as_bytes(k) for k in f["keys"]], [as_bytes(k) for k in f["probes"]], f["answers"])
        made.golden(f["name"], vectors(f"spark/{f['file']}"), f"{record['version']}, version {f['version']}, seed {f['seed']}", found,
                    absent, answers, type=types[f["kind"]])
    for dialect in ("spark", "spark-2"):
        made.edges(tools, dialect, f"edges-{dialect}", "Spark's sketch library", type="bytes")
        made.longs(tools, dialect, f"longs-{dialect}", "Spark's sketch library")
    for of, header in (("a_v1", 12), ("a_v2", 16)):
        data = vectors(f"spark/{of}.bin")
        words = (len(data) - header) // 8
        made.cut(of, data, (0, 3, 4, 7, 8, 11, 12, header, header + 8, len(data) - 8, len(data) - 1))
        made.damaged(f"{of}-longer", data + bytes(8), of, "safe", "eight zero bytes follow")
        for version in (0, 3, -1):
            made.damaged(f"{of}-version-{version}", put(data, 0, struct.pack(">i", version)), of, "safe", f"the unknown version {version}")
        for probes in (0, -1):
            made.damaged(f"{of}-probes-{probes}", put(data, 4, struct.pack(">i", probes)), of, "safe", f"{probes} probes")
        made.damaged(f"{of}-probes-2147483647", put(data, 4, struct.pack(">i", 2**31 - 1)), of, "nothing",
                     "2147483647 probes: cannot be seen, and a lookup may take minutes for keys that are there")
        for n in (0, -1, -(2**31)):
            made.damaged(f"{of}-words-{n}", put(data, header - 4, struct.pack(">i", n)), of, "safe", f"{n} words")
        for n in (words + 1, 2**24, 2**28):
            made.damaged(f"{of}-words-{n}", put(data, header - 4, struct.pack(">i", n)), of, "safe", f"{n} words are announced, {words} are there")
        made.damaged(f"{of}-words-less", put(data, header - 4, struct.pack(">i", words - 1)), of, "nothing",
                     f"{words - 1} words are announced, {words} are there: a reader of a stream cannot see it")
        made.damaged(f"{of}-zeros", data[:header] + bytes(len(data) - header), of, "control", "every bit is cleared, which cannot be seen")
    data = vectors("spark/a_v2.bin")
    made.damaged("a_v2-other-seed", put(data, 8, struct.pack(">i", 5)), "a_v2", "nothing", "another seed: cannot be seen")
    made.system.write()


def orc(corpus, tools):
    made = Classic(corpus, "orc", "https://orc.apache.org/specification/ORCv1/: bloom filter index, and orc_proto.proto", [
        "which fields may be missing: numHashFunctions is optional in orc_proto.proto, and no reader can do without it",
        "the order of fields, and fields that are not known: Protocol Buffers allow them, so a reader must not answer no",
        NO_CHECKSUM,
    ])
    types = {"str": "text", "uni": "text", "long": "long", "double": "double", "bytes": "bytes"}
    record = vectors("orc/orc.json")
    for f in record["filters"]:
        as_bytes = lambda t: key(f["kind"], t)
        found, absent, answers = split([as_bytes(k) for k in f["keys"]], [as_bytes(k) for k in f["probes"]], f["answers"])
        form = "utf8" if f["class"] == "BloomFilterUtf8" else "plain"
        made.golden(f["name"], vectors(f"orc/{f['file']}"), f"{record['version']}, {f['class']}", found, absent, answers,
                    type=types[f["kind"]], dialect=form)
    made.edges(tools, "orc", "edges", "orc-core", type="bytes", dialect="utf8")
    made.longs(tools, "orc", "longs", "orc-core", dialect="utf8")
    of, data = "a_utf8", vectors("orc/a_utf8.bin")
    words = data[4:]
    made.cut(of, data, (0, 1, 2, 3, 4, 12, len(data) - 8, len(data) - 1))
    made.damaged(f"{of}-no-probes", b"\x08\x00" + data[2:], of, "safe", "numHashFunctions is 0")
    made.damaged(f"{of}-many-probes", b"\x08\xff\xff\xff\xff\x0f" + data[2:], of, "safe", "numHashFunctions is 4294967295, -1 as a signed number")
    made.damaged(f"{of}-without-probes", data[2:], of, "safe", "numHashFunctions is missing")
    made.damaged(f"{of}-without-bits", data[:2], of, "safe", "neither bitset nor utf8bitset")
    made.damaged(f"{of}-empty-bits", data[:2] + b"\x1a\x00", of, "safe", "utf8bitset is empty")
    made.damaged(f"{of}-odd-bits", data[:2] + b"\x1a" + bytes([len(words) - 3]) + words[:-3], of, "safe", "utf8bitset is not whole words")
    made.damaged(f"{of}-long-bits", data[:2] + b"\x1a\xff\xff\xff\xff\x07" + words, of, "safe", "utf8bitset announces 2 GiB")
    made.damaged(f"{of}-order", data[2:] + data[:2], of, "safe", "numHashFunctions comes last, which Protocol Buffers allow")
    made.damaged(f"{of}-unknown-field", data + b"\x48\x07", of, "safe", "an unknown field 9 follows, which Protocol Buffers allow")
    made.damaged(f"{of}-wrong-type", b"\x0a" + data[1:], of, "safe", "numHashFunctions has the wire type of bytes")
    made.damaged(f"{of}-text", b"this is no message of ORC", of, "safe", "text in place of a message")
    made.damaged(f"{of}-zeros", data[:4] + bytes(len(words)), of, "control", "every bit is cleared, which cannot be seen")
    of, data = "a_plain", vectors("orc/a_plain.bin")
    made.cut(of, data, (0, 1, 2, 3, 10, len(data) - 1))
    made.cut(of, data, (len(data) - 9,), "nothing")
    made.damaged(f"{of}-no-probes", b"\x08\x00" + data[2:], of, "safe", "numHashFunctions is 0")
    made.system.write()


def cassandra(corpus, tools):
    made = Classic(corpus, "cassandra", "https://github.com/apache/cassandra: BloomFilterSerializer, BloomFilter.getHashBuckets", [
        STREAM, NO_CHECKSUM,
        "the file's version: letters in its name tell it. The requests name it as `dialect`: cassandra (na and later),"
        " cassandra-3 (ma to me, ScyllaDB), cassandra-2 (ia to lb), cassandra-1 (f to hf)",
    ])
    for file, function, release in (("hash_murmur3", "MurmurHash.hash3_x64_128 with seed 0", "5.0.2"),
                                    ("hash_murmur2_64", "MurmurHash.hash2_64 with seed 0, and with that hash as seed", "1.2.19")):
        record = vectors(f"cassandra/{file}.json")
        made.system.hashes(f"{function}: two numbers", f"Cassandra {release}", [(h["key"], h["h1"] + h["h2"]) for h in record["vectors"][:150]])
    record = vectors("cassandra/filters.json")
    forms = (("cassandra", "filter_db_na_and_later", "answers_ma_and_later", "5.0.2"),
             ("cassandra-3", "filter_db_ma_to_me", "answers_ma_and_later", "3.11.17"),
             ("cassandra-2", "filter_db_ia_to_lb", "answers_ia_to_lb", "1.2.19"),
             ("cassandra-1", "filter_db_f_to_hf", "answers_f_to_hf", "1.2.19"))
    for f in record["filters"]:
        # A filter of each size at the rates that differ; those filled thrice over look full.
        if f["n"] not in (0, 1, 5, 33, 200) or f["fp"] not in (0.0001, 0.01, 0.5):
            continue
        found, absent, _ = split([bytes.fromhex(k) for k in f["inserted"]], [bytes.fromhex(k) for k in f["probes_not_inserted"]],
                                 f["answers_ma_and_later"])
        for dialect, bytes_field, answers, release in forms:
            name = f"{dialect}-n{f['n']}-p{f['fp']}-{len(found)}-keys"
            if f"{name}.bin" in made.system.manifest["files"]:
                continue
            made.golden(name, bytes.fromhex(f[bytes_field]), f"Cassandra {release}",
                        found, absent, [int(a) for a in f[answers]], dialect=dialect, type="bytes")
    for dialect in ("cassandra", "cassandra-3"):
        made.edges(tools, dialect, f"edges-{dialect}", "Cassandra", dialect=dialect, type="bytes")
        of = f"{dialect}-n33-p0.01-33-keys"
        data = (made.system.folder / f"{of}.bin").read_bytes()
        words = len(data) // 8 - 1
        made.cut(of, data, (1, 3, 4, 7, 8, 16, len(data) - 8, len(data) - 1))
        made.damaged(f"{of}-longer", data + bytes(8), of, "safe", "eight zero bytes follow")
        for probes in (0, -1, 22, 2**31 - 1):
            made.damaged(f"{of}-probes-{probes}", put(data, 0, struct.pack(">i", probes)), of, "safe", f"{probes} probes, of which there are 1 to 21")
        for n in (0, -1, -(2**31)):
            made.damaged(f"{of}-words-{n}", put(data, 4, struct.pack(">i", n)), of, "safe", f"{n} words")
        for n in (words + 1, 2**20, 2**27):
            made.damaged(f"{of}-words-{n}", put(data, 4, struct.pack(">i", n)), of, "safe", f"{n} words are announced, {words} are there")
        made.damaged(f"{of}-words-less", put(data, 4, struct.pack(">i", words - 1)), of, "nothing",
                     f"{words - 1} words are announced, {words} are there: a reader of a stream cannot see it")
        made.damaged(f"{of}-zeros", data[:8] + bytes(len(data) - 8), of, "control", "every bit is cleared, which cannot be seen")
    made.system.write()


def rule(keys):
    """The keys of a rule of vectors/rocksdb; None for other keys."""
    if keys is None or keys["type"] != "dec":
        return None
    start, step = keys.get("start", 0), keys.get("step", 1)
    return [f"{keys['prefix']}{start + step * i:0{keys['width']}}".encode() for i in range(keys["n"])]


def rocksdb(corpus, tools):
    made = Classic(corpus, "rocksdb", "https://github.com/facebook/rocksdb: table/block_based/filter_policy.cc, the comments on the trailer", [
        "what a filter of one to four bytes says, which nothing writes. A comment in RocksDB's source says that such a filter is empty or"
        " broken, and is treated as one without keys; so it answers no. In a table, the checksum of the block shows the damage first",
        "whether data that are not whole lines are damage: RocksDB does not use the last bytes",
        NO_CHECKSUM + " in the filter itself; a block of a table has one",
    ])
    record = vectors("rocksdb/hash.json")
    for field, function in (("rocksdb_bloom_hash", "the 32-bit hash of legacy filters, as a number"),
                            ("hash64", "the 64-bit hash of the other filters, as a number")):
        made.system.hashes(function, "RocksDB 7.8.3", [(h["key"], h[field]) for h in record["vectors"][:150]])
    record = vectors("rocksdb/raw_filters.json")
    golden = {}
    for c in record["cases"]:
        found, absent = rule(c.get("keys")), rule(c.get("probes"))
        if c.get("filter_hex") is None or not found or len(found) > 200 or absent is None or c["optimize_filters_for_memory"]:
            continue
        data = bytes.fromhex(c["filter_hex"])
        if c["whole_bits_per_key"] in (1, 6, 10, 20) and golden.setdefault((c["stored_kind"], len(found), c["whole_bits_per_key"]), c["id"]) == c["id"]:
            made.golden(c["id"], data, record["software"], found, absent[:50], c["probe_answers"][:50], dialect="full", type="bytes")
    corner = vectors("rocksdb/reader_corner_cases.json")
    probes = [bytes.fromhex(probe) for probe in corner["probes"]]
    for c in corner["cases"]:
        # These were made by hand, without keys: what the real reader answers is the definition. Data that are not whole
        # lines or segments, or more columns than a filter can have, are left out: no rule says what they mean.
        whole = not c["name"].endswith(("_len10_s3", "_len50_s9", "_len2000_s5"))
        if whole and c["kind"] in ("legacy", "fl", "ribbon") and c["name"].startswith(("legacy_lines", "new_bp", "new_len_64", "new_len_128", "new_len_640", "ribbon_b")):
            name = f"handmade-{c['name']}"
            file = made.system.file(f"{name}.bin", bytes.fromhex(c["contents"]), f"made by hand, answers of {corner['software']}: {c['why']}")
            made.system.case(name, file, "filter", made.system.keys(name, [], probes, answers=c["answers"], dialect="full", type="bytes"),
                             "exact", f"a filter made by hand: {c['why']}")
    for dialect in ("rocksdb", "rocksdb-legacy", "rocksdb-ribbon"):
        made.edges(tools, dialect, f"edges-{dialect}", "RocksDB", dialect="full", type="bytes")
    chosen = {"fl": "", "legacy": "", "ribbon": ""}
    for (kind, keys, bits), id in golden.items():
        own = id.startswith({"fl": "fastlocal"}.get(kind, kind))  # Ribbon's builder may store another kind
        if kind in chosen and own and keys >= 90 and (bits == 10 or not chosen[kind]):
            chosen[kind] = id
    for kind, of in chosen.items():
        data = (made.system.folder / f"{of}.bin").read_bytes()
        trailer = len(data) - 5
        made.damaged(f"{of}-cut-to-0", b"", of, "nothing", "cut to 0 bytes, which is the filter of a table without keys")
        made.cut(of, data, (1, 3, 4))
        made.damaged(f"{of}-trailer-only", data[-5:], of, "nothing", "only the trailer is there, which is a filter without keys")
        made.damaged(f"{of}-no-trailer", data[:-5], of, "nothing", "the trailer is cut off: the last data look like one")
        if kind != "legacy":
            for marker in (-3, -128):
                made.damaged(f"{of}-marker{marker}", put(data, trailer, struct.pack("b", marker)), of, "safe", f"the reserved marker {marker}")
        made.damaged(f"{of}-marker-0", put(data, trailer, b"\0"), of, "safe", "the marker 0: every key may be there")
        made.damaged(f"{of}-zeros", bytes(trailer) + data[trailer:], of, "control", "every bit is cleared, which cannot be seen")
        if kind == "fl":
            for at, value, why in ((1, 1, "the unknown sub-implementation 1"), (2, 0, "0 probes"), (2, 31, "31 probes, of which there are 1 to 30"),
                                   (2, data[trailer + 2] | 0x20, "blocks of 128 bytes, which nobody writes"), (3, 1, "a reserved byte is 1"), (4, 1, "a reserved byte is 1")):
                made.damaged(f"{of}-{slug(why)}-{at}", put(data, trailer + at, bytes([value])), of, "safe", why)
            made.damaged(f"{of}-odd", data[:64] + data[trailer:][:0] + data[65:], of, "nothing", "a byte of the data is missing: the lines shift")
        if kind == "legacy":
            for lines in (0, 2**31 - 1, 3 if trailer // 64 != 3 else 5):
                made.damaged(f"{of}-lines-{lines}", put(data, trailer + 1, struct.pack("<I", lines)), of, "safe", f"{lines} lines, which do not divide the data into powers of two")
        if kind == "ribbon":
            for blocks in (0, 1):
                made.damaged(f"{of}-blocks-{blocks}", put(data, trailer + 2, struct.pack("<I", blocks)[:3]), of, "safe", f"{blocks} blocks")
    made.system.write()


def leveldb(corpus, tools):
    made = Classic(corpus, "leveldb", "https://github.com/google/leveldb: util/bloom.cc and doc/table_format.md", [
        "what a filter of one byte says, which nothing writes: LevelDB answers no to every key, as for an empty one",
        "the length, which is not stored: a filter that was cut is a filter with fewer bits",
        NO_CHECKSUM,
    ])
    made.system.hashes("the 32-bit hash, as a number", "LevelDB 1.23",
                       [(h["key"], h["leveldb_bloom_hash"]) for h in vectors("rocksdb/hash.json")["vectors"][:150]])
    record = vectors("rocksdb/block_filter_policy.json")
    for i, c in enumerate(record["cases"]):
        if c["policy_name"] != "leveldb.BuiltinBloomFilter2":
            continue
        found, absent = rule(c.get("keys")), rule(c.get("probes"))
        if found is None or absent is None or len(found) > 200 or c["bits_per_key"] not in (1, 10, 20, 60):
            continue
        made.golden(f"b{c['bits_per_key']}-n{len(found)}", bytes.fromhex(c["filter"]), c["software"], found, absent[:50],
                    c["probe_answers"][:50], type="bytes")
    made.edges(tools, "leveldb", "edges", "LevelDB", type="bytes")
    of, data = "b10-n100", (made.system.folder / "b10-n100.bin").read_bytes()
    made.damaged(f"{of}-cut-to-0", b"", of, "nothing", "cut to 0 bytes, which is the filter of no keys")
    made.cut(of, data, (1,))
    made.damaged(f"{of}-probes-0", data[:-1] + b"\0", of, "safe", "0 probes: every key may be there")
    for probes in (31, 128, 255):
        made.damaged(f"{of}-probes-{probes}", data[:-1] + bytes([probes]), of, "safe", f"{probes} probes, which are reserved: every key may be there")
    made.cut(of, data, (2, len(data) // 2, len(data) - 1), "nothing")
    made.damaged(f"{of}-zeros", bytes(len(data) - 1) + data[-1:], of, "control", "every bit is cleared, which cannot be seen")
    made.system.write()


def libbloom(corpus, tools):
    made = Classic(corpus, "libbloom", "https://github.com/jvirkki/libbloom: bloom.c and bloom.h", [
        "version 1.6 has no file: its cases are bare bits, and the requests have their number and the probes",
        "whether bits and probes that do not fit the expected keys and the rate are damage",
        NO_CHECKSUM,
    ])
    made.system.hashes("murmurhash2 with seed 0x9747b28c, as a number", "libbloom 1.6",
                       [(h["data"], f"{h['hash']:08x}") for h in vectors("libbloom/murmur2.json") if h["seed"] == 0x9747B28C][:150])
    one = vectors("libbloom/filters_v1.json")
    lists = {f["name"]: f for f in one}
    for f in one:
        if f["bytes"] > 8000:
            continue
        found, absent, answers = split([bytes.fromhex(k) for k in f["add_keys_hex"]], [bytes.fromhex(k) for k in f["probe_keys_hex"]],
                                       f["check_return_codes"])
        made.golden(f"1.6-{f['name']}", bytes.fromhex(f["bf_hex"]), "libbloom 1.6 (Debian)", found, absent, answers, dialect="libbloom-1",
                    bits=f["bits"], probes=f["hashes"], type="bytes")
    for f in vectors("libbloom/filters_v2.json"):
        if f["bytes"] > 8000:
            continue
        keys = lists[f["name"]]["add_keys_hex"] if isinstance(f["add_keys_hex"], str) else f["add_keys_hex"]
        probes = lists[f["name"]]["probe_keys_hex"] if isinstance(f["probe_keys_hex"], str) else f["probe_keys_hex"]
        found, absent, answers = split([bytes.fromhex(k) for k in keys], [bytes.fromhex(k) for k in probes], f["check_return_codes"])
        made.golden(f"2.0-{f['name']}", vectors(f"libbloom/{f['file']}"), "libbloom 2.0", found, absent, answers, dialect="libbloom", type="bytes")
    of, data = "2.0-a", vectors("libbloom/v2_a.bloom")
    made.cut(of, data, (0, 8, 9, 10, 11, 50, 75, 76, len(data) - 1))
    made.damaged(f"{of}-longer", data + bytes(8), of, "safe", "eight zero bytes follow")
    for at, packed, why in (
        (0, b"LIBBLOOM2", "the magic in upper case"), (8, b"1", "the magic of another version"), (9, b"\x00\x40", "the size of the struct in the other byte order"),
        (9, struct.pack("<H", 56), "a struct of 56 bytes"), (19, struct.pack("<Q", 0), "0 bits"), (19, struct.pack("<Q", 2**40), "more bits than bytes"),
        (19, struct.pack("<Q", 8 * 599 + 1), "one bit more than the bytes have"), (27, struct.pack("<Q", 2**40), "2^40 bytes"),
        (27, struct.pack("<Q", 2**63), "2^63 bytes"), (27, struct.pack("<Q", 600), "one byte more than there is"), (27, struct.pack("<Q", 0), "0 bytes"),
        (27, struct.pack("<Q", 300), "fewer bytes than the bits need"), (51, b"\0", "the filter is not ready"),
        (52, b"\1", "major version 1"), (52, b"\3", "major version 3"), (35, b"\0", "0 probes: every key may be there"),
    ):
        made.damaged(f"{of}-{slug(why)}", put(data, at, packed), of, "safe", why)
    made.damaged(f"{of}-more-probes", put(data, 35, b"\xff"), of, "nothing", "255 probes, which do not fit the rate")
    made.damaged(f"{of}-zeros", data[:75] + bytes(len(data) - 75), of, "control", "every bit is cleared, which cannot be seen")
    made.system.write()


def dcso(corpus, tools):
    made = Classic(corpus, "dcso", "https://github.com/DCSO/bloom: Read and Check in bloom.go", [
        "bytes after the bits: they are data of the user", NO_CHECKSUM,
        "the form of a key: text, as the writer chose it",
    ])
    made.system.hashes("FNV-1 of 64 bits, as a number", "DCSO bloom 0.2.4",
                       [(h["key_hex"], h["fnv1_64"]) for h in vectors("dcso/hashes.json")["hashes"]])
    seen = set()
    for f in vectors("dcso/v1_filters.json")["filters"]:
        file = f["file"].split("/")[1]
        if not isinstance(f["keys_hex"], list) or not isinstance(f["probes_hex"], list) or "*" in "".join(f["keys_hex"]):
            continue
        try:
            data = vectors(f"dcso/{file}")
        except FileNotFoundError:
            continue
        found, absent, answers = split([bytes.fromhex(k) for k in f["keys_hex"]], [bytes.fromhex(k) for k in f["probes_hex"]], f["answers"])
        name = file.split(".")[0]
        if name in seen:
            continue
        seen.add(name)
        plain = gzip.decompress(data) if f["gzip"] else data
        made.golden(name, plain, f"{f['made_by']}, 0.2.4" + ", uncompressed here" * f["gzip"], found, absent, answers, type="bytes")
    made.edges(tools, "dcso", "edges", "DCSO's bloom", type="bytes")
    of = "v1_sha1"
    data = (made.system.folder / f"{of}.bin").read_bytes()
    made.cut(of, data, (0, 7, 8, 16, 40, 47, 48, 56, len(data) - 8, len(data) - 1))
    for at, value, why in ((0, 0, "flags 0"), (0, 2, "flags 2, which are another version"), (0, 257, "unknown flags"), (24, 0, "0 probes"),
                           (24, 2**63, "2^63 probes"), (32, 0, "0 bits"), (32, 9586 + 64, "one word more than there is"), (32, 2**36, "2^36 bits"),
                           (32, 2**63, "2^63 bits"), (32, 2**64 - 1, "2^64 - 1 bits")):
        made.damaged(f"{of}-{slug(why)}", put(data, at, struct.pack("<Q", value)), of, "safe", why)
    made.damaged(f"{of}-fewer-bits", put(data, 32, struct.pack("<Q", 9000)), of, "nothing", "9000 bits instead of 9585: the rest looks like data")
    made.damaged(f"{of}-zeros", data[:48] + bytes(len(data) - 48), of, "control", "every bit is cleared, which cannot be seen")
    made.system.write()

