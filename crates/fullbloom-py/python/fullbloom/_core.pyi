from collections.abc import Iterable, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, TypedDict, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, Self

__all__ = [
    "DIALECTS",
    "BooleanArray",
    "Compacting",
    "Filter",
    "FormatError",
    "Partial",
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

_Key = str | bytes | bytearray | int | np.integer[Any]
_KeyType = Literal["int", "long"]
_Path = str | PathLike[str]

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = ..., /) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = ..., /) -> object: ...

_Keys = npt.NDArray[Any] | _ArrowArray | _ArrowStream | Iterable[_Key | None]

class _Plan(TypedDict):
    dialect: str
    bits: int | None
    bytes: int | None
    bits_per_key: float | None
    probes: int | None
    expected_fpr: float | None
    note: str | None

class FormatError(ValueError): ...

@final
class BooleanArray:
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> bool: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def to_numpy(self) -> npt.NDArray[np.bool_]: ...

@final
class Filter:
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
    ) -> Filter: ...
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
    ) -> Filter: ...
    @staticmethod
    def load(
        path: _Path,
        dialect: str | None = None,
        *,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter: ...
    @staticmethod
    def open(
        path: _Path,
        dialect: str | None = None,
        *,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter: ...
    @staticmethod
    def from_bytes(
        data: Buffer,
        dialect: str | None = None,
        bits: int | None = None,
        probes: int | None = None,
        secret: bytes | None = None,
        key_type: _KeyType | None = None,
    ) -> Filter: ...
    @property
    def dialect(self) -> str: ...
    @property
    def kind(self) -> Literal["fast", "compact", "dynamic"] | None: ...
    @property
    def key_type(self) -> _KeyType: ...
    @property
    def bits(self) -> int: ...
    @property
    def probes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def fill(self) -> float: ...
    @property
    def expected_fpr(self) -> float: ...
    @property
    def estimated_keys(self) -> float | None: ...
    @property
    def expected_keys(self) -> int | None: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def is_keyed(self) -> bool: ...
    @property
    def is_locked(self) -> bool: ...
    @property
    def takes_keys(self) -> bool: ...
    @property
    def label(self) -> str: ...
    @label.setter
    def label(self, label: str) -> None: ...
    def add(self, key: _Key) -> bool: ...
    def update(self, keys: _Keys, *, threads: int = 1) -> None: ...
    @overload
    def remove(self, keys: _Key) -> bool: ...
    @overload
    def remove(self, keys: _Keys) -> int: ...
    def advance(self, now: float | None = None) -> None: ...
    @overload
    def may_contain(self, keys: _Key) -> bool: ...
    @overload
    def may_contain(self, keys: npt.NDArray[Any] | list[Any] | tuple[Any, ...]) -> npt.NDArray[np.bool_]: ...
    @overload
    def may_contain(self, keys: _Keys) -> Any: ...
    def clear(self) -> None: ...
    def folded(self) -> Filter: ...
    def verify(self) -> None: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def copy(self) -> Filter: ...
    def close(self) -> None: ...
    def __contains__(self, key: _Key, /) -> bool: ...
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
) -> list[_Plan]: ...
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
) -> dict[str, Any]: ...
def verify(
    path: _Path | Sequence[_Path],
    dialect: str | None = None,
    *,
    bits: int | None = None,
    probes: int | None = None,
    absent: int = 100_000,
    snapshots: bool = False,
) -> dict[str, Any]: ...
def plan_from(
    path: _Path,
    fpr: float | None = None,
    *,
    bits_per_key: float | None = None,
    memory: int | None = None,
    snapshots: bool = False,
) -> dict[str, Any]: ...
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
) -> dict[str, Any]: ...
def keys(path: _Path, *, column: str | None = None, snapshots: bool = False) -> list[bytes]: ...
def kernels() -> list[str]: ...

# Used by fullbloom.spark only.
@final
class Slicing:
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
    def count(self) -> int: ...
    @property
    def byte_len(self) -> int: ...
    def with_slices_of(self, slice_bytes: int) -> Slicing: ...
    def slice(self, number: int) -> Slice: ...
    def scatter(self) -> Scatter: ...
    def partial(self) -> Partial: ...
    def front(self, facts: list[tuple[int, bytes]]) -> bytes: ...

@final
class Slice:
    @property
    def keys(self) -> int: ...
    @property
    def byte_len(self) -> int: ...
    def insert_hashes(self, hashes: bytes) -> None: ...
    def sums(self) -> bytes: ...
    def bits(self) -> bytes: ...

@final
class Scatter:
    @property
    def waiting(self) -> int: ...
    def update(self, keys: _Keys) -> None: ...
    def take(self) -> list[tuple[int, bytes]]: ...

@final
class Partial:
    def update(self, keys: _Keys) -> bytes: ...
    def insert_hashes(self, hashes: bytes) -> bytes: ...
    def to_bytes(self) -> bytes: ...

@final
class Compacting:
    def __new__(cls, fpr: float | None = None, seed: int = 0, key_type: str | None = None, threads: int = 1) -> Self: ...
    def insert_hashes(self, hashes: bytes) -> None: ...
    def finish(self) -> Filter: ...
