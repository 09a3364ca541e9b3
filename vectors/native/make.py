#!/usr/bin/env python3
"""Makes the golden files of the native dialect from docs/formats/native.md alone.

A second implementation, which shares nothing with the Rust one: run it in an empty directory and compare.
Only the standard library is used.
"""
import hashlib
import json
import math
import struct

M = (1 << 64) - 1
P = 0x9E3779B97F4A7C15
Q = 0xBF58476D1CE4E5B9
R = 0x94D049BB133111EB


def splitmix(seed, i):
    z = (seed + i * P) & M
    z = (z ^ z >> 30) * Q & M
    z = (z ^ z >> 27) * R & M
    return z ^ z >> 31


def fold(x, y):
    product = x * y
    return (product >> 64) ^ (product & M)


def le(key, at, size=8):
    return int.from_bytes(key[at : at + size], "little")


def folded(key, seed):
    a, b, c, d = (splitmix(seed, i) for i in (1, 2, 3, 4))
    n = len(key)
    w = b ^ (n * P & M)
    if n == 0:
        return fold(a, w)
    if n <= 3:
        return fold((key[0] + key[n // 2] * 256 + key[n - 1] * 65536) ^ a, w)
    if n <= 8:
        return fold((le(key, 0, 4) + (le(key, n - 4, 4) << 32)) ^ a, w)
    if n <= 16:
        return fold(le(key, 0) ^ a, le(key, n - 8) ^ w)
    at = 0
    if n > 32:
        u, v, i = w, d, 0
        while i + 32 < n:
            u = fold(le(key, i) ^ a, le(key, i + 8) ^ u)
            v = fold(le(key, i + 16) ^ c, le(key, i + 24) ^ v)
            i += 32
        w, at = u ^ v, n - 32
    t = fold(le(key, at) ^ a, le(key, at + 8) ^ w)
    return fold(le(key, n - 16) ^ c, le(key, n - 8) ^ d ^ t)


def fold64(key, seed):
    h = folded(key, seed)
    return (h ^ h >> 32) * P & M


def siphash13(key, secret):
    def rotate(x, by):
        return (x << by | x >> (64 - by)) & M

    def round_():
        v[0] = (v[0] + v[1]) & M
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & M
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & M
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & M
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    k0, k1 = le(secret, 0), le(secret, 8)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) % 256])
    for at in range(0, len(padded), 8):
        v[3] ^= le(padded, at)
        round_()
        v[0] ^= le(padded, at)
    v[2] ^= 0xFF
    for _ in range(3):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def derived(secret, n):
    return b"".join(struct.pack("<Q", siphash13(bytes([n, half]), secret)) for half in (0, 1))


def check_value(secret):
    return siphash13(b"fullbloom native: is this the secret?", derived(secret, 1))


def positions(h, lines, block_lines, probes, blocks):
    """Bit numbers in the whole array."""
    x = [h, h * P & M]
    for factor in (Q, P, P, P):
        x.append((x[-1] ^ x[-1] >> 32) * factor & M)
    block = x[1] * blocks >> 64
    region = block_lines // lines
    out = []
    for i in range(lines):
        line = block * block_lines + i * region + (x[2] >> (58 - 6 * i)) % region
        a, b = (x[0], x[1]) if i == 0 else (x[i + 1], x[i + 2])
        fields = ((a << 32 | a >> 32) & M) ^ b
        for p in range(probes):
            lane = ((b >> 5) + p) % 8
            field = fields >> 8 * lane & 255
            word = lane + 8 * (field >> 7)
            out.append(line * 512 + word * 32 + 31 - (field & 31))
    return out


def set_bits(array, bits):
    for bit in bits:
        array[bit >> 3] |= 1 << (bit & 7)


def estimate(array, probes):
    """The number of keys that a fast filter stores."""
    ones, bits = sum(byte.bit_count() for byte in array), 8 * len(array)
    return M if ones == bits else int(-bits / probes * math.log1p(-ones / bits) + 0.5)


