"""The committed generations of an index: listing them, and going back to one."""

from dataclasses import dataclass

from scp_ray.errors import ChecksumError, ConfigError, IndexFormatError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.manifest import Manifest, read_manifest
from scp_ray.storage.publish import GenerationEntry, IndexState, read_state, swap_current


@dataclass(frozen=True, slots=True)
class GenerationSummary:
    """One committed generation.

    Attributes:
        generation: Its number.
        is_current: Whether readers take it.
        created_at: UTC time, ISO 8601.
        run_id: The run that published it.
        parent: The generation that it was built over, or None.
        documents: Documents.
        chunks: Chunks.
        size_bytes: Bytes of its files, those included that it shares with other generations.
        settings_hash: SHA-256 of its settings.
    """

    generation: int
    is_current: bool
    created_at: str
    run_id: str
    parent: int | None
    documents: int
    chunks: int
    size_bytes: int
    settings_hash: str


def list_generations(store: ObjectStore) -> list[GenerationSummary]:
    """Return all committed generations, ascending.

    Raises:
        IndexFormatError: If a manifest cannot be read by this version.
        ChecksumError: If a manifest is missing or damaged.
    """
    state = read_state(store)
    if state.current is None:
        return []
    return [
        _summary(_manifest(store, entry), is_current=entry.generation == state.current.generation)
        for entry in state.current.generations
    ]


def require_generation(store: ObjectStore) -> None:
    """Refuse an address at which no generation was committed.

    Raises:
        IndexFormatError: If it is one.
    """
    current = read_state(store).current
    if current is None or not current.generations:
        message = f"{store.url}: no index here"
        raise IndexFormatError(message)


def roll_back(store: ObjectStore, generation: int, fence: int) -> Manifest:
    """Let readers take an earlier generation, or a later one again.

    Nothing is deleted, and the next run's generation still gets the largest number plus one.

    Args:
        store: The index.
        generation: Number of a committed generation.
        fence: Fencing token of the lease under which this is done.

    Raises:
        ConfigError: If there is no such generation; the message lists those there are.
        ChecksumError: If a file of it is missing or has another size.
        PreconditionFailedError: If another run committed meanwhile.
    """
    state = read_state(store)
    manifest = _manifest(store, _entry(store, state, generation))
    require_files(store, manifest)
    if state.current is not None and state.current.generation != generation:
        current = state.current.model_copy(update={"generation": generation, "fence": fence})
        swap_current(store, current, state.version)
    return manifest


def _entry(store: ObjectStore, state: IndexState, generation: int) -> GenerationEntry:
    entries = state.current.generations if state.current else []
    for entry in entries:
        if entry.generation == generation:
            return entry
    known = ", ".join(str(entry.generation) for entry in entries) or "none"
    message = f"{store.url} has no generation {generation}; there are: {known}"
    raise ConfigError(message)


def _manifest(store: ObjectStore, entry: GenerationEntry) -> Manifest:
    return read_manifest(store, entry.manifest, entry.manifest_sha256)


def require_files(store: ObjectStore, manifest: Manifest) -> None:
    """Refuse a generation of which a file is missing or has another size; nothing is read.

    Raises:
        ChecksumError: If it is so; the file is named.
    """
    for folder, files in manifest.folders.items():
        sizes = {stored.key: stored.size_bytes for stored in store.list(f"{folder}/")}
        for name, file in files.items():
            key = f"{folder}/{name}"
            if sizes.get(key) != file.size_bytes:
                message = (
                    f"{store.url}/{key}: missing, or not of the size that generation "
                    f"{manifest.generation} names; readers stay where they are"
                )
                raise ChecksumError(message)


def _summary(manifest: Manifest, *, is_current: bool) -> GenerationSummary:
    return GenerationSummary(
        generation=manifest.generation,
        is_current=is_current,
        created_at=manifest.created_at,
        run_id=manifest.run_id,
        parent=manifest.parent,
        documents=manifest.num_documents,
        chunks=manifest.num_chunks,
        size_bytes=sum(
            file.size_bytes for files in manifest.folders.values() for file in files.values()
        ),
        settings_hash=manifest.settings_hash,
    )
