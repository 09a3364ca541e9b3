"""Uses the installed package: builds, queries, saves and opens a filter."""

import platform
import tempfile

import fullbloom
import numpy

keys = numpy.arange(1000, dtype="uint64")
filter = fullbloom.Filter.build(keys, fpr=0.01)
assert filter.may_contain(keys).all()
assert filter.may_contain(keys + 1000).mean() < 0.05
with tempfile.TemporaryDirectory() as directory:
    filter.save(f"{directory}/keys.bloom")
    assert fullbloom.Filter.open(f"{directory}/keys.bloom").may_contain(keys).all()
print(f"Python {platform.python_version()}, NumPy {numpy.__version__}, {platform.machine()}: ok")
