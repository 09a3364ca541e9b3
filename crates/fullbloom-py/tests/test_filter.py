"""The life of a filter in memory."""

import copy
import pickle
import sys

import fullbloom
import numpy as np
import pytest
from fullbloom import DIALECTS, Filter, FormatError

KEYS = [f"key-{i:06}" for i in range(2000)]
ABSENT = [f"absent-{i:06}" for i in range(20_000)]
SECRET = bytes(range(16))
BUILT_AT_ONCE = {"rocksdb", "rocksdb-legacy", "rocksdb-ribbon"}
TAKES_NUMBERS = {
    "native", "parquet", "guava", "guava-32", "spark", "spark-2", "orc", "poppy",
    "cassandra", "cassandra-3", "cassandra-2", "cassandra-1", "cassandra-0.7",
}  # fmt: skip


def test_there_is_no_constructor():
    for args in ((), (1,), ("x", 2)):
        with pytest.raises(TypeError, match=r"Filter\.build"):
            Filter(*args)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_builds_answers_and_comes_back_whole(dialect):
    f = Filter.build(KEYS, bits_per_key=12, dialect=dialect)
    assert f.dialect == dialect
    assert f.may_contain(KEYS).all() and all(key in f for key in KEYS[:50])
    assert f.may_contain(np.array(KEYS)).all()
    assert f.may_contain(ABSENT).mean() < 0.02
    assert 1700 < len(f) < 2300 and 0 < f.fill < 1 and 0 <= f.expected_fpr < 0.1
    assert f.bits > 0 and f.probes > 0
    unused = f.nbytes - len(f.to_bytes())
    assert unused == 0 or (dialect == "java-lsm" and unused > 0), "that one drops zeros at the end"
    for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f), f.copy()):
        assert again is not f and again == f and again.to_bytes() == f.to_bytes() and again.dialect == dialect
    assert f.takes_keys == (dialect not in BUILT_AT_ONCE)
    assert repr(f).startswith(f"<fullbloom.Filter {dialect}: ")


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - BUILT_AT_ONCE))
def test_keys_can_be_added_later_and_tell_whether_they_are_new(dialect):
    f = Filter.with_capacity(5000, bits_per_key=16, dialect=dialect)
    assert f.add("long enough a key") is True
    assert f.add("long enough a key") is False
    f.update(KEYS)
    whole = Filter.build(["long enough a key", *KEYS], bits_per_key=16, dialect=dialect, expected_keys=5000)
    assert f == whole and f.to_bytes() == whole.to_bytes()
    f.clear()
    assert "long enough a key" not in f and f.fill == 0


@pytest.mark.parametrize("dialect", sorted(BUILT_AT_ONCE))
def test_full_filters_of_rocksdb_take_no_keys_afterwards(dialect):
    with pytest.raises(ValueError, match=r"use Filter\.build"):
        Filter.with_capacity(10, bits_per_key=10, dialect=dialect)
    f = Filter.build(KEYS, bits_per_key=10, dialect=dialect)
    for change in (lambda: f.add("x"), lambda: f.update(["x"]), f.clear):
        with pytest.raises(ValueError, match="takes no more"):
            change()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_numbers_are_keys_where_the_system_has_them(dialect):
    numbers = np.arange(-1000, 1000)
    if dialect not in TAKES_NUMBERS:
        f = Filter.build(KEYS, bits_per_key=10, dialect=dialect)
        for use in (lambda: 5 in f, lambda: f.may_contain(numbers), lambda: Filter.build(numbers, bits_per_key=10, dialect=dialect)):
            with pytest.raises(TypeError, match=f"{dialect} has no keys of type long"):
                use()
        return
    f = Filter.build(numbers, bits_per_key=12, dialect=dialect)
    assert f.may_contain(numbers).all() and all(int(n) in f for n in numbers)
    assert f.may_contain(np.arange(10**6, 10**6 + 20_000)).mean() < 0.02
    one_by_one = Filter.with_capacity(2000, bits_per_key=12, dialect=dialect)
    new = sum(one_by_one.add(int(n)) for n in numbers)
    assert one_by_one == f and new > 1900
    mixed = Filter.build([*KEYS, *numbers.tolist()], bits_per_key=12, dialect=dialect)
    assert mixed.may_contain(KEYS).all() and mixed.may_contain(numbers).all()


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"rocksdb-ribbon"}))
def test_union_and_intersection(dialect):
    size = {"bits_per_key": 12, "dialect": dialect}
    if dialect not in BUILT_AT_ONCE:
        size["expected_keys"] = 2000
    a, b = Filter.build(KEYS[:1200], **size), Filter.build(KEYS[800:], **size)
    before = a.to_bytes(), b.to_bytes()
    either, both = a | b, a & b
    assert (a.to_bytes(), b.to_bytes()) == before
    assert either.may_contain(KEYS).all() and both.may_contain(KEYS[800:1200]).all()
    assert both.may_contain(KEYS[:800]).mean() < 0.6
    if dialect not in BUILT_AT_ONCE:
        c = a.copy()
        c |= b
        assert c == either
        c &= a
        assert c.may_contain(KEYS[:1200]).all()
        c |= c
        if dialect not in ("dcso", "poppy"):  # these count their keys
            assert either == Filter.build(KEYS, **size)


