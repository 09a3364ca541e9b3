"""Writes databases with random options with PyPI's rocksdict (RocksDB 9.x and later) and plyvel (LevelDB). fullbloom
then verifies their tables.

    engines_write.py DIRECTORY COUNT SEED
"""

import os
import random
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

directory, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(directory, exist_ok=True)
random.seed(seed)


def entries():
    """Entries, including overwritten keys; keys are text with common prefixes, or any bytes."""
    text = random.random() < 0.6
    for i in range(random.choice([30, 1500, 6000])):
        key = b"user%05d:%d" % (random.randrange(3001), i % 3) if text else random.randbytes(random.randrange(30))
        yield key, b"value %d " % i * random.randrange(6)


def rocksdb(path):
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(random.randrange(10, 200) / 10, False)
    blocks.set_format_version(random.choice([2, 3, 4, 5, 6]))
    checksums = [ChecksumType.crc32c, ChecksumType.xxhash, ChecksumType.xxhash64, ChecksumType.xxh3]
    blocks.set_checksum_type(random.choice(checksums)())
    blocks.set_block_size(random.choice([300, 1000, 4096]))
    blocks.set_block_restart_interval(random.randrange(1, 20))
    blocks.set_index_block_restart_interval(random.randrange(1, 9))
    partitioned = random.random() < 0.5
    if partitioned:
        blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
        blocks.set_partition_filters(True)
        blocks.set_metadata_block_size(random.randrange(200, 4000))
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    packings = [DBCompressionType.none, DBCompressionType.snappy, DBCompressionType.lz4, DBCompressionType.zstd]
    options.set_compression_type(random.choice(packings)())
    if random.random() < 0.6:
        # The binding's name of the capped extractor lacks the length. It is always 6 here, and fullbloom gets it as an option.
        fixed = random.random() < 0.5
        length = random.randrange(1, 10)
        prefix = SliceTransform.create_fixed_prefix(length) if fixed else SliceTransform.create_max_len_prefix(6)
        options.set_prefix_extractor(prefix)
    db = Rdict(path, options)
    for flush in range(random.randrange(1, 4)):
        for key, value in entries():
            if random.random() < 0.08:
                db.delete(key)
            else:
                db.put(key, value)
        if random.random() < 0.3:
            db.delete_range(b"user00100", b"user00120")
        db.flush()
    if random.random() < 0.5:
        db.compact_range(None, None)
    db.close()


def leveldb(path):
    db = plyvel.DB(
        path,
        create_if_missing=True,
        bloom_filter_bits=random.randrange(1, 25),
        compression=random.choice([None, "snappy"]),
        write_buffer_size=64 << 10,
        block_size=random.choice([300, 1000, 4096, 9000]),
        block_restart_interval=random.randrange(1, 20),
    )
    for key, value in entries():
        if random.random() < 0.08:
            db.delete(key)
        else:
            db.put(key, value)
    db.compact_range()
    db.close()


for number in range(count):
    rocksdb(os.path.join(directory, "rocksdb-%d" % number))
for number in range(count // 2):
    leveldb(os.path.join(directory, "leveldb-%d" % number))
