"""From the address of a corpus or an index to its object store."""

import os
import stat
import tempfile
from pathlib import Path

from scp_ray.errors import ConfigError, StorageError, TransientStorageError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.s3 import SCHEME, S3ObjectStore


def open_store(address: str) -> ObjectStore:
    """Return the store at ``address``; nothing there is looked at but whether a folder is one.

    Args:
        address: A folder, a ``file://`` URL of one, or ``s3://bucket/prefix``.

    Raises:
        ConfigError: If the scheme is not one that this version stores on, or it is no folder.
    """
    scheme, separator, rest = address.partition("://")
    if is_on_s3(address):
        return S3ObjectStore(address)
    if separator and scheme != "file":
        message = f"{address}: cannot store on {scheme}://; give a folder or s3://bucket/prefix"
        raise ConfigError(message)
    if not address.strip():
        message = "the address of a corpus or an index is empty"
        raise ConfigError(message)
    try:
        path = Path(rest if separator else address).expanduser()
    except RuntimeError as error:
        message = f"{address}: {error}"
        raise ConfigError(message) from error
    if path.exists() and not path.is_dir():
        message = f"{address} is a file; give a folder"
        raise ConfigError(message)
    return LocalObjectStore(path)


def is_inside(url: str, outer: str) -> bool:
    """Say whether the store at ``url`` is the one at ``outer``, or below it."""
    return f"{url}/".startswith(f"{outer}/")


def open_existing(address: str) -> ObjectStore:
    """Return the store at ``address``, which must exist.

    Raises:
        ConfigError: If there is no such folder; on S3, if the bucket is not there or may not be
            listed, or has no object below the prefix.
        TransientStorageError: If S3 does not answer.
    """
    store = open_store(address)
    if isinstance(store, S3ObjectStore):
        _check_has_objects(store)
    elif not Path(store.url).is_dir():
        message = f"{address}: no such folder"
        raise ConfigError(message)
    return store


def _check_has_objects(store: S3ObjectStore) -> None:
    try:
        is_empty = store.is_empty()
    except TransientStorageError:
        raise
    except StorageError as error:
        raise ConfigError(str(error)) from error
    if is_empty:
        message = f"{store.url}: no object there"
        raise ConfigError(message)


def is_on_s3(address: str) -> bool:
    """Say whether an address is one of S3."""
    return address.startswith(SCHEME)


def local_cache() -> Path:
    """Return the folder of this machine that files of stores elsewhere are fetched to.

    It is this user's alone: a checked file must not change before it is read.

    Raises:
        StorageError: If the folder belongs to somebody else.
    """
    folder = Path(tempfile.gettempdir(), f"scp-ray-cache-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        message = f"cannot make the cache {folder}: {error.strerror}"
        raise StorageError(message) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        message = f"{folder} is not this user's; remove it, or set TMPDIR to another folder"
        raise StorageError(message)
    return folder
