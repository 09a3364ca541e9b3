"""Paths of engines: inspected, verified, planned for and rebuilt as the command does it."""

import json
import shutil

import fullbloom
import pytest
from test_command import run


@pytest.fixture
def database(vectors, tmp_path):
    """A copy of a database of RocksDB with two column families."""
    return shutil.copytree(vectors / "databases" / "rocksdb", tmp_path / "db")


def damage(database):
    """Clears the first 64 bytes of a filter, at the place that its bytes are found."""
    table = sorted(database.glob("*.sst"))[0]
    data = bytearray(table.read_bytes())
    at = data.rindex(b"fullfilter.") - 2000
    data[at : at + 64] = bytes(64)
    table.write_bytes(data)
    return table


def test_reports_are_those_of_the_command(command, database):
    for ask, name, args in (
        (fullbloom.inspect, "inspect", []),
        (fullbloom.verify, "verify", []),
        (fullbloom.plan_from, "plan", ["--from"]),
    ):
        ours = ask(database)
        theirs = json.loads(run(command, name, "--json", *args, database))
        assert ours.pop("status") == 0 and ours == theirs, name
    assert {place["column_family"] for place in fullbloom.inspect(database)["places"]} == {"default", "users"}


def test_several_paths_are_one_report(database):
    tables = sorted(database.glob("*.sst"))
    report = fullbloom.verify(tables, absent=100)
    assert report["summary"]["filters"] == len(tables) == len(report["places"])
    assert report["summary"]["missing"] == 0


def test_a_damaged_filter_is_found_rebuilt_and_put_back(database):
    table = damage(database)
    bytes_before = table.read_bytes()
    found = fullbloom.verify(database, absent=0)
    assert found["status"] == 1
    assert {problem["place"] for problem in found["problems"]} == {str(table)}
    done = fullbloom.rebuild(database, damaged=True)
    assert done["status"] == 0 and [place["path"] for place in done["places"]] == [str(table)]
    assert fullbloom.verify(database, absent=0)["status"] == 0
    again = fullbloom.rebuild(database, damaged=True)
    assert again["status"] == 1 and again["places"] == []
    assert fullbloom.rebuild(database, restore=True)["summary"]["restored"] == 1
    assert table.read_bytes() == bytes_before


def test_keys_are_those_of_the_tables(database):
    keys = fullbloom.keys(database)
    assert len(keys) == 8000 and keys[0] == b"key00000000" and keys[-1].startswith(b"user")


def test_what_cannot_be_done_raises(tmp_path, vectors):
    with pytest.raises(FileNotFoundError, match="No such file"):
        fullbloom.inspect(tmp_path / "missing.bloom")
    with pytest.raises(ValueError, match="give one of"):
        fullbloom.rebuild(tmp_path, fpr=0.01, same_size=True)
    with pytest.raises(ValueError, match="does not store its keys"):
        fullbloom.keys(vectors / "native" / "dynamic-set.bloom")
    with pytest.raises(ValueError, match="cannot find sstables"):
        fullbloom.verify(tmp_path)
