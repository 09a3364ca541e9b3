"""Databases with unflushed writes, deletions, merges and ingested tables, written by RocksDB and LevelDB: `keys --live` prints
exactly the keys that the engine finds, `which` finds the unflushed ones, and a log that is cut off loses its last writes only.
Prints databases and differences.

    live.py FULLBLOOM ROCKSDB_LIVE WORK COUNT SEED
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

import plyvel

fullbloom, rocksdb_live, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]) / "live"
count, seed = int(sys.argv[4]), int(sys.argv[5])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def run(*arguments):
    return subprocess.run([fullbloom, *arguments], capture_output=True)


def alive(path):
    told = run("keys", "--live", "--hex", path)
    assert not told.stderr, told.stderr
    return told.stdout.decode().split()


def leveldb(path, rng):
    """The keys that LevelDB finds; the last writes are in its log."""
    db = plyvel.DB(str(path), create_if_missing=True, write_buffer_size=65536, bloom_filter_bits=10)
    for _ in range(20000):
        key = b"key %05d" % rng.randrange(4000)
        if rng.random() < 0.3:
            db.delete(key)
        else:
            db.put(key, b"v" * rng.randrange(30))
    db.put(b"last", b"written")
    keys = [key.hex() for key, _ in db]
    db.close()
    return keys


differences = databases = unflushed = 0
for number in range(count):
    path = work / str(number)
    if number % 3 == 2:
        keys, is_leveldb = leveldb(path, random.Random(seed + number)), True
    else:
        told = subprocess.run([rocksdb_live, path, str(seed + number)], check=True, stdout=subprocess.PIPE)
        keys, is_leveldb = told.stdout.decode().lower().split(), False
    found = alive(path)
    databases += 1
    if found != keys:
        differences += 1
        print(f"{path}: {len(found)} keys and not {len(keys)}", file=sys.stderr)
    logs = json.loads(run("inspect", "--json", path).stdout)["summary"]["databases"][0]["logs"]
    unflushed += sum(log["writes"] for log in logs)
    assert all(log["unread_from"] is None for log in logs), logs
    if is_leveldb:
        # The last write is in the log alone.
        answers = json.loads(run("which", "--json", "-e", "last", path).stdout)["places"]
        assert [place["kind"] for place in answers if place["answers"] == ["maybe"] and place["kind"] == "log"], answers
        # As after a crash: the last write is torn, and all others are there.
        log = pathlib.Path(logs[-1]["path"])
        log.write_bytes(log.read_bytes()[:-3])
        told = run("keys", "--live", "--hex", path)
        assert told.returncode == 0 and b"as after a crash" in told.stderr, told
        assert told.stdout.decode().split() == [key for key in keys if key != b"last".hex()]
        repaired = plyvel.DB(str(path))
        assert [key.hex() for key, _ in repaired] == told.stdout.decode().split()
        repaired.close()
assert unflushed > 100 * databases, unflushed
print(f"{databases}\t{differences}")
