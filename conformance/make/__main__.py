"""Makes the corpus: what real programs wrote, and what is made of it.

    python3 conformance/make CORPUS REAL FULLBLOOM ADAPTERS

CORPUS is the directory to write to, REAL has what interop/conformance/write.py wrote, FULLBLOOM is our command, and ADAPTERS
a JSON file with the command of the real program's adapter for each system. `interop/conformance/run` calls it, and
compares the result with the corpus in the repository.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import classic
import native
import parquet
from corpus import ROOT


# What makes the directory of each system.
SYSTEMS = [
    classic.cassandra,
    classic.dcso,
    classic.guava,
    classic.leveldb,
    classic.libbloom,
    classic.orc,
    classic.rocksdb,
    classic.spark,
    native.make,
    parquet.make,
]


class Tools:
    """The files of real programs, our command, and the adapters of the real programs."""

    def __init__(self, real, fullbloom, adapters):
        self.real, self.fullbloom, self.adapters = real, fullbloom, adapters
        self.vectors = ROOT / "vectors"
        self.versions = json.loads((real / "versions.json").read_text())
        self.version = subprocess.run([fullbloom, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]

    def build(self, dialect, keys, fpr, *options, plain=False):
        """The bytes of a filter with these keys, and the version of the command. Plain keys are lines of text."""
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory, "filter")
            lines = "".join((key.decode() if plain else key.hex()) + "\n" for key in keys)
            subprocess.run(
                [self.fullbloom, "build", "--dialect", dialect, *([] if plain else ["--hex"]), "--fpr", str(fpr),
                 "--expected-keys", str(len(keys)), "--quiet", "-o", out, *options],
                input=lines, text=True, check=True,
            )
            return out.read_bytes(), self.version

    def convert(self, data, dialect, *options):
        """The bytes of another filter that our command makes of this one."""
        with tempfile.TemporaryDirectory() as directory:
            source, out = pathlib.Path(directory, "source.bloom"), pathlib.Path(directory, "filter")
            source.write_bytes(data)
            subprocess.run([self.fullbloom, "convert", source, "--to", dialect, "--quiet", "-o", out, *options], check=True)
            return out.read_bytes()

    def ask(self, system, data, keys, request):
        """What the real program answers for these keys."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            line = json.dumps({"file": file.name, "system": system, "ask": "filter", **request, "keys": [key.hex() for key in keys]})
            done = subprocess.run(shlex.split(self.adapters[system]), input=line + "\n", capture_output=True, text=True, check=True)
            reply = json.loads(done.stdout.splitlines()[1])
            if "answers" not in reply:
                raise SystemExit(f"{self.adapters[system]}: {reply}")
            return reply["answers"]


def main():
    corpus, real = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    tools = Tools(real, sys.argv[3], json.loads(pathlib.Path(sys.argv[4]).read_text()))
    for make in SYSTEMS:
        make(corpus, tools)


main()
