"""Compares readers of native filters with the Rust library, on a million keys of each golden file.

    readers/compare.py [--keys N] RUST-ADAPTER ADAPTER...

An adapter is a command of conformance/README.md. Keys are integers, text and bytes of every length. Prints a line for each reader,
and exits 1 if an answer differs.
"""

import argparse
import json
import pathlib
import shlex
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PART = 100_000  # keys of one request


def mixed(n):
    """The key with this number: a name that golden files have, a short or long one, or bytes."""
    kind, n = n % 4, n // 4
    if kind == 0:
        return b"key-%d" % n
    if kind == 1:
        return struct.pack("<Q", n * 0x9E3779B97F4A7C15 % 2**64)[: n % 9]
    if kind == 2:
        return (b"%d-" % n) * (n % 12)
    return struct.pack("<Q", n) * (1 + n % 5)


def trimmed(n):
    """A key that the filter of trimmed keys in lower case converts. Capital sigma is left out, which the reader in Go refuses."""
    return [b"key-%d", b" KEY-%d", "\tKéy-%d \n".encode(), "ÄÖÜ İ ǅ %d ".encode(), b"K\xffEY-%d"][n % 5] % (n // 5)


class Adapter:
    def __init__(self, command):
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.name = json.loads(self.process.stdout.readline())["name"]
        self.seconds = 0.0

    def ask(self, line):
        start = time.monotonic()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        self.seconds += time.monotonic() - start
        if "answers" not in reply:
            sys.exit(f"error: {self.name}: {reply} to {line[:200]}")
        return reply["answers"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--files", type=pathlib.Path, default=ROOT / "vectors" / "native")
    parser.add_argument("adapter", nargs="+")
    args = parser.parse_args()
    rust, *readers = map(Adapter, args.adapter)
    secret = json.loads((ROOT / "vectors/native/hash.json").read_text())["secret"]
    differences, files = dict.fromkeys(readers, 0), sorted(args.files.glob("*.bloom"))
    for path in files:
        kind = next((kind for kind in ("int", "long") if path.stem.startswith(kind)), "text" if path.stem in ("text-keys", "dynamic-renewed") else "bytes")
        for first in range(0, args.keys, PART):
            numbers = range(first, min(first + PART, args.keys))
            if kind in ("int", "long"):
                keys = [struct.pack("<q", n - args.keys // 2) for n in numbers]
            else:
                make = trimmed if path.stem == "formed-keys" else b"key-%d".__mod__ if kind == "text" else mixed
                keys = [make(n) for n in numbers]
            request = {"file": str(path), "system": "native", "ask": "filter", "type": kind, "keys": [key.hex() for key in keys]}
            if path.stem in ("keyed", "dynamic-keyed"):
                request["secret"] = secret
            line = json.dumps(request) + "\n"
            due = rust.ask(line)
            for reader in readers:
                differences[reader] += sum(a != b for a, b in zip(reader.ask(line), due, strict=True))
    for reader in readers:
        print(f"{reader.name}: {args.keys} keys of {len(files)} files, {differences[reader]} answers differ, {reader.seconds:.0f} s")
    sys.exit(1 if any(differences.values()) else 0)


main()
