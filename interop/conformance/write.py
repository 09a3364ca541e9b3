"""Lets pyarrow, DuckDB, DataFusion and parquet-java write the columns of conformance/make/typed.py, each with filters.

    write.py DIRECTORY 'COMMAND OF WriteParquet' 'RELEASE OF parquet-java'
"""

import json
import pathlib
import random
import shlex
import subprocess
import sys

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from values import arrow_type, plain

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conformance" / "make"))
import typed  # noqa: E402


def column(kind, values):
    """An Arrow column of a kind's values."""
    request = {"physical": kind.physical, "type": kind.logical}
    listed = [None if value is None else plain(request, value.hex()) for value in values]
    if kind.logical == "uuid":
        return pa.array([v and v.bytes for v in listed], pa.binary(16)).cast(pa.uuid())
    into = arrow_type(kind.logical)
    if kind.logical.startswith(("date", "time")):
        return pa.array(listed, pa.int32() if into.bit_width == 32 else pa.int64()).cast(into)
    if kind.logical == "float16":
        return pa.array(listed, pa.float32()).cast(into)
    return pa.array(listed, into)


def table(writer, rows=typed.ROWS):
    kinds = [typed.KINDS[name] for name in typed.WRITTEN[writer]]
    return pa.table({kind.name: column(kind, kind.rows(rows)) for kind in kinds})


def by_pyarrow(data, path, rows=typed.ROWS, **options):
    names = []
    for field in data.schema:
        names += [f"{field.name}.{inner.name}" for inner in field.type] if pa.types.is_struct(field.type) else [field.name]
    pq.write_table(
        data, path, row_group_size=rows, compression="none", use_dictionary=False, write_statistics=False, store_schema=False,
        bloom_filter_options={name: {"ndv": 40, "fpp": 0.01} for name in names if name != "id"}, **options,
    )


def by_datafusion(data, path):
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    options = datafusion.ParquetWriterOptions(
        compression="uncompressed", dictionary_enabled=False, statistics_enabled="none", max_row_group_size=typed.ROWS,
        bloom_filter_on_write=True, bloom_filter_fpp=0.01, bloom_filter_ndv=40, allow_single_file_parallelism=False,
        skip_arrow_metadata=True,
    )
    path.unlink(missing_ok=True)
    context.from_arrow(data).repartition(1).write_parquet_with_options(str(path), options)


def by_duckdb(data, path):
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("data", data)
        connection.sql(f"copy data to '{path}' (format parquet, row_group_size {typed.LONG}, compression uncompressed)")


def by_parquet_java(command, path):
    kinds = [typed.KINDS[name] for name in typed.WRITTEN["parquet-java"]]
    columns = [kind.rows(typed.ROWS) for kind in kinds]
    java(command, path, "message m { " + " ".join(f"optional {kind.java.format(kind.name)};" for kind in kinds) + " }",
         zip(*columns), typed.ROWS)


def java(command, path, schema, rows, row_group):
    path.unlink(missing_ok=True)
    rows = [[None if value is None else value.hex() for value in row] for row in rows]
    subprocess.run(shlex.split(command), check=True, text=True,
                   input=json.dumps({"schema": schema, "file": str(path), "rowGroup": row_group, "rows": rows}))


def main():
    out, command = pathlib.Path(sys.argv[1]), sys.argv[2]
    out.mkdir(parents=True, exist_ok=True)
    (out / "versions.json").write_text(json.dumps({
        "pyarrow": f"pyarrow {pa.__version__}", "datafusion": f"datafusion {datafusion.__version__}, which writes with arrow-rs",
        "duckdb": f"DuckDB {duckdb.__version__}", "parquet-java": f"parquet-java {sys.argv[3]}",
    }))
    by_pyarrow(table("pyarrow"), out / "pyarrow.parquet")
    by_pyarrow(table("pyarrow-integers"), out / "pyarrow-integers.parquet", store_decimal_as_integer=True)
    by_datafusion(table("datafusion"), out / "datafusion.parquet")
    by_duckdb(table("duckdb", rows=typed.LONG), out / "duckdb.parquet")
    by_parquet_java(command, out / "parquet-java.parquet")

    # For damaged filters: one row group, no filter yet.
    names = [f"key{i}" for i in range(64)]
    pq.write_table(pa.table({"key": names, "id": pa.array(range(64), pa.int32())}), out / "plain.parquet", compression="none",
                   use_dictionary=False, write_statistics=False, store_schema=False)
    # Many row groups: each value is in one of them.
    rng = random.Random(1)
    numbers = rng.sample(range(-(2**31), 2**31), 600)
    groups = pa.table({"a": pa.array(numbers[:300], pa.int32()), "b": pa.array([f"name{n}" for n in numbers[300:]]),
                       "nested": pa.StructArray.from_arrays([pa.array(numbers[300:], pa.int32())], ["c"])})
    by_pyarrow(groups, out / "groups.parquet", rows=5)
    # Columns of one type, for predicates over two of them: every row group has a value of each.
    pairs = pa.table({"a": pa.array(numbers[:60], pa.int32()), "b": pa.array(numbers[60:120], pa.int32())})
    by_pyarrow(pairs, out / "pairs.parquet", rows=10)
    # Numbers that are equal and have different bytes.
    zeros = [bytes.fromhex(h) for h in ("0000000000000080", "000000000000f83f", "0000000000000000", "00000000000004c0")]
    nans = [bytes.fromhex(h) for h in ("000000000000f87f", "000000000000f83f", "010000000000f8ff", "00000000000004c0")]
    java(command, out / "equal.parquet", "message m { optional double zero; optional double nan; }", zip(zeros, nans), 2)


main()
