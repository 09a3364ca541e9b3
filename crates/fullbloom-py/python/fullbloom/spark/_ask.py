"""Lookups on the executors: a column of answers, pruning and semi-joins."""

import hashlib
import os
import pickle
import shutil
import tempfile
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkFiles
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import BooleanType

from .. import Filter
from ._executors import check_executors
from ._keys import keys_of, kind, named, same_kind

#: Native filters without a secret of this many bytes and more go to the executors as a file, which all Python workers of a machine
#: map and share; others by broadcast, a copy for each worker.
MAPPED_FROM = 32 << 20

#: Filters that a Python worker keeps ready, at most.
_KEPT = 8

_ready = OrderedDict()


def _held(name, make):
    """The filter of this name, made once for each Python worker."""
    if name not in _ready:
        _ready[name] = make()
        if len(_ready) > _KEPT:
            _ready.popitem(last=False)
    _ready.move_to_end(name)
    return _ready[name]


#: Filters that were sent to the executors, by their bytes, so that the next expression with the same filter does not send it again.
#: Spark frees dropped broadcasts when no expression uses them any more; files stay as long as the session.
_broadcasts = OrderedDict()
_files = {}


class _ByBroadcast:
    """A filter in a broadcast variable."""

    @classmethod
    def sent(cls, context, filter):
        # The pickled form, not the bytes alone: with another dialect or secret the same bytes answer differently.
        known = context.applicationId, hashlib.blake2b(pickle.dumps(filter)).digest()
        if known not in _broadcasts:
            _broadcasts[known] = cls(context, filter)
            if len(_broadcasts) > _KEPT:
                _broadcasts.popitem(last=False)
        _broadcasts.move_to_end(known)
        return _broadcasts[known]

    def __init__(self, context, filter):
        self.name = uuid.uuid4().hex
        self.broadcast = context.broadcast(filter)

    def filter(self):
        return _held(self.name, lambda: self.broadcast.value)


class _ByFile:
    """A filter in a file that Spark has copied to every machine."""

    @classmethod
    def sent(cls, context, filter):
        name = f"{uuid.uuid4().hex}.bloom"
        directory = tempfile.mkdtemp(prefix="fullbloom-")
        path = os.path.join(directory, name)
        try:
            # Through a file, not through memory: these filters are large.
            filter.save(path)
            with open(path, "rb") as file:
                known = context.applicationId, hashlib.file_digest(file, "blake2b").digest()
            if known not in _files:
                context.addFile(path)
                # Executors that start later fetch it too, so it stays until the driver ends.
                weakref.finalize(context, shutil.rmtree, directory, ignore_errors=True)
                _files[known], directory = cls(name), None
        finally:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
        return _files[known]

    def __init__(self, name):
        self.name = name

    def filter(self):
        return _held(self.name, lambda: Filter.open(SparkFiles.get(self.name)))


def _plain(filter):
    if isinstance(filter, SparkFilter):
        return filter.filter
    if isinstance(filter, Filter):
        return filter
    raise TypeError(f"this takes a filter, not {type(filter).__name__}")


def _kind_in(filter):
    return filter.kind if isinstance(filter, SparkFilter) else None


