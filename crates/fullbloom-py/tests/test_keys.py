"""Keys in all their forms are the same keys."""

import array
import ctypes
import datetime
import uuid

import numpy as np
import pytest
from fullbloom import Filter

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def of(keys, **more):
    return Filter.build(keys, expected_keys=1000, **more)


def test_text_is_its_utf8_bytes():
    f = of(["schlüssel", "鍵", ""])
    assert "schlüssel".encode() in f and "鍵".encode() in f and b"" in f
    assert f == of([b"schl\xc3\xbcssel", "鍵".encode(), b""])


def test_an_integer_is_eight_little_endian_bytes():
    f = of([5, -2, 2**63 + 1, "text"])  # a filter of integers alone refuses bytes
    assert (5).to_bytes(8, "little") in f
    assert (-2).to_bytes(8, "little", signed=True) in f
    assert (2**63 + 1).to_bytes(8, "little") in f
    assert 2**64 - 2 in f, "it has the bytes of -2"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_width_and_order_are_one_key(dtype):
    info = np.iinfo(dtype)
    numbers = [0, 1, 5, 100, info.max, info.max - 1, info.min]
    f = of(numbers)
    a = np.array(numbers, dtype)
    swapped = a.astype(a.dtype.newbyteorder())
    spread = np.repeat(a, 3)[::3]
    backwards = a[::-1]
    unaligned = np.frombuffer(b"\0" + a.tobytes(), "u1")[1:].view(dtype) if a.itemsize == 1 else unaligned_view(a)
    for form in (a, swapped, spread, backwards, unaligned, a.tolist(), tuple(a), iter(a.tolist()), a.astype(object)):
        g = Filter.with_capacity(1000)
        g.update(form)
        assert g == f, form
    assert f.may_contain(a).all()
    for form in (a, swapped, spread, unaligned):
        assert f.may_contain(form).tolist() == [True] * len(numbers)
    assert not f.may_contain(np.array([7, 9], dtype)).any()


def unaligned_view(a):
    raw = np.zeros(a.nbytes + 1, "u1")
    raw[1:] = np.frombuffer(a.tobytes(), "u1")
    view = raw[1:].view(a.dtype)
    assert not view.flags.aligned or a.itemsize == 1
    return view


def test_many_numbers_in_any_form_make_the_same_bytes():
    rng = np.random.default_rng(1)
    numbers = rng.integers(-(2**31), 2**31, 200_000)
    whole = Filter.build(numbers, 0.001)
    narrow = Filter.build(numbers.astype("i4"), 0.001)
    strided = Filter.build(np.stack([numbers, numbers], 1)[:, 1], 0.001)
    listed = Filter.build(numbers.tolist(), 0.001)
    parallel = Filter.build(numbers, 0.001, threads=0)
    for other in (narrow, strided, listed, parallel):
        assert other.to_bytes() == whole.to_bytes()
    asked = rng.integers(-(2**31), 2**31, 150_001)
    answers = whole.may_contain(asked)
    assert answers.dtype == np.bool_ and answers.shape == asked.shape
    assert (answers == whole.may_contain(asked.astype("i4"))).all()
    assert answers.tolist() == [int(n) in whole for n in asked]


def test_fixed_width_bytes_lose_their_padding_as_in_numpy():
    a = np.array([b"a", b"bcd", b"", b"e\0f", b"g\0"], "S5")
    f = of(a)
    assert f == of([b"a", b"bcd", b"", b"e\0f", b"g"])
    assert f == of(a.tolist())
    assert f.may_contain(np.array([b"bcd", b"x"])).tolist() == [True, False]


def test_all_bytes_of_void_count():
    a = np.array([b"ab\0\0", b"\0\0\0\0"], "V4")
    assert of(a) == of([b"ab\0\0", b"\0\0\0\0"])


@pytest.mark.parametrize("order", "<>")
def test_numpy_text_is_utf8(order):
    words = ["a", "schlüssel", "", "鍵", "🦀crab"]
    a = np.array(words, order + "U9")
    assert of(a) == of(words)
    assert of(a).may_contain(np.array(["鍵", "nope"])).tolist() == [True, False]


