"""The ``ObjectStore`` port in memory."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

from scp_ray.errors import ObjectNotFoundError, PreconditionFailedError, StorageError
from scp_ray.protocols import StoredObject


class MemoryObjectStore:
    """Objects in a dictionary of this process, safe for its threads.

    A version is the SHA-256 of the bytes, the least that a store may promise: writing the same
    bytes again does not change it.

    Attributes:
        url: ``memory://``; nothing can be opened there.
    """

    def __init__(self) -> None:
        self.url = "memory://"
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        checked = _checked_key(key)
        with self._lock:
            data = self._objects.get(checked)
        if data is None:
            message = f"no object {key!r}"
            raise ObjectNotFoundError(message)
        return data

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """Return bytes and version of one state of an object."""
        data = self.read(key)
        return data, _version(data)

    def write(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        checked = _checked_key(key)
        with self._lock:
            self._objects[checked] = bytes(data)

    def upload(self, path: Path, key: str) -> None:
        """Create or replace an object from a local file."""
        self.write(key, path.read_bytes())

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Write only if the object has this version (None: does not exist)."""
        checked = _checked_key(key)
        with self._lock:
            current = self._objects.get(checked)
            if (None if current is None else _version(current)) != expected:
                message = f"{key}: changed by somebody else since it was read"
                raise PreconditionFailedError(message)
            self._objects[checked] = bytes(data)
        return _version(data)

    def local_path(self, key: str) -> Path | None:
        """Return None: every object must be downloaded."""
        self.read(key)
        return None

    def download(self, key: str, path: Path) -> None:
        """Write the object's bytes to a local file."""
        path.write_bytes(self.read(key))

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, ordered by key, as they are now."""
        with self._lock:
            found = [item for item in sorted(self._objects.items()) if item[0].startswith(prefix)]
        for key, data in found:
            yield StoredObject(key, len(data), _version(data))

    def delete(self, key: str) -> None:
        """Remove an object; no error if there is none."""
        checked = _checked_key(key)
        with self._lock:
            self._objects.pop(checked, None)


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checked_key(key: str) -> str:
    parts = key.split("/")
    if "\\" in key or "\0" in key or any(part in {"", ".", ".."} for part in parts):
        message = f"unsafe object key {key!r}"
        raise StorageError(message)
    return key
