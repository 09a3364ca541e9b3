"""The native kind `dynamic`, which grows, supports deletion and forgets: read here and changed here."""

import pickle
import shutil

import fullbloom
import numpy as np
import pytest
from fullbloom import Filter, FormatError

SECRET = bytes(range(100, 116))
NEW = [f"new-{i}" for i in range(5000)]


@pytest.fixture
def native(vectors, tmp_path):
    """A function that gives the path of a copy of a native file."""

    def copied(name):
        return shutil.copy(vectors / "native" / name, tmp_path / name)

    return copied


# Dynamic files in every mode, and how the number of keys changes with one new key, the same again, and another.
MODES = {"dynamic-promised.bloom": 2, "dynamic-counting.bloom": 3, "dynamic-expiring.bloom": 2, "dynamic-renewed.bloom": None}


@pytest.mark.parametrize("name", MODES)
def test_every_mode_takes_keys_and_comes_back_whole(native, name):
    path = native(name)
    f = Filter.load(path)
    assert f.kind == "dynamic" and f.takes_keys and "native, dynamic:" in repr(f)
    before = len(f)
    assert f.add("one key") and not f.add("one key") and "one key" in f
    assert f.add("another") and "another" in f
    if MODES[name]:  # otherwise others are forgotten meanwhile
        assert len(f) == before + MODES[name]
    f.label = "changed here"
    f.save(path)
    for again in (Filter.load(path), Filter.open(path), f.copy(), pickle.loads(pickle.dumps(f))):
        assert again == f and again.to_bytes() == f.to_bytes() and again.kind == f.kind
        assert "one key" in again and "another" in again and again.label == "changed here"


@pytest.mark.parametrize("name", MODES)
def test_a_mapped_filter_of_every_mode_answers_and_takes_no_keys(native, name):
    f = Filter.load(native(name))
    with Filter.open(native(name)) as mapped:
        mapped.verify()
        assert not mapped.takes_keys and (mapped.may_contain(NEW) == f.may_contain(NEW)).all()
        for change in (lambda: mapped.add("x"), lambda: mapped.update(["x"]), lambda: mapped.remove("x"), mapped.clear):
            with pytest.raises(ValueError, match="mapped|do not support"):
                change()
        copy = mapped.copy()
        assert copy.takes_keys and copy.add("surely a new key")


def test_a_dynamic_filter_grows_and_is_cleared(native):
    f = Filter.load(native("dynamic-promised.bloom"))
    bits, rate = f.bits, fullbloom.inspect(native("dynamic-promised.bloom"))["places"][0]["expected_fpr"]
    f.update(NEW)
    assert f.may_contain(NEW).all()
    assert f.bits > 5 * bits and rate < f.expected_fpr < 0.01, "the rate stays under the promised one"
    assert 4990 < len(f) - len(Filter.load(native("dynamic-promised.bloom"))) <= 5000
    f.clear()
    assert len(f) == 0 and f.expected_fpr == 0 and not f.may_contain(NEW).any()
    numbers = Filter.with_capacity(10, 1e-6, kind="dynamic", up_to=100_000)
    numbers.update(np.arange(5000), threads=0)
    assert numbers.may_contain(np.arange(5000)).all() and len(numbers) == 5000


def test_keys_are_removed_one_by_one_and_in_batches(native):
    f = Filter.load(native("dynamic-counting.bloom"))
    f.clear()
    assert len(f) == 0
    f.update(NEW[:30])
    f.update([1, 2, 3])
    assert f.remove("new-7") is True and "new-7" not in f
    assert f.remove("new-7") is False
    assert f.remove(2) is True and 2 not in f and 1 in f
    assert f.remove([*NEW[:7], None, 1, "never added"]) == 8
    assert f.remove(np.array([3])) == 1 and f.remove([]) == 0
    assert f.may_contain(NEW[8:30]).all() and not f.may_contain(NEW[:8]).any()
    assert len(f) == 22
    assert f.remove(None) is False
    for wrong in (1.5, [1.5]):
        with pytest.raises(TypeError):
            f.remove(wrong)


def test_arrow_columns_are_removed_too(native):
    pa = pytest.importorskip("pyarrow")
    f = Filter.load(native("dynamic-counting.bloom"))
    f.clear()
    column = pa.chunked_array([["a", None], ["b" * 20]], pa.string_view())
    f.update(column)
    assert len(f) == 2 and f.remove(column) == 2 and len(f) == 0


