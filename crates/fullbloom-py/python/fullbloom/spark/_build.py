"""Building on the executors.

Keys are hashed where they are; only hashes travel, eight bytes for each, sorted by slice of the filter's array. A task inserts the
hashes of a slice, and the driver puts the file together from the slices, one after the other. The bits of a filter do not depend
on the order of its keys: the file is, byte for byte, the one that ``Filter.build`` makes of the same keys.

A compact filter is built by the driver, from the hashes of all partitions: it needs eight bytes of each key at once, in 1 GiB of
memory at most; more go to a temporary file of the driver.

Filters in Spark's own format, which has no slices, are merged as bits, in a tree.
"""

import math
import os
import tempfile
import warnings
from copy import copy
from typing import Literal

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import Column, DataFrame, functions

from .. import Filter, plan
from .._core import Compacting, Slicing
from ._ask import MAPPED_FROM, SparkFilter
from ._executors import check_executors
from ._keys import key_type, keys_of, kind as kind_of, named

#: A slice has at most about this many bytes, and a task holds one at a time; unless there were more than this many slices, because
#: every partition sends a row to every slice.
_SLICE_BYTES = 4 << 20
_MOST_SLICES = 4096

#: Tasks that fill slices, for each core, at most.
_TASKS_PER_CORE = 8

#: Filters of up to this many bytes come to the driver in one answer, larger ones slice by slice.
_AT_ONCE = 64 << 20

#: Tasks between the partitions and the driver in a tree, at most.
_GROUPS = 16

#: Bytes of hashes in a row, at most about, and those that wait in a task for all slices.
_RUN_BYTES = 1 << 20
_WAITING_BYTES = 32 << 20

#: How far off the count of keys may be, in standard deviations of 1 %: the filter is sized for this much more.
_COUNT_ERROR = 0.01
_COUNT_MARGIN = 2

_BITS = "part int, bits binary"
_HASHES = "hashes binary"
_RUNS = "slice int, hashes binary"
_FILLED = "slice int, set_bits bigint, sums binary, bits binary"


def build(
    df: DataFrame,
    column: str | Column,
    fpr: float | None = None,
    expected_keys: int | None = None,
    *,
    bits_per_key: float | None = None,
    seed: int = 0,
    dialect: Literal["native", "spark-2", "spark"] = "native",
    kind: Literal["fast", "compact"] = "fast",
) -> SparkFilter:
    """A filter of the keys in a column, built on the executors. Nulls are not inserted.

    ``fpr`` is the false-positive rate (1 % by default); ``bits_per_key`` sets the memory instead.
    ``expected_keys`` is how many distinct keys there are; without it they are counted first, approximately, which reads the
    column once more. ``dialect`` is ``"native"``, or Spark's own format, ``"spark-2"`` (or ``"spark"``, its first version): such
    a filter looks up integers in the JVM (``prune``), but has a copy in every task that builds it.

    With ``kind="compact"`` the filter is about 30 % smaller. It is sized by ``fpr`` alone, no keys are counted first, and the
    driver builds it from eight bytes of each key.

    The filter has the bytes that ``Filter.build`` gives for the same keys, ``expected_keys`` and rate.
    """
    if dialect not in ("native", "spark-2", "spark"):
        raise ValueError(f"dialect is 'native', 'spark-2' or 'spark' here, not {dialect!r}")
    if kind not in ("fast", "compact"):
        raise ValueError(f"kind is 'fast' or 'compact' here, not {kind!r}")
    if kind == "compact":
        if dialect != "native" or bits_per_key is not None:
            raise ValueError("a compact filter is a native one, sized by fpr: no bits_per_key")
        return _compact(df, column, fpr, seed)
    return made(df, column, fpr, expected_keys, bits_per_key=bits_per_key, seed=seed, dialect=dialect)


def made(df, column, fpr=None, expected_keys=None, *, bits_per_key=None, seed=0, dialect=None):
    """As ``build``. Without a dialect it chooses ``spark-2``, looked up in the JVM, for integers whose filter is small enough to have
    a copy in every task; else native."""
    if dialect in ("spark-2", "spark") and seed:
        raise ValueError("a seed: only native filters have one")
    check_executors(df.sparkSession.sparkContext)
    keys_are = kind_of(df, column)
    keys = df.select(named(column).alias("key"))
    how = {"fpr": fpr, "bits_per_key": bits_per_key}
    # Invalid numbers are refused before any key is counted.
    Slicing(1 if expected_keys is None else expected_keys, seed=seed, **how)
    counted = expected_keys is None
    if counted:
        count = keys.agg(functions.approx_count_distinct("key", _COUNT_ERROR)).first()[0]
        expected_keys = round(count * (1 + _COUNT_ERROR * _COUNT_MARGIN))
    if dialect is None:
        jvm_can = keys_are == "integer" and not seed
        dialect = "spark-2" if jvm_can and _spark_bytes(expected_keys, how) < MAPPED_FROM else "native"
    if dialect == "native":
        built = _sliced(keys, Slicing(expected_keys, seed=seed, key_type=key_type(keys_are), **how))
    else:
        # Spark has no filter for no keys.
        built = _united(keys, Filter.with_capacity(max(1, expected_keys), dialect=dialect, **how))
    inserted = built.estimated_keys  # None when all bits are set
    if inserted is None or inserted > _too_many(expected_keys):
        many = "far more" if inserted is None else f"{inserted:.0f}"
        what = "were counted, approximately" if counted else "were expected"
        message = f"{many} keys are in the filter where {expected_keys} {what}: its rate is now {built.expected_fpr:.3g}"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return SparkFilter(built, keys_are)