CRC = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def up(n, to):
    return -(-n // to) * to


FILTER, BITS, LABEL, SUMS, SECRET = range(1, 6)
EXCEPTIONS, EXCEPTION_DATA, COMPACT, DYNAMIC, KEY_FIELD = range(11, 16)


def record(layout, blocks, seed_field, hash_kind, expected, count, flags=0, key_type=0):
    lines, block_lines, probes = layout
    return struct.pack("<8B4Q24x", 2, hash_kind, lines, block_lines, probes, flags, key_type, 0, blocks, seed_field, expected, count)


def assemble(records, array, label=b"", secret=b"", further=(), further_data=()):
    """A file of these filter records and bits; further sections as (kind, content)."""
    data = bytes(array) + b"".join(content for _, content in further_data)
    sums = b"".join(struct.pack("<I", crc32c(data[at : at + 65536])) for at in range(0, len(data), 65536))
    small = [(FILTER, 1, records), (SUMS, 1, sums)]
    if label:
        small.append((LABEL, 0, label))
    if secret:
        small.append((SECRET, 0, secret))
    small += [(kind, 0 if kind == KEY_FIELD else 1, content) for kind, content in further]
    table_len = 32 * (len(small) + 1 + len(further_data))
    at, table, body = 64 + table_len, b"", b""
    for kind, flags, content in small:
        table += struct.pack("<2I3Q", kind, flags, at, len(content), 0)
        body += content.ljust(up(len(content), 8), b"\0")
        at += up(len(content), 8)
    front_len = up(at, 4096 if len(array) >= 1 << 20 else 64)
    at = front_len
    for kind, content in [(BITS, bytes(array)), *further_data]:
        table += struct.pack("<2I3Q", kind, 1, at, len(content), 0)
        at += len(content)
    rest = struct.pack("<2H2I3Q16x", 1, table_len // 32, front_len, 65536, front_len + len(data), 0, 0) + table + body
    rest = rest.ljust(front_len - 12, b"\0")
    return b"\x89FBLOOM\n" + struct.pack("<I", crc32c(rest)) + rest + data


def file(layout, blocks, keys, hasher, seed_field, hash_kind, expected, label=b"", secret=b"", exceptions=None, flags=0, key_type=0, key_field=b""):
    array = bytearray(blocks * layout[1] * 64)
    for key in keys:
        set_bits(array, positions(hasher(key), *layout, blocks))
    records = record(layout, blocks, seed_field, hash_kind, expected, estimate(array, layout[0] * layout[2]), flags, key_type)
    further = [(KEY_FIELD, key_field)] if key_field else []
    further += [(EXCEPTIONS, exceptions[0])] if exceptions else []
    further_data = [(EXCEPTION_DATA, exceptions[1])] if exceptions else []
    return assemble(records, array, label, secret, further, further_data)


# The most keys of 16 lines, by the slots of a line.
GROUP_KEYS = [
    0, 1, 5, 16, 28, 42, 56, 71, 86, 101, 117, 132, 145, 161, 177, 193, 207, 223, 240, 256, 270, 286, 303, 319,
    334, 350, 367, 381, 398, 415, 429, 446, 460, 477, 494, 509, 526, 540, 557, 572, 589, 604, 621, 638, 652, 669,
    684, 701, 716, 733, 748, 765, 780, 795, 812, 827, 844, 859, 877, 892, 909, 924, 937,
]


def slots(interval, tag_bits):
    """Slots, bits of a remainder and quotients of a line."""
    best = (0, 0, 0)
    for remainder in range(1, 57 - tag_bits):
        quotients, width = (interval - 1 >> remainder) + 1, remainder + tag_bits
        for count in range(best[0] + 1, 63):
            if quotients <= 64 and count * width + quotients <= occupied_end(count) and (count - 1) * width <= 455:
                best = (count, remainder, quotients)
    return best


def occupied_end(count):
    """The position after the occupied bits of a line with this number of slots."""
    return (512 - count) // 8 * 8


def dynamic_lines(bits, tag_bits, keys):
    """The number of lines of a file."""
    wanted = keys + keys // 32

    def limit(depth, lines):
        return (lines // 16 * GROUP_KEYS[slots(-(-(1 << bits - depth) // lines), tag_bits)[0]]) << depth

    deepest = max(bits - 14, 0)
    depth = next((d for d in range(deepest) if limit(d, 3840) >= wanted), deepest)
    fewest = 2048 if depth else 16
    lines = next((n for n in range(fewest, 3840, 16) if limit(depth, n) >= wanted), 3840)
    return lines << depth


def dynamic_line(entries, interval, tag_bits):
    """One line of sorted (number, tag)."""
    count, remainder, quotients = slots(interval, tag_bits)
    width, line, starts, before = remainder + tag_bits, 0, 1 << len(entries), None
    for slot, (number, tag) in enumerate(entries):
        quotient = number >> remainder
        starts |= (quotient != before) << slot
        line |= 1 << occupied_end(count) - quotients + quotient
        line |= ((number & (1 << remainder) - 1) << tag_bits | tag) << slot * width
        before = quotient
    return (line | starts >> 1 << 512 - count).to_bytes(64, "little")


def dynamic_file(tagged, bits, mode, tag_bits, hasher_fields, expected, count, fpr, up_to, clock=b"", counts=(), label=b"", secret=b"", key_type=0):
    """`tagged` maps fingerprints to tags; `counts` has the fingerprints with more than three copies."""
    lines = dynamic_lines(bits, tag_bits, len(tagged))

    def shared(items, lines):
        """The items of each line that fit, as bytes, and the rest."""
        interval = -(-(1 << bits) // lines)
        most, out, rest = slots(interval, tag_bits)[0], b"", []
        for line in range(lines):
            first, end = -(-(line << bits) // lines), -(-(line + 1 << bits) // lines)
            here = [item for item in items if first <= item[0] < end]
            out += dynamic_line([(v - first, tag) for v, tag in here[:most]], interval, tag_bits)
            rest += here[most:]
        return out, rest

    main, rest = shared(sorted(tagged.items()), lines)
    overflow, listed = shared(rest, lines // 16)
    tail = b"".join(struct.pack("<Q", v << tag_bits | tag) for v, tag in listed)
    tail += b"".join(struct.pack("<2Q", *one) for one in sorted(counts))
    seed_field, hash_kind = hasher_fields
    records = struct.pack("<8B4QdQQ", 4, hash_kind, bits, mode, 0, 0, key_type, 0, lines, seed_field, expected, count, fpr, up_to, len(tagged))
    section = struct.pack("<2Q", len(listed), len(counts)) + clock
    return assemble(records, main + overflow + tail, label, secret, [(DYNAMIC, section)])


def compact_lines(keys, words, further):
    """The lines of a layer: the rule of the writer."""
    slots = 63 * words
    if keys <= slots - 5:
        return 1
    if keys < 10 * slots:
        return math.ceil(keys / (0.89 * slots))
    keys_per_slot = {1: 1.185 if further else 1.12, 2: 1.07, 4: 1.05, 8: 1.05}[words]
    return math.floor(keys / (keys_per_slot * slots) + 0.5)


def compact_columns(fpr):
    """Parts of a column, further columns, share of the keys that are compared in fewer columns."""
    fewer = min(max(math.floor(-math.log2(fpr)), 1), 64)
    share = min(max(fpr * 2.0 ** (fewer + 1) - 1, 0.0), 1.0)
    in_line = max(n for n in (1, 2, 4, 8) if n <= fewer)
    return 8 // in_line, fewer - in_line, share


def compact_key(h, number, lines, words):
    """Place (line, priority and what is below it), fingerprint word and coefficients of a hash in a layer."""
    def step(x, by, factor):
        return (x ^ x >> by) * factor & M

    t = step(h, 32, Q)
    z = h
    if number > 0:
        z = step(t, 32, P)
        for _ in range(number - 1):
            z = step(z, 32, Q)
    product = z * lines
    picks = [t >> 8 * i & 63 for i in range(6 if words <= 2 else 8)]
    coefficients = 0
    for i, pick in enumerate(picks):
        if words == 1 and i < 4:
            pick = pick % 16 + 16 * i
        coefficients ^= 1 << (64 * (i // (len(picks) // words)) + pick)
    return product, step(t, 29, R) & ~255 | product >> 48 & 255, coefficients


def solve(rows, constants):
    """Rows as (coefficients, right side), up to the first that depends on those before it: the slots' bits, free slots
    zero, and how many rows were taken. `constants` are the bits of the slots 63, from the limit: a function of the
    number of rows taken."""
    pivots, taken = {}, 0
    constant_slots = sum(1 << slot for slot in range(63, 512, 64))
    for row, side in rows:
        while row & ~constant_slots:
            low = row & ~constant_slots & -(row & ~constant_slots)
            if low not in pivots:
                pivots[low] = (row, side)
                break
            row, side = row ^ pivots[low][0], side ^ pivots[low][1]
        else:
            break
        taken += 1
    solved = constants(taken)
    for low in sorted(pivots, reverse=True):
        row, side = pivots[low]
        for slot, bits in solved.items():
            if row >> slot & 1 and 1 << slot != low:
                side ^= bits
        solved[low.bit_length() - 1] = side
    return solved, taken


def compact_array(hashes, fpr):
    """The array of a compact filter, its compact section, and its numbers of words and further columns."""
    words, further, share = compact_columns(fpr)
    array, left, layers = b"", sorted(set(hashes)), []
    while len(left) > 8 and len(layers) < 20:
        lines = compact_lines(len(left), words, further)
        split = math.floor(share * (256 * lines))
        found = [[] for _ in range(lines)]
        for h in left:
            place, side, coefficients = compact_key(h, len(layers), lines, words)
            found[place >> 64].append((place, coefficients, side, h))
        left, line_bytes, further_words = [], b"", []
        for number, keys in enumerate(found):
            columns = further + (number >= split // 256)
            used = sum(1 << bit for bit in range(0, 8 + columns * words, words))
            keys = [(min(place >> 56 & 255, 254), coefficients, side & used, h) for place, coefficients, side, h in sorted(keys)]

            def limit_of(taken):
                return keys[taken][0] if taken < len(keys) else 255

            def constants(taken):
                bits = [limit_of(taken) >> part & used & 255 for part in range(words)]
                return {64 * part + 63: bits[part] for part in range(words)}

            slots, taken = solve([key[1:3] for key in keys], constants)
            limit = limit_of(taken)
            left += [key[3] for key in keys if key[0] >= limit]

            def bits_of(slot, bit):
                return slots.get(slot, 0) >> bit & 1

            def word(bit, part):
                return sum(bits_of(64 * part + k, bit) << k for k in range(63))

            for k in range(63):
                line_bytes += bytes([sum(bits_of(64 * part + k, bit) << (bit + part) for bit in range(0, 8, words) for part in range(words))])
            line_bytes += bytes([limit])
            further_words += [word(8 + f * words, part) for f in range(columns) for part in range(words)]
        layers.append((lines, split))
        more = b"".join(struct.pack("<Q", word) for word in further_words)
        array += line_bytes + more.ljust(up(len(more), 64), b"\0")
    listed = b"".join(struct.pack("<Q", h) for h in sorted(left))
    section = struct.pack("<Q", len(left)) + b"".join(struct.pack("<2Q", *layer) for layer in layers)
    return array + listed.ljust(up(len(listed), 64), b"\0"), section, words, further


def compact_file(keys, hasher, seed_field, hash_kind, fpr, label=b"", secret=b"", exceptions=None, key_type=0):
    hashes = {hasher(key) for key in keys}
    array, section, words, more = compact_array(hashes, fpr)
    records = struct.pack("<8B4Q24x", 3, hash_kind, words, more, 0, 0, key_type, 0, len(array) // 64, seed_field, len(hashes), len(hashes))
    further = ([(EXCEPTIONS, exceptions[0])] if exceptions else []) + [(COMPACT, section)]
    further_data = [(EXCEPTION_DATA, exceptions[1])] if exceptions else []
    return assemble(records, array, label, secret, further, further_data)


def level_hash(e, level):
    x = (e + (level + 1) * P) & M
    x = (x ^ x >> 32) * Q & M
    x = (x ^ x >> 29) * R & M
    return x ^ x >> 32


def chain(levels, listed):
    """Levels as (hashes e, blocks, probes)."""
    section = struct.pack("<2Q", len(levels), len(listed))
    data = b""
    for number, (hashes, blocks, probes) in enumerate(levels):
        section += struct.pack("<2Q", blocks, probes)
        array = bytearray(blocks * 64)
        for e in hashes:
            set_bits(array, positions(level_hash(e, number), 1, 1, probes, blocks))
        data += bytes(array)
    return section, data + b"".join(struct.pack("<Q", e) for e in sorted(listed))


def passes(e, number, array, blocks, probes):
    return all(array[bit >> 3] >> (bit & 7) & 1 for bit in positions(level_hash(e, number), 1, 1, probes, blocks))


def number_keys(prefix, start, stop):
    return [f"{prefix}{i}".encode() for i in range(start, stop)]


def write(name, content):
    with open(name, "wb") as out:
        out.write(content)


def main():
    byte_keys = [bytes((i * 37 + n) % 256 for i in range(n)) for n in list(range(0, 70)) + [127, 128, 129, 255, 256, 1000]]
    secret = bytes(range(100, 116))
    hashes = [
        {"key": key.hex(), "seed_0": f"{fold64(key, 0):016x}", "seed_1": f"{fold64(key, 1):016x}",
         "seed_max": f"{fold64(key, M):016x}", "siphash13": f"{siphash13(key, secret):016x}"}
        for key in byte_keys
    ]
    layouts = [(1, 1, 1), (1, 1, 6), (1, 1, 8), (2, 2, 3), (2, 64, 5), (2, 64, 8), (4, 4, 7), (4, 64, 8)]
    places = [
        {"hash": f"{h:016x}", "lines": l, "block_lines": g, "probes": k, "blocks": blocks, "bits": positions(h, l, g, k, blocks)}
        for l, g, k in layouts
        for blocks in (1, 7, 1000, (1 << 32) + 5)
        for h in (0, 1, M, 0x0123456789ABCDEF, fold64(b"place", blocks))
    ]
    keys = number_keys("key-", 0, 100)

    def seeded(seed):
        return lambda key: fold64(key, seed)

    thousands = number_keys("key-", 0, 3000)
    write("compact.bloom", compact_file(thousands, seeded(0), 0, 1, 1 / 256))
    write("compact-percent.bloom", compact_file(thousands, seeded(5), 5, 1, 0.01, "ein Prozent".encode(), key_type=0))
    write("compact-keyed.bloom", compact_file(keys, lambda key: siphash13(key, secret), check_value(secret), 2, 1e-6, b"open", secret))
    write("compact-third.bloom", compact_file(thousands, seeded(0), 0, 1, 0.3))
    write("compact-eighth.bloom", compact_file(thousands, seeded(0), 0, 1, 0.1))
    write("compact-lowest.bloom", compact_file(keys, seeded(0), 0, 1, 2.0**-64))
    write("compact-list.bloom", compact_file(keys[:5], seeded(0), 0, 1, 0.01))
    write("compact-empty.bloom", compact_file([], seeded(0), 0, 1, 0.01))

    # Over a mebibyte: the array begins at a page. Only its sum is kept.
    large = file((1, 1, 5), 16384 + 16, keys, seeded(3), 3, 1, 840_000)
    values = {"secret": secret.hex(), "check": f"{check_value(secret):016x}", "large_sha256": hashlib.sha256(large).hexdigest(), "hashes": hashes, "places": places}
    write("hash.json", json.dumps(values, separators=(",", ":")).encode() + b"\n")

    write("one-line.bloom", file((1, 1, 6), 2, keys, seeded(0), 0, 1, 100))
    write("two-lines.bloom", file((2, 64, 7), 1, keys, seeded(7), 7, 1, 1000, label="zwei Zeilen für jeden Schlüssel".encode()))
    write("four-lines.bloom", file((4, 8, 8), 3, keys, seeded(M), M, 1, 0))
    keyed = lambda key: siphash13(key, secret)
    write("keyed.bloom", file((1, 1, 8), 4, keys, keyed, check_value(secret), 2, 100))
    write("keyed-with-secret.bloom", file((1, 1, 8), 4, keys, keyed, check_value(secret), 2, 100, label=b"open", secret=secret))

    # The four types of keys, and a number as two of them.
    numbers = [struct.pack("<q", n * n * n - 100) for n in range(-50, 50)]
    for name, key_type, typed in (("bytes", 1, keys), ("text", 2, keys), ("int", 3, numbers), ("long", 4, numbers)):
        write(f"{name}-keys.bloom", file((1, 1, 6), 2, typed, seeded(0), 0, 1, 100, key_type=key_type))

    # One integer is one key in every width and sign: eight bytes, or sixteen where those are too few.
    integers = {}
    for bits in (8, 16, 32, 64):
        half = 1 << bits - 1
        integers[f"i{bits}"] = [-half, 1 - half, -1, 0, 1, half - 1]
        integers[f"u{bits}"] = [0, 1, half, 2 * half - 1]
    wide = [-(1 << 127), -(1 << 63) - 1, 1 << 64, (1 << 127) - 1]
    eights = sorted({n & M for numbers in integers.values() for n in numbers})
    integers |= {"i128": wide, "u128": [(1 << 128) - 1, 1 << 127], "absent": list(range(1000, 1050))}
    sixteens = sorted({n & (1 << 128) - 1 for width in ("i128", "u128") for n in integers[width]})
    write("integers.json", json.dumps({width: [str(n) for n in numbers] for width, numbers in integers.items()}).encode() + b"\n")
    for name, size, typed, key_type in (("integers", 8, eights, 4), ("integers-wide", 16, sixteens, 0)):
        typed = [n.to_bytes(size, "little") for n in typed]
        write(f"{name}.bloom", file((1, 1, 8), 16, typed, seeded(0), 0, 1, len(typed), key_type=key_type))

    # Keys that were trimmed and converted to lower case.
    write("formed-keys.bloom", file((1, 1, 6), 2, keys, seeded(0), 0, 1, 100, flags=2 | 4))

    # Keys that were the third field of lines in CSV.
    field = struct.pack("<I2B2x", 3, ord(","), 1)
    write("field-keys.bloom", file((1, 1, 6), 2, keys, seeded(0), 0, 1, 100, label=b"third", key_field=field))

    # A crowded filter, so that there are false positives, and both forms of exceptions.
    array, layout, blocks = bytearray(64), (1, 1, 3), 1
    for key in keys:
        set_bits(array, positions(fold64(key, 0), *layout, blocks))
    e = lambda key: fold64(key, 0)
    good = [key for key in number_keys("good-", 0, 1000) if all(array[b >> 3] >> (b & 7) & 1 for b in positions(fold64(key, 0), *layout, blocks))]
    assert len(good) > 50
    write("exceptions-list.bloom", file(layout, blocks, keys, seeded(0), 0, 1, 100, exceptions=chain([], [e(key) for key in good])))
    own, other, levels = [e(key) for key in good], [e(key) for key in keys], []
    for number, blocks_ in enumerate((1, 1, 1)):
        levels.append((own, blocks_, 2))
        array = bytearray(blocks_ * 64)
        for hash_ in own:
            set_bits(array, positions(level_hash(hash_, number), 1, 1, 2, blocks_))
        own, other = [hash_ for hash_ in other if passes(hash_, number, array, blocks_, 2)], own
    write("exceptions-chain.bloom", file(layout, blocks, keys, seeded(0), 0, 1, 100, exceptions=chain(levels, own)))

    # Dynamic: 12 bits of fingerprint make long runs and collisions, 27 bits are those of 1,000 keys promised to 10^6 at 1 %.
    many = number_keys("key-", 0, 700)
    seed_0 = (0, 1)
    crowded = {fold64(key, 0) >> 52: 0 for key in many}
    write("dynamic-set.bloom", dynamic_file(crowded, 12, 0, 0, seed_0, 30, len(crowded), 0.01, 30, label=b"a set"))
    wide = {fold64(key, 0) >> 37: 0 for key in many}
    write("dynamic-promised.bloom", dynamic_file(wide, 27, 0, 0, seed_0, 1000, len(wide), 0.01, 1_000_000))
    copies = {}
    for number, key in enumerate(many[:200]):
        v = fold64(key, 0) >> 44
        copies[v] = copies.get(v, 0) + 1 + number % 6
    tags = {v: min(n, 4) - 1 for v, n in copies.items()}
    write("dynamic-counting.bloom", dynamic_file(tags, 20, 1, 2, seed_0, 1000, sum(copies.values()), 0.001, 1000, counts=[(v, n) for v, n in copies.items() if n > 3]))
    # Kept for 10 seconds in 4 generations of 2,500 ms; a key comes every 100 ms from 1,000,000 ms on, and is not renewed.
    times, now = {}, 0
    for number, key in enumerate(many[:300]):
        now = (1_000_000 + 100 * number) // 2500
        times.setdefault(fold64(key, 0) >> 47, now)
    live = {v: t % 8 for v, t in times.items() if now - t <= 4}
    ages = [sum(now - t == age for t in times.values()) for age in range(5)]
    clock = struct.pack("<Q2I2Q5Q", 10_000, 4, 0, 1_000_000 + 100 * 299, 0, *ages)
    write("dynamic-expiring.bloom", dynamic_file(live, 17, 2, 3, seed_0, 1000, len(live), 0.01, 1000, clock))
    # The secret is not in the file.
    secretly = {keyed(key) >> 47: 0 for key in many}
    write("dynamic-keyed.bloom", dynamic_file(secretly, 17, 0, 0, (check_value(secret), 2), 1000, len(secretly), 0.01, 1000))
    # The last 40 new keys are kept, in four generations of ten. Keys that come again are renewed, which is not one more key.
    # The secret is in the file, and the type of the keys is text.
    times, now = {}, 0
    for key in keys[:70] + keys[55:75]:
        v = keyed(key) >> 47
        is_new = v not in times or now // 10 - times[v] > 4
        times[v] = now // 10
        now += is_new
    generation = now // 10
    live = {v: t % 8 for v, t in times.items() if generation - t <= 4}
    ages = [sum(generation - t == age for t in times.values()) for age in range(5)]
    clock = struct.pack("<Q2I2Q5Q", 40, 4, 1, now, 0, *ages)
    write("dynamic-renewed.bloom", dynamic_file(live, 17, 3, 3, (check_value(secret), 2), 1000, len(live), 0.01, 1000, clock, secret=secret, key_type=2))


main()
