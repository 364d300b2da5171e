"""An object store in a local folder: atomic by rename, durable by fsync, swapped under flock."""

import errno
import fcntl
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from scp_ray.errors import ObjectNotFoundError, PreconditionFailedError, StorageError
from scp_ray.protocols import StoredObject
from scp_ray.storage.keys import checked_key

_LOCK_FILE = ".lock"
_TEMPORARY_PREFIX = ".tmp-"


class LocalObjectStore:
    """Objects as files below a root folder.

    Names that begin with ``.`` are the store's own and are never listed. Several processes may
    use one root; ``compare_and_swap`` holds an advisory lock, because a rename cannot be
    conditional.

    Attributes:
        url: The root's absolute path.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self.url = str(self._root)

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        with _typed_errors(key):
            return self._path(key).read_bytes()

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """Return bytes and version (their SHA-256) of one state of an object."""
        data = self.read(key)
        return data, hashlib.sha256(data).hexdigest()

    def write(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        self._replace(key, lambda file: file.write(data))

    def upload(self, path: Path, key: str) -> None:
        """Create or replace an object from a local file."""
        with _typed_errors(key), path.open("rb") as source:
            self._replace(key, lambda file: shutil.copyfileobj(source, file))

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Write only if the object has this version (None: does not exist)."""
        with self._locked():
            try:
                current: str | None = self.read_versioned(key)[1]
            except ObjectNotFoundError:
                current = None
            if current != expected:
                message = (
                    f"{self.url}/{key}: changed by somebody else since it was read; run it again"
                )
                raise PreconditionFailedError(message)
            self.write(key, data)
        return hashlib.sha256(data).hexdigest()

    def local_path(self, key: str) -> Path | None:
        """Return the object's own file."""
        path = self._path(key)
        with _typed_errors(key):
            is_file = path.is_file()
        if not is_file:
            raise _not_found(key)
        return path

    def download(self, key: str, path: Path) -> None:
        """Copy the object to a local file."""
        with _typed_errors(key):
            shutil.copyfile(self._path(key), path)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, ordered by key."""
        start = self._root / prefix.rpartition("/")[0]
        found: list[StoredObject] = []
        for folder, folders, files in os.walk(start, onerror=_raise_unreadable):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                path = Path(folder, name)
                key = path.relative_to(self._root).as_posix()
                if key.startswith(prefix) and not name.startswith("."):
                    found.extend(_stat(path, key))
        yield from sorted(found, key=lambda stored: stored.key)

    def delete(self, key: str) -> None:
        """Remove an object, and the folders that this leaves empty."""
        path = self._path(key)
        with _typed_errors(key):
            path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self._root or not _removed_if_empty(folder):
                break

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key)

    def _replace(self, key: str, fill: Callable[[IO[bytes]], object]) -> None:
        path = self._path(key)
        with _typed_errors(key):
            _make_folders(path.parent)
            temporary = path.parent / f"{_TEMPORARY_PREFIX}{uuid.uuid4().hex}"
            try:
                with temporary.open("xb") as file:
                    fill(file)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            _sync_folder(path.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / _LOCK_FILE).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _raise_unreadable(error: OSError) -> None:
    """Stop a listing at a folder that cannot be read: its objects must not pass for gone."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        message = f"cannot list {error.filename}: {error.strerror}"
        raise StorageError(message) from error


def _stat(path: Path, key: str) -> Iterator[StoredObject]:
    try:
        status = path.stat()
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP}:  # removed meanwhile, or a link to nothing
            return
        message = f"cannot look at {path}: {error.strerror}"
        raise StorageError(message) from error
    yield StoredObject(key, status.st_size, f"{status.st_mtime_ns}-{status.st_size}")


def _make_folders(folder: Path) -> None:
    """Make a folder and those above it, each of them durable in its own parent."""
    if not folder.is_dir():
        _make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _removed_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _not_found(key: str) -> ObjectNotFoundError:
    return ObjectNotFoundError(f"no object {key!r}")


@contextmanager
def _typed_errors(key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise _not_found(key) from error
    except OSError as error:
        hint = " (free some space)" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
        message = f"{key}: {error.strerror}{hint}"
        raise StorageError(message) from error
