"""Filters in any file system that Spark can reach, and in local files."""

import os
import re
import tempfile
import uuid

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from .. import Filter
from ._ask import SparkFilter, _plain


def save(filter: Filter | SparkFilter, path: str | os.PathLike[str]) -> None:
    """Saves a filter: to a local path of the driver, or where a URL says (``hdfs://…``, ``s3a://…``, ``viewfs://…``).

    What was there is replaced whole or not at all: the bytes go to a file beside it, which is then renamed. On object stores a
    rename is what their Hadoop connector makes of it. File systems that cannot rename over a file (those without an
    ``AbstractFileSystem``) need two steps: what was there is renamed aside first, so that for a moment there is no file of this
    name; if the driver ends just then, the old bytes are beside it, in a file whose name ends in ``.old``.
    """
    filter, local = _plain(filter), _local(path)
    if local is not None:
        filter.save(local)
        return
    jvm, configuration = _hadoop()
    goal = jvm.org.apache.hadoop.fs.Path(str(path))
    beside = jvm.org.apache.hadoop.fs.Path(goal.getParent(), f".{goal.getName()}.{uuid.uuid4().hex}.tmp")
    system = goal.getFileSystem(configuration)
    with tempfile.TemporaryDirectory(prefix="fullbloom-") as directory:
        ours = os.path.join(directory, "filter.bloom")
        filter.save(ours)
        try:
            system.copyFromLocalFile(False, True, jvm.org.apache.hadoop.fs.Path(f"file://{ours}"), beside)
            _replace(jvm, configuration, beside, goal)
        except BaseException:
            system.delete(beside, False)
            raise


def load(
    path: str | os.PathLike[str],
    dialect: str | None = None,
    *,
    bits: int | None = None,
    probes: int | None = None,
    secret: bytes | None = None,
) -> SparkFilter:
    """Reads a filter from a local path of the driver, or from where a URL says, and checks all of it.

    ``dialect``, ``bits``, ``probes`` and ``secret`` as of ``Filter.load``, for files that do not say them.
    """
    facts = {"bits": bits, "probes": probes, "secret": secret}
    local = _local(path)
    if local is not None:
        return SparkFilter(Filter.load(local, dialect, **facts))
    jvm, configuration = _hadoop()
    there = jvm.org.apache.hadoop.fs.Path(str(path))
    with tempfile.TemporaryDirectory(prefix="fullbloom-") as directory:
        # The name says the dialect of some files.
        ours = os.path.join(directory, there.getName())
        here = jvm.org.apache.hadoop.fs.Path(f"file://{ours}")
        system = there.getFileSystem(configuration)
        if not system.exists(there):
            raise FileNotFoundError(f"{path}: no such file")
        system.copyToLocalFile(False, there, here, True)
        return SparkFilter(Filter.load(ours, dialect, **facts))


def _local(path):
    """The path, if it is one of the local file system; ``None`` for other URLs."""
    path = os.fspath(path)
    if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:/", path):
        return path
    # By hand, as Hadoop reads them: in a name "#", "?" and "%" stand for themselves.
    local = re.fullmatch(r"file:(?://(?:localhost)?(/.*)|(/(?!/).*))", path, re.IGNORECASE | re.DOTALL)
    return local and (local[1] or local[2])


def _hadoop():
    context = SparkSession.active().sparkContext
    return context._jvm, context._jsc.hadoopConfiguration()


def _replace(jvm, configuration, beside, goal):
    """Renames over what is there, in one step where the file system can."""
    rename = getattr(jvm.org.apache.hadoop.fs, "Options$Rename")
    options = SparkSession.active().sparkContext._gateway.new_array(rename, 1)
    options[0] = rename.OVERWRITE
    try:
        files = jvm.org.apache.hadoop.fs.FileContext.getFileContext(goal.toUri(), configuration)
    except Py4JJavaError as error:
        unsupported = "org.apache.hadoop.fs.UnsupportedFileSystemException"
        if not is_instance_of(SparkSession.active().sparkContext._gateway, error.java_exception, unsupported):
            raise
        _replace_in_steps(jvm, goal.getFileSystem(configuration), beside, goal)
    else:
        files.rename(beside, goal, options)


def _replace_in_steps(jvm, system, beside, goal):
    """Renames what is there aside, then the new file to its place; puts the old one back if that fails."""
    aside = jvm.org.apache.hadoop.fs.Path(goal.getParent(), f".{goal.getName()}.{uuid.uuid4().hex}.old")
    there = system.exists(goal)
    if there and not system.rename(goal, aside):
        raise OSError(f"{goal.toString()}: it could not be renamed, so it was not replaced")
    try:
        if not system.rename(beside, goal):
            raise OSError(f"{goal.toString()}: the new file could not be renamed to this name")
    except BaseException:
        if there and not system.exists(goal):
            system.rename(aside, goal)
        raise
    if there:
        system.delete(aside, False)
