"""The bytes of the real programs, from the vectors in the repository."""

import json

import fullbloom
import numpy as np
import pytest
from fullbloom import Filter


def cases(vectors, name, file):
    return json.loads((vectors / name / file).read_text())


def typed(case, keys):
    return [int(key) for key in keys] if case["kind"] in ("int", "long") else keys


def key_type(case):
    return "int" if case["kind"] == "int" else "long"


def bits(text):
    return [digit == "1" for digit in text]


def test_spark(vectors):
    seen = 0
    for case in cases(vectors, "spark", "spark.json")["filters"]:
        if case["kind"] not in ("str", "long", "int") or case["seed"] != 0:
            continue
        data = (vectors / "spark" / case["file"]).read_bytes()
        dialect = {"V1": "spark", "V2": "spark-2"}[case["version"]]
        f = Filter.from_bytes(data, key_type=key_type(case))
        assert f.dialect == dialect and f.to_bytes() == data
        assert f.may_contain(typed(case, case["probes"])).tolist() == bits(case["answers"])
        made = Filter.build(typed(case, case["keys"]), dialect=dialect, bits=f.bits, probes=f.probes)
        assert made.to_bytes() == data
        seen += 1
    assert seen >= 8


def test_guava(vectors):
    seen = 0
    for case in cases(vectors, "guava", "guava.json")["filters"]:
        if case["kind"] not in ("str", "long", "int") or "unencoded" in case["funnel"]:
            continue
        data = (vectors / "guava" / case["file"]).read_bytes()
        f = Filter.from_bytes(data, key_type=key_type(case))
        assert f.dialect == {"MURMUR128_MITZ_32": "guava-32", "MURMUR128_MITZ_64": "guava"}[case["strategy"]]
        keys = typed(case, case["keys"])
        size = {"dialect": f.dialect, "expected_keys": case["n"]}
        made = Filter.build(keys, float(case["p"]), key_type=f.key_type, **size)
        assert made.to_bytes() == data and f.to_bytes() == data
        assert f.may_contain(keys).all()
        if "answers" in case:
            assert f.may_contain(typed(case, case["probes"])).tolist() == bits(case["answers"])
        seen += 1
    assert seen >= 10


def test_parquet(vectors):
    seen = 0
    for case in cases(vectors, "parquet", "parquet.json")["filters"]:
        if case["kind"] not in ("str", "long", "int"):
            continue
        data = (vectors / "parquet" / case["file"]).read_bytes()
        f = Filter.from_bytes(data, key_type=key_type(case))
        assert f.dialect == "parquet" and f.to_bytes() == data
        assert f.may_contain(typed(case, case["probes"])).tolist() == bits(case["answers"])
        made = Filter.with_capacity(1, dialect="parquet", bits=f.bits, probes=f.probes, key_type=f.key_type)
        made.update(typed(case, case["keys"]))
        assert made.to_bytes() == data
        seen += 1
    assert seen >= 5


def test_orc(vectors):
    seen = 0
    for case in cases(vectors, "orc", "orc.json")["filters"]:
        if case["kind"] not in ("str", "long"):
            continue
        data = (vectors / "orc" / case["file"]).read_bytes()
        f = Filter.from_bytes(data)
        assert f.dialect == "orc" and f.to_bytes() == data
        assert f.may_contain(typed(case, case["probes"])).tolist() == bits(case["answers"])
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize(
    ("dialect", "field", "answers"),
    [
        ("cassandra", "filter_db_na_and_later", "answers_ma_and_later"),
        ("cassandra-3", "filter_db_ma_to_me", "answers_ma_and_later"),
        ("cassandra-2", "filter_db_ia_to_lb", "answers_ia_to_lb"),
        ("cassandra-1", "filter_db_f_to_hf", "answers_f_to_hf"),
    ],
)
def test_cassandra(vectors, dialect, field, answers):
    for case in cases(vectors, "cassandra", "filters.json")["filters"]:
        keys = [bytes.fromhex(key) for key in case["inserted"]]
        f = Filter.build(keys, case["fp"], dialect=dialect, expected_keys=case["n"])
        assert f.to_bytes().hex() == case[field]
        absent = [bytes.fromhex(key) for key in case["probes_not_inserted"]]
        assert f.may_contain(absent).tolist() == bits(case[answers])