def test_filters_that_do_not_fit_are_not_combined():
    f = Filter.with_capacity(1000)
    others = {
        "bits is": Filter.with_capacity(5000),
        "the seed is 0 in one and 7": Filter.with_capacity(1000, seed=7),
        "seeded in one and keyed": Filter.with_capacity(1000, secret=SECRET),
        "dialect is native in one and cassandra": Filter.with_capacity(1000, dialect="cassandra"),
    }
    for told, other in others.items():
        for combine in (f.__or__, f.__and__, f.__ior__, f.__iand__):
            with pytest.raises(ValueError, match=told):
                combine(other)
    with pytest.raises(ValueError, match="dialect is cassandra in one and native"):
        others["dialect is native in one and cassandra"] | f
    ribbon = Filter.build(KEYS, bits_per_key=10, dialect="rocksdb-ribbon")
    with pytest.raises(ValueError, match="built from all its keys at once"):
        ribbon | ribbon
    for wrong in (1, None, "x", {1}):
        with pytest.raises(TypeError):
            f | wrong
        with pytest.raises(TypeError):
            wrong & f


def test_equality_is_about_bits_and_hash():
    f = Filter.build(KEYS[:10], expected_keys=1000)
    same = Filter.with_capacity(1000)
    for key in reversed(KEYS[:10]):
        same.add(key)
    assert f == same and not f != same
    assert f != Filter.with_capacity(1000) and f != Filter.build(KEYS[:10], expected_keys=1000, seed=1)
    assert f != 5 and f != None and not f == "x"  # noqa: E711
    with pytest.raises(TypeError):
        hash(f)
    with pytest.raises(TypeError):
        f < same


def test_a_filter_is_true_even_when_it_is_empty():
    f = Filter.with_capacity(10)
    assert f and len(f) == 0


def test_counts_and_rates():
    f = Filter.build(KEYS, 0.001)
    assert len(f) == round(f.estimated_keys) == pytest.approx(2000, rel=0.02)
    assert f.expected_keys == 2000
    assert f.expected_fpr <= 0.0015
    assert Filter.with_capacity(10).expected_fpr == 0
    assert Filter.with_capacity(10, dialect="libbloom-1", bits=1000, probes=3).bits == 1000
    assert Filter.build(KEYS, bits=4096 * 8, probes=6).expected_keys is None
    assert sys.getsizeof(f) >= f.bits // 8


@pytest.mark.parametrize("fpr", [0, 1, -0.1, 2, float("nan"), float("inf"), 1e-300])
def test_rates_that_are_none_are_refused(fpr):
    for make in (lambda: Filter.build(KEYS, fpr), lambda: Filter.with_capacity(10, fpr), lambda: fullbloom.plan(10, fpr)):
        with pytest.raises(ValueError, match="fpr"):
            make()


