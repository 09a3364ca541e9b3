"""Filters in files: saved, loaded, mapped, damaged."""

import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys

import fullbloom
import numpy as np
import pytest
from fullbloom import DIALECTS, Filter, FormatError

KEYS = [f"key-{i}" for i in range(2000)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_saved_loaded_and_opened(tmp_path, dialect):
    path = tmp_path / "filter"
    f = Filter.build(KEYS, bits_per_key=10, dialect=dialect)
    f.save(path)
    assert path.read_bytes() == f.to_bytes()
    told = {"bits": f.bits, "probes": f.probes} if dialect in ("java-lsm", "libbloom-1") else {}
    for read in (Filter.load, Filter.open):
        again = read(path, dialect, **told)
        assert again == f and again.may_contain(KEYS).all() and again.to_bytes() == f.to_bytes()
        assert pickle.loads(pickle.dumps(again)) == f
        assert not again.takes_keys or read is Filter.load
    (facts,) = fullbloom.inspect(path, dialect, **told)["places"]
    assert facts["dialect"] == dialect and facts["bits"] == f.bits and facts["bytes"] == len(f.to_bytes())


def test_paths_are_text_or_paths(tmp_path):
    f = Filter.build(KEYS)
    path = tmp_path / "schlüssel.bloom"
    for form in (path, str(path)):
        f.save(form)
        assert Filter.load(form) == f and Filter.open(form) == f
    with pytest.raises(TypeError):
        f.save(5)


def test_a_mapped_filter_takes_no_keys_but_can_be_combined(tmp_path):
    f = Filter.build(KEYS, expected_keys=4000)
    f.save(tmp_path / "f")
    with Filter.open(tmp_path / "f") as mapped:
        for change in (lambda: mapped.add("x"), lambda: mapped.update(["x"]), mapped.clear):
            with pytest.raises(ValueError, match="mapped"):
                change()
        g = Filter.build(["x"], expected_keys=4000)
        assert (mapped | g) == (g | mapped) == (g | f)
        g |= mapped
        assert g.may_contain(KEYS).all()
        with pytest.raises(ValueError, match="mapped"):
            mapped |= f
        assert "x" not in mapped


def test_a_mapped_filter_outlives_the_replacement_of_its_file(tmp_path):
    path = tmp_path / "f"
    Filter.build(KEYS).save(path)
    mapped = Filter.open(path)
    Filter.build(["other"]).save(path)
    assert mapped.may_contain(KEYS).all() and "other" in Filter.open(path)
    path.unlink()
    assert mapped.may_contain(KEYS).all()


def test_missing_files_and_directories_are_os_errors(tmp_path):
    for read in (Filter.load, Filter.open, fullbloom.inspect):
        with pytest.raises(FileNotFoundError) as raised:
            read(tmp_path / "nothing")
        assert raised.value.filename == str(tmp_path / "nothing") and raised.value.errno == 2
        # A directory without sstables and tables is no place to inspect.
        with pytest.raises((OSError, ValueError), match="not a regular file|cannot find sstables"):
            read(tmp_path)
    f = Filter.build(KEYS)
    with pytest.raises(FileNotFoundError):
        f.save(tmp_path / "no" / "where")
    with pytest.raises(OSError):
        f.save(tmp_path)
    if os.getuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(PermissionError):
            f.save(tmp_path / "locked" / "f")


def test_every_damaged_byte_of_a_native_file_is_noticed(tmp_path):
    data = Filter.build(["a", "b"], label="x").to_bytes()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(FormatError):
            Filter.from_bytes(damaged)
    path = tmp_path / "f"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        for read in (Filter.load, Filter.open):
            with pytest.raises(FormatError, match=str(path)):
                read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(FormatError):
        Filter.load(path)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cut_files_are_refused_in_every_dialect(dialect):
    f = Filter.build(KEYS, bits_per_key=10, dialect=dialect)
    if dialect in ("java-lsm", "libbloom-1", "leveldb", "rocksdb-block"):
        return  # raw bits: nothing says how many there were
    data = f.to_bytes()
    # No bytes are Cassandra's filter that finds everything, and RocksDB's of no keys.
    nothing = set() if dialect.startswith(("cassandra", "rocksdb")) else {0}
    for length in nothing | {1, 5, 20, len(data) // 2, len(data) - 1}:
        with pytest.raises(FormatError):
            Filter.from_bytes(data[:length], dialect)


def test_damage_that_open_does_not_see_is_seen_by_verify(tmp_path):
    path = tmp_path / "f"
    f = Filter.build(np.arange(100_000))
    data = bytearray(f.to_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    mapped = Filter.open(path)
    with pytest.raises(FormatError, match="checksum"):
        mapped.verify()
    with pytest.raises(FormatError, match="checksum"):
        Filter.load(path)


def test_bytes_that_do_not_tell_their_dialect_need_it(tmp_path):
    f = Filter.build(KEYS, dialect="cassandra")
    with pytest.raises(FormatError, match="cannot detect the dialect"):
        Filter.from_bytes(f.to_bytes())
    f.save(tmp_path / "nb-1-big-Filter.db")
    assert Filter.load(tmp_path / "nb-1-big-Filter.db").dialect == "cassandra"
    f.save(tmp_path / "x")
    with pytest.raises(FormatError, match="cannot detect the dialect"):
        Filter.load(tmp_path / "x")
    assert Filter.load(tmp_path / "x", "cassandra") == f
    with pytest.raises(FormatError, match="probes: 99 given"):
        Filter.load(tmp_path / "x", "cassandra", bits=f.bits, probes=99)


def asked_elsewhere(path, numbers):
    with Filter.open(path) as f:
        return f.may_contain(numbers).sum(), shared_bytes(path)


def shared_bytes(path):
    """How much of the file is mapped here, and how much of that is this process's alone."""
    facts, inside = {}, False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0] and ":" not in line.split()[0]:
            inside = line.endswith(str(path))
        elif inside and line.split()[0] in ("Rss:", "Private_Dirty:"):
            facts[line.split()[0]] = facts.get(line.split()[0], 0) + int(line.split()[1])
    return facts


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_share_a_mapped_file(tmp_path, start):
    path = tmp_path / "f.bloom"
    numbers = np.arange(300_000)
    Filter.build(numbers, 0.001).save(path)
    with multiprocessing.get_context(start).Pool(2) as pool:
        for found, facts in pool.starmap(asked_elsewhere, [(str(path), numbers)] * 4):
            assert found == len(numbers)
            assert facts["Rss:"] > 0 and facts["Private_Dirty:"] == 0


def add_and_ask(f):
    f.add("of the child")
    return len(f), "key-7" in f


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_filters_travel_to_other_processes(start):
    f = Filter.build(KEYS)
    before = len(f)
    with multiprocessing.get_context(start).Pool(2) as pool:
        for count, found in pool.map(add_and_ask, [f] * 3):
            assert before < count <= before + 3 and found  # estimated from the bits
    assert len(f) == before


def test_a_truncated_file_harms_a_loaded_filter_not(tmp_path):
    path = tmp_path / "f"
    Filter.build(KEYS).save(path)
    f = Filter.load(path)
    os.truncate(path, 0)
    assert f.may_contain(KEYS).all()


def test_running_out_of_memory_is_a_memory_error():
    program = (
        "import resource, fullbloom\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try: fullbloom.Filter.with_capacity(10**10)\n"
        "except MemoryError as e: print('refused:', e)\n"
        "assert 1 in fullbloom.Filter.build([1])\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused:") and "bytes" in done.stdout
