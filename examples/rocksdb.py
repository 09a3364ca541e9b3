"""Makes examples/rocksdb with the real RocksDB: two column families on three levels.

    python3 -m venv venv && venv/bin/pip install rocksdict==0.3.29
    venv/bin/python make.py DIRECTORY

Compactions run in the background, so file numbers differ from run to run. Of what RocksDB writes, the tables, CURRENT
and the MANIFEST are kept.
"""

import random
import sys
import time

from rocksdict import BlockBasedOptions, Options, Rdict

root = sys.argv[1]
options, table = Options(raw_mode=True), BlockBasedOptions()
table.set_bloom_filter(10.0, False)
options.set_block_based_table_factory(table)
options.set_level_compaction_dynamic_level_bytes(False)
options.set_level_zero_file_num_compaction_trigger(2)
options.set_target_file_size_base(24 << 10)
options.set_max_bytes_for_level_base(24 << 10)
options.set_max_bytes_for_level_multiplier(8)
db = Rdict(root, options)
orders = db.create_column_family("orders", options)
for family, name, keys in ((db, b"user", 4000), (orders, b"order", 2000)):
    numbers = random.Random(1).sample(range(keys), keys)
    for part in range(4):
        for i in numbers[part::4]:
            family[b"%s:%06d" % (name, i)] = b"%d %d" % (i, i * i)
        family.flush()
        time.sleep(1)
    for i in numbers[:150]:
        family[b"%s:%06d" % (name, i)] = b"new"
    family.flush()
    time.sleep(1)
db.close()