def test_numpy_text_that_is_none_is_refused():
    a = np.zeros(3, "U2")
    a.view("u4")[2] = 0xD800
    with pytest.raises(ValueError, match="key 1 is not text"):
        of(a)


def test_objects_and_other_buffers():
    assert of(np.array(["a", 5, b"b"], object)) == of(["a", 5, b"b"])
    assert of(array.array("i", [1, -2])) == of([1, -2])
    assert of(memoryview(array.array("Q", [2**64 - 1]))) == of([2**64 - 1])
    assert of({"a", "b"}) == of(["a", "b"])
    assert of({"a": 1}.keys()) == of(["a"])
    assert of(str(i) for i in range(9)) == of(map(str, range(9)))
    assert of(range(10)) == of(list(range(10)))


def test_numpy_scalars_are_single_keys():
    f = of([5, "a", b"b"])
    assert np.int32(5) in f and np.uint8(5) in f and np.str_("a") in f and np.bytes_(b"b") in f
    assert f.may_contain(np.int64(5)) is True
    assert f.may_contain(np.int64(6)) is False
    assert bytearray(b"b") in f


def test_none_among_many_is_a_null():
    f = Filter.with_capacity(100)
    f.update(["a", None, 5, None])
    assert len(f) == 2
    assert f.may_contain([None, "a", 5, None, 6]).tolist() == [False, True, True, False, False]


def test_none_alone_is_a_null_too():
    f = of(["a", 5])
    before = f.to_bytes()
    assert f.add(None) is False and f.to_bytes() == before
    assert None not in f and f.may_contain(None) is False
    deletable = Filter.with_capacity(100, kind="dynamic", deletable=True)
    assert deletable.add("a") and deletable.remove(None) is False and "a" in deletable
    for use in (f.update, Filter.build):
        with pytest.raises(TypeError, match="not NoneType"):
            use(None)  # these take many keys
    f.close()
    for use in (f.add, f.may_contain, f.__contains__, f.remove):
        with pytest.raises(ValueError, match="closed"):
            use(None)


def test_a_uuid_is_its_sixteen_bytes():
    one, other = uuid.UUID(int=2**127 + 5), uuid.UUID("12345678-1234-5678-1234-567812345678")
    f = of([one, other])
    assert f == of([one.bytes, other.bytes])
    assert one in f and f.may_contain(other) is True and uuid.UUID(int=7) not in f
    assert f.may_contain([other, uuid.UUID(int=7), None, one]).tolist() == [True, False, False, True]
    assert f.may_contain(np.array([one, other])).all()
    assert f.add(uuid.UUID(int=9)) and uuid.UUID(int=9).bytes in f
    with pytest.raises(TypeError, match="put a single key into a list"):
        f.update(one)


def test_mixed_objects_are_answered_in_their_order():
    rng = np.random.default_rng(2)
    keys = [int(n) if n % 3 else str(n) if n % 2 else None for n in rng.integers(0, 10**6, 20_000)]
    f = Filter.build(keys[::2], 0.001)
    answers = f.may_contain(keys)
    assert answers.tolist() == [key is not None and key in f for key in keys]


def test_no_keys_are_no_answers():
    f = of([])
    assert len(f) == 0 and f.fill == 0
    for nothing in ([], np.array([], int), np.array([], "U3"), np.array([], "S2"), iter(())):
        answers = f.may_contain(nothing)
        assert answers.dtype == np.bool_ and answers.shape == (0,)
        f.update(nothing)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_overflow(number):
    f = of([])
    for use in (f.add, f.may_contain, f.__contains__, lambda n: f.update([n])):
        with pytest.raises(OverflowError, match="64 bits"):
            use(number)