@pytest.mark.parametrize("make", [lambda: Filter.with_capacity(10), lambda: Filter.with_capacity(10, dialect="cassandra")])
def test_other_filters_do_not_support_deletion(native, make):
    for f in (make(), Filter.load(native("dynamic-promised.bloom")), Filter.load(native("dynamic-expiring.bloom"))):
        f.add("x")
        for keys in ("x", ["x"]):
            with pytest.raises(ValueError, match="do not support deletion"):
                f.remove(keys)
        assert "x" in f


def test_keys_are_forgotten_when_the_clock_advances(native):
    f = Filter.load(native("dynamic-expiring.bloom"))
    f.advance(2000)
    f.add("early")
    f.advance(2004.5)
    assert "early" in f and f.add("later")
    f.advance(3000)
    assert "early" not in f and "later" not in f
    assert f.add("early"), "it is new again"
    f.advance()
    assert "early" not in f, "the current time is far later"
    for wrong in (-1, float("nan"), 1e300):
        with pytest.raises(ValueError):
            f.advance(wrong)
    Filter.with_capacity(10).advance(5)


def test_filters_of_one_mode_are_merged_where_that_can_be(native):
    for name in ("dynamic-promised.bloom", "dynamic-counting.bloom", "dynamic-expiring.bloom"):
        f, g = Filter.load(native(name)), Filter.load(native(name))
        f.update(NEW[:20])
        g.update(NEW[20:40])
        either = f | g
        assert either.kind == f.kind and either.may_contain(NEW[:40]).all()
        f |= Filter.open(native(name))
        f |= g
        assert f.may_contain(NEW[:40]).all()
        with pytest.raises(ValueError, match="only fast filters can be intersected"):
            f & g
    f = Filter.load(native("dynamic-renewed.bloom"))
    with pytest.raises(ValueError, match="which both have counted alone"):
        f | f.copy()
    with pytest.raises(ValueError, match="mode is set in one and counting"):
        Filter.load(native("dynamic-promised.bloom")) | Filter.load(native("dynamic-counting.bloom"))


@pytest.mark.parametrize("name", MODES)
def test_filters_of_two_kinds_are_not_combined_and_only_plain_ones_are_folded(native, name):
    fast = Filter.with_capacity(1000)
    for f in (Filter.load(native(name)), Filter.open(native(name))):
        for combine in (lambda: fast | f, lambda: fast.__ior__(f)):
            with pytest.raises(ValueError, match=f"kind is fast in one and {f.kind}") as e:
                combine()
            assert not isinstance(e.value, FormatError), "the filter is sound"
        with pytest.raises(ValueError, match=f"kind is {f.kind} in one and fast"):
            f | fast
        with pytest.raises(ValueError, match=f"of the kind {f.kind} cannot be folded") as e:
            f.folded()
        assert not isinstance(e.value, FormatError)


def test_a_keyed_dynamic_filter_needs_its_secret(native):
    path = native("dynamic-keyed.bloom")
    locked = Filter.load(path)
    assert locked.is_locked and locked.is_keyed and not locked.takes_keys and locked.kind == "dynamic"
    for use in (lambda: "x" in locked, lambda: locked.may_contain(["x"]), lambda: locked.add("x")):
        with pytest.raises(ValueError, match="give its secret"):
            use()
    f = Filter.load(path, secret=SECRET)
    f.update(NEW)
    again = pickle.loads(pickle.dumps(f))
    assert again == f and again.may_contain(NEW).all() and not again.is_locked
    with pytest.raises(FormatError, match="not the filter's secret"):
        Filter.open(path, secret=bytes(16))


def test_damage_of_every_kind_is_seen_by_load_and_verify(native):
    for name in MODES:
        path = native(name)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(FormatError, match="checksum"):
            Filter.load(path)
        with pytest.raises(FormatError, match="checksum"):
            Filter.open(path).verify()


def test_other_dialects_have_no_kind():
    assert Filter.with_capacity(10, dialect="cassandra").kind is None and Filter.with_capacity(10).kind == "fast"


