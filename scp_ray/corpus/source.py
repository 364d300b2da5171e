"""Files of a store as local files, and what goes wrong on the way as document errors."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from scp_ray.errors import DocumentError, QuarantineReason, StorageError
from scp_ray.protocols import ObjectStore


@contextmanager
def local_file(store: ObjectStore, key: str) -> Iterator[Path]:
    """Give a path at which an object can be read; a downloaded copy is removed afterwards."""
    path = store.local_path(key)
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="scp-ray-") as folder:
        copy = Path(folder) / PurePosixPath(key).name
        store.download(key, copy)
        yield copy


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Turn what a store or a disk refuses into an UNREADABLE document error.

    Raises:
        DocumentError: In place of StorageError and OSError.
    """
    try:
        yield
    except (StorageError, OSError) as error:
        detail = f"cannot read {key}: {error}"
        raise DocumentError(QuarantineReason.UNREADABLE, detail) from error


def oversized(size_bytes: int, max_bytes: int, what: str) -> DocumentError:
    """Return the error of an input or a text above ``corpus.max_document_bytes``."""
    detail = f"{what} has {size_bytes} bytes; corpus.max_document_bytes is {max_bytes}"
    return DocumentError(QuarantineReason.OVERSIZED, detail)
