"""Removes a document from everything that an index holds, and proves it.

In this order, so that after a crash at any point the index can be read and a repeated purge
finishes the work: a generation without the document is committed; every generation that holds it
is taken off the lists in ``CURRENT``; what the annotation cache knows of its chunks goes; files
go, the rows with its text last, since a repeated purge takes from them what it looks for; the
cache of this machine is swept; every object that is left is looked into. All under the lease,
without the readers' grace of ``gc``. The corpus is not touched.
"""

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from scp_ray.annotators.llm_modules import answer_keys
from scp_ray.config import settings_from_tree
from scp_ray.errors import ChecksumError, RowAccountingError, StorageError
from scp_ray.index.shard_files import CHUNKS_FILE
from scp_ray.pipeline.cached_traces import CacheState, look_into_cache
from scp_ray.pipeline.document_traces import (
    Survey,
    Traces,
    manifests_of,
    needed_files,
    survey_document,
)
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.generation_terms import publish_terms
from scp_ray.pipeline.parent_documents import published_documents
from scp_ray.pipeline.purge_proof import Proof, prove_absence
from scp_ray.pipeline.report import Progress
from scp_ray.pipeline.shard_plan import make_shards, shard_contents
from scp_ray.pipeline.text_search import Wanted
from scp_ray.protocols import ObjectStore, StoredObject
from scp_ray.storage.annotation_cache import forget_answers, parts_with
from scp_ray.storage.garbage import abandoned_files, unneeded_objects
from scp_ray.storage.keys import RUNS, generation_folder
from scp_ray.storage.lease import Lease
from scp_ray.storage.manifest import Manifest, ShardEntry
from scp_ray.storage.opening import is_on_s3, local_cache
from scp_ray.storage.publish import (
    Current,
    IndexState,
    commit,
    read_state,
    require_fence,
    swap_current,
)
from scp_ray.storage.s3 import S3ObjectStore

