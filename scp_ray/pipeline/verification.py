"""Checks a published index: every checksum, every count, and how well each graph finds its rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scp_ray.errors import IndexFormatError, ScpRayError
from scp_ray.index import shard_files
from scp_ray.index.audit import audit_graph, require_quality
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.shard import Shard
from scp_ray.index.term_table import read_term_table
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.keys import TERMS_FILE
from scp_ray.storage.manifest import Manifest, ShardEntry, StoredFile, read_manifest
from scp_ray.storage.opening import local_cache
from scp_ray.storage.publish import read_state


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        generation: The latest generation that it concerns.
        detail: What, and where.
    """

    generation: int
    detail: str


def verify_index(store: ObjectStore, progress: Callable[[str], None]) -> list[Problem]:
    """Check all committed generations, the latest first; what they share, once.

    Args:
        store: The index.
        progress: Told a line a generation.

    Raises:
        IndexFormatError: If there is no index, or ``CURRENT`` or its manifest cannot be read.
    """
    state = read_state(store)
    if state.current is None or not state.current.generations:
        message = f"{store.url}: no index here"
        raise IndexFormatError(message)
    seen: set[str] = set()
    problems: list[Problem] = []
    for entry in reversed(state.current.generations):
        try:
            manifest = read_manifest(store, entry.manifest, entry.manifest_sha256)
            found = list(_problems(store, manifest, seen))
        except ScpRayError as error:
            found = [str(error)]
        problems += [Problem(entry.generation, detail) for detail in found]
        progress(f"generation {entry.generation}: {len(found)} problems")
    return problems


def _problems(store: ObjectStore, manifest: Manifest, seen: set[str]) -> Iterator[str]:
    """Yield what is wrong with a generation, apart from the folders that were seen."""
    num_shards = manifest.index_config.num_shards
    if len(manifest.shards) != num_shards:
        found = len(manifest.shards)
        yield f"{store.url}/{manifest.key}: {found} shards, its settings ask for {num_shards}"
    try:
        _check_terms(store, manifest)
    except ScpRayError as error:
        yield str(error)
    for shard in manifest.shards:
        if shard.folder is not None and shard.folder not in seen:
            seen.add(shard.folder)
            try:
                _check_shard(store, shard, manifest)
            except ScpRayError as error:
                yield str(error)


def _check_terms(store: ObjectStore, manifest: Manifest) -> None:
    folder = _fetched(store, manifest.folder, {TERMS_FILE: manifest.terms.file})
    table, collection = read_term_table(folder / TERMS_FILE)
    _require_told(
        f"{store.url}/{manifest.folder}/{TERMS_FILE}",
        {
            "terms": (table.num_rows, manifest.terms.num_terms),
            "chunks": (collection.num_chunks, manifest.num_chunks),
        },
    )


def _check_shard(store: ObjectStore, entry: ShardEntry, manifest: Manifest) -> None:
    config = manifest.index_config
    folder = _fetched(store, str(entry.folder), entry.files)
    shard = Shard(folder, shard_id=entry.shard_id, ef_search=config.ef_search)
    _require_told(
        f"{store.url}/{entry.folder}",
        {
            "documents": (shard.num_documents, entry.num_documents),
            "chunks": (shard.num_chunks, entry.num_chunks),
            "numbers in a vector": (shard.dim, manifest.encoder.dim),
        },
    )
    audit = audit_graph(HnswGraph.open(folder / shard_files.GRAPH_FILE), config)
    require_quality(audit, config)


def _fetched(store: ObjectStore, folder: str, files: Mapping[str, StoredFile]) -> Path:
    """Fetch and check files, also their sizes, by which a run tells whether a shard is whole."""
    checksums = {name: file.sha256 for name, file in files.items()}
    fetched = fetch_verified(store, folder, checksums, local_cache())
    for name, file in files.items():
        size = (fetched / name).stat().st_size
        _require_told(f"{store.url}/{folder}/{name}", {"bytes": (size, file.size_bytes)})
    return fetched


def _require_told(where: str, counts: Mapping[str, tuple[int, int]]) -> None:
    """Compare what was found with what the manifest says, both by what was counted."""
    for what, (found, told) in counts.items():
        if found != told:
            message = f"{where}: {found} {what}, the manifest says {told}"
            raise IndexFormatError(message)
