"""An object store that lets a test act before and after each call: to count, to wait, to kill."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scp_ray.protocols import ObjectStore, StoredObject

_Answer = TypeVar("_Answer")

WRITING = frozenset({"write", "upload", "compare_and_swap", "delete"})


@dataclass(frozen=True, slots=True)
class StoreCall:
    """One call of a store.

    Attributes:
        number: From 1, in the order in which the calls of all stores of one watch began.
        operation: Name of the port's method.
        key: The key, or the prefix of a listing.
    """

    number: int
    operation: str
    key: str

    @property
    def is_writing(self) -> bool:
        """Whether the call can change the store."""
        return self.operation in WRITING


class StoreWatch:
    """What is told of calls; a subclass acts on them. Stores and threads may share one.

    What a hook raises takes the place of the call's answer.

    Attributes:
        num_calls: Calls that began.
    """

    def __init__(self) -> None:
        self.num_calls = 0
        self._numbers = itertools.count(1)

    def begin(self, operation: str, key: str) -> StoreCall:
        """Number a call."""
        call = StoreCall(next(self._numbers), operation, key)
        self.num_calls = max(self.num_calls, call.number)
        return call

    def before(self, call: StoreCall) -> None:
        """Act before the store sees a call."""

    def after(self, call: StoreCall) -> None:
        """Act when a call has had its effect and the caller does not have the answer yet.

        A call that the store refused has no effect, and is not told.
        """


class InterceptedStore:
    """An ``ObjectStore`` around another one, whose calls a watch sees.

    A listing is one call: it is taken as a whole when its first object is asked for.

    Attributes:
        url: That of the other store.
    """

    def __init__(self, store: ObjectStore, watch: StoreWatch) -> None:
        self.url = store.url
        self._store = store
        self._watch = watch

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        return self._call("read", key, lambda: self._store.read(key))

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """Return bytes and version of one state of an object."""
        return self._call("read_versioned", key, lambda: self._store.read_versioned(key))

    def write(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        self._call("write", key, lambda: self._store.write(key, data))

    def upload(self, path: Path, key: str) -> None:
        """Create or replace an object from a local file."""
        self._call("upload", key, lambda: self._store.upload(path, key))

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Write only if the object has this version (None: does not exist)."""
        return self._call(
            "compare_and_swap",
            key,
            lambda: self._store.compare_and_swap(key, data, expected=expected),
        )

    def local_path(self, key: str) -> Path | None:
        """Return what the other store says."""
        return self._call("local_path", key, lambda: self._store.local_path(key))

    def download(self, key: str, path: Path) -> None:
        """Write the object's bytes to a local file."""
        self._call("download", key, lambda: self._store.download(key, path))

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, ordered by key."""
        yield from self._call("list", prefix, lambda: tuple(self._store.list(prefix)))

    def delete(self, key: str) -> None:
        """Remove an object; no error if there is none."""
        self._call("delete", key, lambda: self._store.delete(key))

    def _call(self, operation: str, key: str, act: Callable[[], _Answer]) -> _Answer:
        call = self._watch.begin(operation, key)
        self._watch.before(call)
        answer = act()
        self._watch.after(call)
        return answer
