from collections.abc import Generator, Iterable, Sequence, Set
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, TypedDict, final, overload
from uuid import UUID

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, Self

__all__ = [
    "DIALECTS",
    "BooleanArray",
    "Compacting",
    "Filter",
    "FormatError",
    "Scatter",
    "Slice",
    "Slicing",
    "__version__",
    "inspect",
    "kernels",
    "keys",
    "plan",
    "plan_from",
    "rebuild",
    "verify",
]

__version__: str
DIALECTS: tuple[str, ...]

_Key = str | bytes | bytearray | int | np.integer[Any] | UUID
_KeyType = Literal["int", "long"]
_Path = str | PathLike[str]

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = ..., /) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = ..., /) -> object: ...

_Keys = npt.NDArray[Any] | _ArrowArray | _ArrowStream | Iterable[_Key | None]

class _Plan(TypedDict):
    dialect: str
    bits: int
    bytes: int
    bits_per_key: float | None
    probes: int
    expected_fpr: float
    note: str | None

# Of a dialect that may not be able to have such a filter.
class _PlanOfMany(TypedDict):
    dialect: str
    bits: int | None
    bytes: int | None
    bits_per_key: float | None
    probes: int | None
    expected_fpr: float | None
    note: str | None

class _Report(TypedDict):
    version: int
    places: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    summary: dict[str, Any]
    status: Literal[0, 1, 2]

class FormatError(ValueError):
    """The bytes are not a sound filter: damaged, truncated, or of another dialect."""

