"""What is made here is read by the command and the other way round, byte for byte."""

import json
import subprocess

import fullbloom
import numpy as np
import pytest
from fullbloom import DIALECTS, Filter

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402


def run(command, *args, keys=(), codes=(0,)):
    lines = b"".join(key + b"\n" for key in keys)
    done = subprocess.run([command, *map(str, args)], input=lines, capture_output=True, check=False)
    assert done.returncode in codes, done.stderr.decode()
    return done.stdout


def answers(command, path, keys, *more):
    out = run(command, "check", "--answers", "--binary", path, *more, keys=keys, codes=(0, 1))
    return [line == b"1" for line in out.split()]


LINES = st.lists(st.binary(max_size=40).filter(lambda key: b"\n" not in key and not key.endswith(b"\r")), max_size=60)
TEXT_ONLY = {"cassandra-0", "java-lsm"}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(keys=LINES, asked=LINES, dialect=st.sampled_from(DIALECTS), bits_per_key=st.integers(4, 20))
def test_random_filters_are_the_same_both_ways(command, tmp_path, keys, asked, dialect, bits_per_key):
    if dialect in TEXT_ONLY:
        keys, asked = ([key.hex().encode() for key in some] for some in (keys, asked))
    expected = 0 if dialect.startswith("rocksdb") and dialect != "rocksdb-block" else 1000 + len(keys)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    size = ["--bits-per-key", bits_per_key] + (["--expected-keys", expected] if expected else [])
    run(command, "build", "-q", "--force", "--binary", "--dialect", dialect, *size, "-o", theirs, keys=keys)
    f = Filter.build(keys, bits_per_key=bits_per_key, dialect=dialect, expected_keys=expected or None)
    f.save(ours)
    if not keys and (dialect == "native" or not expected):
        # The command records that its keys are lines of text; without keys, Python records no type. RocksDB stores no filter
        # for no keys.
        return
    assert ours.read_bytes() == theirs.read_bytes()
    told = {"bits": f.bits, "probes": f.probes} if dialect in ("java-lsm", "libbloom-1") else {}
    more = [part for name, number in told.items() for part in (f"--{name}", number)]
    assert answers(command, ours, asked, "--dialect", dialect, *more) == f.may_contain(asked).tolist()
    again = Filter.load(theirs, dialect, **told)
    assert again == f and again.may_contain(keys).all()


def test_native_options_are_the_same(command, tmp_path):
    keys = [f"k{i}".encode() for i in range(5000)]
    good = [f"good{i}".encode() for i in range(20_000)]
    (tmp_path / "good").write_bytes(b"\n".join(good) + b"\n")
    secret = bytes(range(16))
    (tmp_path / "secret").write_text(secret.hex() + "\n")
    theirs = tmp_path / "theirs"
    for args, kwargs in (
        (["--fpr", 0.001], {"fpr": 0.001}),
        (["--fpr", 1e-6], {"fpr": 1e-6}),
        (["--seed", 7, "--label", "täglich"], {"seed": 7, "label": "täglich", "fpr": 0.01}),
        (["--except", tmp_path / "good"], {"except_keys": good, "fpr": 0.01}),
        (["--secret", tmp_path / "secret"], {"secret": secret, "fpr": 0.01}),
        (["--secret", tmp_path / "secret", "--store-secret"], {"secret": secret, "store_secret": True, "fpr": 0.01}),
        (["--bits", 65536, "--probes", 6], {"bits": 65536, "probes": 6}),
    ):
        if "--fpr" not in args and "--bits" not in args:
            args = [*args, "--fpr", 0.01]
        run(command, "build", "-q", *args, "-o", theirs, keys=keys)
        assert Filter.build(keys, **kwargs).to_bytes() == theirs.read_bytes(), args


@pytest.mark.parametrize("dialect", ["native", "spark", "spark-2", "guava", "guava-32", "parquet", "orc", "poppy", "cassandra"])
def test_integers_are_the_keys_of_type_long(command, tmp_path, dialect):
    numbers = np.random.default_rng(5).integers(-(2**63), 2**63, 3000)
    lines = [str(n).encode() for n in numbers]
    path = tmp_path / "f"
    size = ["--expected-keys", 3000, "--fpr", 0.01]
    run(command, "build", "-q", "--dialect", dialect, "--key-type", "long", *size, "-o", path, keys=lines)
    f = Filter.build(numbers, 0.01, dialect=dialect)
    assert f.to_bytes() == path.read_bytes()
    told = ["--dialect", dialect, "--key-type", "long"]
    asked = [*numbers[:50], *range(1000)]
    assert answers(command, path, [str(n).encode() for n in asked], *told) == f.may_contain([int(n) for n in asked]).tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_inspect_tells_what_the_command_tells(command, tmp_path, dialect):
    path = tmp_path / "f"
    f = Filter.build([f"key-{i}" for i in range(3000)], bits_per_key=9, dialect=dialect)
    f.save(path)
    told = {"bits": f.bits, "probes": f.probes} if dialect in ("java-lsm", "libbloom-1") else {}
    more = [part for name, number in told.items() for part in (f"--{name}", number)]
    out = run(command, "inspect", "--json", "--dialect", dialect, *more, path, codes=(0, 1))
    ours = fullbloom.inspect(path, dialect, **told)
    assert ours.pop("status") in (0, 1)
    assert ours == json.loads(out)


def test_plan_tells_what_the_command_tells(command):
    for keys in (1, 1000, 10**6):
        for args, kwargs in (
            (["--fpr", 0.01], {"fpr": 0.01}),
            (["--bits-per-key", 10], {"bits_per_key": 10}),
            (["--memory", 2_000_000], {"memory": 2_000_000}),
        ):
            out = run(command, "plan", "--json", "--expected-keys", keys, *args, codes=(0, 1))
            theirs = json.loads(out)["places"]
            ours = fullbloom.plan(keys, dialect="all", **kwargs)
            for row in theirs:
                row.pop("layouts", None)
                row.pop("compact", None)
                row.pop("type")
            for row in ours:
                row.pop("note")
            # The last digit of a rate depends on the C library, and the command may be linked to musl.
            for row, their_row in zip(ours, theirs, strict=True):
                if their_row["expected_fpr"] is not None:
                    assert row["expected_fpr"] == pytest.approx(their_row["expected_fpr"], rel=1e-12, abs=0)
                    row["expected_fpr"] = their_row["expected_fpr"]
            assert ours == theirs