def _compact(df, column, fpr, seed):
    # An invalid rate or seed is refused before any key is read.
    Compacting(fpr, seed)
    check_executors(df.sparkSession.sparkContext)
    keys_are = kind_of(df, column)
    keys = df.select(named(column).alias("key"))
    builder = Compacting(fpr, seed, key_type=key_type(keys_are), threads=0)
    hashed = keys.mapInArrow(_hashed(Slicing(1, seed=seed)), _HASHES)
    for row in hashed.toLocalIterator(prefetchPartitions=True):
        builder.insert_hashes(bytes(row.hashes))
    return SparkFilter(builder.finish(), keys_are)


def _hashed(slicing):
    def hashed(batches):
        scatter = slicing.scatter()
        for batch in batches:
            scatter.update(keys_of(batch.column(0)))
            if 8 * scatter.waiting >= _RUN_BYTES:
                yield from (_row([hashes]) for _, hashes in scatter.take())
        yield from (_row([hashes]) for _, hashes in scatter.take())

    return hashed


def _spark_bytes(expected, how):
    """The size of a filter in Spark's format; infinite where it can have none."""
    try:
        return plan(max(1, expected), dialect="spark-2", **how)["bytes"]
    except ValueError:
        return math.inf


def _too_many(expected):
    """How many keys are worth a warning: a tenth more than expected, beyond what an estimate from few bits is off by."""
    return expected * 1.1 + 4 * math.sqrt(expected) + 4


def _united(keys, empty):
    """A tree of filters merged as bits. What is sent to the tasks is the empty filter, not its numbers, so that all have one size."""
    context = keys.sparkSession.sparkContext
    groups = max(2, min(_GROUPS, context.defaultParallelism))
    sent, dialect = context.broadcast(empty), empty.dialect

    def parts(batches):
        filter, part = copy(sent.value), TaskContext.get().partitionId()
        for batch in batches:
            filter.update(keys_of(batch.column(0)))
        yield _row([part], [filter.to_bytes()])

    def united(batches):
        filter = None
        for batch in batches:
            for encoded in batch.column(1):
                other = Filter.from_bytes(encoded.as_py(), dialect)
                filter = other if filter is None else filter | other
        if filter is not None:
            yield _row([0], [filter.to_bytes()])

    merged = keys.mapInArrow(parts, _BITS).repartitionById(groups, "part").mapInArrow(united, _BITS)
    try:
        for row in merged.toLocalIterator():
            empty |= Filter.from_bytes(bytes(row.bits), dialect)
    finally:
        sent.destroy()
    return empty


def _sliced(keys, slicing):
    cores = keys.sparkSession.sparkContext.defaultParallelism
    slice_bytes = max(min(_SLICE_BYTES, slicing.byte_len // cores), slicing.byte_len // _MOST_SLICES)
    slicing = slicing.with_slices_of(slice_bytes // 2 + 1)  # rounded up to a power of two
    tasks = min(slicing.count, _TASKS_PER_CORE * cores)
    runs = keys.mapInArrow(_scattered(slicing), _RUNS)
    placed = runs.repartitionById(tasks, functions.col("slice") % tasks).sortWithinPartitions("slice")
    filled = placed.mapInArrow(_filled(slicing), _FILLED)
    handle, path = tempfile.mkstemp(suffix=".bloom")
    try:
        with os.fdopen(handle, "wb") as file:
            if slicing.byte_len <= _AT_ONCE:
                rows = filled.collect()
                _assemble(rows, rows, slicing, file)
            else:
                filled.persist(StorageLevel.DISK_ONLY)
                _assemble(filled.drop("bits").collect(), filled.toLocalIterator(prefetchPartitions=True), slicing, file)
        return Filter.load(path)
    finally:
        os.unlink(path)
        filled.unpersist()


def _scattered(slicing):
    def scattered(batches):
        scatter = slicing.scatter()
        for batch in batches:
            scatter.update(keys_of(batch.column(0)))
            if 8 * scatter.waiting >= _WAITING_BYTES:
                yield from sent(scatter)
        yield from sent(scatter)

    def sent(scatter):
        for number, hashes in scatter.take():
            for at in range(0, len(hashes), _RUN_BYTES):
                yield _row([number], [hashes[at : at + _RUN_BYTES]])

    return scattered


def _filled(slicing):
    def filled(batches):
        number = slice_ = None
        for batch in batches:
            for i, run in zip(batch.column(0).to_pylist(), batch.column(1)):
                if i != number:
                    if slice_ is not None:
                        yield done(number, slice_)
                    number, slice_ = i, slicing.slice(i)
                slice_.insert_hashes(run.as_py())
        if slice_ is not None:
            yield done(number, slice_)

    def done(number, slice_):
        set_bits, sums = slice_.facts()
        return _row([number], pa.array([set_bits], pa.int64()), [sums], [slice_.bits()])

    return filled


def _assemble(facts, rows, slicing, file):
    """Writes the file: its header, and the bits of the slices where they belong. Slices without keys are left out of the rows."""
    known = {row.slice: (row.set_bits, bytes(row.sums)) for row in facts}
    if len(known) != len(facts):
        raise RuntimeError("two tasks had keys of one slice: Spark did not keep to the partitions asked for")
    slice_len = slicing.slice(0).byte_len  # the last one may be shorter
    header = slicing.header([known.get(number) or slicing.slice(number).facts() for number in range(slicing.count)])
    file.write(header)
    file.truncate(len(header) + slicing.byte_len)
    for row in rows:
        file.seek(len(header) + row.slice * slice_len)
        file.write(row.bits)


def _row(*columns):
    """One row of numbers and bytes."""
    types = {int: pa.int32(), bytes: pa.binary()}
    arrays = [column if isinstance(column, pa.Array) else pa.array(column, types[type(column[0])]) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, [f"_{i}" for i in range(len(columns))])
