"""Many threads and one filter."""

import array
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from fullbloom import Filter


def test_threads_ask_one_filter():
    numbers = np.arange(400_000)
    f = Filter.build(numbers[::2], 0.001)
    expected = f.may_contain(numbers)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(f.may_contain, [numbers] * 24):
            assert (answers == expected).all()


def test_keys_are_never_lost_while_others_ask_and_add():
    f = Filter.with_capacity(400_000, 0.01)
    parts = np.arange(400_000).reshape(8, -1)
    done, wrong = [], []
    stop = threading.Event()

    def add(part):
        for some in np.array_split(part, 10):
            f.update(some)
            if not f.may_contain(some).all():
                wrong.append("a key that had just been added was not found")
        done.append(part)

    def ask():
        while not stop.is_set():
            for part in list(done):
                if not f.may_contain(part).all() or int(part[0]) not in f:
                    wrong.append("a key was lost")

    with ThreadPoolExecutor(10) as pool:
        askers = [pool.submit(ask) for _ in range(2)]
        adders = [pool.submit(add, part) for part in parts]
        for future in adders:
            future.result()
        stop.set()
        for future in askers:
            future.result()
    assert not wrong
    assert f.may_contain(parts.ravel()).all()
    assert f == Filter.build(parts.ravel(), 0.01)


def test_filters_that_are_combined_crosswise_do_not_wait_for_each_other():
    a, b = (Filter.build(range(start, start + 1000), expected_keys=10**6) for start in (0, 1000))

    def combine(one, two):
        for _ in range(50):
            one |= two
            one == two  # noqa: B015
            one | two

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(combine, *pair) for pair in [(a, b), (b, a)] * 2]:
            future.result(timeout=60)
    assert a == b and a.may_contain(range(2000)).all()


def test_the_interpreter_runs_on_during_a_batch():
    numbers = np.arange(3_000_000)
    f = Filter.with_capacity(len(numbers), 0.001)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    old = sys.getswitchinterval()
    sys.setswitchinterval(100)  # so that nothing but letting go of it gives the interpreter to others
    try:
        ticker = threading.Thread(target=tick)
        ticker.start()
        start = time.perf_counter()
        for _ in range(5):
            f.update(numbers)
            f.may_contain(numbers)
        end = time.perf_counter()
    finally:
        stop.set()
        sys.setswitchinterval(old)
        ticker.join()
    assert sum(start < at < end for at in ticks) >= 5


def test_closing_waits_for_those_who_ask():
    numbers = np.arange(2_000_000)
    f = Filter.build(numbers, 0.01)
    results = []

    def ask():
        try:
            for _ in range(20):
                results.append(bool(f.may_contain(numbers).all()))
        except ValueError as e:
            results.append("closed" in str(e))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.02)
    f.close()
    for thread in threads:
        thread.join()
    assert results and all(results)


def test_an_array_cannot_be_resized_while_it_is_read():
    numbers = array.array("q", range(1000))
    refused = []

    def good():
        try:
            numbers.append(1)
        except BufferError:
            refused.append(True)
        yield from range(5000, 6000)

    f = Filter.build(numbers, except_keys=good())
    assert refused and len(numbers) == 1000
    numbers.append(1000)  # nobody reads it any more
    assert f.may_contain(range(1000)).all()