def test_wrong_numbers_and_names():
    cases = {
        "bits per key": {"bits_per_key": float("nan")},
        "give one of": {"fpr": 0.1, "bits_per_key": 10},
        "give one of fpr": {"bits": 512},
        "16 bytes, not 3": {"secret": b"abc"},
        "not both": {"secret": SECRET, "seed": 1},
        "no secret to store": {"store_secret": True},
        "\"nosuch\"": {"dialect": "nosuch"},
        "seed: only native": {"dialect": "cassandra", "seed": 1},
        "label: only native": {"dialect": "cassandra", "label": "x"},
    }
    for told, kwargs in cases.items():
        with pytest.raises(ValueError, match=told.replace("bits per key", "bits_per_key")):
            Filter.with_capacity(10, **kwargs)
    with pytest.raises(ValueError, match="except_keys: only native"):
        Filter.build([], dialect="cassandra", except_keys=[])
    for name in ("expected_keys", "up_to", "bits", "probes"):
        with pytest.raises(OverflowError, match=f"^{name} is negative: -1"):
            Filter.with_capacity(**{name: -1})
    for use in (Filter.with_capacity, fullbloom.plan):
        with pytest.raises(OverflowError, match="^expected_keys is negative: -1"):
            use(-1)
        with pytest.raises(OverflowError, match=rf"^expected_keys is greater than 2\*\*64 - 1: {2**64}"):
            use(2**64)
    with pytest.raises(OverflowError, match="^threads is negative: -2"):
        Filter.build(["a"], threads=-2)
    with pytest.raises(OverflowError, match="^memory is negative: -1"):
        fullbloom.plan(10, memory=-1)
    for huge in (2**62, 2**50):
        with pytest.raises((ValueError, MemoryError)):
            Filter.with_capacity(huge, bits_per_key=100)
    with pytest.raises(TypeError):
        Filter.with_capacity("many")
    with pytest.raises(TypeError):
        Filter.build(["a"], fpr="low")
    with pytest.raises(ValueError, match="1000"):
        Filter.with_capacity(10, 0.01, dialect="libbloom")


def test_labels():
    f = Filter.build(KEYS, label="täglich")
    assert f.label == "täglich" and Filter.from_bytes(f.to_bytes()).label == "täglich"
    f.label = "x"
    assert f.label == "x"
    assert Filter.with_capacity(10, dialect="cassandra").label == ""
    with pytest.raises(ValueError, match="label"):
        Filter.with_capacity(10, dialect="cassandra").label = "x"
    with pytest.raises(AttributeError):
        f.bits = 3


def test_spark_2_has_a_seed_of_32_bits_with_a_sign():
    for seed in (0, 42, -1, 2**31 - 1, -(2**31)):
        f = Filter.build([1, 2, 3], dialect="spark-2", seed=seed)
        assert f.to_bytes()[8:12] == seed.to_bytes(4, "big", signed=True)
        assert 2 in f and 2 in Filter.from_bytes(f.to_bytes(), "spark-2")
        empty = Filter.with_capacity(3, dialect="spark-2", seed=seed)
        empty.update([1, 2, 3])
        assert empty.to_bytes() == f.to_bytes()
    for seed in (2**31, -(2**31) - 1):
        with pytest.raises(ValueError, match="a seed of spark-2 is from -2147483648 to 2147483647"):
            Filter.build([1], dialect="spark-2", seed=seed)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="a seed of a native filter is from 0 to"):
            Filter.build([1], seed=seed)


def test_seeds_change_which_keys_err():
    a, b = Filter.build(KEYS, 0.05, seed=1), Filter.build(KEYS, 0.05, seed=2)
    assert (a.seed, b.seed) == (1, 2)
    assert (a.may_contain(ABSENT) != b.may_contain(ABSENT)).any()


