"""From the address of a corpus or an index to its object store."""

import tempfile
from pathlib import Path

from scp_ray.errors import ConfigError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.local import LocalObjectStore


def open_store(address: str) -> ObjectStore:
    """Return the store at ``address``.

    Args:
        address: A folder, or a ``file://`` URL of one.

    Raises:
        ConfigError: If the scheme is not one that this version stores on, or it is no folder.
    """
    scheme, separator, rest = address.partition("://")
    if separator and scheme != "file":
        message = f"{address}: cannot store on {scheme}://; give a folder"
        raise ConfigError(message)
    if not address.strip():
        message = "the address of a corpus or an index is empty"
        raise ConfigError(message)
    path = Path(rest if separator else address).expanduser()
    if path.exists() and not path.is_dir():
        message = f"{address} is a file; give a folder"
        raise ConfigError(message)
    return LocalObjectStore(path)


def open_existing(address: str) -> ObjectStore:
    """Return the store at ``address``, which must exist.

    Raises:
        ConfigError: If there is no such folder.
    """
    store = open_store(address)
    if not Path(store.url).is_dir():
        message = f"{address}: no such folder"
        raise ConfigError(message)
    return store


def local_cache() -> Path:
    """Return the folder of this machine that files of stores elsewhere are fetched to."""
    return Path(tempfile.gettempdir(), "scp-ray-cache")
