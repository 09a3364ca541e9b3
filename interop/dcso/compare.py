"""Compares DCSO's `bloom` with our command; prints the number of filters and of differences."""

import gzip
import pathlib
import random
import subprocess
import sys


def run(args, text, good=(0,)):
    """Runs a program with these lines as input; returns its output."""
    done = subprocess.run(args, input=text, capture_output=True)
    if done.returncode not in good:
        sys.exit(f"{args}: {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def keys(count, rng):
    """Lines of hex as in hashlookup, or of any bytes except line ends."""
    if rng.random() < 0.5:
        return [rng.randbytes(20).hex().upper().encode() for _ in range(count)]
    draw = lambda: bytes(b for b in rng.randbytes(rng.randrange(30)) if b not in b"\r\n")
    return [draw() for _ in range(count)]


def main():
    fullbloom, work, seed, cases = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed)
    theirs, ours, other, joined = (work / name for name in ("theirs.bloom", "ours.bloom", "other.bloom", "joined.bloom"))
    differences = 0
    for case in range(cases):
        expected = rng.choice([1, 30, 400, 3000])
        rate = 0.5 * 10 ** -rng.uniform(0, 6)
        size = ["-n", str(expected), "-p", repr(rate)]
        lines = lambda some: b"".join(key + b"\n" for key in some)
        inserted = keys(rng.randrange(1, expected + 1), rng)
        asked = lines(inserted[:20] + keys(40, rng))
        packed = ["--gzip"] if case % 3 == 0 else []
        run(["bloom", *packed, "create", *size, theirs], lines(inserted))
        name = ours.with_suffix(".bloom.gz") if packed else ours
        build = [fullbloom, "build", "-q", "--binary", "--dialect", "dcso", "--expected-keys", str(expected), "--fpr", repr(rate)]
        run([*build, "-o", name], lines(inserted))
        unpack = gzip.decompress if packed else bytes
        differs = unpack(theirs.read_bytes()) != unpack(name.read_bytes())
        # Each program queries its own file and the other's.
        answers = {run(["bloom", *packed, "check", file], asked) for file in (theirs, name)}
        answers |= {run([fullbloom, "check", "--binary", file], asked, good=(0, 1)) for file in (theirs, name)}
        differs |= len(answers) != 1
        if not packed:
            run([*build, "-o", other], lines(keys(expected, rng)))
            run([fullbloom, "merge", "-q", ours, other, "-o", joined], b"")
            run(["bloom", "join", theirs, other], b"")
            differs |= joined.read_bytes() != theirs.read_bytes()
        if differs:
            differences += 1
            print(f"case {case}: {expected} keys at {rate}", file=sys.stderr)
    print(f"{cases}\t{differences}")


main()
