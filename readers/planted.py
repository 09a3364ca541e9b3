"""Plants bugs in copies of the readers. The corpus must catch each: some answer must be wrong.

    readers/planted.py          needs Python, Node, Go and a JDK
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

# For each reader: its file, how it is built in its directory, and its adapter.
READERS = {
    "python": ("fullbloom_native.py", None, "python3 {}/adapter.py"),
    "js": ("fullbloom-native.mjs", None, "node {}/adapter.mjs"),
    "go": ("native.go", "go build -o bin ./adapter", "{}/bin"),
    "java": ("NativeFilter.java", "javac -nowarn -d . NativeFilter.java NativeAdapter.java", "java -cp {} NativeAdapter"),
}

# What is wrong, and the texts to replace in each reader.
BUGS = [
    ("the words of a key in the wrong byte order", {
        "python": ('le = lambda at: int.from_bytes(key[at:at + 8], "little")', 'le = lambda at: int.from_bytes(key[at:at + 8], "big")'),
        "js": ("le = (at) => view.getBigUint64(at, true)", "le = (at) => view.getBigUint64(at, false)"),
        "go": ("h = fold(le.Uint64(key)^a, le.Uint64(key[n-8:])^w)", "h = fold(binary.BigEndian.Uint64(key)^a, le.Uint64(key[n-8:])^w)"),
        "java": ("return (long) LONG.get(bytes, at);", "return Long.reverseBytes((long) LONG.get(bytes, at));"),
    }),
    ("a signed shift, or one that is not cut to 64 bits", {
        "python": ("return (f ^ f >> 32) * P & MASK", "return (f ^ (f - (f >> 63 << 64)) >> 32) * P & MASK"),
        "js": ("return u64((f ^ (f >> 32n)) * P);", "return u64((f ^ (BigInt.asIntN(64, f) >> 32n)) * P);"),
        "go": ("return (h ^ h>>32) * mulP", "return (h ^ uint64(int64(h)>>32)) * mulP"),
        "java": ("return (f ^ f >>> 32) * P;", "return (f ^ f >> 32) * P;"),
    }),
    ("a missing mask of the lane", {
        "python": ("byte = fields >> 8 * (lane & 7) & 255", "byte = fields >> 8 * lane & 255"),
        "js": ("const lane = k & 7,", "const lane = k % 9,"),
        "go": ("lane := k & 7", "lane := k % 9 & 7"),
        "java": ("int lane = k & 7;", "int lane = k % 9 & 7;"),
    }),
    ("a block that is off by one", {
        "python": ("first = (x1 * blocks >> 64) * group", "first = (x1 * max(blocks - 1, 1) >> 64) * group"),
        "js": ("first = Number((x1 * blocks) >> 64n) * group", "first = Number((x1 * (blocks > 1n ? blocks - 1n : 1n)) >> 64n) * group"),
        "go": ("first, part := high(x1, blocks)*group", "first, part := high(x1, blocks-blocks/2)*group"),
        "java": ("long first = multiplyHigh(x1, blocks) * group;", "long first = multiplyHigh(x1, Math.max(blocks - 1, 1)) * group;"),
    }),
    ("a priority that reaches 255 in a compact filter", {
        "python": ("min(x >> 24 & 255, 254)", "(x >> 24 & 255)"),
        "js": ("Math.min(Number((x >> 24n) & 255n), 254)", "Number((x >> 24n) & 255n)"),
        "go": ("priority = 254", "priority = 255"),
        "java": ("Math.min(x >>> 24 & 255, 254)", "(x >>> 24 & 255)"),
    }),
    ("checksums of the data that are not compared", {
        "python": ('require(crc32c(data[at:at + chunk]) == crc, f"the data', 'require(True, f"the data'),
        "js": ("require(crc32c(bytes.subarray(at, at + chunk)) === view.getUint32(sums + 4 * i, true),", "require(true,"),
        "go": ("require(crc32.Checksum(part, castagnoli) == le.Uint32(sums),", "require(true,"),
        "java": ("require(crc(at, Math.min(at + chunk, data.length)) == u32(sums[0] + 4 * i),", "require(true,"),
    }),
]


def is_caught(reader, old, new):
    """Whether the corpus finds a wrong answer of the reader with the bug."""
    name, build, adapter = READERS[reader]
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory, reader)
        shutil.copytree(ROOT / "readers" / reader, copy)
        source = (copy / name).read_text(encoding="utf-8")
        if source.count(old) != 1:
            sys.exit(f"error: {name} has {source.count(old)} times: {old}")
        (copy / name).write_text(source.replace(old, new), encoding="utf-8")
        if build:
            subprocess.run(build, shell=True, check=True, cwd=copy)
        done = subprocess.run([ROOT / "conformance/run", "--system", "native", "--adapter", adapter.format(copy)], stdout=subprocess.DEVNULL)
        return done.returncode == 1


missed = 0
for what, places in BUGS:
    for reader, (old, new) in places.items():
        caught = is_caught(reader, old, new)
        missed += not caught
        print(f"{reader}: {what}: {'caught' if caught else 'NOT CAUGHT'}", flush=True)
sys.exit(1 if missed else 0)