_CHUNK_TABLES = (f"/{CHUNKS_FILE}", ".chunks.parquet")


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge found, did and proved.

    Attributes:
        doc_id: The document.
        traces: Where it was; the generations among it are retired.
        generation: Generation that readers take now; None = none.
        published: Whether that is a new one.
        corpus: Address of the corpus, which is as it was; None where no generation names one.
        keys: Objects deleted.
        size_bytes: Their bytes.
        cached: Folders of this machine's cache that were deleted.
        old_versions_kept: Whether the bucket keeps deleted objects as old versions; None = it does
            not say.
        cached_files_checked: Files of this machine's cache that were looked into and stay.
        files_left: Files and folders that could not be deleted, and parts of the annotation
            cache that got an answer about the document meanwhile.
        proof: Of the objects that are left.
    """

    doc_id: str
    traces: Traces
    generation: int | None
    published: bool
    corpus: str | None
    keys: list[str]
    size_bytes: int
    cached: list[str]
    old_versions_kept: bool | None
    cached_files_checked: int
    files_left: list[str]
    proof: Proof

    @property
    def was_found(self) -> bool:
        """Whether the document was anywhere."""
        traces = self.traces
        return bool(traces.generations or traces.shards or traces.parts or self.cached)

    @property
    def is_proven(self) -> bool:
        """Whether nothing that could be looked into holds it, and everything could."""
        return self.proof.is_complete and not self.files_left


def find_document(store: ObjectStore, doc_id: str) -> tuple[Traces, CacheState]:
    """Say where a document is, in an index and in this machine's cache; changes nothing.

    Raises:
        IndexFormatError: If there is no index, or a manifest cannot be read.
    """
    found = survey_document(store, doc_id)
    clean = {
        number: manifest
        for number, manifest in found.manifests.items()
        if number not in found.traces.generations
    }
    wanted = Wanted(doc_id, found.probes)
    return found.traces, look_into_cache(local_cache(), wanted, needed_files(clean))


def purge_document(store: ObjectStore, doc_id: str, lease: Lease, progress: Progress) -> Purged:
    """Remove a document from everything, and prove it.

    No encoder is loaded: the shard that holds the document is built again from its other rows. A
    document that is nowhere leaves all as it is, but for what dead runs left, and is proven too.

    Args:
        store: The index.
        doc_id: The document.
        lease: That of the index, kept alive by the caller.
        progress: Told what is done.

    Raises:
        IndexFormatError: If there is no index, or a manifest cannot be read; nothing was changed.
        ChecksumError: If the current generation is damaged; nothing was changed.
        IndexQualityError: If the shard without it misses the recall that was asked for.
        PreconditionFailedError: If another run took the index over.
    """
    progress(f"looking for {doc_id!r}")
    found = survey_document(store, doc_id)
    holding = set(found.traces.generations)
    before = after = found.state.manifest
    if before is not None and before.generation in holding:
        after = _publish_without(store, found.state, before, doc_id, lease)
        progress(f"published generation {after.generation}")
    current = _take_off(store, holding, lease)
    answers = {key for version in found.versions for key in answer_keys(version)}
    require_fence(store, lease.fence)
    forgotten = forget_answers(store, answers)
    going = _objects_to_delete(store, found, current)
    progress(f"deleting {len(going)} files")
    _delete(store, going, lease)
    checksums = needed_files(manifests_of(store, current))
    wanted = Wanted(doc_id, found.probes)
    cache = look_into_cache(local_cache(), wanted, checksums)
    for folder in cache.going:
        shutil.rmtree(folder, ignore_errors=True)
    progress("looking into every object that is left")
    return Purged(
        doc_id=doc_id,
        traces=found.traces,
        generation=after.generation if after else None,
        published=after is not before,
        corpus=after.corpus if after else None,
        keys=[stored.key for stored in (*forgotten, *going)],
        size_bytes=sum(stored.size_bytes for stored in (*forgotten, *going)),
        cached=[str(folder) for folder in cache.going],
        old_versions_kept=_keeps_old_versions(store),
        cached_files_checked=cache.num_clean_files,
        files_left=[
            *(str(folder) for folder in cache.going if folder.exists()),
            *map(str, abandoned_files(store)),
            *parts_with(store, answers),
        ],
        proof=prove_absence(store, wanted, checksums),
    )


def _publish_without(
    store: ObjectStore, state: IndexState, parent: Manifest, doc_id: str, lease: Lease
) -> Manifest:
    """Commit the current generation without the document."""
    shards = _shards_without(store, parent, doc_id)
    number, run_id = state.next_generation, _run_id(parent)
    manifest = parent.model_copy(
        update={
            "generation": number,
            "run_id": run_id,
            "parent": parent.generation,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "num_documents": sum(entry.num_documents for entry in shards),
            "num_chunks": sum(entry.num_chunks for entry in shards),
            "terms": publish_terms(store, shards, generation_folder(number, run_id)),
            "shards": shards,
        }
    )
    lease.check()
    commit(store, state, manifest, lease.fence)
    return manifest


def _run_id(parent: Manifest) -> str:
    """Name the purge by the time of the run whose generation it changes.

    What was staged since that run is still to be taken over: ``gc`` keeps it by comparing ids.
    """
    return f"{parent.run_id.partition('-')[0]}-purge-{secrets.token_hex(4)}"


def _shards_without(store: ObjectStore, parent: Manifest, doc_id: str) -> list[ShardEntry]:
    settings = settings_from_tree(parent.settings)
    kept = published_documents(store, parent)
    if len(kept) != parent.num_documents:
        message = (
            f"{store.url}: {parent.num_documents - len(kept)} documents of generation "
            f"{parent.generation} cannot be read; index again, which makes them anew, then purge"
        )
        raise ChecksumError(message)
    del kept[doc_id]
    contents = shard_contents({}, kept, settings.index.num_shards)
    executor = InProcessExecutor()
    shards = make_shards(
        executor, store.url, contents, parent, settings, lambda _line: None
    ).entries
    if sum(entry.num_documents for entry in shards) != len(kept):
        message = f"the shards do not hold the {len(kept)} other documents; nothing was published"
        raise RowAccountingError(message)
    return shards


def _take_off(store: ObjectStore, generations: set[int], lease: Lease) -> Current | None:
    """Take generations off the lists, so that no reader takes one any more."""
    state = read_state(store)
    if state.current is None or not generations:
        return state.current
    after = state.current.model_copy(
        update={
            "fence": lease.fence,
            "generations": [
                entry for entry in state.current.generations if entry.generation not in generations
            ],
            "retired": [
                one for one in state.current.retired if one.entry.generation not in generations
            ],
        }
    )
    swap_current(store, after, state.version)
    return after


def _delete(store: ObjectStore, going: list[StoredObject], lease: Lease) -> None:
    for path in abandoned_files(store):
        path.unlink(missing_ok=True)
    for stored in going:
        require_fence(store, lease.fence)  # the next holder may build on what nobody needed before
        store.delete(stored.key)


def _objects_to_delete(
    store: ObjectStore, found: Survey, current: Current | None
) -> list[StoredObject]:
    """Return what goes, in order: tables with the document's text after all that is derived."""
    parts = (*found.traces.parts, *found.traces.broken_parts)
    going = [*_objects_of_parts(store, parts), *unneeded_objects(store, current)]
    return sorted(going, key=lambda stored: stored.key.endswith(_CHUNK_TABLES))


def _objects_of_parts(store: ObjectStore, parts: tuple[str, ...]) -> Iterator[StoredObject]:
    starts = tuple(f"{part}." for part in parts)
    yield from (stored for stored in store.list(RUNS) if stored.key.startswith(starts))


def _keeps_old_versions(store: ObjectStore) -> bool | None:
    if not is_on_s3(store.url):
        return False
    try:
        return S3ObjectStore(store.url).keeps_old_versions()
    except StorageError:
        return None
