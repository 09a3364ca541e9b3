"""A Parquet file whose filters are replaced: the file's data stay, filters are appended, and the footer is written anew."""

import struct

import splitblock
import thrift

OFFSET, LENGTH = 14, 15  # fields of ColumnMetaData


def header(byte_len, algorithm=1, hash=1, compression=1):
    """The header of a filter as a struct. An id of 2 is an algorithm, hash or compression that nobody knows."""
    union = lambda id: thrift.Struct([thrift.Field(id, thrift.STRUCT, thrift.Struct())])
    return thrift.Struct(
        [
            thrift.Field(1, thrift.I32, byte_len),
            thrift.Field(2, thrift.STRUCT, union(algorithm)),
            thrift.Field(3, thrift.STRUCT, union(hash)),
            thrift.Field(4, thrift.STRUCT, union(compression)),
        ]
    )


def filter_bytes(keys, blocks):
    """A sound filter: header and blocks."""
    bitset = splitblock.build(keys, blocks)
    return thrift.encode(header(len(bitset))) + bitset


class ParquetFile:
    """The bytes of a file up to its footer, and its footer."""

    def __init__(self, data):
        footer_len = int.from_bytes(data[-8:-4], "little")
        self.body = bytearray(data[: -8 - footer_len])
        self.footer = thrift.Reader(data[-8 - footer_len : -8]).struct()
        assert thrift.encode(self.footer) == data[-8 - footer_len : -8]

    def chunk(self, row_group, column):
        """The metadata of a column chunk; the column is given by its path."""
        for chunk in self.footer.get(4)[1][row_group].get(1)[1]:
            metadata = chunk.get(3)
            if ".".join(part.decode() for part in metadata.get(3)[1]) == column:
                return metadata
        raise KeyError(column)

    def row_groups(self):
        return len(self.footer.get(4)[1])

    def append(self, data):
        """Appends bytes before the footer, and returns their offset."""
        self.body += data
        return len(self.body) - len(data)

    def set_filter(self, row_group, column, offset, length):
        """Points a chunk to a filter. None removes a field."""
        metadata = self.chunk(row_group, column)
        for field, type, value in ((OFFSET, thrift.I64, offset), (LENGTH, thrift.I32, length)):
            metadata.remove(field)
            if value is not None:
                metadata.set(field, type, value)

    def bytes(self):
        footer = thrift.encode(self.footer)
        return bytes(self.body) + footer + struct.pack("<I", len(footer)) + b"PAR1"