def test_a_dynamic_filter_grows_removes_and_forgets(tmp_path):
    f = Filter.with_capacity(100, 1e-4, kind="dynamic", up_to=1_000_000)
    f.update(NEW)
    assert f.kind == "dynamic" and f.may_contain(NEW).all() and f.expected_fpr <= 1e-4
    f.save(tmp_path / "f.bloom")
    assert Filter.load(tmp_path / "f.bloom").to_bytes() == Filter.open(tmp_path / "f.bloom").to_bytes() == f.to_bytes()
    with pytest.raises(ValueError, match="do not support deletion"):
        f.remove("new-1")
    d = Filter.with_capacity(100, 1e-6, kind="dynamic", deletable=True)
    d.update(NEW[:10])
    assert d.remove(NEW[:5]) == 5 and not d.may_contain(NEW[:5]).any() and d.may_contain(NEW[5:10]).all()
    e = Filter.with_capacity(100, 1e-6, kind="dynamic", expire=7)
    e.advance(4e9)
    e.add("x")
    e.advance(4e9 + 6)
    assert "x" in e
    e.advance(4e9 + 9)
    assert "x" not in e
    for wrong in ({"kind": "slow"}, {"deletable": True}, {"kind": "dynamic", "deletable": True, "expire": 5}, {"kind": "dynamic", "expire": -1}):
        with pytest.raises(ValueError):
            Filter.with_capacity(10, **wrong)
    with pytest.raises(ValueError):
        Filter.with_capacity(10, kind="dynamic", dialect="cassandra")


def test_a_dynamic_filter_of_an_unknown_number_of_keys_keeps_its_rate_up_to_a_billion():
    built = Filter.build(NEW, 1e-4, kind="dynamic")
    assert built.kind == "dynamic" and built.may_contain(NEW).all() and len(built) == len(NEW)
    empty = Filter.with_capacity(fpr=1e-4, kind="dynamic")
    same = Filter.with_capacity(4096, 1e-4, kind="dynamic", up_to=10**9)
    for f in (empty, same):
        f.update(NEW)
    assert empty == same == built
    with pytest.raises(ValueError, match="number of keys must be known"):
        Filter.with_capacity(fpr=1e-4)


def test_a_compact_filter_is_built_at_once_and_takes_no_more_keys(tmp_path):
    keys = [f"key-{i}" for i in range(20_000)]
    f = Filter.build(keys, 1e-4, kind="compact", label="mine")
    assert f.kind == "compact" and len(f) == 20_000 and f.label == "mine"
    assert f.may_contain(keys).all() and f.may_contain([f"other-{i}" for i in range(100_000)]).sum() < 40
    assert len(f.to_bytes()) < 0.75 * len(Filter.build(keys, 1e-4).to_bytes())
    assert Filter.build(iter([*reversed(keys), *keys]), 1e-4, kind="compact", label="mine", threads=2) == f, "whatever the order"
    f.save(tmp_path / "f.bloom")
    assert Filter.open(tmp_path / "f.bloom").may_contain(keys).all()
    assert pickle.loads(pickle.dumps(f)) == f
    for change in (lambda: f.add("x"), lambda: f.update(["x"]), lambda: f.clear()):
        with pytest.raises(ValueError, match="all its keys at once"):
            change()
    numbers = Filter.build(np.arange(1000), kind="compact")
    assert numbers.may_contain(np.arange(1000)).all() and 5 in numbers
    with pytest.raises(TypeError):
        "5" in numbers
    mixed = Filter.build([1, "a", None], kind="compact")
    assert 1 in mixed and "a" in mixed and len(mixed) == 2
    assert len(Filter.build([], kind="compact")) == 0
    secret = Filter.build(keys[:100], kind="compact", secret=SECRET)
    assert Filter.from_bytes(secret.to_bytes()).is_locked
    assert Filter.from_bytes(secret.to_bytes(), secret=SECRET).may_contain(keys[:100]).all()


def test_a_compact_filter_has_exceptions():
    keys, good = [f"key-{i}" for i in range(5000)], [f"good-{i}" for i in range(50_000)]
    assert Filter.build(keys, kind="compact").may_contain(good).any()
    f = Filter.build(keys, kind="compact", except_keys=good)
    assert f.kind == "compact" and f.may_contain(keys).all() and not f.may_contain(good).any()


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "slow"}, {"kind": "compact", "dialect": "cassandra"}, {"kind": "compact", "bits_per_key": 10}, {"kind": "compact", "fpr": 0.7}],
)
def test_what_a_compact_filter_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError):
        Filter.build(["a"], **wrong)
    with pytest.raises(ValueError, match="use Filter.build"):
        Filter.with_capacity(10, kind="compact")
