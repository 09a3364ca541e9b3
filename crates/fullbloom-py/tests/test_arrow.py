"""Arrow columns of every library, without its values being copied."""

import ctypes
import uuid

import numpy as np
import pytest
from fullbloom import BooleanArray, Filter

pa = pytest.importorskip("pyarrow")

WORDS = ["alice", "bob", "", "a text that is too long to stand in a view itself", "schlüssel", "z" * 12, "z" * 13]
ABSENT = ["nobody", "another text that is too long to stand in a view itself", "y" * 12]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def of(keys):
    return Filter.build(keys, expected_keys=1000)


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_and_bytes_of_every_layout_are_one_key(kind):
    f = of(WORDS)
    column = pa.array(WORDS).cast(kind)
    assert of(column) == f
    assert of(column.slice(2)) == of(WORDS[2:])
    assert f.may_contain(column).to_pylist() == [True] * len(WORDS)
    mixed = pa.array([*ABSENT, *WORDS, *ABSENT]).cast(kind)
    for start in range(len(mixed) + 1):
        part = mixed.slice(start, 5)
        expected = [word in f for word in part.cast(pa.binary()).to_pylist()]
        assert f.may_contain(part).to_pylist() == expected


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_nulls_are_not_inserted_and_answer_no(kind):
    words = [None, "alice", None, None, WORDS[3], "", None] * 5000
    column = pa.array(words).cast(kind)
    f = Filter.build(column, expected_keys=1000)
    assert len(f) == 3 and f == of(["alice", WORDS[3], ""])
    for part in (column, column.slice(3, 17), column.slice(20_000)):
        assert f.may_contain(part).to_pylist() == [word is not None for word in part.to_pylist()]
    assert f.may_contain(column).null_count == 0
    assert len(of(pa.array([None, None]).cast(kind))) == 0


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_integers_of_every_width_are_one_key(kind):
    info = np.iinfo(kind.to_pandas_dtype())
    numbers = [0, 5, 100, info.max, info.min]
    f = of(numbers)
    column = pa.array(numbers, kind)
    assert of(column) == f and of(column.slice(1)) == of(numbers[1:])
    with_nulls = pa.array([None, *numbers, None, 7], kind)
    assert f.may_contain(with_nulls).to_pylist() == [False, *[True] * 5, False, False]
    assert of(with_nulls) == of([*numbers, 7])
    assert f.may_contain(with_nulls.slice(2, 3)).to_pylist() == [True] * 3


def test_fixed_size_binary_counts_all_bytes():
    column = pa.array([b"ab\0\0", b"\0\0\0\0", None], pa.binary(4))
    f = of(column)
    assert f == of([b"ab\0\0", b"\0\0\0\0"])
    assert f.may_contain(column).to_pylist() == [True, True, False]
    assert of(pa.array([b"", None], pa.binary(0))) == of([b""])


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int32(), pa.uint64()], ids=str)
def test_dictionaries_are_looked_up(index):
    words = ["a", "b", None, "a", "c"] * 3000
    for values in (pa.string(), pa.large_string(), pa.string_view(), pa.binary()):
        column = pa.array(words).cast(values)
        column = pa.DictionaryArray.from_arrays(
            pa.array([None if word is None else "abc".index(word) for word in words], index),
            pa.array(["a", "b", "c", "unused"]).cast(values),
        )
        f = of(column)
        assert f == of(["a", "b", "c"])
        g = of(["b"])
        assert g.may_contain(column).to_pylist() == [word == "b" for word in words]
        assert g.may_contain(column.slice(4, 9)).to_pylist() == [word == "b" for word in words[4:13]]
    numbers = pa.array([5, 6, 5]).dictionary_encode()
    assert of(numbers) == of([5, 6])


