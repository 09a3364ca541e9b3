"""The corpus of fullbloom's own filter: golden files of a second implementation, files by our command, and damage.

Every byte of a file is under a checksum. Damage to the front comes twice: as it is, and with the checksum made right, so
that a reader has to look at the numbers themselves.
"""

import struct

from classic import EDGE_KEYS, LONGS, OTHER_LONGS, Classic
from corpus import vectors

SECRET = bytes(range(100, 116))
ABSENT = [f"other-{i}".encode() for i in range(200)]
NUMBERS = [struct.pack("<q", n**3 - 100) for n in range(-50, 50)]
OTHER_NUMBERS = [struct.pack("<q", 10**6 + n) for n in range(200)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def front_len(data):
    return struct.unpack_from("<I", data, 16)[0]


def refitted(data):
    """The bytes with the right checksum of the front."""
    return data[:8] + struct.pack("<I", crc32c(data[12 : front_len(data)])) + data[12:]


def section(data, kind):
    """Where the table entry of a section is, and where the section."""
    for at in range(64, 64 + 32 * struct.unpack_from("<H", data, 14)[0], 32):
        found, _, offset, length = struct.unpack_from("<IIQQ", data, at)
        if found == kind:
            return at, offset, length
    raise KeyError(kind)


def golden(made, tools):
    """The files of vectors/native, with the keys that its program put in."""
    origin = "vectors/native/make.py, a second implementation from docs/formats/native.md; answers by fullbloom"
    counts = {"compact": 3000, "compact-percent": 3000, "compact-third": 3000, "compact-eighth": 3000, "compact-list": 5, "compact-empty": 0,
              "dynamic-set": 700, "dynamic-promised": 700, "dynamic-counting": 200, "dynamic-keyed": 700}
    for name in sorted(path.stem for path in (tools.vectors / "native").glob("*.bloom")):
        request, found, absent = {"type": "bytes"}, [f"key-{i}".encode() for i in range(counts.get(name, 100))], ABSENT
        if name in ("int-keys", "long-keys"):
            request, found, absent = {"type": name.split("-")[0]}, NUMBERS, OTHER_NUMBERS
        if name in ("text-keys", "dynamic-renewed"):
            request = {"type": "text"}
        if name in ("keyed", "dynamic-keyed"):
            request["secret"] = SECRET.hex()
        if name == "dynamic-expiring":
            # Keys come every 100 ms. Those that have expired may be answered either way; the last 100 have not.
            found, absent = [f"key-{i}".encode() for i in range(200, 300)], ABSENT
        if name == "dynamic-renewed":
            found = [f"key-{i}".encode() for i in range(55, 75)]
        if name.startswith("exceptions"):
            absent = ABSENT + [f"good-{i}".encode() for i in range(1000)]
        data = vectors(f"native/{name}.bloom")
        answers = tools.ask("native", data, absent, request)
        # Some hundred keys of thousands are enough, and a fraction of the manifest.
        # A reader may refuse keys that it would have to convert.
        expect = "safe" if name == "formed-keys" else "exact"
        made.golden(name, data, origin, found[:: 1 + len(found) // 600], absent, answers, expect, **request)


def built(made, tools):
    """Files by our command, of every kind, with edge keys."""
    for name, fpr, options in (
        ("edges-fast", 1e-3, ()), ("edges-low-rate", 1e-6, ()), ("edges-seed", 1e-2, ("--seed", "77")), ("edges-compact", 1e-3, ("--compact",)),
        ("edges-dynamic", 1e-3, ("--dynamic",)), ("edges-deletable", 1e-3, ("--dynamic", "--deletable")),
    ):
        data, version = tools.build("native", EDGE_KEYS, fpr, *options)
        answers = tools.ask("native", data, ABSENT, {"type": "bytes"})
        made.golden(name, data, f"fullbloom {version}, build {' '.join(options)}", EDGE_KEYS, ABSENT, answers, type="bytes")
    # A fast or compact filter of a dynamic one knows only the leading bits of its keys' hashes.
    dynamic, version = tools.build("native", EDGE_KEYS, 1e-3, "--dynamic")
    for name, options in (("shortened-fast", ()), ("shortened-compact", ("--compact",))):
        data = tools.convert(dynamic, "native", *options)
        answers = tools.ask("native", data, ABSENT, {"type": "bytes"})
        made.golden(name, data, f"fullbloom {version}, build --dynamic, then convert --to native {' '.join(options)}", EDGE_KEYS, ABSENT,
                    answers, type="bytes")
    pack = lambda n: n.to_bytes(8, "little", signed=True)
    for name, options in {"longs-fast": (), "longs-compact": ("--compact",)}.items():
        data, version = tools.build("native", [str(n).encode() for n in LONGS], 0.01, "--key-type", "long", *options, plain=True)
        absent = [pack(n) for n in OTHER_LONGS if n not in LONGS]
        answers = tools.ask("native", data, absent, {"type": "long"})
        made.golden(name, data, f"fullbloom {version}, build --key-type long {' '.join(options)}", [pack(n) for n in dict.fromkeys(LONGS)],
                    absent, answers, type="long")


def damaged(made):
    of = "field-keys"  # the smallest with a label
    data = vectors(f"native/{of}.bloom")
    made.cut(of, data, (0, 7, 8, 63, 64, 100, front_len(data) - 1, front_len(data), len(data) - 64, len(data) - 1))
    made.damaged(f"{of}-longer", data + bytes(64), of, "safe", "64 zero bytes follow")
    at_bits = section(data, 2)[1]
    at_filter = section(data, 1)[1]
    first = next(i for i in range(at_bits, len(data)) if data[i])
    cleared = data[:first] + bytes([data[first] & data[first] - 1]) + data[first + 1 :]
    made.damaged(f"{of}-bit-cleared", cleared, of, "safe", "a bit of the array is cleared: its checksum shows it")
    made.damaged(f"{of}-bit-set", data[:-1] + bytes([data[-1] ^ 128]), of, "safe", "a bit of the array is changed: its checksum shows it")
    made.damaged(f"{of}-label-changed", data.replace(b"third", b"fifth"), of, "safe", "the label is changed: the checksum of the front shows it")

    u = lambda form, value: struct.pack(form, value)
    fields = [
        ("version-0", 12, u("<H", 0)), ("version-2", 12, u("<H", 2)), ("sections-65", 14, u("<H", 65)), ("front-0", 16, u("<I", 0)),
        ("front-odd", 16, u("<I", front_len(data) + 1)), ("front-2-GiB", 16, u("<I", 2**31)), ("chunk-0", 20, u("<I", 0)),
        ("chunk-63", 20, u("<I", 63)), ("chunk-half", 20, u("<I", struct.unpack_from("<I", data, 20)[0] // 2)),
        ("length-less", 24, u("<Q", len(data) - 64)), ("length-more", 24, u("<Q", len(data) + 64)), ("length-2-63", 24, u("<Q", 2**63)),
        ("required-feature", 32, u("<Q", 1)),
        ("layout-0", at_filter, b"\0"), ("layout-1", at_filter, b"\1"), ("layout-3", at_filter, b"\3"), ("layout-4", at_filter, b"\4"), ("layout-5", at_filter, b"\5"),
        ("hash-0", at_filter + 1, b"\0"), ("hash-3", at_filter + 1, b"\3"), ("lines-0", at_filter + 2, b"\0"), ("lines-3", at_filter + 2, b"\3"),
        ("group-0", at_filter + 3, b"\0"), ("group-63", at_filter + 3, b"\x3f"), ("group-128", at_filter + 3, b"\x80"),
        ("probes-0", at_filter + 4, b"\0"), ("probes-9", at_filter + 4, b"\x09"), ("flag-0", at_filter + 5, b"\1"), ("flag-7", at_filter + 5, b"\x80"),
        ("key-type-5", at_filter + 6, b"\5"), ("hash-bits-9", at_filter + 7, b"\x09"), ("hash-bits-64", at_filter + 7, b"\x40"),
        ("blocks-0", at_filter + 8, u("<Q", 0)), ("blocks-3", at_filter + 8, u("<Q", 3)), ("blocks-2-52", at_filter + 8, u("<Q", 2**52)),
        ("blocks-2-58", at_filter + 8, u("<Q", 2**58)),
    ]
    entry, offset, length = section(data, 2)
    fields += [
        ("bits-offset-0", entry + 8, u("<Q", 0)), ("bits-offset-beyond", entry + 8, u("<Q", len(data))), ("bits-offset-2-64", entry + 8, u("<Q", 2**64 - 64)),
        ("bits-length-less", entry + 16, u("<Q", length - 64)), ("bits-length-2-64", entry + 16, u("<Q", 2**64 - 64)),
        ("bits-unknown-kind", entry, u("<I", 99)), ("label-unknown-required", section(data, 3)[0], struct.pack("<II", 99, 1)),
        ("label-kind-7", section(data, 3)[0], u("<I", 7)), ("label-twice", section(data, 3)[0], u("<I", 1)),
        ("checksums-missing", section(data, 4)[0], struct.pack("<II", 98, 0)),
    ]
    for name, at, packed in fields:
        changed = data[:at] + packed + data[at + len(packed) :]
        made.damaged(f"{of}-{name}", changed, of, "safe", f"{name}, and the checksum of the front shows it")
        if front_len(changed) <= len(changed):
            made.damaged(f"{of}-{name}-refitted", refitted(changed), of, "safe", f"{name}, with a right checksum of the front")
    # A section that is unknown and not required is passed over.
    skipped = data[: section(data, 3)[0]] + struct.pack("<II", 99, 0) + data[section(data, 3)[0] + 8 :]
    file = made.system.file(f"{of}-unknown-optional.bin", refitted(skipped), f"made by conformance/make/native.py from {of}.bin")
    made.system.case(f"{of}-unknown-optional", file, "filter", of, "exact", "a section of an unknown kind that is not required")

    for of, kind, cases in (
        ("compact-percent", 13, [("list-2-60", 0, u("<Q", 2**60)), ("layer-lines-0", 8, u("<Q", 0)), ("layer-lines-2-32", 8, u("<Q", 2**32)),
                                 ("layer-lines-more", 8, u("<Q", 2**20)), ("layer-split", 16, u("<Q", 2**40))]),
        ("exceptions-chain", 11, [("levels-65", 0, u("<Q", 65)), ("list-2-60", 8, u("<Q", 2**60)), ("level-blocks-0", 16, u("<Q", 0)),
                                  ("level-blocks-2-58", 16, u("<Q", 2**58)), ("level-probes-0", 24, u("<Q", 0)), ("level-probes-9", 24, u("<Q", 9))]),
        ("dynamic-set", 14, [("list-2-60", 0, u("<Q", 2**60)), ("counts-2-60", 8, u("<Q", 2**60))]),
    ):
        data = vectors(f"native/{of}.bloom")
        at_section, at_filter = section(data, kind)[1], section(data, 1)[1]
        for name, at, packed in cases:
            changed = data[: at_section + at] + packed + data[at_section + at + len(packed) :]
            made.damaged(f"{of}-{name}", refitted(changed), of, "safe", f"{name}, with a right checksum of the front")
        numbers = [("width-3", 2, b"\3"), ("further-64", 3, b"\x40")] if kind == 13 else [("bits-9", 2, b"\x09"), ("bits-63", 2, b"\x3f"), ("mode-4", 3, b"\4")]
        for name, at, packed in numbers if kind != 11 else []:
            changed = data[: at_filter + at] + packed + data[at_filter + at + 1 :]
            made.damaged(f"{of}-{name}", refitted(changed), of, "safe", f"{name}, with a right checksum of the front")
    of = "keyed"
    data = vectors("native/keyed.bloom")
    keys = made.system.manifest["keys"]["keyed"]
    wrong = made.system.keys("keyed, another secret", [bytes.fromhex(k) for k in keys["found"]], [], answers=[], type="bytes", secret=bytes(16).hex())
    made.system.case("keyed-wrong-secret", "keyed.bin", "filter", wrong, "safe", "the secret is another one, which the check value shows")
    locked = made.system.keys("keyed, no secret", [bytes.fromhex(k) for k in keys["found"]], [], answers=[], type="bytes")
    made.system.case("keyed-no-secret", "keyed.bin", "filter", locked, "safe", "the filter is keyed, and no secret is given")
    typed = made.system.keys("text asked for numbers", [b"key-1"], [], answers=[], type="text")
    made.system.case("long-keys-asked-for-text", "long-keys.bin", "filter", typed, "safe", "the filter records integers, and text is asked for: an error, not a no")


def make(corpus, tools):
    made = Classic(corpus, "native", "docs/formats/native.md", [
        "nothing that these cases need: the page is ours, and was mended where a writer of a reader found it unclear",
    ])
    hashes = vectors("native/hash.json")
    for field, function in (("seed_0", "fold64 with seed 0, as a number"), ("siphash13", f"siphash13 with the secret {hashes['secret']}, as a number")):
        made.system.hashes(function, "vectors/native/make.py", [(h["key"], h[field]) for h in hashes["hashes"]])
    golden(made, tools)
    built(made, tools)
    damaged(made)
    made.system.write()
