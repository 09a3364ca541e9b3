"""fullbloom beside rbloom and pybloom_live: the same keys, one process, rounds interleaved, CPU time of the thread.

    pip install ./crates/fullbloom-py pyarrow rbloom pybloom_live
    python crates/fullbloom-py/bench/compare.py [--keys 10_000_000] [--rounds 5] [--json]

The peers take Python objects, so their keys are made into lists beforehand, outside the measured time: that is their best.
pybloom_live is asked a tenth of the keys, once. Memory is what the process has grown by at its highest, of a filter that
takes and is asked the same keys.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pybloom_live
import rbloom

import fullbloom

FPR = 0.01


def columns(count):
    """The keys in three forms: a column, a list, and a column of as many absent ones with its list."""
    rng = np.random.default_rng(7)
    numbers = rng.integers(0, 2**62, 2 * count, dtype=np.int64)
    texts = pa.array(np.char.add("user-", numbers.astype("U20")).tolist())
    return {
        "NumPy int64": (numbers[:count], numbers[count:]),
        "Arrow string": (texts[:count], texts[count:]),
    }


def ours(keys, absent):
    return Peer(
        lambda count: fullbloom.Filter.with_capacity(count, FPR), lambda f: f.update(keys), lambda f: f.may_contain(absent)
    )


def rbloom_list(keys, absent):
    return Peer(
        lambda count: rbloom.Bloom(count, FPR),
        lambda f: f.update(keys),
        lambda f: list(map(f.__contains__, absent)),
    )


def pybloom_list(keys, absent):
    def update(f):
        for key in keys:
            f.add(key)

    return Peer(
        lambda count: pybloom_live.BloomFilter(count, FPR), update, lambda f: [key in f for key in absent]
    )


class Peer:
    """One way to build and ask a filter."""

    def __init__(self, make, update, ask):
        self.make, self.update, self.ask = make, update, ask
        self.times = {"update": [], "may_contain": []}
        self.rate = None

    def round(self, count):
        f = self.make(count)
        start = time.thread_time()
        self.update(f)
        middle = time.thread_time()
        answers = self.ask(f)
        end = time.thread_time()
        self.times["update"].append(middle - start)
        self.times["may_contain"].append(end - middle)
        self.rate = float(np.mean(answers.to_numpy(zero_copy_only=False) if isinstance(answers, pa.Array) else answers))


def status(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def memory(form, count):
    """Bytes that filling a filter takes at its highest, then asking it, and the filter's own; in a process that did nothing else."""
    keys, absent = columns(count)[form]
    clear = pathlib.Path("/proc/self/clear_refs")
    small = fullbloom.Filter.build(keys[:1000], FPR)
    len(small.may_contain(absent[:1000]))  # what is loaded once does not count
    clear.write_text("5")
    before = status("VmRSS")
    f = fullbloom.Filter.with_capacity(count, FPR)
    f.update(keys)
    filled = status("VmHWM") - before
    clear.write_text("5")
    before = status("VmRSS")
    answers = f.may_contain(absent)
    asked = status("VmHWM") - before
    return {"filter": f.nbytes, "update": filled, "may_contain": asked, "answers": answers.nbytes}


def memory_elsewhere(form, count):
    told = [sys.executable, __file__, "--keys", str(count), "--memory", form]
    return json.loads(subprocess.run(told, capture_output=True, text=True, check=True).stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--keys", type=int, default=10_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    options.add_argument("--memory", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.memory:
        json.dump(memory(args.memory, args.keys), sys.stdout)
        return
    count, rows = args.keys, []
    for form, (keys, absent) in columns(count).items():
        used = memory_elsewhere(form, count)
        lists = keys.tolist(), absent.tolist()
        few = count // 10
        peers = {
            "fullbloom, column": (ours(keys, absent), count, args.rounds),
            "fullbloom, list": (ours(*lists), count, args.rounds),
            "rbloom, list": (rbloom_list(*lists), count, args.rounds),
            "pybloom_live, list": (pybloom_list(lists[0][:few], lists[1][:few]), few, 1),
        }
        for i in range(args.rounds):
            for peer, size, rounds in peers.values():
                if i < rounds:
                    peer.round(size)
        for name, (peer, size, _) in peers.items():
            rows.append(
                {
                    "keys": form,
                    "filter": name,
                    "rate": peer.rate,
                    **{what: size / statistics.median(times) / 1e6 for what, times in peer.times.items()},
                    "memory": used if name == "fullbloom, column" else None,
                }
            )
    if args.json:
        json.dump({"count": count, "load": os.getloadavg()[0], "rows": rows}, sys.stdout, indent=1)
        return
    print(f"{count} keys, rate 1 %, median of {args.rounds} rounds, million keys a second of CPU time")
    print(f"load {os.getloadavg()[0]:.1f}, {sys.version.split()[0]}, numpy {np.__version__}, kernels {fullbloom.kernels()[-1]}")
    print("\n| keys | filter | update | may_contain | measured rate |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['keys']} | {row['filter']} | {row['update']:.1f} | {row['may_contain']:.1f} | {row['rate']:.2%} |")
    print()
    for row in rows:
        if used := row["memory"]:
            over = used["update"] / used["filter"] - 1
            print(
                f"{row['keys']}: filter {used['filter'] / 1e6:.2f} MB; while it was filled the process grew by "
                f"{used['update'] / 1e6:.2f} MB ({over:+.1%}), while it was asked by {used['may_contain'] / 1e6:.2f} MB, "
                f"of which answers {used['answers'] / 1e6:.2f} MB"
            )


if __name__ == "__main__":
    main()