def test_nulls_in_a_dictionary_are_nulls():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))
    f = of(column)
    assert f == of(["a"])
    assert f.may_contain(column).to_pylist() == [True, False, False, False]


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint64()])
def test_a_dictionary_of_nothing_but_nulls_is_nulls(index):
    f = of(["a"])
    for column in (
        pa.array([None, None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([None, None], index), pa.nulls(0)),
        pa.DictionaryArray.from_arrays(pa.array([0, 1], index), pa.nulls(2)),
    ):
        assert f.may_contain(column).to_pylist() == [False, False]
        assert of(column) == of([])


def test_chunked_arrays_tables_and_streams():
    chunks = pa.chunked_array([["a", "b"], [], ["c", None], ["d"] * 3])
    f = of(chunks)
    assert f == of(["a", "b", "c", "d"])
    answers = of(["b", "d"]).may_contain(chunks)
    assert isinstance(answers, pa.ChunkedArray)
    assert answers.to_pylist() == [False, True, False, False, True, True, True]
    table = pa.table({"key": chunks})
    assert of(table) == f
    assert table.filter(of(["b", "d"]).may_contain(table)).num_rows == 4
    batch = pa.record_batch({"key": ["x", "a", "y"]}).slice(1)
    assert f.may_contain(batch).to_pylist() == [True, False]
    assert of(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())) == f
    built = Filter.build(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    assert built.expected_keys == 6, "as many as are not null"
    with pytest.raises(TypeError, match="2: select one"):
        of(pa.table({"a": [1], "b": [2]}))
    with pytest.raises(TypeError, match="0: select one"):
        of(pa.table({}))


def test_answers_in_odd_chunks_are_put_together():
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 1000, 200_003)
    bounds = [0, 1, 8, 8, 77, 70_000, 70_003, 150_000, 200_003]
    chunks = pa.chunked_array([numbers[a:b] for a, b in zip(bounds, bounds[1:])])
    f = Filter.build(np.arange(0, 1000, 3), 1e-6)
    assert f.may_contain(chunks).to_numpy().tolist() == f.may_contain(numbers).tolist()


def test_large_text_columns_answer_as_their_keys_do():
    words = [f"user-{i * 7919}" for i in range(150_000)]
    f = Filter.build(pa.array(words[::2]), 0.01)
    assert f.to_bytes() == Filter.build(words[::2], 0.01).to_bytes()
    answers = f.may_contain(pa.array(words))
    assert answers.to_pylist() == f.may_contain(words).tolist()
    with_null = pa.array([None, *words[1:]])
    assert f.may_contain(with_null).to_pylist() == [False, *answers.to_pylist()[1:]]


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pa.array([1.5]), r'not floating-point numbers .*\.astype\("Int64"\)'),
        (pa.array([True]), "booleans"),
        (pa.array([[1]]), "nested"),
        (pa.array([1], pa.timestamp("s")), "cast them to int64"),
        (pa.array([1], pa.date32()), "cast them to int64"),
        (pa.array([{"a": {"b": 1}}]), "struct within"),
    ],
    ids=str,
)
def test_other_types_are_a_type_error(column, what):
    f = of([])
    for use in (f.update, f.may_contain, Filter.build):
        with pytest.raises(TypeError, match=what):
            use(column)


def test_a_column_of_nothing_but_nulls():
    f = of(pa.nulls(5))
    assert len(f) == 0
    assert f.may_contain(pa.nulls(3)).to_pylist() == [False] * 3
    assert f.may_contain(pa.array([], pa.string())).to_pylist() == []


def test_polars():
    pl = pytest.importorskip("polars")
    f = of(["alice", 5])
    answers = f.may_contain(pl.Series("who", ["alice", None, "bob"]))
    assert isinstance(answers, pl.Series) and answers.name == "who"
    assert answers.to_list() == [True, False, False]
    assert f.may_contain(pl.Series([5, 6], dtype=pl.UInt16)).to_list() == [True, False]
    frame = pl.DataFrame({"id": ["alice", "bob"] * 3})
    assert frame.filter(f.may_contain(frame["id"])).height == 3
    assert frame.filter(pl.col("id").map_batches(f.may_contain, return_dtype=pl.Boolean)).height == 3
    assert of(pl.Series(["a", "b", "a"], dtype=pl.Categorical)) == of(["a", "b"])
    assert of(frame.select("id")) == of(["alice", "bob"])
    assert of(pl.Series(["z" * 50, "short"]).head(1)) == of(["z" * 50])


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    f = Filter.build(duckdb.sql("select 'user-' || range as key from range(10000)"), 0.001)
    assert f.expected_keys == 10_000
    assert "user-77" in f
    answers = f.may_contain(duckdb.sql("select 'user-' || (range * 2) from range(10000) order by range"))
    assert answers.to_pylist()[:5000] == [True] * 5000 and sum(answers.to_pylist()) < 5050


