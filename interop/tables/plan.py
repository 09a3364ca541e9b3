"""Types the options that `fullbloom plan --from` says into a real RocksDB, and compares what its filters then take with the
plan. Prints the number of plans that hold.

    plan.py FULLBLOOM ROCKSDB_PLAN WORK
"""

import json
import pathlib
import shutil
import subprocess
import sys

fullbloom, typed, work = map(pathlib.Path, sys.argv[1:])
NEAR = 0.03  # tables end elsewhere when they are rewritten, and RocksDB rounds each filter to whole lines
TEN_BITS = "block_based_table_factory={filter_policy=bloomfilter:10:false}"


def said(*arguments):
    return json.loads(subprocess.run([fullbloom, *arguments], check=True, stdout=subprocess.PIPE).stdout)


def rewritten(database, options):
    keys = subprocess.run([typed, database, *options], check=True, stdout=subprocess.PIPE).stdout
    assert int(keys) == 36000, keys


held = 0
for wish in (["--fpr", "0.1%"], ["--fpr", "5%"], ["--bits-per-key", "16"], ["--bits-per-key", "7"], ["--memory", "35KiB"]):
    copy = work / "planned"
    shutil.rmtree(copy, ignore_errors=True)
    rewritten(copy, [f"{name}={TEN_BITS}" for name in ("default", "orders")])
    steps = said("plan", "--json", "--from", copy, *wish)["summary"]["next"]["steps"]
    assert steps, wish
    rewritten(copy, [f"{step['name']}={step['command']}" for step in steps])
    levels = said("inspect", "--json", copy)["summary"]["levels"]
    for step in steps:
        own = [level for level in levels if level["column_family"] == step["name"]]
        size = sum(level["bytes"] for level in own)
        assert abs(size - step["bytes_then"]) <= NEAR * step["bytes_then"], (wish, step, size)
        reads = sum(level["useless_reads"] for level in own)
        assert reads <= 1.3 * step["useless_reads_then"] + 1e-4, (wish, step, reads)
        held += 1
print(held)
