"""Checks a published index: every checksum, every count, and how well each graph finds its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scp_ray.errors import IndexFormatError, ScpRayError
from scp_ray.index import shard_files
from scp_ray.index.audit import audit_graph, require_quality
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.shard import Shard
from scp_ray.protocols import ObjectStore
from scp_ray.sections import IndexConfig
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.keys import TERMS_FILE
from scp_ray.storage.manifest import Manifest, ShardEntry, read_manifest
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
        except IndexFormatError as error:
            found = [str(error)]
        problems += [Problem(entry.generation, detail) for detail in found]
        progress(f"generation {entry.generation}: {len(found)} problems")
    return problems


def _problems(store: ObjectStore, manifest: Manifest, seen: set[str]) -> Iterator[str]:
    """Yield what is wrong with a generation, apart from the folders that were seen."""
    for field in ("num_documents", "num_chunks"):
        total = sum(getattr(shard, field) for shard in manifest.shards)
        if total != getattr(manifest, field):
            told = getattr(manifest, field)
            yield f"{manifest.key}: {field} is {told}, its shards have {total}"
    try:
        fetch_verified(
            store, manifest.folder, {TERMS_FILE: manifest.terms.file.sha256}, local_cache()
        )
    except ScpRayError as error:
        yield str(error)
    config = IndexConfig.model_validate(manifest.settings["index"])
    for shard in manifest.shards:
        if shard.folder is not None and shard.folder not in seen:
            seen.add(shard.folder)
            try:
                _check_shard(store, shard, config)
            except ScpRayError as error:
                yield str(error)


def _check_shard(store: ObjectStore, entry: ShardEntry, config: IndexConfig) -> None:
    folder = fetch_verified(store, str(entry.folder), entry.checksums, local_cache())
    shard = Shard(folder, shard_id=entry.shard_id, ef_search=config.ef_search)
    if (shard.num_documents, shard.num_chunks) != (entry.num_documents, entry.num_chunks):
        message = (
            f"{store.url}/{entry.folder}: {shard.num_documents} documents with {shard.num_chunks} "
            f"chunks, the manifest says {entry.num_documents} with {entry.num_chunks}"
        )
        raise IndexFormatError(message)
    audit = audit_graph(HnswGraph.open(folder / shard_files.GRAPH_FILE), config)
    require_quality(audit, config)
