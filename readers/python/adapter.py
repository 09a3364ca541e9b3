"""Adapter of the corpus in conformance/ for fullbloom_native.py."""

import json
import sys
import time

from fullbloom_native import Filter


def answer(request):
    if request["ask"] != "filter":
        return {"skip": "reads filters alone"}
    with open(request["file"], "rb") as file:
        filter = Filter(file.read(), bytes.fromhex(request["secret"]) if "secret" in request else None)
    keys = [bytes.fromhex(key) for key in request["keys"]]
    if request["type"] in ("int", "long"):
        keys = [int.from_bytes(key, "little", signed=True) for key in keys]
    return {"answers": [int(filter.may_contain(key)) for key in keys]}


if len(sys.argv) > 1:  # prints how many lookups a second a filter answers
    bench, names = Filter.open(sys.argv[1]), [b"key-%d" % i for i in range(1_000_000)]
    start = time.perf_counter()
    found = sum(map(bench.may_contain, names))
    sys.exit(f"{1 / (time.perf_counter() - start):.3f} million lookups a second, {found} found")

print(json.dumps({"name": "readers/python", "version": "1", "systems": ["native"]}), flush=True)
for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
