"""Directories of Parquet files, written by pyarrow, DuckDB and Spark (parquet-java), with and without partitions: every value
is found, `which` names every file and row group that has a value, by the writer's own reader, and the sums are those of the
files. Prints a line for each writer: its version, lookups, differences.

    datasets.py FULLBLOOM WORK SEED
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pyspark.sql

fullbloom, work, seed = sys.argv[1], pathlib.Path(sys.argv[2]) / "datasets", int(sys.argv[3])
rng = random.Random(seed)
ROWS = 20_000
DAYS = ["2026-11-17", "2026-11-18", "a:b/ü"]


def said(*arguments):
    told = subprocess.run([fullbloom, *arguments], capture_output=True)
    if told.returncode == 2:
        sys.exit(told.stderr.decode())
    return json.loads(told.stdout)


def rows():
    return pyarrow.table(
        {
            "id": pyarrow.array([rng.randrange(-(2**62), 2**62) for _ in range(ROWS)], pyarrow.int64()),
            "name": [f"name {rng.randrange(10**9)}" for _ in range(ROWS)],
            "day": [rng.choice(DAYS) for _ in range(ROWS)],
        }
    )


def by_pyarrow(table, path):
    options = {name: {"ndv": 2000, "fpp": 0.01} for name in ("id", "name")}
    format = pyarrow.dataset.ParquetFileFormat()
    pyarrow.dataset.write_dataset(
        table,
        path,
        format=format,
        partitioning=["day"],
        partitioning_flavor="hive",
        max_rows_per_file=4000,
        max_rows_per_group=1000,
        file_options=format.make_write_options(bloom_filter_options=options),
    )


def by_duckdb(table, path):
    # DuckDB writes filters of columns with a dictionary.
    connection = duckdb.connect()
    connection.register("written", table)
    options = "FORMAT parquet, PARTITION_BY day, ROW_GROUP_SIZE 2048, DICTIONARY_SIZE_LIMIT 4000"
    connection.execute(f"COPY written TO '{path}' ({options})")
    connection.close()


def by_spark(table, path, options=()):
    spark = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    plain = work / "plain.parquet"
    pyarrow.parquet.write_table(table, plain)
    writer = spark.read.parquet(str(plain)).repartition(3).write.partitionBy("day")
    for name, value in options or [
        option
        for name in ("id", "name")
        for option in ((f"parquet.bloom.filter.enabled#{name}", "true"), (f"parquet.bloom.filter.expected.ndv#{name}", "300"))
    ]:
        writer = writer.option(name, value)
    writer.option("parquet.enable.dictionary", "false").option("parquet.block.size", str(64 << 10)).parquet(str(path))
    spark.stop()


def judge(path):
    """Lookups and differences of a dataset."""
    seen = said("inspect", "--json", path)
    filters = {column["column"]: column for column in seen["summary"]["columns"]}
    assert filters["id"]["filters"] == filters["id"]["row_groups"] > 5, filters["id"]
    verified = said("verify", "--json", "--absent", "1000", path)
    differences = verified["summary"]["missing"]
    lookups = verified["summary"]["keys"]
    is_small = filters["id"]["saturated"] > 0
    assert lookups == 2 * ROWS, lookups
    # What the row groups of each file have, by pyarrow.
    where = {}
    for file in sorted(path.rglob("*.parquet")):
        opened = pyarrow.parquet.ParquetFile(file)
        for group in range(opened.num_row_groups):
            for value in opened.read_row_group(group, columns=["id"])["id"].to_pylist():
                where.setdefault(value, set()).add((str(file), group))
    for value in rng.sample(sorted(where), 50):
        answers = said("which", "--json", "--column", "id", "-e", str(value), path)["places"]
        named = {(place["path"], group) for place in answers for group in place["row_groups"]}
        differences += len(where[value] - named)
        # False positives are few.
        assert is_small or len(named) <= 8, (value, named)
        lookups += 1
    for day in DAYS:
        answers = said("which", "--json", "--column", "day", "-e", day, path)["places"]
        inside = sum(place["answers"] == ["maybe"] for place in answers)
        assert 0 < inside < len(answers), (day, inside)
        lookups += 1
    return lookups, differences


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
for name, version, write in (
    ("pyarrow", pyarrow.__version__, by_pyarrow),
    ("DuckDB", duckdb.__version__, by_duckdb),
    ("Spark", pyspark.__version__, by_spark),
):
    path = work / name
    write(rows(), path)
    lookups, differences = judge(path)
    print(f"{name}\t{version}\t{lookups}\t{differences}", flush=True)

# The filters of Spark's files were made for far too few values. What plan says, typed into Spark, makes them right.
steps = said("plan", "--json", "--from", work / "Spark")["summary"]["next"]["steps"]
options = [word.split("=", 1) for step in steps for word in step["command"].split()]
assert sorted(step["name"] for step in steps) == ["id", "name"], steps
again = work / "Spark again"
by_spark(rows(), again, options)
lookups, differences = judge(again)
for column in said("inspect", "--json", "--fpr", "0.01", again)["summary"]["columns"]:
    assert column["saturated"] == 0 and column["filters"] == column["row_groups"], column
print(f"Spark\t{pyspark.__version__}\t{lookups}\t{differences}")