def test_keyed_filters_need_their_secret():
    f = Filter.build(KEYS, secret=SECRET)
    assert f.is_keyed and f.seed is None and not f.is_locked and "key-000001" in f
    data = f.to_bytes()
    assert SECRET not in data
    locked = Filter.from_bytes(data)
    assert locked.is_locked and locked.is_keyed and "locked" in repr(locked)
    for use in (lambda: "x" in locked, lambda: locked.may_contain(["x"]), lambda: locked.add("x"), lambda: locked.update(["x"])):
        with pytest.raises(ValueError, match="give its secret"):
            use()
    with pytest.raises(ValueError, match="or its secret is not known"):
        f | locked
    assert locked.to_bytes() == data and pickle.loads(pickle.dumps(locked)).is_locked
    opened = Filter.from_bytes(data, secret=SECRET)
    assert opened == f and "key-000001" in opened and opened.takes_keys
    assert pickle.loads(pickle.dumps(f)) == f
    with pytest.raises(FormatError, match="not the filter's secret"):
        Filter.from_bytes(data, secret=bytes(16))
    with pytest.raises(FormatError, match="needs no secret"):
        Filter.from_bytes(Filter.build(KEYS).to_bytes(), secret=SECRET)
    stored = Filter.build(KEYS, secret=SECRET, store_secret=True)
    assert SECRET in stored.to_bytes() and "key-000001" in Filter.from_bytes(stored.to_bytes())


@pytest.mark.parametrize("secret", [None, SECRET])
def test_exceptions_are_answered_no(secret):
    f = Filter.build(KEYS, 0.05, except_keys=ABSENT, secret=secret)
    assert f.may_contain(KEYS).all() and not f.may_contain(ABSENT).any()
    assert Filter.build(KEYS, 0.05, secret=secret).may_contain(ABSENT).any()
    assert not f.takes_keys
    with pytest.raises(ValueError, match="with exceptions takes no more keys"):
        f.add("x")
    with pytest.raises(ValueError, match="one has exceptions"):
        f | f.copy()
    assert f.copy() == f and f != Filter.build(KEYS, 0.05, secret=secret)


def test_exceptions_with_keys_that_can_be_read_once():
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange(5000)
    good = np.arange(10_000, 60_000)
    table = pa.table({"n": pa.chunked_array([numbers[:99], numbers[99:]])})
    forms = (
        (numbers, good),
        (iter(numbers.tolist()), iter(good.tolist())),
        (pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), pa.array(good)),
    )
    for keys, excepted in forms:
        f = Filter.build(keys, 0.05, except_keys=excepted)
        assert f.may_contain(numbers).all() and not f.may_contain(good).any()
    both = Filter.build(numbers, 0.05, except_keys=np.arange(4000, 9000))
    assert both.may_contain(numbers).all(), "keys that are in both are members"


class Once:
    """Says how many keys it has, but hands them out only once."""

    def __init__(self, keys):
        self.count, self.keys = len(keys), iter(keys)

    def __len__(self):
        return self.count

    def __iter__(self):
        return self.keys


def test_exceptions_take_no_key_away_from_a_source_that_has_a_length_but_can_be_read_once():
    keys = list(range(10_000))
    for expected in (None, 20_000):
        f = Filter.build(Once(keys), 0.05, except_keys=range(20_000, 200_000), expected_keys=expected)
        assert f.may_contain(keys).all()


def test_keys_that_are_changed_while_exceptions_are_read_stay_members():
    keys = list(range(10_000))

    def good():
        keys.clear()
        yield from range(20_000, 200_000)

    assert Filter.build(keys, 0.05, except_keys=good()).may_contain(range(10_000)).all()


INTS = np.arange(-500, 500, dtype="int32")


