"""fullbloom.spark on a real PySpark. Skipped where there is none: ``pip install './crates/fullbloom-py[spark]'`` and a Java."""

import datetime
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from copy import copy
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="4.1")
pa = pytest.importorskip("pyarrow")

from pyspark.sql import SparkSession, functions as F, types as T  # noqa: E402

import fullbloom.spark as fs  # noqa: E402
from fullbloom import Filter, FormatError  # noqa: E402
from fullbloom._core import Slicing  # noqa: E402
from fullbloom.spark import _ask, _build, _files  # noqa: E402

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs"


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    mounted = tmp_path_factory.mktemp("mounted")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("tables")))
        .config("spark.local.dir", str(tmp_path_factory.mktemp("local")))
        # A file system other than the local one, with a scheme of its own.
        .config("spark.hadoop.fs.viewfs.mounttable.here.link./data", f"file:{mounted}")
        # The same under a scheme that has no AbstractFileSystem, as those of many connectors.
        .config("spark.hadoop.fs.plain.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")
        .config("spark.hadoop.fs.viewfs.overload.scheme.target.plain.impl", "org.apache.hadoop.fs.LocalFileSystem")
        .getOrCreate()
    )
    session.mounted = mounted
    yield session
    session.stop()


def rows(df, column):
    """The column's values in the order of the partitions."""
    return df.select(column).toArrow()[column]


