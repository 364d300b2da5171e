"""Deletes what no kept generation needs: old generations, and what dead runs left.

Done under the lease, so that no run is at work. A generation is first taken off the list in
``CURRENT``, so that no new reader takes it, and its files go only after the readers' grace. A
crash in between leaves files that the next time finds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scp_ray.errors import ConfigError, IndexFormatError
from scp_ray.protocols import ObjectStore, StoredObject
from scp_ray.storage.keys import ENGINE_DEATHS, GENERATIONS, RUNS, SHARDS, STAGED
from scp_ray.storage.manifest import read_manifest
from scp_ray.storage.opening import is_on_s3
from scp_ray.storage.publish import (
    Current,
    GenerationEntry,
    RetiredEntry,
    read_state,
    require_fence,
    swap_current,
)


@dataclass(frozen=True, slots=True)
class Collected:
    """What was deleted, or would be.

    Attributes:
        retired: Generations taken off the list now.
        kept: Generations that stay on it.
        waiting: Retired generations whose files stay for the readers' grace.
        keys: Objects deleted, in order.
        size_bytes: Their bytes.
    """

    retired: list[int]
    kept: list[int]
    waiting: list[int]
    keys: list[str]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What to keep.

    Attributes:
        num_generations: The newest ones, >= 1; the current one is kept beside them.
        reader_grace_s: Seconds for which the files of a retired generation stay.
        now: UTC time, seconds since 1970.
    """

    num_generations: int
    reader_grace_s: float
    now: float


def collect_garbage(store: ObjectStore, retention: Retention, fence: int | None) -> Collected:
    """Retire old generations and delete what nothing needs.

    Staged parts of a run that began after the current generation was published are kept, with what
    its engines died on: the next run goes on from the parts. Run reports are kept.

    Args:
        store: The index.
        retention: What to keep.
        fence: Fencing token of the lease; None = only say what would be done.

    Raises:
        IndexFormatError: If there is no index, or a manifest that is kept cannot be read: then
            nothing is known to be garbage, and nothing is deleted.
        PreconditionFailedError: If another run committed meanwhile, or took the lease over: what
            was not deleted by then stays.
    """
    if retention.num_generations < 1:
        message = f"at least one generation is kept, not {retention.num_generations}"
        raise ConfigError(message)
    state = read_state(store)
    if state.current is None or state.manifest is None:
        message = f"{store.url}: no index here"
        raise IndexFormatError(message)
    after, retired = _retire(state.current, retention)
    garbage = list(_garbage(store, after, run_id=state.manifest.run_id))
    if fence is not None:
        fenced = after.model_copy(update={"fence": fence})
        swap_current(store, fenced, state.version)
        for path in abandoned_files(store):
            path.unlink(missing_ok=True)
        for stored in garbage:
            require_fence(store, fence)  # the next holder may build on what was garbage before
            store.delete(stored.key)
    return Collected(
        retired=retired,
        kept=[entry.generation for entry in after.generations],
        waiting=[one.entry.generation for one in after.retired],
        keys=[stored.key for stored in garbage],
        size_bytes=sum(stored.size_bytes for stored in garbage),
    )


def unneeded_objects(store: ObjectStore, current: Current | None) -> Iterator[StoredObject]:
    """Yield the files of shards and generations that no generation of ``CURRENT`` needs.

    Retired generations count as long as they are on their list. Manifests come last: while one is
    there, so are its files.

    Raises:
        IndexFormatError: If a manifest cannot be read: then nothing is known to be unneeded.
    """
    needed = {
        key for entry in (current.entries if current else []) for key in _needed(store, entry)
    }
    for prefix in (SHARDS, GENERATIONS):
        yield from (stored for stored in store.list(prefix) if stored.key not in needed)


def abandoned_files(store: ObjectStore) -> list[Path]:
    """Return what writers that were killed left half written in the folders of a local store.

    No listing shows them, and a writer at work has such files too: ask under the lease. The files
    that the lease itself writes lie beside the folders. In S3 there are none.
    """
    if is_on_s3(store.url):
        return []
    folders = Path(store.url).glob("[!.]*")
    return sorted(path for folder in folders for path in folder.rglob(".*") if path.is_file())


def _retire(current: Current, retention: Retention) -> tuple[Current, list[int]]:
    """Return ``CURRENT`` afterwards, and the generations that it retires."""
    newest = current.generations[-retention.num_generations :]
    kept = [e for e in current.generations if e in newest or e.generation == current.generation]
    leaving = [entry for entry in current.generations if entry not in kept]
    retired = [
        *current.retired,
        *(RetiredEntry(entry=entry, retired_at=retention.now) for entry in leaving),
    ]
    waiting = [one for one in retired if retention.now - one.retired_at < retention.reader_grace_s]
    after = current.model_copy(update={"generations": kept, "retired": waiting})
    return after, [entry.generation for entry in leaving]


def _garbage(store: ObjectStore, after: Current, run_id: str) -> Iterator[StoredObject]:
    yield from unneeded_objects(store, after)
    for stored in store.list(RUNS):
        run, _, rest = stored.key.removeprefix(RUNS).partition("/")
        # Run ids begin with the time at which the run began.
        if rest.startswith((STAGED, ENGINE_DEATHS)) and run <= run_id:
            yield stored


def _needed(store: ObjectStore, entry: GenerationEntry) -> Iterator[str]:
    manifest = read_manifest(store, entry.manifest, entry.manifest_sha256)
    yield entry.manifest
    for folder, files in manifest.folders.items():
        yield from (f"{folder}/{name}" for name in files)