@pytest.mark.parametrize("wrong", [1.5, True, object(), 3j, float("nan"), np.float64(2), np.bool_(True)])
def test_what_is_no_key_is_a_type_error(wrong):
    f = of([])
    for use in (f.add, f.may_contain, f.__contains__, f.update, Filter.build):
        with pytest.raises(TypeError):
            use(wrong)
    with pytest.raises(TypeError):
        f.update(["a", wrong])


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([1.5]),
        np.array([True]),
        np.array([1j]),
        np.array(["2020-01-01"], "M8[D]"),
        np.array([(1, 2)], [("a", int), ("b", int)]),
        [["a"]],
        [("a",)],
    ],
)
def test_arrays_of_other_things_are_a_type_error(wrong):
    f = of([])
    for use in (f.may_contain, f.update):
        with pytest.raises(TypeError):
            use(wrong)


@pytest.mark.parametrize(
    "dates",
    [
        [datetime.date(2020, 1, 1)],
        [datetime.datetime(2020, 1, 1)],
        [datetime.timedelta(1)],
        [np.datetime64("2020-01-01")],
        np.array(["2020-01-01"], "M8[D]"),
        np.array([5], "m8[s]"),
    ],
    ids=repr,
)
def test_dates_and_times_are_refused_with_a_hint(dates):
    f = of([])
    for use in (f.may_contain, f.update, Filter.build, lambda dates: f.add(dates[0]), lambda dates: dates[0] in f):
        with pytest.raises(TypeError, match=r'not \w+ \(cast dates and times to integers of one unit, as \.astype\("int64"\) does\)'):
            use(dates)


@pytest.mark.parametrize("floats", [[1.0, float("nan")], np.array([1.0, np.nan]), np.array([1.5], "f2"), np.array([1.5], ">f4")], ids=repr)
def test_columns_of_floats_are_refused_with_a_hint(floats):
    f = of([])
    for use in (f.may_contain, f.update, Filter.build):
        with pytest.raises(TypeError, match=r'integers with missing values are floats in pandas: use \.astype\("Int64"\)'):
            use(floats)


def test_keys_have_one_dimension():
    with pytest.raises(ValueError, match="one dimension, not 2"):
        of(np.zeros((2, 2), int))


def test_one_key_is_not_many():
    f = of([])
    for one in ("abc", b"abc", 7):
        for use in (f.update, Filter.build):
            with pytest.raises(TypeError, match="put a single key into a list"):
                use(one)


def test_lone_surrogates_are_refused():
    with pytest.raises(UnicodeEncodeError):
        of(["\ud800"])


def test_an_error_of_the_iterator_comes_through():
    def keys():
        yield "a"
        raise ZeroDivisionError

    f = Filter.with_capacity(10)
    with pytest.raises(ZeroDivisionError):
        f.update(keys())
    with pytest.raises(ZeroDivisionError):
        Filter.build(keys())
    with pytest.raises(ZeroDivisionError):
        f.may_contain(keys())


def test_an_iterator_may_ask_the_filter_it_fills():
    f = Filter.with_capacity(100_000)

    def new():
        for i in range(20_000):
            if i % 2 not in f or True:
                yield i % 7000

    f.update(key for key in new() if isinstance(f.may_contain(key), bool))
    assert f.may_contain(np.arange(7000)).all()


def test_masked_arrays_are_refused_with_a_hint():
    masked = np.ma.masked_array(np.arange(4), [False, True, False, True])
    f = of([0, 2])
    for keys in (masked, np.ma.masked_array(["a", "b"], [True, False]), masked.astype(object)):
        for use in (f.update, f.may_contain, Filter.build):
            with pytest.raises(TypeError, match="compressed"):
                use(keys)
    assert f.may_contain(masked.compressed()).all() and of(masked.compressed()) == of([0, 2])


class PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