def test_pandas():
    pd = pytest.importorskip("pandas")
    f = of(["alice", 5])
    for series in (pd.Series(["alice", "bob", None]), pd.Series([5, 6, 7]), pd.Series(["alice", "b"], dtype="category")):
        answers = f.may_contain(series)
        assert isinstance(answers, np.ndarray) and answers.dtype == np.bool_
        assert answers[0] and not answers[1:].any()
    assert of(pd.Series(["x", "y"])) == of(["x", "y"])
    with_missing = pd.Series([5, None, 6])
    assert with_missing.dtype == float
    with pytest.raises(TypeError, match=r'not float.*\.astype\("Int64"\)'):
        f.may_contain(with_missing)
    nullable = with_missing.astype("Int64")
    assert f.may_contain(nullable).tolist() == [True, False, False]
    assert f.may_contain(list(nullable)).tolist() == [True, False, False], "its null is pandas.NA"
    assert pd.NA not in f and f.add(pd.NA) is False
    times = pd.to_datetime(["2020-01-01", "2020-01-02"])
    for dates in (times, pd.Series(times), list(times), [times[0], pd.NaT], times.to_period("D")):
        with pytest.raises(TypeError, match="int64"):
            f.may_contain(dates)
    assert of(times.astype("int64")) == of(times.astype("int64").tolist())
    ids = [uuid.UUID(int=i) for i in range(5)]
    assert of(pd.Series(ids)) == of([i.bytes for i in ids])