def test_libbloom(vectors):
    keys_of = {case["name"]: case for case in cases(vectors, "libbloom", "filters_v1.json")}
    for case in cases(vectors, "libbloom", "filters_v2.json"):
        f = Filter.load(vectors / "libbloom" / case["file"])
        assert f.dialect == "libbloom" and f.bits == case["bits"] and f.probes == case["hashes"]
        of = case if isinstance(case["add_keys_hex"], list) else keys_of[case["name"]]
        keys = [bytes.fromhex(key) for key in of["add_keys_hex"]]
        assert f.may_contain(keys).all()
        made = Filter.build(keys, float(case["error"]), dialect="libbloom", expected_keys=case["entries"])
        saved = bytearray((vectors / "libbloom" / case["file"]).read_bytes())
        pointer = case["pointer_field_offset"]
        saved[pointer : pointer + 8] = bytes(8)  # an address in the memory of whoever saved it
        assert made.to_bytes() == saved


def test_java_lsm(vectors):
    for case in cases(vectors, "javalsm", "filters.json"):
        f = Filter.build(case["keys"], float(case["p"]), dialect="java-lsm", expected_keys=case["n"])
        assert f.to_bytes() == (vectors / "javalsm" / case["file"]).read_bytes()
        assert f.may_contain(case["probes"]).tolist() == bits(case["answers"])


def test_native_files(vectors):
    kinds = {}
    for path in sorted((vectors / "native").glob("*.bloom")):
        if path.name == "formed-keys.bloom":  # its keys are trimmed and in lower case
            with pytest.raises(TypeError, match="lower case"):
                Filter.load(path)
            continue
        f = Filter.load(path)
        kind = fullbloom.inspect(path)["places"][0]["kind"]
        assert f.kind == kind and f.to_bytes() == path.read_bytes()
        with Filter.open(path) as mapped:
            mapped.verify()
            assert mapped == f and mapped.to_bytes() == f.to_bytes()
        if f.is_locked:
            for use in (lambda: "x" in f, lambda: f.add("x"), lambda: f.may_contain(["x"])):
                with pytest.raises(ValueError, match="give its secret"):
                    use()
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        assert f.copy() == f and (kind == "fast" or (len(f) > 0) != path.stem.endswith("-empty"))
    assert kinds["fast"] >= 5 and sum(kinds.values()) >= 9


def test_integers_of_every_width_and_sign(vectors):
    """The same files are built and read by every language: see golden_native.rs of fullbloom-any."""
    lists = {width: [int(n) for n in numbers] for width, numbers in cases(vectors, "native", "integers.json").items()}
    data = (vectors / "native" / "integers.bloom").read_bytes()
    golden = Filter.from_bytes(data)
    made = Filter.build([], dialect="native", key_type="long", expected_keys=21, bits=8192, probes=8)
    for width in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
        numbers = np.array(lists[width], dtype=width[0] + str(int(width[1:]) // 8))
        assert golden.may_contain(numbers).all() and all(n in golden for n in lists[width]), width
        made.update(numbers)
    assert not golden.may_contain(lists["absent"]).any()
    assert made.to_bytes() == data

    # Sixteen bytes are given as bytes.
    def sixteen(number):
        return (number % 2**128).to_bytes(16, "little")

    data = (vectors / "native" / "integers-wide.bloom").read_bytes()
    golden = Filter.from_bytes(data)
    keys = [sixteen(n) for width in ("i128", "u128") for n in lists[width]]
    assert golden.may_contain(keys).all() and not golden.may_contain([sixteen(n) for n in lists["absent"]]).any()
