"""Answers as the library of the keys represents them."""

import sys


def like(keys, answers):
    """The answers as an array of the library that ``keys`` comes from.

    A pyarrow array for pyarrow, a Series for polars, a NumPy array for pandas. For other Arrow libraries a pyarrow array if
    pyarrow is imported, else the answers themselves: a ``fullbloom.BooleanArray``, which every Arrow library can read.
    """
    library = type(keys).__module__.partition(".")[0]
    if library == "polars":
        import polars

        return polars.Series(answers).rename(getattr(keys, "name", ""))
    if library == "pandas":
        return answers.to_numpy()
    if library != "pyarrow" and "pyarrow" not in sys.modules:
        return answers
    import pyarrow  # type: ignore[import-untyped]

    array = pyarrow.array(answers)
    return pyarrow.chunked_array([array]) if isinstance(keys, (pyarrow.ChunkedArray, pyarrow.Table)) else array