@pytest.mark.parametrize(
    ("dialect", "order"), [("parquet", "<i4"), ("guava", "<i4"), ("guava-32", "<i4"), ("cassandra", ">i4")]
)
def test_integers_of_32_bits_are_the_four_bytes_that_the_system_hashes(dialect, order):
    f = Filter.build(INTS, 1e-4, dialect=dialect, key_type="int")
    assert f.key_type == "int" and f.may_contain(INTS.astype(order).view("V4")).all()
    assert f == Filter.build(INTS.astype(order).view("V4"), 1e-4, dialect=dialect)
    for form in (INTS, INTS.astype("int64"), INTS.tolist()):
        assert f.may_contain(form).all()
    assert -500 in f and not f.add(7) and f.add(12_345) and 12_345 in f
    as_longs = Filter.from_bytes(f.to_bytes(), dialect)
    assert as_longs.key_type == "long" and as_longs.may_contain(INTS).sum() < 10


def test_poppy_tells_its_two_integers_apart():
    f = Filter.build(INTS, 1e-4, dialect="poppy", key_type="int", expected_keys=2000)
    assert f.may_contain(INTS).all() and f != Filter.build(INTS, 1e-4, dialect="poppy", expected_keys=2000)


@pytest.mark.parametrize("dialect", ["native", "spark", "spark-2", "orc"])
def test_systems_that_make_longs_of_all_integers_know_one_kind(dialect):
    f = Filter.build(INTS, dialect=dialect, key_type="int")
    assert f == Filter.build(INTS, dialect=dialect) and f.may_contain(INTS).all() and not f.add(5)


def test_the_key_type_stays_with_a_filter(tmp_path):
    f = Filter.build(INTS, dialect="parquet", key_type="int")
    f.save(tmp_path / "filter")
    for same in (
        f.copy(),
        copy.deepcopy(f),
        pickle.loads(pickle.dumps(f)),
        f | f.copy(),
        f & f.copy(),
        Filter.load(tmp_path / "filter", "parquet", key_type="int"),
        Filter.open(tmp_path / "filter", "parquet", key_type="int"),
    ):
        assert same.key_type == "int" and same == f and same.may_contain(INTS).all()
    assert Filter.build(INTS, expected_keys=10**5, key_type="int").folded().key_type == "int"
    other = Filter.from_bytes(f.to_bytes(), "parquet")
    for combine in (lambda: f | other, lambda: f & other, lambda: f.__ior__(other), lambda: other.__iand__(f)):
        with pytest.raises(ValueError, match="key_type is"):
            combine()
    with pytest.raises(ValueError, match='"int" or "long", not "short"'):
        Filter.with_capacity(10, key_type="short")


@pytest.mark.parametrize("dialect", ["native", "parquet", "cassandra"])
def test_integers_wider_than_the_key_type_are_refused(dialect):
    f = Filter.with_capacity(100, dialect=dialect, key_type="int")
    ends = [-(2**31), 2**31 - 1]
    f.update(ends)
    assert f.may_contain(ends).all() and f.may_contain(np.array(ends)).all()
    for wide in (2**31, -(2**31) - 1, 2**40):
        for use in (f.add, f.may_contain, f.__contains__):
            with pytest.raises(OverflowError, match="32 bits"):
                use(wide)
        for use in (f.update, f.may_contain):
            for form in ([1, wide], np.array([1, wide])):
                with pytest.raises(OverflowError, match="32 bits"):
                    use(form)


@pytest.mark.parametrize("dialect", ["native", "parquet"])
def test_what_stands_for_a_null_is_not_too_wide(dialect):
    pa = pytest.importorskip("pyarrow")
    valid = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(pa.int64(), 3, [valid, pa.py_buffer(np.array([7, 2**40, 8]))])
    f = Filter.build(column, 1e-6, dialect=dialect, key_type="int", expected_keys=1000)
    assert f.may_contain(column).to_pylist() == [True, False, True]
    with pytest.raises(OverflowError):
        f.may_contain(pa.array([None, 2**40]))


def test_folding_halves_a_filter():
    f = Filter.build(np.arange(100_000), 0.01)
    half = f.folded()
    assert half.bits * 2 == f.bits and half.may_contain(np.arange(100_000)).all()
    with pytest.raises(ValueError, match="only native"):
        Filter.with_capacity(10, dialect="cassandra").folded()
    with pytest.raises(ValueError, match="even"):
        Filter.with_capacity(1).folded()


