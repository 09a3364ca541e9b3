"""Adapter of fullbloom's Python package: Filter.from_bytes and may_contain."""

import importlib.metadata
import json
import sys

from fullbloom import Filter

SYSTEMS = ["native", "parquet", "guava", "spark", "orc", "cassandra", "rocksdb", "leveldb", "libbloom", "dcso"]


def dialect(request, data):
    """The dialect that the request names, or that the bytes name within the system."""
    system = request["system"]
    if system == "guava":
        return "guava-32" if data[:1] == b"\0" else "guava"
    if system == "spark":
        return "spark-2" if data[3:4] == b"\2" else "spark"
    if system == "rocksdb":
        return {b"\xff": "rocksdb", b"\xfe": "rocksdb-ribbon"}.get(data[-5:-4], "rocksdb-legacy")
    return request.get("dialect", system) if system in ("cassandra", "libbloom") else system


def answer(request):
    if request["ask"] != "filter":
        return {"skip": "the package has no lookup in whole files"}
    kind = request.get("type", "bytes")
    if kind == "double":
        return {"skip": "floats are no keys of this package"}
    with open(request["file"], "rb") as file:
        data = file.read()
    options = {name: request[name] for name in ("bits", "probes") if name in request}
    if "secret" in request:
        options["secret"] = bytes.fromhex(request["secret"])
    keys = [bytes.fromhex(key) for key in request["keys"]]
    # Integers are keys of their own. Text in UTF-16 stands in the corpus as it is hashed.
    if kind in ("int", "long"):
        if request["system"] != "native":  # which records the type
            options["key_type"] = kind
        keys = [int.from_bytes(key, "little", signed=True) for key in keys]
    filter = Filter.from_bytes(data, dialect=dialect(request, data), **options)
    return {"answers": [int(filter.may_contain(key)) for key in keys]}


print(json.dumps({"name": "fullbloom (Python)", "version": importlib.metadata.version("fullbloom"), "systems": SYSTEMS}), flush=True)
for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except BaseException as error:  # a panic of Rust is no Exception
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