@pytest.mark.parametrize(("suboffset", "refused"), [(0, True), (8, True), (-1, False)])
def test_buffers_of_pointers_are_refused(suboffset, refused):
    # What the elements are reached by: a pointer to each where there is a suboffset of zero or more.
    numbers = (ctypes.c_int64 * 4)(7, 8, 9, 10)
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(numbers)] * 3)
    memory = pointers if refused else numbers
    one = ctypes.c_ssize_t * 1
    shape, strides, suboffsets = one(3), one(8), one(suboffset)
    info = PyBuffer(ctypes.addressof(memory), None, 24, 8, 1, 1, b"q", shape, strides, suboffsets, None)
    view_of = ctypes.pythonapi.PyMemoryView_FromBuffer
    view_of.restype, view_of.argtypes = ctypes.py_object, [ctypes.POINTER(PyBuffer)]
    view = view_of(ctypes.byref(info))
    f = of([7, 8, 9])
    if refused:
        for use in (f.update, f.may_contain, Filter.build):
            with pytest.raises(ValueError, match="not pointers"):
                use(view)
    else:
        assert f.may_contain(view).all()


@pytest.mark.parametrize("read", ["load", "open", "from_bytes"])
def test_a_native_filter_records_the_type_of_its_keys(tmp_path, read):
    def again(f):
        f.save(tmp_path / "f")
        return Filter.from_bytes(f.to_bytes()) if read == "from_bytes" else getattr(Filter, read)(tmp_path / "f")

    numbers, texts, both = again(Filter.build([1, 2, 3])), again(Filter.build(["1", b"2"])), again(Filter.build([1, "2"]))
    assert 1 in numbers and numbers.may_contain([1, 2]).all() and numbers.key_type == "long"
    for wrong in ("1", b"1", ["1"], np.array(["1"])):
        with pytest.raises(TypeError, match="built from int, the keys given are str or bytes"):
            numbers.may_contain(wrong)
    for wrong in (1, [1], np.array([1])):
        with pytest.raises(TypeError, match="built from str or bytes, the keys given are int"):
            texts.may_contain(wrong)
    with pytest.raises(TypeError):
        "1" in numbers  # noqa: B015
    assert "1" in texts and 1 in both and "2" in both and "1" not in both
    if read != "open":
        with pytest.raises(TypeError):
            numbers.add("4")
        with pytest.raises(TypeError):
            texts.update([4])
        numbers.add(4)
        assert 4 in numbers
    assert again(Filter.build([1], key_type="int")).key_type == "int"
    with pytest.raises(ValueError, match="key type"):
        numbers.copy() | texts.copy()


@pytest.mark.parametrize("kind", ["fast", "compact", "dynamic"])
def test_a_filter_in_memory_refuses_lookups_of_the_other_type(kind):
    numbers, texts = Filter.build([1, 2, 3], kind=kind), Filter.build(["1", b"2"], kind=kind)
    for wrong in ("1", b"1", ["1"], [1, "1"], np.array(["1"])):
        with pytest.raises(TypeError, match="built from int, the keys given are str or bytes"):
            numbers.may_contain(wrong)
    for wrong in (1, [1], np.array([1])):
        with pytest.raises(TypeError, match="built from str or bytes, the keys given are int"):
            texts.may_contain(wrong)
    with pytest.raises(TypeError):
        "1" in numbers  # noqa: B015
    assert 1 in numbers and numbers.may_contain([2, 3]).all() and "1" in texts and None not in texts


def test_a_filter_that_supports_deletion_refuses_to_remove_keys_of_the_other_type():
    f = Filter.with_capacity(100, kind="dynamic", deletable=True)
    f.update([1, 2])
    for wrong in ("1", ["1"]):
        with pytest.raises(TypeError, match="built from int"):
            f.remove(wrong)
    assert f.remove([1, 2]) == 2


def test_a_filter_without_keys_answers_keys_of_both_types():
    f = Filter.with_capacity(100)
    assert "a" not in f and 1 not in f and not f.may_contain(["a", 1]).any()


def test_a_filter_in_memory_takes_keys_of_both_types():
    f = Filter.with_capacity(100)
    f.add(1)
    f.update(["a", "b"])
    assert 1 in f and "a" in f and "1" not in f
    assert "a" in Filter.from_bytes(f.to_bytes()) and 1 in Filter.from_bytes(f.to_bytes())
