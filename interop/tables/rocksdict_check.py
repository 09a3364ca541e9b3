"""Ingests tables that fullbloom wrote into the RocksDB of PyPI's rocksdict (9.x and later). rocksdb_check.cc does the
same with Debian's RocksDB.

    rocksdict_check.py KEYS TABLE...
"""

import re
import shutil
import sys

from rocksdict import BlockBasedOptions, IngestExternalFileOptions, Options, Rdict, ReadOptions, SliceTransform


def key(n):
    return b"key%010d" % n


def check(table, keys):
    directory = table + ".db"
    shutil.rmtree(directory, ignore_errors=True)
    prefixes = "-both." in table or "-prefix." in table
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.enable_statistics()
    if prefixes:
        options.set_prefix_extractor(SliceTransform.create_fixed_prefix(11))
    db = Rdict(directory, options)
    db.ingest_external_file([table], IngestExternalFileOptions())
    for i in range(keys):
        value = db.get(key(2 * i))
        if value != b"value-" + key(2 * i):
            return "%s is %r" % (key(2 * i), value)
    read = ReadOptions()
    read.set_total_order_seek(True)
    seen = sum(1 for _ in db.keys(read_opt=read))
    if seen != keys:
        return "an iterator sees %d keys" % seen

    def ticker(name):
        return int(re.search(r"^%s COUNT : (\d+)" % re.escape(name), options.get_statistics(), re.M).group(1))

    before = ticker("rocksdb.bloom.filter.useful")
    for i in range(keys - 1):
        if db.get(key(2 * i + 1)) is not None:
            return "%s is there" % key(2 * i + 1)
    useful = (ticker("rocksdb.bloom.filter.useful") - before) / (keys - 1)
    print("ok %-40s useful %.4f" % (table.rsplit("/", 1)[-1], useful))
    if "-prefix." not in table and not 0.985 < useful < 0.995:
        return "the filter is not used as expected"
    db.close()
    shutil.rmtree(directory)
    return None


failed = 0
for name in sys.argv[2:]:
    try:
        why = check(name, int(sys.argv[1]))
    except Exception as error:  # rocksdict raises bare exceptions
        why = str(error)
    if why:
        print("FAILED %s: %s" % (name, why))
        failed = 1
sys.exit(failed)
