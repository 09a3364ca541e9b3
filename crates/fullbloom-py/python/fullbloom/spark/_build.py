"""Building on the executors.

Keys are hashed where they are; only hashes travel, eight bytes for each. Every run of hashes carries its place, the number
of its partition and its number there, so that they are inserted in the order of the rows, whoever does it: the filter is
then, byte for byte, the one that ``Filter.build`` makes of the same rows, the number of new keys included.

    tree     each partition has a filter of its own and sends the hashes that were new to it; some tasks, and then the driver,
             do the same with what they get
    slices   each partition sorts its hashes by slice of the array; each slice is filled by one task; the file is put
             together from them, one after the other

A compact filter is built by the driver, from the hashes of all partitions: it needs eight bytes of each key at once, in 1 GiB of
memory at most; more go to a temporary file of the driver.

Filters in Spark's own format, which stores only bits, are merged as bits, also in a tree.
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

#: Filters of up to this many bytes are merged as a tree, larger ones by slices. See docs/spark.md for what was measured.
TREE_UP_TO = 1 << 20

#: A slice has at most about this many bytes, and a task that fills one little more.
_SLICE_BYTES = 32 << 20

#: Tasks between the partitions and the driver in a tree, at most.
_GROUPS = 16

#: Bytes of hashes in a row, at most about, those that wait in a task for all slices, and bytes of a slice that are sent to the
#: driver at once.
_RUN_BYTES = 1 << 20
_WAITING_BYTES = 32 << 20
_PIECE_BYTES = 4 << 20

#: How far off the count of keys may be, in standard deviations of 1 %: the filter is sized for this much more.
_COUNT_ERROR = 0.01
_COUNT_MARGIN = 2

_RUNS = "part int, seq int, hashes binary"
_BITS = "part int, bits binary"
_HASHES = "hashes binary"
_SLICE_RUNS = "slice int, part int, seq int, hashes binary"
_FILLED = "slice int, piece int, keys bigint, bytes binary"


def build(
    df: DataFrame,
    column: str | Column,
    fpr: float | None = None,
    expected_keys: int | None = None,
    *,
    bits_per_key: float | None = None,
    seed: int = 0,
    dialect: Literal["native", "spark-2", "spark"] = "native",
    merge: Literal["auto", "tree", "slices"] = "auto",
    kind: Literal["fast", "compact"] = "fast",
) -> SparkFilter:
    """A filter of the keys in a column, built on the executors. Nulls are not inserted.

    ``fpr`` is the false-positive rate (1 % by default); ``bits_per_key`` sets the memory instead.
    ``expected_keys`` is how many distinct keys there are; without it they are counted first, approximately, which reads the
    column once more. ``dialect`` is ``"native"``, or Spark's own format, ``"spark-2"`` (or ``"spark"``, its first version): such
    a filter looks up integers in the JVM (``prune``), but has a copy in every task that builds it. ``merge`` is
    ``"tree"``, ``"slices"``, or chosen by the size of the filter.

    With ``kind="compact"`` the filter is about 30 % smaller. It is sized by ``fpr`` alone, no keys are counted first, and the
    driver builds it from eight bytes of each key.

    The filter has the bytes that ``Filter.build`` gives for the same rows in the same order, ``expected_keys`` and rate.
    """
    if dialect not in ("native", "spark-2", "spark"):
        raise ValueError(f"dialect is 'native', 'spark-2' or 'spark' here, not {dialect!r}")
    if kind not in ("fast", "compact"):
        raise ValueError(f"kind is 'fast' or 'compact' here, not {kind!r}")
    if kind == "compact":
        if dialect != "native" or bits_per_key is not None or merge != "auto":
            raise ValueError("a compact filter is a native one, sized by fpr and built by the driver: no bits_per_key, no merge")
        return _compact(df, column, fpr, seed)
    return made(df, column, fpr, expected_keys, bits_per_key=bits_per_key, seed=seed, dialect=dialect, merge=merge)


def made(df, column, fpr=None, expected_keys=None, *, bits_per_key=None, seed=0, dialect=None, merge="auto"):
    """As ``build``. Without a dialect it chooses ``spark-2``, looked up in the JVM, for integers whose filter is small enough to have
    a copy in every task; else native."""
    if merge not in ("auto", "tree", "slices"):
        raise ValueError(f"merge is 'auto', 'tree' or 'slices', not {merge!r}")
    if dialect in ("spark-2", "spark") and (merge == "slices" or seed):
        raise ValueError("slices and seeds: only native filters have them")
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
        jvm_can = keys_are == "integer" and merge != "slices" and not seed
        dialect = "spark-2" if jvm_can and _spark_bytes(expected_keys, how) < MAPPED_FROM else "native"
    if dialect == "native":
        slicing = Slicing(expected_keys, seed=seed, key_type=key_type(keys_are), **how)
        tree = slicing.byte_len <= TREE_UP_TO if merge == "auto" else merge == "tree"
        built = _tree(keys, slicing) if tree else _slices(keys, slicing)
    else:
        # Spark has no filter for no keys.
        built = _united(keys, Filter.with_capacity(max(1, expected_keys), dialect=dialect, **how))
    # Spark's format does not store the number of keys, and it cannot be estimated when all bits are set.
    inserted = len(built) if dialect == "native" else built.estimated_keys
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


def _tree(keys, slicing):
    groups = max(2, min(_GROUPS, keys.sparkSession.sparkContext.defaultParallelism))
    parts = keys.mapInArrow(_partials(slicing), _RUNS)
    merged = parts.repartitionById(groups, "part").sortWithinPartitions("part", "seq").mapInArrow(_merged(slicing), _RUNS)
    whole = slicing.partial()
    for row in sorted(merged.collect(), key=lambda row: (row.part, row.seq)):
        whole.insert_hashes(bytes(row.hashes))
    return Filter.from_bytes(whole.to_bytes())


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


def _partials(slicing):
    def partials(batches):
        partial, part, seq, runs, waiting = slicing.partial(), TaskContext.get().partitionId(), 0, [], 0
        for batch in batches:
            run = partial.update(keys_of(batch.column(0)))
            runs.append(run)
            waiting += len(run)
            if waiting >= _RUN_BYTES:
                yield _row([part], [seq], [b"".join(runs)])
                seq, runs, waiting = seq + 1, [], 0
        if waiting:
            yield _row([part], [seq], [b"".join(runs)])

    return partials


def _merged(slicing):
    def merged(batches):
        partial = slicing.partial()
        for batch in batches:
            for part, seq, hashes in zip(*(column.to_pylist() for column in batch.columns)):
                new = partial.insert_hashes(hashes)
                if new:
                    yield _row([part], [seq], [new])

    return merged


def _slices(keys, slicing):
    """The filter by slices: enough of them to keep all cores busy, none too large for a task."""
    cores = keys.sparkSession.sparkContext.defaultParallelism
    # Slices are rounded up to a power of two.
    slicing = slicing.with_slices_of(min(_SLICE_BYTES, slicing.byte_len // cores) // 2 + 1)
    runs = keys.mapInArrow(_scattered(slicing), _SLICE_RUNS)
    placed = runs.repartitionById(slicing.count, "slice").sortWithinPartitions("slice", "part", "seq")
    filled = placed.mapInArrow(_filled(slicing), _FILLED).persist(StorageLevel.DISK_ONLY)
    handle, path = tempfile.mkstemp(suffix=".bloom")
    try:
        with os.fdopen(handle, "wb") as file:
            _assemble(filled, slicing, file)
        return Filter.load(path)
    finally:
        os.unlink(path)
        filled.unpersist()


def _scattered(slicing):
    def scattered(batches):
        scatter, part, seq = slicing.scatter(), TaskContext.get().partitionId(), 0
        for batch in batches:
            scatter.update(keys_of(batch.column(0)))
            if 8 * scatter.waiting >= _WAITING_BYTES:
                seq = yield from _sent(scatter, part, seq)
        yield from _sent(scatter, part, seq)

    return scattered


def _sent(scatter, part, seq):
    for slice_, hashes in scatter.take():
        for at in range(0, len(hashes), _RUN_BYTES):
            yield _row([slice_], [part], [seq], [hashes[at : at + _RUN_BYTES]])
            seq += 1
    return seq


def _filled(slicing):
    def done(number, slice_):
        bits = slice_.bits()
        yield _row([number], [-1], [slice_.keys], [slice_.sums()], keys_at=2)
        for piece, at in enumerate(range(0, len(bits), _PIECE_BYTES)):
            yield _row([number], [piece], [0], [bits[at : at + _PIECE_BYTES]], keys_at=2)

    def filled(batches):
        number = slice_ = None
        for batch in batches:
            numbers, hashes = batch.column(0).to_pylist(), batch.column(3)
            for i, run in zip(numbers, hashes):
                if i != number:
                    if slice_ is not None:
                        yield from done(number, slice_)
                    number, slice_ = i, slicing.slice(i)
                slice_.insert_hashes(run.as_py())
        if slice_ is not None:
            yield from done(number, slice_)

    return filled


def _assemble(filled, slicing, file):
    """Writes the file: its front, and the slices where they belong. One piece of a slice is in memory at a time."""
    rows = filled.where("piece < 0").collect()
    facts = {row.slice: (row.keys, bytes(row.bytes)) for row in rows}
    if len(facts) != len(rows):
        raise RuntimeError("two tasks had keys of one slice: Spark did not keep to the partitions asked for")
    starts, at = [], 0
    for number in range(slicing.count):
        empty = slicing.slice(number)
        if number not in facts:  # no key fell there
            facts[number] = 0, empty.sums()
        starts.append(at)
        at += empty.byte_len
    front = slicing.front([facts[number] for number in range(slicing.count)])
    file.write(front)
    file.truncate(len(front) + at)
    for row in filled.where("piece >= 0").toLocalIterator():
        file.seek(len(front) + starts[row.slice] + row.piece * _PIECE_BYTES)
        file.write(row.bytes)


def _row(*columns, keys_at=None):
    """One row of numbers and, last, bytes."""
    *numbers, last = columns
    arrays = [pa.array(column, pa.int64() if i == keys_at else pa.int32()) for i, column in enumerate(numbers)]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(last, pa.binary())], [f"_{i}" for i in range(len(columns))])
