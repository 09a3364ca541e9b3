"""The Bloom filters of storage engines, bit for bit, for Python, NumPy and Arrow.

>>> import fullbloom
>>> f = fullbloom.Filter.build(["alice", "bob"], fpr=0.01)
>>> "alice" in f
True
>>> "mallory" in f
False
"""

from fullbloom._core import (
    DIALECTS,
    BooleanArray,
    Filter,
    FormatError,
    __version__,
    inspect,
    kernels,
    keys,
    plan,
    plan_from,
    rebuild,
    verify,
)

__all__ = [
    "DIALECTS",
    "BooleanArray",
    "Filter",
    "FormatError",
    "__version__",
    "inspect",
    "kernels",
    "keys",
    "plan",
    "plan_from",
    "rebuild",
    "verify",
]
