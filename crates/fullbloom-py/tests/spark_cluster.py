"""On a cluster of two executors, each a process of its own: builds both ways, and pruning. Run by test_spark.py."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import pyspark  # noqa: E402

os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)

from pyspark.sql import SparkSession, functions as F  # noqa: E402

import fullbloom.spark as fs  # noqa: E402
from fullbloom import Filter  # noqa: E402
from fullbloom.spark import _ask  # noqa: E402

if __name__ == "__main__":
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .config("spark.local.dir", sys.argv[1])
        .getOrCreate()
    )
    keys = spark.range(0, 300_000, 1, 6).select(F.xxhash64("id").alias("key"))
    alone = Filter.build(keys.toArrow()["key"], 0.01)
    built = fs.build(keys, "key", expected_keys=300_000)
    print("same" if built.to_bytes() == alone.to_bytes() else "different")
    _ask.MAPPED_FROM = 0
    wanted = fs.build(spark.range(0, 2000), "id", 1e-6)
    asked = spark.range(0, 100_000, 1, 8)
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is among them
    print("executors", executors)
    print("kept", wanted.prune(asked, "id").count())
    spark.stop()
