"""Reads the native filters of fullbloom: fast, compact and dynamic ones. One file, nothing but Python 3.8.

    from fullbloom_native import Filter
    known = Filter.open("names.bloom")
    known.may_contain("alice")            # False is certain, True is probable

Written from docs/formats/native.md alone.
"""

import os
import struct

MASK = (1 << 64) - 1
P, Q, R = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MAGIC = b"\x89FBLOOM\n"
FILTER, BITS, LABEL, CHECKSUMS, SECRET, EXCEPTIONS, EXCEPTION_DATA, COMPACT, DYNAMIC, KEY_FIELD = 1, 2, 3, 4, 5, 11, 12, 13, 14, 15
IN_DATA = (BITS, EXCEPTION_DATA)


class FormatError(ValueError):
    """The bytes are no filter that this reader knows; the text says what is wrong."""


class LockedError(ValueError):
    """The filter is keyed, and its secret is neither in the file nor given, or is another one."""


def require(holds, what):
    if not holds:
        raise FormatError(what)


# The table has four bytes at a time: in pure Python, checksums take most of the time of opening a file.
def _table():
    table = [[], [], [], []]
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
        table[0].append(byte)
    for part in (1, 2, 3):
        table[part] = [crc >> 8 ^ table[0][crc & 255] for crc in table[part - 1]]
    return table


T0, T1, T2, T3 = _table()


