"""Keys that can be read only once: counted first, and read again from memory and from a temporary file."""

import subprocess
import sys

import pytest
from fullbloom import Filter

# Far more than are kept in memory: 8 MiB.
MANY = 1_000_000


def mixed(count):
    """Text of every length, integers and nulls."""
    for i in range(count):
        yield None if i % 1000 == 7 else i * 3 if i % 5 == 0 else f"key-{i:07}" + "x" * (i % 300 if i % 50 == 0 else 0)


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, MANY])
def test_a_filter_of_an_iterator_is_that_of_a_list(count):
    assert Filter.build(mixed(count), 0.01).to_bytes() == Filter.build(list(mixed(count)), 0.01).to_bytes()


@pytest.mark.parametrize("dialect", ["cassandra", "parquet", "leveldb", "spark-2"])
def test_other_dialects_read_iterators_too(dialect):
    texts = [f"key-{i:07}" for i in range(MANY)]
    f = Filter.build(iter(texts), bits_per_key=10, dialect=dialect)
    assert f.to_bytes() == Filter.build(texts, bits_per_key=10, dialect=dialect).to_bytes()


def test_keys_with_exceptions_are_read_twice():
    good = [f"good-{i}" for i in range(5000)]
    f = Filter.build(mixed(MANY), 0.01, except_keys=iter(good))
    assert f.to_bytes() == Filter.build(list(mixed(MANY)), 0.01, except_keys=good).to_bytes()
    assert not f.may_contain(good).any()


def test_an_error_after_many_keys_comes_through():
    def keys():
        yield from mixed(MANY)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Filter.build(keys(), 0.01)
    with pytest.raises(TypeError, match="not list"):
        Filter.build((key for part in (mixed(MANY), [["a"]]) for key in part), 0.01)


def test_a_full_disk_is_an_os_error(monkeypatch):
    import tempfile

    def no_room():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    with pytest.raises(OSError, match="No space left"):
        Filter.build(mixed(MANY), 0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="the system's unit of ru_maxrss is not known")
@pytest.mark.parametrize("more", ["", ", expected_keys=3_000_000"])
def test_an_iterator_takes_bounded_memory(more):
    program = f"""
import resource
from fullbloom import Filter
Filter.build(iter(["a"]))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
f = Filter.build((f"key-{{i:08}}" for i in range(3_000_000)), 0.01{more})
print(peak() - before, f.nbytes)
"""
    grown, nbytes = map(int, subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout.split())
    assert grown * 1024 < nbytes + (40 << 20), "a list of the keys would take 200 MiB"