class Plain:
    """An object that speaks Arrow and belongs to no library."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def test_answers_without_a_library_are_an_array_that_all_take(monkeypatch):
    import sys

    f = of(["a"])
    assert isinstance(f.may_contain(Plain(pa.array(["a"]))), pa.Array), "pyarrow is there"
    monkeypatch.delitem(sys.modules, "pyarrow")
    answers = f.may_contain(Plain(pa.array(["a", "b"] * 9)))
    assert isinstance(answers, BooleanArray)
    assert len(answers) == 18 and answers[0] and not answers[1] and not answers[-1] and list(answers) == [True, False] * 9
    with pytest.raises(IndexError):
        answers[18]
    with pytest.raises(IndexError):
        answers[-19]
    assert answers.to_numpy().tolist() == [True, False] * 9
    assert pa.array(answers).to_pylist() == [True, False] * 9
    assert repr(answers) == "<fullbloom.BooleanArray: 9 of 18 true>"
    del answers


class Broken:
    def __init__(self, result):
        self.result = result

    def __arrow_c_array__(self, requested_schema=None):
        return self.result


def test_objects_that_only_say_that_they_speak_arrow():
    f = of([])
    schema, array = pa.array(["a"]).__arrow_c_array__()
    for wrong in (None, (), (1, 2), (array, schema), (schema, schema)):
        with pytest.raises((TypeError, ValueError, IndexError)):
            f.update(Broken(wrong))
    taken = pa.array(["a"]).__arrow_c_array__()
    f.update(Broken(taken))
    with pytest.raises(ValueError, match="released"):
        f.update(Broken(taken))


class CArray(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ]


def forged(column, **fields):
    """The column with other numbers in its structure."""
    schema, array = column.__arrow_c_array__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = CArray.from_address(get(array, b"arrow_array"))
    for name, number in fields.items():
        setattr(place, name, number)
    return Broken((schema, array))


def test_impossible_numbers_are_refused_before_any_memory_is_read():
    f = of([])
    text, number, view = pa.array(["a", "b"]), pa.array([1, 2]), pa.array(["a", "b" * 20], pa.string_view())
    for column in (text, number, view):
        for fields in (
            {"length": -1},
            {"offset": -1},
            {"length": 2**62},
            {"length": 2**60, "offset": 2**60},
            {"n_buffers": 0},
            {"n_buffers": 1},
        ):
            for use in (f.update, f.may_contain):
                with pytest.raises(ValueError, match="Arrow"):
                    use(forged(column, **fields))


def test_offsets_that_fall_are_refused():
    offsets = np.array([0, 5, 2], "i4")
    column = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"hello world")])
    with pytest.raises(ValueError, match="offset 1 is 5"):
        of(column)
    offsets = np.array([0, -4, 5], "i4")
    column = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"hello world")])
    with pytest.raises(ValueError, match="offset 1 is -4"):
        of(column)


def test_views_that_point_outside_are_refused():
    view = np.array([20, 0, 0, 5], "i4")  # twenty bytes of buffer 0 from byte 5 on
    for data in (b"x" * 24, b""):
        column = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(view), pa.py_buffer(data)])
        with pytest.raises(ValueError, match="outside"):
            of(column)
    view[2] = 3  # of buffer 3
    column = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(view), pa.py_buffer(b"x" * 90)])
    with pytest.raises(ValueError, match="outside"):
        of(column)


def test_dictionary_indices_out_of_range_are_refused():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 3]), pa.array(["a"]), safe=False)
    f = of([])
    for use in (f.update, f.may_contain):
        with pytest.raises(ValueError, match="index 3 in a dictionary of 1 values"):
            use(column)
    column = pa.DictionaryArray.from_arrays(pa.array([-1], pa.int8()), pa.array(["a"]), safe=False)
    with pytest.raises(ValueError, match="in a dictionary of 1 values"):
        f.update(column)


def test_a_stream_that_fails_is_an_error_of_ours():
    def batches():
        yield pa.record_batch({"a": ["x"]})
        raise RuntimeError("the source has gone")

    f = of([])
    schema = pa.schema({"a": pa.string()})
    with pytest.raises(ValueError, match="the source has gone"):
        f.update(pa.RecordBatchReader.from_batches(schema, batches()))
    assert "x" in f


def test_a_library_that_needs_another_for_arrow_is_iterated_over():
    class Needy(list):
        def __arrow_c_stream__(self, requested_schema=None):
            raise ImportError("pyarrow is needed")

    assert of(Needy(["a", 5])) == of(["a", 5])
    assert of(["a"]).may_contain(Needy(["a", "b"])).tolist() == [True, False]


def test_random_columns_are_their_lists():
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    numbers = st.lists(st.none() | st.integers(-128, 127), max_size=40)
    texts = st.lists(st.none() | st.text(max_size=20), max_size=40)

    @hypothesis.settings(max_examples=300, deadline=None)
    @hypothesis.given(st.data())
    def check(data):
        if data.draw(st.booleans()):
            keys, kind = data.draw(numbers), data.draw(st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64()]))
        else:
            keys, kind = data.draw(texts), data.draw(st.sampled_from(TEXTS))
        column = pa.array(keys, pa.string() if kind in TEXTS else pa.int64()).cast(kind)
        start = data.draw(st.integers(0, len(keys)))
        length = data.draw(st.integers(0, len(keys)))
        column, keys = column.slice(start, length), keys[start : start + length]
        if data.draw(st.booleans()) and kind not in (pa.string_view(), pa.binary_view()):
            column = column.dictionary_encode()
        cut = data.draw(st.integers(0, len(keys)))
        if data.draw(st.booleans()):
            column = pa.chunked_array([column.slice(0, cut), column.slice(cut)], column.type)
        f = of(column)
        assert f == of(keys)
        g = of(keys[:cut])
        assert g.may_contain(column).to_pylist() == g.may_contain(keys).tolist()

    check()
