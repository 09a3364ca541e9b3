"""Figures for docs/spark.md, on this machine with local[*].

    python bench/spark.py rates [KEYS ...]     rate asked and rate measured, beside Spark's own filter
    python bench/spark.py join [ROWS]          a shuffle join, plain and pruned
    python bench/spark.py build [KEYS ...]     building, with few partitions and many

Rounds are interleaved; of each way the median is printed: seconds, and seconds of CPU of Spark and its Python workers. The
second figure is the one to compare on a machine that does other things meanwhile.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession, functions as F  # noqa: E402

import fullbloom  # noqa: E402
import fullbloom.spark as fs  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def session(directory):
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", directory)
        .config("spark.sql.shuffle.partitions", "8")
        # A join that must shuffle both sides, also after Spark has seen how small one is.
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.adaptive.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def cpu_seconds():
    """CPU time of all processes below this one, those that have ended included."""
    parents, used = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(pid)] = int(fields[1])
        used[int(pid)] = sum(map(int, fields[11:15])) / TICK
    total = 0.0
    for pid, seconds in used.items():
        above = parents[pid]
        while above in parents and above != os.getpid():
            above = parents[above]
        total += seconds if above == os.getpid() else 0.0
    return total


def compare(ways, rounds):
    """Runs every way in turn; medians of seconds and CPU seconds, and the last answers."""
    taken, answers = {name: [] for name in ways}, {}
    for number in range(rounds + 1):
        for name, run in ways.items():
            wall, cpu = time.monotonic(), cpu_seconds()
            answers[name] = run()
            if number:  # the first round warms up
                taken[name].append((time.monotonic() - wall, cpu_seconds() - cpu))
    return {name: tuple(map(statistics.median, zip(*times))) for name, times in taken.items()}, answers


def note(what):
    load = " ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"\n{what}   (fullbloom {fullbloom.__version__}, Spark {SPARK.version}, {os.cpu_count()} cores, load {load})", flush=True)


def rates(counts):
    note("asked for 1 %")
    print("| keys | fullbloom: measured | bytes | df.stat.bloomFilter: measured | bytes |\n|---|---|---|---|---|")
    for count in counts:
        keys = SPARK.range(count)
        ours = fs.build(keys, "id", 0.01, expected_keys=count)
        absent = SPARK.range(10**12, 10**12 + 10_000_000)
        measured = ours.prune(absent, "id").count() / 10_000_000
        theirs = keys._jdf.stat().bloomFilter("id", count, 0.01)
        asked = 50_000  # one at a time through py4j
        found = sum(theirs.mightContainLong(10**12 + 199 * i) for i in range(asked))
        row = (f"{count:,}", f"{measured:.3%}", f"{ours.nbytes:,}", f"{found / asked:.2%}", f"{theirs.bitSize() // 8:,}")
        print("|", " | ".join(row), "|", flush=True)


def join(rows, directory):
    path = os.path.join(directory, "facts.parquet")
    payload = F.concat(F.sha2(F.col("id").cast("string"), 256), F.substring(F.sha2((-F.col("id")).cast("string"), 256), 1, 28))
    facts = SPARK.range(rows).select(F.xxhash64("id").alias("id"), payload.alias("payload"))
    facts.write.option("compression", "none").parquet(path)
    facts = SPARK.read.parquet(path)
    dim = SPARK.range(rows // 100).select(F.xxhash64(F.col("id") * 100).alias("id"), (F.col("id") % 10).alias("class"))

    def answer(joined):
        told = F.count("*"), F.sum(F.crc32("payload"))
        return joined.groupBy("class").agg(*told).orderBy("class").collect()

    def pruned(dialect):
        wanted = fs.build(dim, "id", 0.01, expected_keys=rows // 100, dialect=dialect)
        return answer(wanted.prune(facts, "id").join(dim, "id"))

    note(f"{rows:,} rows of about 100 bytes, joined with {rows // 100:,} keys")
    ways = {
        "plain": lambda: answer(facts.join(dim, "id")),
        "pruned, native": lambda: pruned("native"),
        "pruned, spark-2": lambda: pruned("spark-2"),
    }
    taken, answers = compare(ways, 2)
    assert len({str(answer) for answer in answers.values()}) == 1, "the answers differ"
    plain_wall, plain_cpu = taken["plain"]
    print("| | seconds | plain / this | CPU seconds | plain / this |\n|---|---|---|---|---|")
    for name, (wall, cpu) in taken.items():
        print(f"| {name} | {wall:.1f} | {plain_wall / wall:.2f} | {cpu:.1f} | {plain_cpu / cpu:.2f} |", flush=True)


def build(counts):
    note("building at 1 %, CPU seconds (seconds)")
    print("| keys | partitions | filter, bytes | build |\n|---|---|---|---|")
    for count in counts:
        for parts in (4, 32):
            keys = SPARK.range(0, count, 1, parts)
            taken, answers = compare({"build": lambda: fs.build(keys, "id", 0.01, expected_keys=count)}, 2)
            ((wall, cpu),) = taken.values()
            print(f"| {count:,} | {parts} | {answers['build'].nbytes:,} | {cpu:.1f} ({wall:.1f}) |", flush=True)


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["help"]
    numbers = [int(float(number)) for number in numbers]
    if what not in ("rates", "join", "build"):
        sys.exit(__doc__)
    directory = tempfile.mkdtemp(prefix="fullbloom-bench-")
    SPARK = session(directory)
    try:
        if what == "rates":
            rates(numbers or [1_000_000, 10_000_000, 50_000_000])
        elif what == "join":
            join(numbers[0] if numbers else 20_000_000, directory)
        else:
            build(numbers or [100_000, 1_000_000, 3_000_000, 10_000_000, 50_000_000])
    finally:
        SPARK.stop()
        shutil.rmtree(directory, ignore_errors=True)
