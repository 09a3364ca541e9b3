"""Parquet's split block filter, written from the format's specification: xxHash64, blocks and header."""

import struct

MASK = 2**64 - 1
PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def rotate(x, bits):
    return (x << bits | x >> 64 - bits) & MASK


def round_(lane, word):
    return rotate(lane + word * PRIMES[1] & MASK, 31) * PRIMES[0] & MASK


def xxhash64(data):
    """xxHash64 with seed 0."""
    p1, p2, p3, p4, p5 = PRIMES
    at, end = 0, len(data)
    if end >= 32:
        lanes = [p1 + p2 & MASK, p2, 0, -p1 & MASK]
        while at + 32 <= end:
            words = struct.unpack_from("<4Q", data, at)
            lanes = [round_(lane, word) for lane, word in zip(lanes, words)]
            at += 32
        hash = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            hash = ((hash ^ round_(0, lane)) * p1 + p4) & MASK
    else:
        hash = p5
    hash = hash + end & MASK
    while at + 8 <= end:
        hash = (rotate(hash ^ round_(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= end:
        hash = (rotate(hash ^ struct.unpack_from("<I", data, at)[0] * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        hash = rotate(hash ^ byte * p5 & MASK, 11) * p1 & MASK
    hash = (hash ^ hash >> 33) * p2 & MASK
    hash = (hash ^ hash >> 29) * p3 & MASK
    return hash ^ hash >> 32


def places(key, blocks):
    """The block of a key, and its bit in each of the eight words."""
    hash = xxhash64(key)
    low = hash & 0xFFFFFFFF
    return (hash >> 32) * blocks >> 32, [(low * salt & 0xFFFFFFFF) >> 27 for salt in SALT]


def build(keys, blocks):
    """The blocks of a filter with these keys."""
    words = [0] * (8 * blocks)
    for key in keys:
        block, bits = places(key, blocks)
        for i, bit in enumerate(bits):
            words[8 * block + i] |= 1 << bit
    return struct.pack(f"<{8 * blocks}I", *words)


def contains(bitset, key):
    """Whether the filter may contain a key."""
    block, bits = places(key, len(bitset) // 32)
    words = struct.unpack_from("<8I", bitset, 32 * block)
    return all(word >> bit & 1 for word, bit in zip(words, bits))