@final
class BooleanArray:
    """The answers of a filter, as an Arrow array of booleans without nulls.

    Every library with Arrow's PyCapsule interface reads it without a copy: ``pyarrow.array(answers)``,
    ``polars.Series(answers)``.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> bool: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def to_numpy(self) -> npt.NDArray[np.bool_]:
        """The answers as a NumPy array of bools."""

@final
class Filter:
    """A Bloom filter: it answers "is this key in the set?" with a certain no or a probable yes.

    Made by ``build``, ``with_capacity``, ``load``, ``open`` and ``from_bytes``. Keys are ``str`` (their UTF-8
    bytes), ``bytes``, ``int`` and ``uuid.UUID`` (its 16 bytes); many at once are NumPy arrays, Arrow arrays,
    or anything that can be iterated over. ``None`` is a null: it is not added, and is answered no.
    """

    # It always raises; with NoReturn mypy would not see the other methods.
    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    @staticmethod
    def build(
        keys: _Keys,
        fpr: float | None = None,
        *,
        bits_per_key: float | None = None,
        dialect: str = "native",
        expected_keys: int | None = None,
        bits: int | None = None,
        probes: int | None = None,
        seed: int | None = None,
        secret: bytes | None = None,
        store_secret: bool = False,
        label: str | None = None,
        except_keys: _Keys | None = None,
        threads: int = 1,
        key_type: _KeyType | None = None,
        kind: Literal["fast", "compact", "dynamic"] = "fast",
    ) -> Filter:
        """A filter of these keys.

        ``fpr`` is the false-positive rate (1 % by default); ``bits_per_key`` sets the memory instead. The
        filter is sized for the number of keys given, or for ``expected_keys`` if more will come. With
        ``threads`` other than 1, large native filters are built on several cores (0: all), with a buffer of
        up to half the filter's size; so are filters from 512 MiB on with one thread. ``seed`` is that of a
        native or a ``spark-2`` filter. ``key_type`` says whether integers are hashed as 32 bits (``"int"``)
        or 64 (``"long"``), for systems that tell them apart.

        With ``kind="compact"`` the filter is about 30 % smaller and takes no more keys. It is sized by
        ``fpr``, from 2**-64 to 0.5, and repeated keys count once. Eight bytes of each key are kept while it
        is built, in 1 GiB of memory at most; more go to a temporary file. With ``kind="dynamic"`` it grows
        with its keys, now and later.

        The keys of an iterator, whose number is not known, are kept in 8 MiB of memory at most while they are
        counted; more go to a temporary file. With ``expected_keys`` they are not kept at all.
        """
    @staticmethod
    def with_capacity(
        expected_keys: int | None = None,
        fpr: float | None = None,
        *,
        bits_per_key: float | None = None,
        dialect: str = "native",
        bits: int | None = None,
        probes: int | None = None,
        seed: int | None = None,
        secret: bytes | None = None,
        store_secret: bool = False,
        label: str | None = None,
        key_type: _KeyType | None = None,
        kind: Literal["fast", "dynamic"] = "fast",
        up_to: int | None = None,
        deletable: bool = False,
        expire: float | None = None,
    ) -> Filter:
        """An empty filter for ``expected_keys`` keys at the rate ``fpr``, or with ``bits_per_key``.

        With ``kind="dynamic"`` it grows beyond them and keeps its rate up to ``up_to`` keys: unless given, up
        to ``expected_keys``, or a billion if these are not given either. With ``deletable`` keys can be
        removed; with ``expire``, a number of seconds, they expire.
        """
    @staticmethod
    def load(
        path: _Path,
        dialect: str | None = None,
        *,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter:
        """Reads a filter from a file and checks all of it. The file may change or go afterwards.

        The dialect is detected by the file's name and bytes, where that is possible. ``bits`` and ``probes``
        are needed by the dialects that store only bits (``libbloom-1``, ``java-lsm``). ``key_type`` is that
        of ``build``; only native files record it. Keys that are not of the recorded type raise ``TypeError``.
        """
    @staticmethod
    def open(
        path: _Path,
        dialect: str | None = None,
        *,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter:
        """Maps a filter's file: it answers at once, and processes that open the same file share its memory.

        Only the header of a native file is checked; see ``verify``. The file must not be truncated while it is
        mapped, which would end the process; replacing it, as ``save`` does, is safe. A mapped filter takes no
        keys. Other arguments as of ``load``.
        """
    @staticmethod
    def from_bytes(
        data: Buffer,
        dialect: str | None = None,
        *,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter:
        """A filter from its encoded bytes, all of them checked; arguments as of ``load``."""
    @property
    def dialect(self) -> str:
        """The name of its dialect."""
    @property
    def kind(self) -> Literal["fast", "compact", "dynamic"] | None:
        """The kind of a native filter: ``"fast"``, ``"compact"`` or ``"dynamic"``; None for
        other dialects.
        """
    @property
    def key_type(self) -> _KeyType:
        """The type of integer keys: ``"int"``, 32 bits, or ``"long"``, 64."""
    @property
    def bits(self) -> int:
        """Length of the bit array in bits."""
    @property
    def probes(self) -> int:
        """Bits that are tested for each key."""
    @property
    def nbytes(self) -> int:
        """Length of the encoded filter in bytes; an upper bound for ``java-lsm``, which drops zeros at the end."""
    @property
    def fill(self) -> float:
        """Share of bits that are set. Reads the whole array."""
    @property
    def expected_fpr(self) -> float:
        """The expected false-positive rate of the filter as it is now. Reads the whole array."""
    @property
    def estimated_keys(self) -> float | None:
        """The number of distinct keys, estimated from the set bits; None when it cannot be estimated. Reads the
        whole array.
        """
    @property
    def expected_keys(self) -> int | None:
        """The number of keys a native filter was made for; None where that is not known."""
    @property
    def seed(self) -> int | None:
        """The public seed of a native filter's hash; None for other dialects and for keyed filters."""
    @property
    def is_keyed(self) -> bool:
        """Whether a native filter is hashed with a secret."""
    @property
    def is_locked(self) -> bool:
        """Whether the filter is keyed and its secret is not known, so that it cannot answer."""
    @property
    def takes_keys(self) -> bool:
        """Whether keys can be added."""
    @property
    def label(self) -> str:
        """A text that is stored with a native filter; empty for other dialects. Can be set."""
    @label.setter
    def label(self, label: str) -> None: ...
    def add(self, key: _Key | None) -> bool:
        """Adds a key; true if it was surely not there before. None is not added."""
    def update(self, keys: _Keys, *, threads: int = 1) -> None:
        """Adds many keys. Nulls (``None``) are not added. If a key is refused, keys before it may have been
        added.
        """
    @overload
    def remove(self, keys: _Key | None) -> bool:
        """Removes a key, or many, from a filter that supports deletion. One key gives a bool: whether it was
        there. Many give the number of those that were there; nulls (``None``) are left out.

        Remove only keys that were added, each as often as it was added. Removing another key that looks
        present removes the key that has the same fingerprint.
        """
    @overload
    def remove(self, keys: _Keys) -> int: ...
    def advance(self, now: float | None = None) -> None:
        """Sets the clock of a filter that forgets keys by their age: to ``now``, in seconds since 1970, or to
        the current time. Keys that are too old by then are not found any more, and keys added later have this
        age. Other filters stay as they are.
        """
    @overload
    def may_contain(self, keys: _Key | None) -> bool:
        """Whether a key may be present, or which of many may be.

        One key gives a bool. Many give an array of bools, one for each key: an Arrow array for Arrow keys,
        else a NumPy array. Nulls (``None``) are answered no. If the keys of a native filter are all integers,
        or all text and bytes, keys of the other type raise ``TypeError``. The interpreter is free meanwhile,
        and other threads may use the same filter.
        """
    @overload
    def may_contain(
        self, keys: npt.NDArray[Any] | list[Any] | tuple[Any, ...] | range | Set[Any] | Generator[Any, Any, Any]
    ) -> npt.NDArray[np.bool_]: ...
    @overload
    def may_contain(self, keys: _Keys) -> Any: ...
    def clear(self) -> None:
        """Forgets all keys."""
    def folded(self) -> Filter:
        """A copy with half as many blocks: the same keys, half the memory, a higher rate. For fast native
        filters with an even number of blocks.
        """
    def verify(self) -> None:
        """Compares every byte of a mapped native file with its checksums; raises ``FormatError``. Other filters
        were checked when they were read.
        """
    def save(self, path: _Path) -> None:
        """Saves the filter: the file is replaced whole or not at all."""
    def to_bytes(self) -> bytes:
        """The encoded filter: the bytes that ``save`` writes."""
    def copy(self) -> Filter:
        """A copy; it takes keys if filters of its dialect and kind do."""
    def close(self) -> None:
        """Frees the memory or unmaps the file; the filter cannot be used any more."""
    def __contains__(self, key: _Key | None, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __or__(self, other: Filter, /) -> Filter: ...
    def __and__(self, other: Filter, /) -> Filter: ...
    def __ror__(self, other: Filter, /) -> Filter: ...
    def __rand__(self, other: Filter, /) -> Filter: ...
    def __ior__(self, other: Filter, /) -> Self: ...
    def __iand__(self, other: Filter, /) -> Self: ...
    def __copy__(self) -> Filter: ...
    def __deepcopy__(self, memo: object, /) -> Filter: ...
    def __enter__(self) -> Filter: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        exception: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...

@overload
def plan(  # type: ignore[overload-overlap]
    expected_keys: int,
    fpr: float | None = None,
    *,
    bits_per_key: float | None = None,
    memory: int | None = None,
    dialect: Literal["all"],
) -> list[_PlanOfMany]:
    """The size of a filter for ``expected_keys`` keys, by the dialect's own rule: a dict, or for
    ``dialect="all"`` a list of dicts, with ``dialect``, ``bits``, ``bytes``, ``bits_per_key``, ``probes``,
    ``expected_fpr`` and ``note``.

    Give ``fpr``, ``bits_per_key`` or ``memory`` in bytes. In a list, dialects that cannot do it have None in
    these places, and the reason as their note; a single dialect that cannot do it raises ``ValueError``.
    """
@overload
def plan(
    expected_keys: int,
    fpr: float | None = None,
    *,
    bits_per_key: float | None = None,
    memory: int | None = None,
    dialect: str = "native",
) -> _Plan: ...
def inspect(
    path: _Path | Sequence[_Path],
    dialect: str | None = None,
    *,
    bits: int | None = None,
    probes: int | None = None,
    snapshots: bool = False,
) -> _Report:
    """What is in filter files, tables and directories: the dict that ``fullbloom inspect --json`` prints, with
    ``version``, ``places``, ``problems`` and ``summary``, and ``status``. ``path`` is one path or a list.
    """
def verify(
    path: _Path | Sequence[_Path],
    dialect: str | None = None,
    *,
    bits: int | None = None,
    probes: int | None = None,
    absent: int = 100_000,
    snapshots: bool = False,
) -> _Report:
    """Looks up every key of tables, sstables and Parquet columns in their filters, and rebuilds the bytes: the
    dict that ``fullbloom verify --json`` prints. ``absent`` made-up keys measure the rate.
    """
def plan_from(
    path: _Path,
    fpr: float | None = None,
    *,
    bits_per_key: float | None = None,
    memory: int | None = None,
    snapshots: bool = False,
) -> _Report:
    """What other filters would cost the data in a directory: the dict that ``fullbloom plan --from DIR --json``
    prints.
    """
def rebuild(
    path: _Path | Sequence[_Path],
    fpr: float | None = None,
    *,
    bits_per_key: float | None = None,
    same_size: bool = False,
    output: _Path | None = None,
    dry_run: bool = False,
    damaged: bool = False,
    force: bool = False,
    backup: bool = True,
    restore: bool = False,
    snapshots: bool = False,
) -> _Report:
    """Rebuilds the filters of sstables and tables from their keys: the dict that ``fullbloom rebuild --json``
    prints. Without a size the recorded rate is kept. The old files are kept unless ``backup`` is false;
    ``restore`` puts them back. With ``output`` new files go into that directory.
    """
def keys(path: _Path, *, column: str | None = None, snapshots: bool = False) -> list[bytes]:
    """The keys of a table, an sstable, a directory of them, or a column of a Parquet file, as a list of bytes."""
def kernels() -> list[str]:
    """The kernels that this CPU can run, slowest first; the last one is in use."""

# Used by fullbloom.spark only.
@final
class Slicing:
    """The shape of a filter, and how its array is cut into slices. It is the same on every machine, whatever its
    floating-point arithmetic: it is pickled as a number of blocks, not as a rate.
    """

    def __new__(
        cls,
        expected_keys: int,
        fpr: float | None = None,
        bits_per_key: float | None = None,
        seed: int = 0,
        slice_bytes: int = ...,
        key_type: str | None = None,
    ) -> Self: ...
    @property
    def count(self) -> int:
        """How many slices there are."""
    @property
    def byte_len(self) -> int:
        """Bytes of all slices together."""
    def with_slices_of(self, slice_bytes: int) -> Slicing:
        """The same, cut into slices of another size."""
    def slice(self, number: int) -> Slice:
        """One slice, empty."""
    def scatter(self) -> Scatter:
        """Hashes the keys of one machine, to be sent to the machines that have the slices."""
    def header(self, facts: list[tuple[int, bytes]]) -> bytes:
        """The beginning of the file, from the facts of each slice in order; the bits of the slices follow."""

@final
class Slice:
    """One slice of the array."""

    @property
    def byte_len(self) -> int:
        """Bytes of its bits."""
    def insert_hashes(self, hashes: bytes) -> None:
        """Adds the keys of these hashes."""
    def facts(self) -> tuple[int, bytes]:
        """What the beginning of the file says of it: how many bits are set, and their checksums."""
    def bits(self) -> bytes:
        """Its bits, as they are in the file."""

@final
class Scatter:
    """Keys of one machine, hashed and sorted by slice."""

    @property
    def waiting(self) -> int:
        """Hashes that wait to be taken."""
    def update(self, keys: _Keys) -> None:
        """Adds many keys. Nulls are not added."""
    def take(self) -> list[tuple[int, bytes]]:
        """``(slice, hashes)`` of every slice for which some wait."""

@final
class Compacting:
    """A compact filter, from the hashes of its keys on all machines, in any order."""

    def __new__(cls, fpr: float | None = None, seed: int = 0, key_type: str | None = None, threads: int = 1) -> Self: ...
    def insert_hashes(self, hashes: bytes) -> None:
        """Adds the keys of these hashes."""
    def finish(self) -> Filter:
        """The filter of all of them; once."""