def crc32c(data):
    crc, whole = 0xFFFFFFFF, len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        crc ^= word
        crc = T3[crc & 255] ^ T2[crc >> 8 & 255] ^ T1[crc >> 16 & 255] ^ T0[crc >> 24]
    for byte in data[whole:]:
        crc = crc >> 8 ^ T0[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def fold(x, y):
    product = x * y
    return product >> 64 ^ product & MASK


def fold64(seed):
    """The hash function with this seed."""
    outputs = []
    for i in range(1, 5):
        z = seed + i * P & MASK
        z = (z ^ z >> 30) * Q & MASK
        z = (z ^ z >> 27) * R & MASK
        outputs.append(z ^ z >> 31)
    a, b, c, d = outputs

    def hash(key):
        n = len(key)
        le = lambda at: int.from_bytes(key[at:at + 8], "little")
        w = b ^ n * P & MASK
        if n == 0:
            f = fold(a, w)
        elif n <= 3:
            f = fold(key[0] + (key[n // 2] << 8) + (key[-1] << 16) ^ a, w)
        elif n <= 8:
            f = fold(int.from_bytes(key[:4], "little") + (int.from_bytes(key[-4:], "little") << 32) ^ a, w)
        elif n <= 16:
            f = fold(le(0) ^ a, le(n - 8) ^ w)
        else:
            if n > 32:
                u, v = w, d
                for i in range(0, n - 32, 32):
                    u = fold(le(i) ^ a, le(i + 8) ^ u)
                    v = fold(le(i + 16) ^ c, le(i + 24) ^ v)
                key, n, w = key[-32:], 32, u ^ v
            t = fold(le(0) ^ a, le(8) ^ w)
            f = fold(le(n - 16) ^ c, le(n - 8) ^ d ^ t)
        return (f ^ f >> 32) * P & MASK

    return hash


def siphash13(secret):
    """The keyed hash function with this secret."""
    k0, k1 = struct.unpack("<2Q", secret)

    def rounds(v0, v1, v2, v3, count):
        for _ in range(count):
            v0 = v0 + v1 & MASK
            v1 = (v1 << 13 | v1 >> 51) & MASK ^ v0
            v0 = (v0 << 32 | v0 >> 32) & MASK
            v2 = v2 + v3 & MASK
            v3 = (v3 << 16 | v3 >> 48) & MASK ^ v2
            v0 = v0 + v3 & MASK
            v3 = (v3 << 21 | v3 >> 43) & MASK ^ v0
            v2 = v2 + v1 & MASK
            v1 = (v1 << 17 | v1 >> 47) & MASK ^ v2
            v2 = (v2 << 32 | v2 >> 32) & MASK
        return v0, v1, v2, v3

    def hash(key):
        v = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
        last = len(key) % 8
        padded = key + bytes(7 - last) + bytes([len(key) & 255])
        for (word,) in struct.iter_unpack("<Q", padded):
            v = rounds(v[0], v[1], v[2], v[3] ^ word, 1)
            v = v[0] ^ word, v[1], v[2], v[3]
        v = rounds(v[0], v[1], v[2] ^ 255, v[3], 3)
        return v[0] ^ v[1] ^ v[2] ^ v[3]

    return hash


def lines_test(array, at, blocks, group, lines, probes, h):
    """Whether all bits of a hash are set in the array that begins at an offset."""
    x0, x1 = h, h * P & MASK
    x2 = (x1 ^ x1 >> 32) * Q & MASK
    first = (x1 * blocks >> 64) * group
    part, a, b, x = group // lines, x0, x1, x2
    for i in range(lines):
        line = at + 64 * (first + i * part + (x2 >> 58 - 6 * i) % part)
        if i:
            a, b = x, (x ^ x >> 32) * P & MASK
            x = b
        fields = (a << 32 | a >> 32) & MASK ^ b
        for lane in range(b >> 5 & 7, (b >> 5 & 7) + probes):
            byte = fields >> 8 * (lane & 7) & 255
            bit = 31 - (byte & 31)
            word = (lane & 7) + (8 if byte & 128 else 0)
            if not array[line + 4 * word + (bit >> 3)] >> (bit & 7) & 1:
                return False
    return True


class Lines:
    """A fast filter: all bits of a key are in one to four lines."""

    def __init__(self, reader):
        head = reader.head
        self.array, (self.at, length) = reader.data, reader.section(BITS)
        self.lines, self.group, self.probes = head[2:5]
        (self.blocks,) = struct.unpack_from("<Q", head, 8)
        require(self.lines in (1, 2, 4), f"lines per key: {self.lines}")
        group = self.group
        require(group == 1 if self.lines == 1 else self.lines <= group <= 64 and group & group - 1 == 0, f"lines in a block: {group}")
        require(1 <= self.probes <= 8, f"probes: {self.probes}")
        require(self.blocks >= 1 and length == self.blocks * group * 64, "the array has another length than its blocks")

    def test(self, h):
        return lines_test(self.array, self.at, self.blocks, self.group, self.lines, self.probes, h)


# For each width of a column: the part and the slot's first number and size, for bytes of t in order.
CHOSEN = {
    1: [(0, 16 * i, 16) for i in range(4)] + [(0, 0, 64)] * 2,
    2: [(i // 3, 0, 64) for i in range(6)],
    4: [(i // 2, 0, 64) for i in range(8)],
    8: [(i, 0, 64) for i in range(8)],
}


class Compact:
    """A compact filter: layers of lines, each a system of linear equations, and a list."""

    def __init__(self, reader):
        head, (at, length) = reader.head, reader.section(BITS)
        self.array, self.width, self.further = reader.data, head[2], head[3]
        require(self.width in CHOSEN and head[4] == 0, f"columns of {self.width} parts")
        require(8 // self.width + self.further + 1 <= 65, f"{self.further} further columns")
        (lines_in_all,) = struct.unpack_from("<Q", head, 8)
        require(length == lines_in_all * 64, "the array has another length than its lines")
        section = reader.bytes(COMPACT)
        require(8 <= len(section) <= 8 + 20 * 16 and len(section) % 16 == 8, "the compact section has another length")
        (listed,) = struct.unpack_from("<Q", section)
        self.layers, end = [], at + length
        for lines, split in struct.iter_unpack("<2Q", section[8:]):
            require(1 <= lines < 1 << 32 and split <= 256 * lines, "a layer has impossible numbers")
            short = split >> 8  # lines with one column less
            require(8 + (self.further + (short < lines)) * self.width <= 64, f"{self.further} further columns of {self.width} parts")
            self.layers.append((at, lines, split))
            at += lines * 64 + (lines * (self.further + 1) - short) * self.width * 8
            at += -at % 64
        require(at + listed * 8 + -listed * 8 % 64 == end, "the layers and the list have another length than the array")
        self.listed = (at, listed)

    def test(self, h):
        t = (h ^ h >> 32) * Q & MASK
        u = (t ^ t >> 29) * R & MASK
        z = h
        for number, (at, lines, split) in enumerate(self.layers):
            if number:
                z = (t ^ t >> 32) * P & MASK if number == 1 else (z ^ z >> 32) * Q & MASK
            x = z * lines >> 32
            line, priority = x >> 32, min(x >> 24 & 255, 254)
            if priority < self.array[at + 64 * line + 63]:
                return self.agrees(at, lines, split, x, t, u & ~255 | x >> 16 & 255)
        return contains_sorted(self.array, *self.listed, h)

    def agrees(self, at, lines, split, x, t, fingerprint):
        """Whether the sum of the chosen slots is the fingerprint in every column."""
        array, width, line = self.array, self.width, x >> 32
        chosen = [(part, base + (t >> 8 * i & 255) % size) for i, (part, base, size) in enumerate(CHOSEN[width])]
        sums = [0] * width
        for part, slot in chosen:
            sums[part] ^= array[at + 64 * line + slot]
        for first in range(0, 8, width):
            if sum(sums[part] >> first + part for part in range(width)) & 1 != fingerprint >> first & 1:
                return False
        columns = self.further + (x >> 24 >= split)
        short = min(line, split >> 8)
        column = at + 64 * lines + (line * (self.further + 1) - short) * width * 8
        for further in range(columns):
            words = struct.unpack_from(f"<{width}Q", array, column + further * width * 8)
            if sum(words[part] >> slot for part, slot in chosen) & 1 != fingerprint >> 8 + further * width & 1:
                return False
        return True


def contains_sorted(array, at, count, number):
    """Whether a number of eight bytes is in an ascending list."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        (found,) = struct.unpack_from("<Q", array, at + 8 * middle)
        if found == number:
            return True
        low, high = (middle + 1, high) if found < number else (low, middle)
    return False


class Dynamic:
    """A dynamic filter: the fingerprints of its keys, in lines, overflow lines and a list."""

    def __init__(self, reader):
        head, section = reader.head, reader.bytes(DYNAMIC)
        self.array, (self.at, length) = reader.data, reader.section(BITS)
        self.bits, mode = head[2], head[3]
        require(mode <= 3 and head[4] == 0, f"mode {mode}")
        (self.lines,) = struct.unpack_from("<Q", head, 8)
        require(len(section) >= 16, "the dynamic section is too short")
        self.items, counts = struct.unpack_from("<2Q", section)
        self.tag_bits = (0, 2, 0, 0)[mode]
        if mode < 2:
            require(len(section) == 16, "the dynamic section has another length")
        else:
            require(len(section) >= 32, "the dynamic section is too short")
            (generations,) = struct.unpack_from("<I", section, 24)
            require(1 <= generations <= 200 and len(section) == 48 + 8 * (generations + 1), f"{generations} generations")
            self.tag_bits = (generations + 2 + generations // 4 - 1).bit_length()
        require(self.bits >= 10 and self.bits + self.tag_bits <= 62, f"fingerprints of {self.bits} bits")
        require(self.lines >= 16 and self.lines % 16 == 0 and self.lines <= 1 << self.bits, f"{self.lines} lines")
        require(length == (self.lines + self.lines // 16) * 64 + 8 * self.items + 16 * counts, "the array has another length")
        self.shapes = [self.shape(self.lines), self.shape(self.lines // 16)]

    def shape(self, lines):
        """Remainder bits, slots and quotients of each of so many lines."""
        range_ = -(-(1 << self.bits) // lines)
        best = (0, 0, 0)
        for r in range(1, 57 - self.tag_bits):
            quotients, w = (range_ - 1 >> r) + 1, r + self.tag_bits
            if quotients > 64:
                continue
            slots = next((s for s in range(62, 0, -1) if s * w + quotients <= (512 - s) // 8 * 8 and (s - 1) * w <= 455), 0)
            if slots > best[1]:
                best = (r, slots, quotients)
        require(best[1] > 0, f"{lines} lines have no slots")
        return best

    def test(self, h):
        fingerprint = h >> 64 - self.bits
        at = self.at
        for lines, shape in zip((self.lines, self.lines // 16), self.shapes):
            line = fingerprint * lines >> self.bits
            number = fingerprint - -(-(line << self.bits) // lines)
            found, is_full = self.line_test(at + 64 * line, number, *shape)
            if found or not is_full:
                return found
            at += 64 * lines
        low, high = 0, self.items
        while low < high:
            middle = (low + high) // 2
            value = struct.unpack_from("<Q", self.array, at + 8 * middle)[0] >> self.tag_bits
            if value == fingerprint:
                return True
            low, high = (middle + 1, high) if value < fingerprint else (low, middle)
        return False

    def line_test(self, at, number, r, slots, quotients):
        """Whether a line has the number, and whether all its slots are used."""
        line = int.from_bytes(self.array[at:at + 64], "little")
        width, end = r + self.tag_bits, (512 - slots) // 8 * 8
        starts = line >> 512 - slots << 1 | 1  # bit i: slot i is the first of its quotient, or the end
        occupied = line >> end - quotients & (1 << quotients) - 1
        is_full = bool(starts >> slots & 1)
        quotient, remainder = number >> r, number & (1 << r) - 1
        if not occupied >> quotient & 1:
            return False, is_full
        rank = bin(occupied & (1 << quotient) - 1).count("1")
        for _ in range(rank):
            starts &= starts - 1
        slot = (starts & -starts).bit_length() - 1
        starts &= starts - 1
        require(starts, "a line of fingerprints contradicts itself")
        for slot in range(slot, (starts & -starts).bit_length() - 1):
            if line >> slot * width + self.tag_bits & (1 << r) - 1 == remainder:
                return True, is_full
        return False, is_full


class Reader:
    """The front of a file: checked, and cut into sections."""

    def __init__(self, data, check):
        self.data = data
        require(len(data) >= 64 and data[:8] == MAGIC, "not a native filter")
        crc, version, count, front, chunk, length, required = struct.unpack_from("<IHHIIQQ", data, 8)
        require(version == 1, f"version {version}")
        require(count <= 64, f"{count} sections")
        require(front % 64 == 0 and 64 + 32 * count <= front <= len(data), f"a front of {front} bytes")
        require(crc32c(data[12:front]) == crc, "the front is damaged")
        require(chunk >= 64 and chunk & chunk - 1 == 0, f"chunks of {chunk} bytes")
        require(length == len(data), f"{len(data)} of {length} bytes")
        require(required == 0, "a required feature is unknown")
        self.sections, end = {}, 64 + 32 * count
        for at in range(64, 64 + 32 * count, 32):
            kind, flags, offset, size = struct.unpack_from("<IIQQ", data, at)
            require(end <= offset <= length and size <= length - offset, f"section {kind} is not in the file")
            end = offset + size
            known = kind in (FILTER, BITS, LABEL, CHECKSUMS, SECRET, EXCEPTIONS, EXCEPTION_DATA, COMPACT, DYNAMIC, KEY_FIELD)
            require(known or not flags & 1 and not 6 <= kind <= 10, f"section {kind} is unknown")
            require(not known or (offset >= front and offset % 64 == 0 if kind in IN_DATA else end <= front), f"section {kind} is in another place")
            require(kind not in self.sections, f"section {kind} is there twice")
            self.sections[kind] = (offset, size)
        sums = self.bytes(CHECKSUMS)
        require(len(sums) == -(-(length - front) // chunk) * 4, "the checksums have another length")
        if check:
            for number, (crc,) in enumerate(struct.iter_unpack("<I", sums)):
                at = front + number * chunk
                require(crc32c(data[at:at + chunk]) == crc, f"the data are damaged from byte {at} on")
        self.head = self.bytes(FILTER)
        require(len(self.head) == 64, "the filter section has another length")

    def section(self, kind):
        require(kind in self.sections, f"section {kind} is missing")
        return self.sections[kind]

    def bytes(self, kind):
        at, size = self.section(kind)
        return self.data[at:at + size]


class Filter:
    """A native filter. `secret` has the 16 bytes of a keyed filter that does not store them."""

    def __init__(self, data, secret=None, check=True):
        reader = Reader(bytes(data), check)
        head, sections = reader.head, reader.sections
        layout, hash_kind, flags, self.key_type, self.hash_bits = head[0], head[1], head[5], head[6], head[7]
        require(layout in (2, 3, 4), f"layout {layout}")
        require(hash_kind in (1, 2), f"hash {hash_kind}")
        require(not flags & ~6, f"flags {flags}")
        require(self.key_type <= 4, f"key type {self.key_type}")
        require(layout == 4 or self.hash_bits == 0 or 10 <= self.hash_bits <= 63, f"{self.hash_bits} bits of the hash")
        require((COMPACT in sections) == (layout == 3) and (DYNAMIC in sections) == (layout == 4), "sections of another kind of filter")
        if layout == 4:
            self.hash_bits = 0
        self.lower, self.trim = bool(flags & 2), bool(flags & 4)
        self.label = reader.bytes(LABEL).decode("utf-8", "replace") if LABEL in sections else ""
        self.kind = {2: "fast", 3: "compact", 4: "dynamic"}[layout]
        (seed,) = struct.unpack_from("<Q", head, 16)
        if hash_kind == 1:
            self.hash = fold64(seed)
        else:
            stored = reader.bytes(SECRET) if SECRET in sections else None
            require(stored is None or len(stored) == 16, "the secret has another length")
            self.hash = self.unlocked(stored if secret is None else secret, seed)
        self.inner = {2: Lines, 3: Compact, 4: Dynamic}[layout](reader)
        self.levels = self.exceptions(reader) if EXCEPTIONS in sections or EXCEPTION_DATA in sections else None
        require(self.levels is None or layout != 4, "a dynamic filter with exceptions")

    @classmethod
    def open(cls, path, secret=None):
        """Reads and checks a whole file."""
        if os.path.exists(f"{path}.journal"):
            raise FormatError(f"{path}.journal has keys that this reader does not read: save the filter first")
        with open(path, "rb") as file:
            return cls(file.read(), secret)

    @staticmethod
    def unlocked(secret, check_value):
        if secret is None or len(secret) != 16:
            raise LockedError("the filter is keyed: its secret of 16 bytes is needed")
        hash = siphash13(secret)
        derived = struct.pack("<2Q", hash(b"\1\0"), hash(b"\1\1"))
        if siphash13(derived)(b"fullbloom native: is this the secret?") != check_value:
            raise LockedError("this is not the secret of the filter")
        return hash

    def exceptions(self, reader):
        section, (at, length) = reader.bytes(EXCEPTIONS), reader.section(EXCEPTION_DATA)
        require(len(section) >= 16, "the exceptions section is too short")
        count, listed = struct.unpack_from("<2Q", section)
        require(count <= 64 and len(section) == 16 + 16 * count, f"{count} levels of exceptions")
        end, levels = at + length, []
        for blocks, probes in struct.iter_unpack("<2Q", section[16:]):
            require(1 <= blocks <= (end - at) // 64 and 1 <= probes <= 8, "a level of exceptions has impossible numbers")
            levels.append((at, blocks, probes))
            at += 64 * blocks
        require(end - at == 8 * listed, "the exceptions have another length")
        self.listed = (at, listed)
        return levels

    def is_exception(self, h):
        """Whether a key whose bits are all set is a known-good one."""
        data = self.inner.array
        for number, (at, blocks, probes) in enumerate(self.levels):
            x = h + (number + 1) * P & MASK
            x = (x ^ x >> 32) * Q & MASK
            x = (x ^ x >> 29) * R & MASK
            if not lines_test(data, at, blocks, 1, 1, probes, x ^ x >> 32):
                return number % 2 == 1
        count = len(self.levels)
        return (count + (not contains_sorted(data, *self.listed, h))) % 2 == 0

    def key_bytes(self, key):
        """The bytes of a text, an integer or bytes, if keys of this type can be in the filter."""
        is_number = isinstance(key, int) and not isinstance(key, bool)
        if self.key_type and is_number != (self.key_type > 2):
            raise TypeError(f"the keys of the filter are {'integers' if self.key_type > 2 else 'text or bytes'}")
        if is_number:
            wide = not -(1 << 63) <= key < 1 << 64
            return (key & (1 << 128 if wide else 1 << 64) - 1).to_bytes(16 if wide else 8, "little")
        key = key.encode() if isinstance(key, str) else bytes(key)
        if self.trim:
            key = key.strip(b"\t\n\x0c\r ")
        if self.lower:
            try:
                key = key.decode().lower().encode()
            except UnicodeDecodeError:
                key = key.lower()
        return key

    def may_contain(self, key):
        """Whether the filter may contain a key: text, bytes or an integer. False is certain."""
        h = self.hash(self.key_bytes(key))
        if self.hash_bits:
            h = h >> 64 - self.hash_bits << 64 - self.hash_bits
            for _ in range(2):
                h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & MASK
            h ^= h >> 32
        return self.inner.test(h) and not (self.levels is not None and self.is_exception(h))

    __contains__ = may_contain