def mixed(spark, count, partitions):
    """Numbers in no order, every fifth twice or more, a few null."""
    number = F.when(F.col("id") % 97 == 0, None).otherwise(F.pmod(F.xxhash64((F.col("id") % (count * 4 // 5))), 1 << 40))
    return spark.range(0, count, 1, partitions).select(number.alias("key"))


@pytest.mark.parametrize("at_once", [0, 64 << 20])
@pytest.mark.parametrize("fpr, partitions", [(0.01, 5), (1e-4, 1), (1e-7, 3)])
def test_the_bytes_are_those_of_a_build_on_one_machine_in_any_order(spark, monkeypatch, at_once, fpr, partitions):
    monkeypatch.setattr(_build, "_AT_ONCE", at_once)
    df = mixed(spark, 200_000, partitions)
    alone = Filter.build(rows(df, "key"), fpr, expected_keys=150_000)
    for ordered in (df, df.orderBy("key"), df.repartition(4)):
        built = fs.build(ordered, "key", fpr, expected_keys=150_000)
        assert built.to_bytes() == alone.to_bytes()
        assert built == alone


def test_more_slices_than_tasks_and_a_limit_of_slices_change_no_byte(spark, monkeypatch):
    df = mixed(spark, 200_000, 3)
    alone = Filter.build(rows(df, "key"), 1e-4, expected_keys=400_000).to_bytes()
    monkeypatch.setattr(_build, "_TASKS_PER_CORE", 1)
    for slice_bytes, most, count in ((1, 4096, 16), (1, 5, 8), (4 << 20, 4096, 2)):
        monkeypatch.setattr(_build, "_SLICE_BYTES", slice_bytes)
        monkeypatch.setattr(_build, "_MOST_SLICES", most)
        counts = []
        assemble = _build._assemble
        with monkeypatch.context() as patch:
            patch.setattr(_build, "_assemble", lambda *of: counts.append(of[2].count) or assemble(*of))
            assert fs.build(df, "key", 1e-4, expected_keys=400_000).to_bytes() == alone
        assert count / 2 <= counts[0] <= 2 * count, counts


@pytest.mark.parametrize("fpr, partitions", [(None, 5), (1e-4, 1), (1e-7, 3)])
def test_a_compact_filter_has_the_bytes_of_a_build_on_one_machine(spark, fpr, partitions):
    df = mixed(spark, 200_000, partitions)
    built = fs.build(df, "key", fpr, kind="compact")
    alone = Filter.build(rows(df, "key"), fpr, kind="compact")
    assert built.filter.kind == "compact" and built.to_bytes() == alone.to_bytes()
    assert df.filter(built.may_contain("key")).count() == df.where("key is not null").count()
    text = df.select(F.col("key").cast("string").alias("key"))
    assert fs.build(text, "key", fpr, seed=5, kind="compact") == Filter.build(rows(text, "key"), fpr, seed=5, kind="compact")


def test_a_compact_filter_of_no_rows_is_empty_and_what_it_cannot_be_is_refused(spark):
    df = mixed(spark, 100, 2)
    assert len(fs.build(df.limit(0), "key", kind="compact")) == 0
    for wrong in ({"kind": "slow"}, {"bits_per_key": 10}, {"dialect": "spark"}, {"fpr": 0.9}):
        with pytest.raises(ValueError):
            fs.build(df, "key", **{"kind": "compact", **wrong})


def test_filters_in_spark_s_own_format_have_the_bytes_of_one_machine_and_are_asked_in_the_jvm(spark, monkeypatch):
    df = mixed(spark, 20_000, 3)
    for dialect in ("spark", "spark-2"):
        built = fs.build(df, "key", 0.001, 20_000, dialect=dialect)
        alone = Filter.build(rows(df, "key"), 0.001, expected_keys=20_000, dialect=dialect)
        assert built.to_bytes() == alone.to_bytes()
        asked = df.union(spark.range(10**9, 10**9 + 20_000))
        plan = built.prune(asked, "key")._jdf.queryExecution().executedPlan().toString()
        assert "might_contain" in plan and "Python" not in plan
        in_jvm = built.prune(asked, "key").collect()
        with monkeypatch.context() as patch:
            patch.setattr(_ask, "_in_jvm", lambda *_: None)
            assert built.prune(asked, "key").collect() == in_jvm
        assert built.prune(df, "key").count() == df.where("key is not null").count()
    with pytest.warns(RuntimeWarning, match="where 1000 were expected"):
        fs.build(df, "key", 0.01, 1000, dialect="spark-2")
    with pytest.raises(ValueError, match="dialect is"):
        fs.build(df, "key", dialect="cassandra")
    with pytest.raises(ValueError, match="only native"):
        fs.build(df, "key", dialect="spark-2", seed=7)


def test_spark_reads_the_filters_built_in_its_format(spark):
    built = fs.build(spark.range(0, 3000, 3), "id", 0.01, 1000, dialect="spark-2")
    theirs = spark._jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(built.to_bytes())
    assert [theirs.mightContainLong(i) for i in range(500)] == built.may_contain(list(range(500))).tolist()


def test_the_bytes_are_the_same_when_far_more_keys_come_than_expected(spark):
    df = mixed(spark, 100_000, 7)
    alone = Filter.build(rows(df, "key"), 0.01, expected_keys=10_000).to_bytes()
    with pytest.warns(RuntimeWarning, match="keys are in the filter where 10000 were expected"):
        assert fs.build(df, "key", 0.01, 10_000).to_bytes() == alone
    with pytest.warns(RuntimeWarning, match="far more keys are in the filter where 1 were expected"):
        full = fs.build(df, "key", 0.01, 1)
    assert full.filter.estimated_keys is None and "too many keys to estimate" in repr(full.filter)
    with pytest.raises(ValueError, match="too many bits"):
        len(full.filter)


@pytest.mark.parametrize("dialect", ["native", "spark-2"])
def test_the_few_keys_of_a_small_filter_give_no_warning_and_too_many_do(spark, dialect):
    # Estimated from the bits of a filter in Spark's format, these 98 keys look like 112.
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for count in (0, 1, 20, 98):
            fs.build(spark.range(0, count, 1, 1), "id", 0.3, count, dialect=dialect)
    with pytest.warns(RuntimeWarning, match="where 20 were expected"):
        fs.build(spark.range(0, 60, 1, 1), "id", 0.01, 20, dialect=dialect)


def test_slices_are_as_many_as_keep_the_cores_busy(spark, monkeypatch):
    sliced = []
    monkeypatch.setattr(_build, "_assemble", lambda facts, rows, slicing, file: sliced.append(slicing) or file.write(b""))
    with pytest.raises(FormatError):
        fs.build(spark.range(10), "id", expected_keys=1_000_000)
    assert 2 <= sliced[0].count <= 8


COLUMNS = {
    "string": ("string", [f"text-{i}-é" for i in range(3000)] + ["", None]),
    "binary": ("binary", [bytes([i % 256, i // 256]) for i in range(3000)] + [b"", None]),
    "tinyint": ("tinyint", [*range(-128, 128), None]),
    "smallint": ("smallint", [*range(-3000, 3000, 7), None]),
    "int": ("int", [*range(-(2**31), 2**31, 1 << 21), None]),
    "bigint": ("bigint", [*range(-(2**63), 2**63, 1 << 53), None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_kind_give_the_keys_that_python_has(spark, name):
    data_type, values = COLUMNS[name]
    df = spark.createDataFrame([(value,) for value in values], f"k {data_type}").repartition(2).cache()
    built = fs.build(df, "k", 1e-6, expected_keys=len(values))
    alone = Filter.build(rows(df, "k").to_pylist(), 1e-6, expected_keys=len(values))
    assert built.to_bytes() == alone.to_bytes()
    assert all(value in built for value in values if value is not None)
    assert df.filter(built.may_contain("k")).count() == len(values) - 1
    df.unpersist()


def test_dates_are_days_and_timestamps_microseconds_since_1970(spark):
    day, moment = datetime.date(2026, 2, 3), datetime.datetime(2026, 2, 3, 4, 5, 6, 789)
    schema = "d date, t timestamp, n timestamp_ntz"
    df = spark.createDataFrame([(day, moment, moment), (None, None, None)], schema)
    dates, times, local = (fs.build(df, name, 1e-6, expected_keys=10) for name in "dtn")
    assert (day - datetime.date(1970, 1, 1)).days in dates
    assert df.select(F.unix_micros("t")).first()[0] in times
    assert (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) in local
    for built, name in ((dates, "d"), (times, "t"), (local, "n")):
        assert built.prune(df, name).count() == 1
        assert len(built) == 1


def test_integers_of_different_widths_are_the_same_keys(spark):
    narrow = spark.range(-500, 500).select(F.col("id").cast("smallint").alias("k"))
    for dialect in ("native", "spark-2"):
        wanted = fs.build(narrow, "k", 1e-6, dialect=dialect)
        for width in ("smallint", "int", "bigint"):
            asked = spark.range(-1000, 1000).select(F.col("id").cast(width).alias("k"))
            assert {row.k for row in wanted.prune(asked, "k").collect()} == set(range(-500, 500))


def test_integers_of_every_width_are_found_in_the_file_that_every_language_builds(spark, vectors):
    lists = json.loads((vectors / "native" / "integers.json").read_text())
    golden = Filter.from_bytes((vectors / "native" / "integers.bloom").read_bytes())
    absent = [int(n) for n in lists["absent"]]
    for width, name in (("i8", "tinyint"), ("i16", "smallint"), ("i32", "int"), ("i64", "bigint")):
        numbers = [int(n) for n in lists[width]]
        others = [] if width == "i8" else absent
        asked = spark.createDataFrame([(n,) for n in numbers + others], f"k {name}")
        assert sorted(row.k for row in fs.prune(golden, asked, "k").collect()) == sorted(numbers), width
        # Built by the executors, it is found by this process.
        made = fs.build(asked.limit(len(numbers)), "k", 1e-6)
        assert made.may_contain(numbers).all()


@pytest.mark.parametrize("data_type", ["double", "boolean", "decimal(10,2)", "array<int>", "struct<a:int>", "interval day"])
def test_columns_that_cannot_be_keys_are_refused_before_any_work(spark, data_type):
    df = spark.createDataFrame([], T.StructType().add("k", T._parse_datatype_string(data_type)))
    for use in (lambda: fs.build(df, "k"), lambda: fs.prune(Filter.build([1]), df, "k")):
        with pytest.raises(TypeError, match="cast the column"):
            use()


def test_text_under_a_collation_is_refused(spark):
    df = spark.sql("select collate('A', 'UTF8_LCASE') as k")
    with pytest.raises(TypeError, match="UTF8_LCASE"):
        fs.build(df, "k")


def test_text_of_a_fixed_length_is_refused_and_trimmed_text_loses_no_row(spark):
    # Spark pads the shorter side of a comparison of char(3) with char(5); a filter sees the bytes of each.
    spark.sql("create table short(c char(3), v varchar(3)) using parquet")
    spark.sql("create table long(c char(5), v varchar(5)) using parquet")
    try:
        for table in ("short", "long"):
            spark.sql(f"insert into {table} values ('ab', 'ab'), ('abc', 'abc')")
        short, long = spark.table("short"), spark.table("long")
        assert short.join(long, "c", "left_semi").count() == 2
        uses = [
            lambda: fs.build(short, "c"),
            lambda: fs.build(short.select(F.col("c").alias("k")).distinct(), "k"),
            lambda: fs.prune(Filter.build(["ab"]), short, "c"),
            lambda: fs.semi_join(short, long, "c"),
        ]
        for use in uses:
            with pytest.raises(TypeError, match=r"char\(3\) is padded"):
                use()
        assert fs.semi_join(short, long, "v").count() == 2
        trimmed = [df.select(F.rtrim("c").alias("c")) for df in (short, long)]
        assert fs.semi_join(*trimmed, "c").count() == 2
    finally:
        spark.sql("drop table short")
        spark.sql("drop table if exists long")


@pytest.mark.parametrize(
    "how, message",
    [
        ({"fpr": 2}, "fpr 2"),
        ({"fpr": float("nan")}, "fpr NaN"),
        ({"fpr": 0.1, "bits_per_key": 8}, "give one of"),
        ({"bits_per_key": -1}, "bits_per_key -1"),
        ({"kind": "star"}, "'star'"),
    ],
)
def test_wrong_numbers_are_refused_with_the_reason(spark, how, message):
    with pytest.raises(ValueError, match=message):
        fs.build(spark.range(10), "id", **how)


def test_a_negative_number_of_keys_is_refused_in_every_dialect(spark):
    for dialect in ("native", "spark-2"):
        with pytest.raises(OverflowError, match="negative"):
            fs.build(spark.range(10), "id", expected_keys=-1, dialect=dialect)


def test_a_column_that_is_not_there_is_spark_s_own_error(spark):
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        fs.build(spark.range(10), "no_such")
    with pytest.raises(TypeError, match="named by a str or a Column"):
        fs.build(spark.range(10), 7)


def test_keys_are_counted_when_their_number_is_not_given(spark):
    df = spark.range(0, 60_000, 1, 4).select((F.col("id") % 20_000).alias("k"))
    built = fs.build(df, "k", 0.01)
    assert 20_000 <= built.expected_keys * 1.03 and built.expected_keys <= 21_000
    absent = spark.range(10**9, 10**9 + 200_000)
    assert 0.008 < built.prune(absent, "id").count() / 200_000 < 0.012


def test_no_rows_and_only_nulls_give_an_empty_filter(spark):
    nulls = spark.range(100).select(F.lit(None).cast("bigint").alias("id"))
    for df in (spark.range(0), nulls):
        built = fs.build(df, "id", expected_keys=1000)
        slicing = Slicing(1000, 0.01, key_type="long")
        empty = slicing.slice(0)
        assert built.to_bytes() == slicing.header([empty.facts()]) + empty.bits()
        assert len(fs.build(df, "id")) == 0
        assert built.prune(spark.range(1000), "id").count() == 0


def test_pruning_keeps_every_row_with_a_partner_and_few_others(spark):
    facts = mixed(spark, 200_000, 4).withColumn("payload", F.lit("x"))
    wanted = facts.select("key").distinct().where("key % 50 = 0")
    kept = fs.build(wanted, "key", 0.01).prune(facts, "key")
    exact = facts.join(wanted, "key", "left_semi")
    assert kept.exceptAll(exact).count() < 0.015 * 200_000
    assert exact.exceptAll(kept).count() == 0
    assert kept.where("key is null").count() == 0
    assert kept.columns == facts.columns


def test_answers_are_never_null(spark):
    wanted = fs.build(spark.range(10), "id")
    df = mixed(spark, 1000, 2)
    answered = df.select(wanted.may_contain("key").alias("a"), "key")
    assert answered.where("a is null").count() == 0
    assert answered.where("key is null and a").count() == 0


def test_a_semi_join_gives_what_spark_s_own_gives(spark):
    facts = mixed(spark, 50_000, 3).withColumnRenamed("key", "id").withColumn("payload", F.monotonically_increasing_id())
    dim = facts.select("id").where("id % 100 < 3").union(facts.select("id").limit(10)).withColumn("more", F.lit(1))
    ours = fs.semi_join(facts, dim, "id", fpr=0.05)
    theirs = facts.join(dim, "id", "left_semi")
    assert ours.columns == theirs.columns
    assert sorted(ours.collect()) == sorted(theirs.collect())
    assert fs.semi_join(facts, dim, ["id"], expected_keys=5000).count() == theirs.count()
    assert fs.semi_join(facts, dim.limit(0), "id").count() == 0


def test_a_semi_join_on_integers_is_asked_in_the_jvm_only_while_its_filter_is_small(spark, monkeypatch):
    def in_jvm(**how):
        joined = fs.semi_join(spark.range(0, 4000, 1, 2), spark.range(0, 3000, 3), "id", **how)
        assert joined.count() == 1000
        return "might_contain" in joined._jdf.queryExecution().executedPlan().toString()

    assert in_jvm() and in_jvm(expected_keys=1000) and in_jvm(dialect="spark")
    assert not in_jvm(dialect="native") and not in_jvm(seed=7)
    # A filter of 1000 keys at 1 % has 1216 bytes in Spark's format.
    monkeypatch.setattr(_build, "MAPPED_FROM", 1217)
    assert in_jvm(expected_keys=1000)
    monkeypatch.setattr(_build, "MAPPED_FROM", 1216)
    assert not in_jvm(expected_keys=1000) and not in_jvm()
    assert _build._spark_bytes(10**12, {"fpr": 0.01}) == float("inf")


def test_a_semi_join_on_text_gives_what_spark_s_own_gives(spark):
    text = spark.range(0, 3000, 1, 2).select(F.concat(F.lit("name-"), "id").alias("name"))
    some = text.where("name like '%7'")
    assert sorted(fs.semi_join(text, some, "name").collect()) == sorted(text.join(some, "name", "left_semi").collect())


def test_a_semi_join_whose_sides_would_be_cast_is_refused(spark):
    text = spark.range(10).select(F.col("id").cast("string").alias("id"))
    with pytest.raises(TypeError, match="'id' is integer on one side and string on the other"):
        fs.semi_join(spark.range(10), text, "id")
    with pytest.raises(TypeError, match="one column"):
        fs.semi_join(spark.range(10), text, ["id", "other"])


@pytest.mark.parametrize("mapped_from", [0, 1 << 60])
def test_a_filter_sent_as_a_file_answers_as_one_sent_by_broadcast(spark, monkeypatch, mapped_from):
    monkeypatch.setattr(_ask, "MAPPED_FROM", mapped_from)
    wanted = fs.build(spark.range(0, 1000, 10), "id", 1e-6)
    asked = spark.range(0, 2000, 1, 4)
    assert [row.id for row in asked.filter(wanted.may_contain(F.col("id"))).orderBy("id").collect()] == [*range(0, 1000, 10)]


@pytest.mark.parametrize("mapped_from, way", [(0, "addFile"), (1 << 60, "broadcast")])
def test_a_filter_is_sent_once_however_often_it_is_asked(spark, monkeypatch, mapped_from, way):
    monkeypatch.setattr(_ask, "MAPPED_FROM", mapped_from)
    context, sent = spark.sparkContext, []
    send = getattr(context, way)
    monkeypatch.setattr(context, way, lambda what: sent.append(what) or send(what))
    wanted = Filter.build([f"{way} {i}" for i in range(100)], 1e-6)
    asked = spark.range(200).select(F.concat(F.lit(f"{way} "), "id").alias("k"))
    answers = [fs.may_contain(wanted, "k"), fs.SparkFilter(wanted).may_contain("k"), fs.may_contain(copy(wanted), F.col("k"))]
    assert len(sent) == 1
    assert fs.prune(wanted, asked, "k").count() == 100 and len(sent) == 1
    wanted.add(f"{way} 150")
    assert asked.filter(fs.may_contain(wanted, "k")).count() == 101 and len(sent) == 2
    assert [asked.filter(answer).count() for answer in answers] == [100] * 3
    if way == "broadcast":
        # Broadcasts are not kept for ever; an expression keeps the one that it needs.
        for i in range(_ask._KEPT + 1):
            fs.may_contain(Filter.build([f"other {i}"]), "k")
        assert len(_ask._broadcasts) == _ask._KEPT
        fs.may_contain(wanted, "k")
        assert len(sent) == 2 + _ask._KEPT + 2
        assert asked.filter(answers[0]).count() == 100


def test_filters_of_other_dialects_and_keyed_ones_can_be_asked(spark, monkeypatch):
    monkeypatch.setattr(_ask, "MAPPED_FROM", 0)
    names = [f"name-{i}" for i in range(1000)]
    asked = spark.range(0, 2000, 1, 2).select(F.concat(F.lit("name-"), "id").alias("name"))
    filters = [Filter.build(names, 1e-4, dialect=dialect) for dialect in ("cassandra", "libbloom", "guava", "java-lsm")]
    filters.append(Filter.build(names, 1e-4, secret=b"sixteen bytes ok"))
    for wanted in filters:
        kept = {row.name for row in fs.prune(wanted, asked, "name").collect()}
        assert kept >= set(names) and len(kept) <= 1003


def test_a_column_of_another_kind_than_the_filter_was_built_of_is_refused(spark):
    moments = spark.sql("select date'2026-02-03' d, timestamp'2026-02-03 00:00:00' t, timestamp_ntz'2026-02-03 00:00:00' n, 'a' s, 1 i")
    moments = moments.withColumn("b", F.col("s").cast("binary"))
    kinds = {"d": "date", "t": "timestamp", "n": "timestamp_ntz", "s": "string", "b": "binary", "i": "integer"}
    for name, kind in kinds.items():
        wanted = fs.build(moments, name, expected_keys=1)
        assert wanted.kind == kind == pickle.loads(pickle.dumps(wanted)).kind == fs.SparkFilter(wanted).kind == (wanted | wanted).kind
        assert moments.filter(wanted.may_contain(name)).count() == 1
        assert (wanted | wanted.filter).kind is None and fs.SparkFilter(wanted.filter).kind is None
        for other in kinds:
            if other != name:
                with pytest.raises(TypeError, match=f"built of {kind} keys, and this column has {kinds[other]} keys"):
                    wanted.prune(moments, other)
    # Where the type of the column is not known before, the query fails instead of losing rows.
    with pytest.raises(Exception, match="built of integer keys, and this column has date keys"):
        moments.filter(wanted.may_contain("d")).count()
    assert fs.prune(wanted.filter, moments, "d").count() == 0


def test_only_the_key_column_goes_to_python(spark):
    wide = spark.range(10).withColumn("payload", F.lit("x" * 100))
    plan = fs.prune(Filter.build([1]), wide, "id")._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"ArrowEvalPython \[fullbloom_may_contain\(id#\d+L\)", plan), plan


def test_an_expression_holds_the_filter_as_it_was(spark):
    wanted = Filter.with_capacity(1000, 1e-6)
    wanted.update([1, 2])
    before = fs.may_contain(wanted, "id")
    wanted.update([3])
    after = fs.may_contain(wanted, "id")
    found = spark.range(10).select(F.sum(before.cast("int")), F.sum(after.cast("int"))).first()
    assert tuple(found) == (2, 3)


@pytest.mark.parametrize("where", ["local", "file", "viewfs", "plain"])
def test_a_saved_filter_is_replaced_whole_and_read_again(spark, tmp_path, where):
    directory = tmp_path if where in ("local", "file") else spark.mounted
    path = {"local": str(tmp_path / "a b.bloom"), "file": f"file://{tmp_path}/a b.bloom"}
    path |= {scheme: f"{scheme}://here/data/a b.bloom" for scheme in ("viewfs", "plain")}
    one, two = fs.build(spark.range(100), "id"), fs.build(spark.range(1000), "id")
    one.save(path[where])
    fs.save(two.filter, path[where])
    assert fs.load(path[where]) == two
    assert [entry for entry in os.listdir(directory) if not entry.endswith(".crc")] == ["a b.bloom"]
    assert Filter.load(directory / "a b.bloom") == two.filter
    (directory / "a b.bloom").unlink()


@pytest.mark.parametrize("name", ["a#1.bloom", "a?b.bloom", "a%20b.bloom", "a;b=c.bloom"])
def test_every_name_in_a_url_of_a_local_file_stands_for_itself(tmp_path, name):
    one = Filter.build([1, 2, 3])
    for header in ("file:", "file://", "file://localhost", "FILE://", ""):
        fs.save(one, f"{header}{tmp_path}/{name}")
        assert os.listdir(tmp_path) == [name]
        assert fs.load(f"{header}{tmp_path}/{name}") == one
        os.unlink(tmp_path / name)
    for other in ("file://elsewhere/a", "file://localhostess/a", "hdfs://name/a"):
        assert _files._local(other) is None


def test_a_save_that_fails_leaves_what_was_there(spark, monkeypatch):
    one, two = fs.build(spark.range(100), "id"), fs.build(spark.range(1000), "id")
    one.save("viewfs://here/data/kept.bloom")
    with monkeypatch.context() as patch:
        patch.setattr(_files, "_replace", lambda *_: (_ for _ in ()).throw(OSError("the rename failed")))
        with pytest.raises(OSError, match="the rename failed"):
            two.save("viewfs://here/data/kept.bloom")
    assert fs.load("viewfs://here/data/kept.bloom") == one
    assert [name for name in os.listdir(spark.mounted) if not name.endswith(".crc")] == ["kept.bloom"]
    (spark.mounted / "kept.bloom").unlink()


def test_where_replacing_takes_two_steps_the_old_file_is_put_back_if_the_second_fails(spark, monkeypatch):
    used, steps = [], _files._replace_in_steps
    monkeypatch.setattr(_files, "_replace_in_steps", lambda *what: used.append(what) or steps(*what))
    for scheme in ("viewfs", "plain"):
        fs.save(Filter.build([1]), f"{scheme}://here/data/two.bloom")
    assert len(used) == 1
    jvm, configuration = _files._hadoop()
    system = jvm.org.apache.hadoop.fs.Path("plain://here/data/two").getFileSystem(configuration)
    goal, none = (jvm.org.apache.hadoop.fs.Path(f"plain://here/data/{name}") for name in ("two.bloom", "none.tmp"))
    (spark.mounted / "two.bloom").write_bytes(b"old")
    with pytest.raises(Exception):
        steps(jvm, system, none, goal)
    assert (spark.mounted / "two.bloom").read_bytes() == b"old"
    assert [name for name in os.listdir(spark.mounted) if not name.endswith(".crc")] == ["two.bloom"]
    (spark.mounted / "two.bloom").unlink()


def test_what_a_file_does_not_say_is_said_when_it_is_loaded(spark):
    secret = b"sixteen bytes ok"
    filters = [
        (Filter.build([b"one"], 1e-4, dialect="cassandra"), {"dialect": "cassandra"}),
        (Filter.build([b"one"], dialect="leveldb"), {"dialect": "leveldb"}),
        (Filter.build([b"one"], 1e-4, secret=secret), {"secret": secret}),
    ]
    for one, facts in filters:
        (spark.mounted / "said").write_bytes(one.to_bytes())
        for path in (spark.mounted / "said", "viewfs://here/data/said"):
            read = fs.load(path, **facts)
            assert read.dialect == one.dialect and b"one" in read and b"two" not in read
    with pytest.raises(ValueError, match="give its secret"):
        assert b"one" in fs.load("viewfs://here/data/said")
    (spark.mounted / "said").unlink()


def test_files_that_are_missing_or_damaged_are_said_to_be(spark, tmp_path):
    for path in (tmp_path / "none.bloom", "viewfs://here/data/none.bloom"):
        with pytest.raises(FileNotFoundError):
            fs.load(path)
    (tmp_path / "bad.bloom").write_bytes(b"\x89FBLOOM\n" + bytes(100))
    with pytest.raises(FormatError):
        fs.load(tmp_path / "bad.bloom")


def test_a_spark_filter_is_the_filter_it_holds(spark):
    wanted = fs.SparkFilter(Filter.build(["alice", "bob"], 1e-6))
    assert "alice" in wanted and "eve" not in wanted and len(wanted) == 2 and bool(wanted)
    assert wanted.may_contain(["bob", "eve"]).tolist() == [True, False]
    assert wanted.dialect == "native"
    assert pickle.loads(pickle.dumps(wanted)) == wanted != fs.SparkFilter(Filter.build(["alice"], 1e-6))
    other = Filter.with_capacity(2, 1e-6)
    other.add("eve")
    assert "eve" in wanted | other and len(wanted & other) == 0
    assert "eve" in other | wanted and wanted.filter == wanted and len(other & wanted) == 0
    assert repr(wanted).startswith("SparkFilter(")
    with pytest.raises(TypeError, match="takes a filter"):
        fs.SparkFilter(7)


def test_a_cluster_of_two_executors_builds_the_same_bytes(tmp_path):
    done = subprocess.run([sys.executable, HERE / "spark_cluster.py", tmp_path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["same", "executors", "2", "kept", "2000"]


def test_the_examples_of_the_page_run(spark):
    page = (DOCS / "spark.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(examples) >= 5
    names = {"spark": spark}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for example in examples:
            exec(compile(example, "docs/spark.md", "exec"), names)


def test_executors_without_the_package_are_named_in_one_line(tmp_path):
    """A session whose workers run a Python that cannot find the package."""
    # The worker is this Python, which hides the package.
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'fullbloom' else found(name, *more)\n"
    )
    code = f"""
import os, sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.executorEnv.PYTHONPATH", {str(hide)!r}).getOrCreate())
import fullbloom.spark as fs
try:
    fs.build(spark.range(10), "id")
except ModuleNotFoundError as e:
    print("said:", e)
"""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    said = [line for line in done.stdout.splitlines() if line.startswith("said:")]
    assert len(said) == 1, done.stderr[-2000:]
    assert "does not have the package fullbloom" in said[0] and "PYSPARK_PYTHON" in said[0]
