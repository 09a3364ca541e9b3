"""What fullbloom.spark builds with, without Spark: slices give the bytes of the whole filter."""

import pickle

import numpy as np
import pytest

from fullbloom import Filter
from fullbloom._core import Slicing


def random_keys(count):
    return np.random.default_rng(7).integers(0, count * 2, count)


def assembled(slicing, parts):
    slices = [slicing.slice(number) for number in range(slicing.count)]
    for part in parts:
        scatter = slicing.scatter()
        for batch in np.array_split(part, 3):
            scatter.update(batch)
            for number, hashes in scatter.take():
                slices[number].insert_hashes(hashes)
        assert scatter.waiting == 0
    header = slicing.header([slice_.facts() for slice_ in slices])
    return header + b"".join(slice_.bits() for slice_ in slices)


@pytest.mark.parametrize("how", [{"fpr": 0.01}, {"fpr": 1e-4, "seed": 99}, {"bits_per_key": 30}])
def test_slices_give_the_bytes_of_the_whole_filter(how):
    keys = random_keys(150_000)
    slicing = Slicing(100_000, slice_bytes=1, key_type="long", **how)
    assert slicing.count > 1
    whole = Filter.build(keys, expected_keys=100_000, **how).to_bytes()
    assert assembled(slicing, np.array_split(keys, 4)) == whole
    assert assembled(slicing.with_slices_of(1 << 30), [keys]) == whole


def test_the_order_of_the_keys_and_how_often_they_come_change_nothing():
    keys = random_keys(50_000)
    slicing = Slicing(20_000, fpr=0.01, key_type="long", slice_bytes=1)
    whole = Filter.build(keys, 0.01, expected_keys=20_000).to_bytes()
    assert assembled(slicing, [keys[::-1], keys[::3]]) == whole
    assert assembled(slicing, np.array_split(np.random.default_rng(8).permutation(keys), 5)) == whole


def test_a_slicing_is_pickled_as_the_numbers_it_came_to():
    slicing = Slicing(300_000, fpr=1e-6, seed=5, slice_bytes=1 << 17, key_type="long")
    again = pickle.loads(pickle.dumps(slicing))
    assert (again.count, again.byte_len) == (slicing.count, slicing.byte_len)
    keys = random_keys(1000)
    assert assembled(again, [keys]) == assembled(slicing, [keys])
    make, (layout, blocks, *rest) = slicing.__reduce__()
    assert rest == [300_000, 5, 1 << 17, "long"]
    for wrong in ((layout, 0), (layout, 2**63), ((3, 3, 3), blocks)):
        with pytest.raises(ValueError):
            make(*wrong, *rest)


def test_nulls_are_not_hashed():
    pa = pytest.importorskip("pyarrow")
    scatter = Slicing(10).scatter()
    scatter.update(pa.array([1, None, 2]))
    assert scatter.waiting == 2


def test_what_is_no_hash_no_slice_and_no_key_is_refused():
    slicing = Slicing(300_000, slice_bytes=1)
    with pytest.raises(ValueError, match="eight bytes each: 3 are left over"):
        slicing.slice(0).insert_hashes(b"123")
    with pytest.raises(ValueError, match="falls into another slice"):
        slicing.slice(0).insert_hashes(np.arange(1000, dtype="<u8").tobytes())
    with pytest.raises(ValueError, match="slice 99"):
        slicing.slice(99)
    with pytest.raises(ValueError, match="1 slices given of"):
        slicing.header([(0, b"")])
    with pytest.raises(TypeError):
        slicing.scatter().update([1.5])
    with pytest.raises(ValueError):
        Slicing(10, fpr=0.1, bits_per_key=3)
