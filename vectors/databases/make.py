"""Makes the two small databases beside this file with the real engines.

    python3 -m venv venv && venv/bin/pip install plyvel==1.5.1 rocksdict==0.3.29
    venv/bin/python make.py DIRECTORY

Compactions run in the background, so file numbers and levels differ from run to run. Of what the engines
write, the tables, CURRENT and the MANIFEST are kept here.
"""

import random
import sys

import plyvel
from rocksdict import BlockBasedOptions, Options, Rdict

root, keys = sys.argv[1], 6000
order = random.Random(1).sample(range(keys), keys)

small = dict(bloom_filter_bits=10, write_buffer_size=64 << 10)
db = plyvel.DB(root + "/leveldb", create_if_missing=True, max_file_size=64 << 10, **small)
for i in order:
    db.put(b"key%08d" % i, b"v%d" % i)
db.close()
db = plyvel.DB(root + "/leveldb", **small)
for i in range(500):
    db.put(b"key%08d" % (i * 7), b"w")
db.close()
plyvel.DB(root + "/leveldb", **small).close()  # flushes what is in the log

options, table = Options(raw_mode=True), BlockBasedOptions()
table.set_bloom_filter(10.0, False)
options.set_block_based_table_factory(table)
options.set_write_buffer_size(64 << 10)
options.set_target_file_size_base(24 << 10)
options.set_max_bytes_for_level_base(64 << 10)
options.set_level_zero_file_num_compaction_trigger(3)
db = Rdict(root + "/rocksdb", options)
for i in order:
    db[b"key%08d" % i] = b"value %d" % i
db.flush()
users = db.create_column_family("users", options)
for i in range(2000):
    users[b"user%06d" % i] = b"u"
users.flush()
for i in range(500):
    db[b"key%08d" % (i * 7)] = b"w"
db.flush()
db.close()
