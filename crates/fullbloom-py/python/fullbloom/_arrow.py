"""Answers in the form that the library has from which the keys came."""

import sys


def like(keys, answers):
    """An Arrow array of booleans as the caller's library has it.

    pyarrow arrays for pyarrow, a polars Series for polars, NumPy for pandas; for everything else that speaks Arrow pyarrow's
    if it is there, else the answers as they are: a ``fullbloom.BooleanArray``, which every such library takes.
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
