"""Thrift's compact protocol without a schema: a struct becomes a list of fields, and is written back with the same bytes.

Footers and filter headers of Parquet are changed in this form: a field can be set, removed, or given an id that no
reader knows.
"""

import dataclasses

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


@dataclasses.dataclass
class Field:
    """One field of a struct. The value of a list is a pair of the type of its elements and the elements."""

    id: int
    type: int
    value: object


class Struct(list):
    """The fields of a struct, in the order of the bytes."""

    def get(self, id):
        """The value of a field, or None."""
        return next((field.value for field in self if field.id == id), None)

    def set(self, id, type, value):
        """Sets a field, which is inserted in the order of the ids."""
        self.remove(id)
        self.append(Field(id, type, value))
        self.sort(key=lambda field: field.id)

    def remove(self, id):
        """Removes a field if it is there."""
        self[:] = [field for field in self if field.id != id]


def varint(number):
    """A non-negative number in groups of seven bits, the lowest first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    """A signed number as a varint: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


class Reader:
    """Decodes values from bytes."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def zigzag(self):
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def value(self, type):
        if type in (I16, I32, I64):
            return self.zigzag()
        if type == BYTE:
            return self.take(1)[0]
        if type == DOUBLE:
            return self.take(8)
        if type == BINARY:
            return self.take(self.varint())
        if type in (LIST, SET):
            head = self.take(1)[0]
            count, element = head >> 4, head & 15
            if count == 15:
                count = self.varint()
            # A bool in a list is a byte of its own.
            return element, [self.take(1)[0] if element in (TRUE, FALSE) else self.value(element) for _ in range(count)]
        if type == STRUCT:
            return self.struct()
        raise ValueError(f"type {type} does not occur in the files of this corpus")

    def struct(self):
        fields, last = Struct(), 0
        while head := self.take(1)[0]:
            delta, type = head >> 4, head & 15
            last = last + delta if delta else self.zigzag()
            fields.append(Field(last, type, None if type in (TRUE, FALSE) else self.value(type)))
        return fields


def encode(fields):
    """The bytes of a struct."""
    out, last = bytearray(), 0
    for field in fields:
        delta = field.id - last
        out += bytes([delta << 4 | field.type]) if 0 < delta < 16 else bytes([field.type]) + zigzag(field.id)
        last = field.id
        if field.type not in (TRUE, FALSE):
            out += encode_value(field.type, field.value)
    return bytes(out) + b"\0"


def encode_value(type, value):
    if type in (I16, I32, I64):
        return zigzag(value)
    if type == BYTE:
        return bytes([value])
    if type == DOUBLE:
        return value
    if type == BINARY:
        return varint(len(value)) + value
    if type in (LIST, SET):
        element, values = value
        head = bytes([len(values) << 4 | element]) if len(values) < 15 else bytes([0xF0 | element]) + varint(len(values))
        return head + b"".join(bytes([v]) if element in (TRUE, FALSE) else encode_value(element, v) for v in values)
    return encode(value)
