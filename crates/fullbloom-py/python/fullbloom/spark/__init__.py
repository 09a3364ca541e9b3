"""Filters on Spark: built on the executors, and used there before a join.

    >>> import fullbloom.spark as fs
    >>> wanted = fs.build(customers, "id", fpr=0.01)           # doctest: +SKIP
    >>> orders.filter(wanted.may_contain("customer_id"))       # doctest: +SKIP
    >>> fs.semi_join(orders, customers, "id")                  # doctest: +SKIP

Needs PySpark 4.1 or newer and PyArrow (``pip install './crates/fullbloom-py[spark]'`` in the repository), and ``fullbloom`` on the
executors.
"""

try:
    import pyarrow  # noqa: F401
    from pyspark.sql.functions import arrow_udf  # noqa: F401
except ImportError as cause:
    raise ImportError(
        "fullbloom.spark needs PySpark 4.1 or newer and PyArrow; in the repository: pip install './crates/fullbloom-py[spark]'"
    ) from cause

from ._ask import MAPPED_FROM, SparkFilter, may_contain, prune, semi_join
from ._build import build
from ._files import load, save

__all__ = [
    "MAPPED_FROM",
    "SparkFilter",
    "build",
    "load",
    "may_contain",
    "prune",
    "save",
    "semi_join",
]
