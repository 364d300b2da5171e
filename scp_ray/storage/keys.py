"""Object keys: validation, and where each object of an index lies.

The layout is a contract; ``docs/data-formats.md`` describes it.
"""

import hashlib
from collections.abc import Mapping

from scp_ray.errors import StorageError

CURRENT = "CURRENT"
LEASE = "lease.json"
MANIFEST_FILE = "manifest.json"
TERMS_FILE = "terms.arrow"
REPORT_FILE = "report.json"
RUNS = "runs/"
SHARDS = "shards/"
GENERATIONS = "generations/"
STAGED = "staged/"
ENGINE_DEATHS = "engine-deaths/"
ANNOTATIONS = "annotations/"


def checked_key(key: str) -> str:
    """Return ``key`` if it can only name something below a store's root.

    Raises:
        StorageError: If it is empty, absolute, or has an empty, ``.`` or ``..`` part.
    """
    parts = key.split("/")
    if not key or "\\" in key or "\0" in key or any(part in {"", ".", ".."} for part in parts):
        message = f"unsafe object key {key!r}"
        raise StorageError(message)
    return key


def generation_folder(generation: int, run_id: str) -> str:
    """Folder of a generation's manifest."""
    return f"{GENERATIONS}{generation:06d}-{run_id}"


def shard_folder(shard_id: int, files: Mapping[str, str]) -> str:
    """Folder of a shard's files, named by its content.

    Args:
        shard_id: The shard.
        files: SHA-256 of each file by name.
    """
    listing = "".join(f"{name} {digest}\n" for name, digest in sorted(files.items()))
    return f"{SHARDS}{shard_id:05d}/{hashlib.sha256(listing.encode()).hexdigest()}"


def staged_folder(run_id: str, shard_id: int) -> str:
    """Folder of the staged parts of one shard."""
    return f"{RUNS}{run_id}/{STAGED}{shard_id:05d}"


def engine_deaths_folder(run_id: str) -> str:
    """Folder of what engines had in work when they died, with the slash at its end."""
    return f"{RUNS}{run_id}/{ENGINE_DEATHS}"


def report_key(run_id: str) -> str:
    """Key of a run's report."""
    return f"{RUNS}{run_id}/{REPORT_FILE}"


def annotations_folder(fingerprint: str) -> str:
    """Folder of the answers of one model to one set of prompts, with the slash at its end."""
    return f"{ANNOTATIONS}{fingerprint}/"
