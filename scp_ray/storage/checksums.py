"""Checksums of files, and the gate that every object passes before it is read."""

import hashlib
import uuid
from collections.abc import Mapping
from pathlib import Path

from scp_ray.errors import ChecksumError, ObjectNotFoundError, StorageError
from scp_ray.protocols import ObjectStore


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_verified(store: ObjectStore, key: str, sha256: str) -> bytes:
    """Return an object's bytes.

    Raises:
        ChecksumError: If it is missing or its bytes are others.
    """
    try:
        data = store.read(key)
    except ObjectNotFoundError as error:
        message = f"{store.url}/{key}: missing"
        raise ChecksumError(message) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _mismatch(store, key)
    return data


def fetch_verified(store: ObjectStore, folder: str, files: Mapping[str, str], cache: Path) -> Path:
    """Return a local folder that holds the files of ``folder``, all with the right bytes.

    Processes may share a cache: a file appears in it whole and checked, or not at all. What a
    cached file holds is checked too, so it does not matter from which store it came.

    Args:
        store: Where they are.
        folder: Key of the folder.
        files: SHA-256 of each file by name.
        cache: Local folder to download to, if the store is not local; a file that is there
            already with the right bytes is not fetched again.

    Raises:
        ChecksumError: If a file is missing or its bytes are others; the file is named.
        StorageError: If it, or its place in the cache, cannot be read or written.
    """
    target = cache / folder
    for name, sha256 in files.items():
        key = f"{folder}/{name}"
        try:
            path = store.local_path(key)
            if path is None:
                _fetch_into(target / name, store, key, sha256)
            elif file_sha256(path) == sha256:
                target = path.parent
            else:
                raise _mismatch(store, key)
        except ObjectNotFoundError as error:
            message = f"{store.url}/{key}: missing"
            raise ChecksumError(message) from error
        except OSError as error:
            message = f"{store.url}/{key}: {error.strerror} ({error.filename or cache})"
            raise StorageError(message) from error
    return target


def _fetch_into(path: Path, store: ObjectStore, key: str, sha256: str) -> None:
    """Put an object into the cache unless it is there; what is there damaged is replaced."""
    if path.is_file() and file_sha256(path) == sha256:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fetched = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        store.download(key, fetched)
        if file_sha256(fetched) != sha256:
            raise _mismatch(store, key)
        fetched.replace(path)
    finally:
        fetched.unlink(missing_ok=True)


def _mismatch(store: ObjectStore, key: str) -> ChecksumError:
    message = (
        f"{store.url}/{key}: its bytes are not those that were written; restore it, or delete it "
        "and index again: what it held is then done again"
    )
    return ChecksumError(message)
