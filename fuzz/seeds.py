"""Writes the seeds of the fuzz targets: the golden files, and the bytes stored as hex in golden answers.

    seeds.py VECTORS CORPUS TARGET...
"""

import glob
import hashlib
import json
import os
import struct
import sys

vectors, corpus, targets = sys.argv[1], sys.argv[2], sys.argv[3:]

# The vectors for each target. A target gets the seeds of the first entry whose name is a prefix of its own.
PATTERNS = [
    ("cassandra-index", ["cassandra/sstables/*Index.db"]),
    ("cassandra-bti", ["cassandra/sstables/*Partitions.db", "cassandra/sstables/*Data.db"]),
    ("cassandra-statistics", ["cassandra/sstables/*Statistics.db"]),
    ("cassandra-toc", ["cassandra/sstables/*TOC.txt"]),
    ("scylla-db", ["scylla/dictionaries/*/*Scylla.db"]),
    ("cassandra-0", ["cassandra/legacy_0x.json"]),
    ("cassandra-", ["cassandra/filters.json", "cassandra/malformed.json"]),
    ("cassandra", ["cassandra/filters.json", "cassandra/malformed.json"]),
    ("libbloom-1", ["libbloom/filters_v1.json"]),
    ("libbloom", ["libbloom/*.bloom", "libbloom/load/*"]),
    ("leveldb", ["rocksdb/block_filter_policy.json"]),
    ("rocksdb-block", ["rocksdb/block_filter_policy.json"]),
    ("rocksdb", ["rocksdb/raw_filters.json", "rocksdb/reader_corner_cases.json"]),
    ("java-lsm", ["javalsm/*.bin"]),
    ("native-dynamic", ["native/dynamic*.bloom"]),
    ("guava-32", ["guava/*_mitz32.bin"]),
    ("guava", ["guava/*_mitz64.bin"]),
    ("spark-2", ["spark/*_v2.bin"]),
    ("spark", ["spark/*_v1.bin"]),
    ("parquet", ["parquet/*.bin"]),
    ("orc", ["orc/*.bin"]),
    ("dcso", ["dcso/*.bloom"]),
    ("poppy", ["dcso/*.pop", "dcso/v2_filters.json"]),
    ("command-keys", ["dcso/*.gz"]),
    ("native", ["native/*.bloom"]),
    ("sniff", ["native/*.bloom", "libbloom/*.bloom", "rocksdb/raw_filters.json"]),
    ("table", ["rocksdb/tables/*.sst", "rocksdb/tables/*.ldb", "rocksdb/*.sst"]),
    ("filter-blocks", ["rocksdb/block_filter_policy.json"]),
    ("manifest", ["databases/*/MANIFEST-*"]),
]


def hex_strings(value):
    """Strings of a JSON value that are the hex of at least four bytes."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from hex_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from hex_strings(inner)
    elif isinstance(value, str) and len(value) >= 8 and len(value) % 2 == 0:
        try:
            yield bytes.fromhex(value)
        except ValueError:
            pass


def seeds(patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(vectors, pattern), recursive=True)):
            if path.endswith(".json"):
                yield from list(hex_strings(json.load(open(path))))[:200]
            else:
                yield open(path, "rb").read()


for target in targets:
    directory = os.path.join(corpus, target)
    os.makedirs(directory, exist_ok=True)
    patterns = next((patterns for start, patterns in PATTERNS if target.startswith(start)), [])
    # In this target three bytes that select the input format precede the key file.
    front = b"\0\xff\0" if target == "command-keys" else b""
    # A mode, and frames: their length in words, then groups of a time, a number of hashes, and hashes.
    group = struct.pack("<4Q", 5_000, 2, 1 << 63, 12345)
    journals = [bytes([mode, 4]) + group + bytes([8]) + group + group for mode in (0, 1, 2, 3, 64)]
    for seed in journals if target == "native-journal" else seeds(patterns):
        seed = front + seed
        if len(seed) <= 20000:
            with open(os.path.join(directory, hashlib.sha1(seed).hexdigest()), "wb") as file:
                file.write(seed)
