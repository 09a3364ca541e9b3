"""Lets PyPI's rocksdict (RocksDB 9.x and later) and plyvel (LevelDB) write databases of many options, for fullbloom to
verify their tables.

    engines_write.py DIRECTORY
"""

import itertools
import os
import sys

import plyvel
from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    ChecksumType,
    DBCompressionType,
    Options,
    Rdict,
    SliceTransform,
)

directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)


def entries(number):
    """Overwritten and deleted keys included."""
    for i in range(6000):
        yield b"user%05d:%d" % (i * 7919 % 3001, i % 3), b"value %d of %d" % (i, number)


def rocksdb(name, number, version, partitioned, prefix, compression, checksum):
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(9 + number % 4, False)
    blocks.set_format_version(version)
    blocks.set_checksum_type(checksum)
    blocks.set_block_size(600)
    if partitioned:
        blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
        blocks.set_partition_filters(True)
        blocks.set_metadata_block_size(500)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(compression)
    if prefix:
        options.set_prefix_extractor(prefix)
    db = Rdict(os.path.join(directory, name), options)
    for i, (key, value) in enumerate(entries(number)):
        db.put(key, value)
        if i % 13 == 0:
            db.delete(key)
        if i % 2500 == 2499:
            db.flush()
    db.delete_range(b"user00100", b"user00120")
    db.flush()
    db.close()


checksums = [ChecksumType.crc32c(), ChecksumType.xxhash(), ChecksumType.xxhash64(), ChecksumType.xxh3()]
packings = [DBCompressionType.none(), DBCompressionType.snappy(), DBCompressionType.lz4(), DBCompressionType.zstd()]
prefixes = [None, SliceTransform.create_fixed_prefix(9), SliceTransform.create_max_len_prefix(6)]
kinds = itertools.product([2, 3, 4, 5, 6], [False, True], prefixes)
for number, (version, partitioned, prefix) in enumerate(kinds):
    name = "rocksdb-%d-v%d-%s" % (number, version, "partitioned" if partitioned else "full")
    rocksdb(name, number, version, partitioned, prefix, packings[number % 4], checksums[number // 2 % 4])

for bits, packing in itertools.product([8, 10, 16], [None, "snappy"]):
    db = plyvel.DB(
        os.path.join(directory, "leveldb-%d-%s" % (bits, packing)),
        create_if_missing=True,
        bloom_filter_bits=bits,
        compression=packing,
        write_buffer_size=64 << 10,
    )
    for i, (key, value) in enumerate(entries(bits)):
        db.put(key, value)
        if i % 13 == 0:
            db.delete(key)
    db.compact_range()
    db.close()