def test_a_closed_filter_says_so():
    f = Filter.build(KEYS)
    with f as same:
        assert same is f
    uses = (
        lambda: "x" in f, lambda: f.may_contain(["x"]), lambda: f.add("x"), lambda: f.update(["x"]), lambda: len(f),
        lambda: f.fill, lambda: f.to_bytes(), lambda: f | f, lambda: f.copy(), lambda: f == Filter.build(KEYS), lambda: f.label,
    )  # fmt: skip
    for use in uses:
        with pytest.raises(ValueError, match="closed"):
            use()
    assert repr(f) == "<fullbloom.Filter, closed>"
    f.close()


def test_from_bytes_takes_any_buffer_and_nothing_else():
    f = Filter.build(KEYS)
    data = f.to_bytes()
    for form in (bytearray(data), memoryview(data), np.frombuffer(data, "u1")):
        assert Filter.from_bytes(form) == f
    for wrong in ("text", 5, None, [1]):
        with pytest.raises(TypeError):
            Filter.from_bytes(wrong)
    with pytest.raises(ValueError, match="contiguous"):
        Filter.from_bytes(np.frombuffer(data, "u1")[::2])


def test_raw_bits_need_bits_and_probes():
    f = Filter.build(KEYS, dialect="java-lsm")
    data = f.to_bytes()
    again = Filter.from_bytes(data, "java-lsm", bits=f.bits, probes=f.probes)
    assert again == f
    with pytest.raises(FormatError):
        Filter.from_bytes(data, "java-lsm")
    with pytest.raises(ValueError, match="or neither"):
        Filter.from_bytes(data, "java-lsm", bits=5)


def test_no_keys_for_rocksdb_are_a_filter_without_bytes():
    f = Filter.build([], bits_per_key=10, dialect="rocksdb")
    assert f.to_bytes() == b"" and "x" not in f
    again = Filter.from_bytes(b"", "rocksdb")
    assert again == f and "x" not in again and again.bits == 0


def test_plans():
    plan = fullbloom.plan(1_000_000, 0.01)
    assert plan["dialect"] == "native" and 9 < plan["bits_per_key"] < 11 and plan["expected_fpr"] <= 0.01
    assert fullbloom.plan(1_000_000, 0.01) == fullbloom.plan(1_000_000)
    assert fullbloom.plan(1_000_000, memory=10**6)["bytes"] <= 10**6
    rows = fullbloom.plan(1_000_000, bits_per_key=10, dialect="all")
    assert [row["dialect"] for row in rows] == list(DIALECTS)
    rows = fullbloom.plan(10, 0.01, dialect="all")
    refused = next(row for row in rows if row["dialect"] == "libbloom")
    assert refused["bits"] is None and "1000" in refused["note"]
    with pytest.raises(ValueError, match="1000"):
        fullbloom.plan(10, 0.01, dialect="libbloom")
    with pytest.raises(ValueError, match="give one of"):
        fullbloom.plan(10, 0.01, memory=5)
    assert fullbloom.plan(0, bits_per_key=10)["bits_per_key"] is None


def test_names_and_kernels():
    assert len(DIALECTS) == 23 and "native" in DIALECTS
    assert fullbloom.kernels()[0] == "scalar"
    assert fullbloom.__version__.count(".") == 2
    assert all(hasattr(fullbloom, name) for name in fullbloom.__all__)
    assert Filter.__module__ == "fullbloom" and issubclass(FormatError, ValueError)
    assert all(getattr(Filter, name).__doc__ for name in dir(Filter) if not name.startswith("_"))


def test_a_filter_of_keys_in_another_form_is_refused(vectors):
    path = vectors / "native" / "formed-keys.bloom"
    for read in (Filter.load, Filter.open, lambda path: Filter.from_bytes(path.read_bytes())):
        with pytest.raises(TypeError, match="in lower case, without white space"):
            read(path)