def may_contain(filter: "Filter | SparkFilter", column: str | Column) -> Column:
    """A column of answers: whether the key in ``column`` may be in the filter. Null keys are answered no, never null.

    The filter is sent as it is now; keys added later are not seen. Only the key column goes to Python.

    The type of the column is not known here. Keys of another kind than ``build`` saw fail the query when it runs; text under a
    collation and ``char(n)``, which ``prune`` refuses, look like other text and can be answered a wrong no: prefer ``prune``.
    """
    wanted, filter, context = _kind_in(filter), _plain(filter), SparkSession.active().sparkContext
    check_executors(context)
    # Only a native file without a secret stores all that lookups need.
    mapped = filter.nbytes >= MAPPED_FROM and filter.dialect == "native" and not filter.is_keyed
    sent = (_ByFile if mapped else _ByBroadcast).sent(context, filter)

    def fullbloom_may_contain(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        filter = sent.filter()
        for keys in columns:
            yield filter.may_contain(keys_of(keys, wanted))

    return arrow_udf(fullbloom_may_contain, BooleanType())(named(column))


def prune(filter: "Filter | SparkFilter", df: DataFrame, column: str | Column) -> DataFrame:
    """The rows whose key in ``column`` may be in the filter: all that have a partner in a join, and few others.

    For integers and a filter of dialect ``spark-2`` or ``spark`` the lookups run in the JVM, in Spark itself; else in Python.
    """
    keys = kind(df, column)
    same_kind(_kind_in(filter), keys)
    asked = _in_jvm(_plain(filter), column) if keys == "integer" else None
    return df.filter(may_contain(filter, column) if asked is None else asked)


def _in_jvm(filter, column):
    """The column of answers as an expression of Spark; ``None`` where Spark has none for this filter.

    It is the expression that Spark's optimiser puts before joins. It is not registered as a function, and other releases may hide it
    elsewhere: then the lookups run in Python.
    """
    if filter.dialect not in ("spark", "spark-2") or filter.nbytes >= MAPPED_FROM:
        return None
    try:
        from pyspark.sql.classic.column import Column as ClassicColumn

        jvm = SparkSession.active().sparkContext._jvm
        expressions = jvm.org.apache.spark.sql.catalyst.expressions
        utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
        literal = expressions.Literal.create(filter.to_bytes(), jvm.org.apache.spark.sql.types.DataTypes.BinaryType)
        key = utils.expression(named(column).cast("bigint")._jc)
        answer = ClassicColumn(utils.column(expressions.BloomFilterMightContain(literal, key)))
    except (ImportError, TypeError, Py4JError):
        return None
    return functions.coalesce(answer, functions.lit(False))


def semi_join(
    df: DataFrame,
    dim: DataFrame,
    on: str | list[str],
    fpr: float | None = None,
    expected_keys: int | None = None,
    **how: Any,
) -> DataFrame:
    """The rows of ``df`` that have a partner in ``dim``: those of ``df.join(dim, on, "left_semi")``, found with less shuffling.

    ``on`` names one column that both have. A filter of ``dim``'s keys (``fpr``, ``expected_keys`` and the rest as of ``build``)
    prunes ``df`` before the join, which then decides exactly. If no ``dialect`` is given, it is ``spark-2``, looked up in the JVM, for
    integers whose filter has less than ``MAPPED_FROM`` bytes, else native.

    ``dim`` is read up to three times: to count its keys (not if ``expected_keys`` is given), to build the filter and to join. It must
    give the same keys each time; persist it where it would not, or where it is costly.
    """
    from ._build import build, made

    if isinstance(on, (list, tuple)) and len(on) == 1:
        (on,) = on
    if not isinstance(on, str):
        raise TypeError("on is the name of one column that both have")
    ours, theirs = kind(df, on), kind(dim, on)
    if ours != theirs:
        raise TypeError(f"{on!r} is {ours} on one side and {theirs} on the other: cast one of them")
    keys = dim.select(on)
    wanted = (build if "dialect" in how else made)(keys, on, fpr, expected_keys, **how)
    return prune(wanted, df, on).join(keys, on, "left_semi")


class SparkFilter:
    """A filter that can look up columns, and otherwise behaves as the ``Filter`` it holds in ``filter``.

    Made by ``build`` and ``load``, or from any filter: ``SparkFilter(Filter.load("ids.bloom"))``. A text is the name of a column
    here; to look up one text key use ``"alice" in filter``.

    ``kind`` is the kind of column that ``build`` used (``"integer"``, ``"string"``, ``"binary"``, ``"date"``, ``"timestamp"``, ``"timestamp_ntz"``),
    or ``None`` if that is not known. Columns of another kind are refused. (The kind of a native filter is ``filter.filter.kind``.)
    """

    def __init__(self, filter: "Filter | SparkFilter", kind: str | None = None) -> None:
        self.filter: Filter = _plain(filter)
        self.kind: str | None = _kind_in(filter) if kind is None else kind

    def may_contain(self, keys: Any) -> Any:
        """For a column or its name, a column of answers; for keys, the result of ``Filter.may_contain``."""
        if isinstance(keys, (str, Column)):
            return may_contain(self, keys)
        return self.filter.may_contain(keys)

    def prune(self, df: DataFrame, column: str | Column) -> DataFrame:
        """The rows whose key in ``column`` may be in the filter."""
        return prune(self, df, column)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves to a local path, or to anything Spark can reach; see ``fullbloom.spark.save``."""
        from ._files import save

        save(self.filter, path)

    def __getattr__(self, name: str) -> Any:
        if name == "filter":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.filter, name)

    def __contains__(self, key: Any) -> bool:
        return key in self.filter

    def __len__(self) -> int:
        return len(self.filter)

    def __bool__(self) -> bool:
        return True

    def __or__(self, other: "Filter | SparkFilter") -> "SparkFilter":
        return SparkFilter(self.filter | _plain(other), self._kind_with(other))

    def __and__(self, other: "Filter | SparkFilter") -> "SparkFilter":
        return SparkFilter(self.filter & _plain(other), self._kind_with(other))

    def _kind_with(self, other):
        return self.kind if self.kind == _kind_in(other) else None

    __ror__ = __or__
    __rand__ = __and__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (SparkFilter, Filter)) and self.filter == _plain(other)

    __hash__ = None

    def __repr__(self) -> str:
        return f"SparkFilter({self.filter!r})"
