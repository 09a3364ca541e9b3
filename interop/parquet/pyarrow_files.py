"""Writes random Parquet files with filters with pyarrow and verifies them with fullbloom; prints filters and differences."""

import json
import pathlib
import random
import subprocess
import sys

import pyarrow
import pyarrow.parquet


def column(kind, count, rng):
    """Values of one type, including nulls and equal values."""
    make = {
        "int32": lambda: rng.randrange(-(2**31), 2**31),
        "int64": lambda: rng.randrange(-(2**63), 2**63),
        "float32": lambda: rng.uniform(-1e6, 1e6),
        "float64": lambda: rng.uniform(-1e6, 1e6),
        "string": lambda: "".join(rng.choice("abcäöü漢😀 ") for _ in range(rng.randrange(20))),
        "binary": lambda: rng.randbytes(rng.randrange(40)),
    }[kind]
    pool = [make() for _ in range(max(1, count // 3))]
    draw = lambda: None if rng.random() < 0.1 else rng.choice(pool) if rng.random() < 0.5 else make()
    return pyarrow.array([draw() for _ in range(count)], type=getattr(pyarrow, kind)())


def main():
    fullbloom, work, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    kinds = ["int32", "int64", "float32", "float64", "string", "binary"]
    filters = differences = 0
    number = 0
    while filters < 500:
        count = rng.choice([1, 10, 1000, 5000])
        table = pyarrow.table({kind: column(kind, count, rng) for kind in kinds})
        path = work / "random.parquet"
        options = {kind: {"ndv": count, "fpp": rng.choice([0.1, 0.01, 0.001])} for kind in kinds}
        pyarrow.parquet.write_table(
            table,
            path,
            row_group_size=max(1, count // rng.choice([1, 2, 3])),
            compression=rng.choice(["none", "snappy", "zstd", "gzip", "lz4"]),
            use_dictionary=rng.random() < 0.5,
            bloom_filter_options=options,
        )
        told = subprocess.run([fullbloom, "verify", "--json", path], capture_output=True)
        if told.returncode == 2:
            sys.exit(told.stderr.decode())
        for found in json.loads(told.stdout)["places"]:
            filters += 1
            if found["missing"] or not found["rebuilt_identical"]:
                differences += 1
                print(found, file=sys.stderr)
        number += 1
    print(f"{filters}\t{differences}")


main()
