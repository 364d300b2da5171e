"""Finds out what an index holds of a document: generations, shards, staged parts. Changes nothing.

A shard is known by its folder, whether a generation names it, or a run that died left it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from scp_ray import schema
from scp_ray.errors import ChecksumError, IndexFormatError, ObjectNotFoundError, SchemaError
from scp_ray.index.shard_files import CHUNKS_FILE, DOCUMENTS_FILE
from scp_ray.pipeline.staged_parts import read_part
from scp_ray.pipeline.text_search import choose_probes, local_copy, read_texts, rows_of
from scp_ray.protocols import ObjectStore
from scp_ray.storage.keys import CURRENT, GENERATIONS, RUNS, SHARDS, STAGED
from scp_ray.storage.manifest import Manifest, read_manifest
from scp_ray.storage.publish import Current, IndexState, read_state


@dataclass(frozen=True, slots=True)
class Traces:
    """Where a document is.

    Attributes:
        generations: Committed and retired generations that hold it, ascending.
        shards: Folders of shards that hold it.
        parts: Staged parts that hold it.
        broken_parts: Staged parts that no run can use, whatever they hold.
        unreadable: What may hold it and cannot be looked into.
    """

    generations: list[int] = field(default_factory=list)
    shards: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    broken_parts: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Survey:
    """An index, looked through for a document.

    Attributes:
        state: The index as it was found.
        manifests: Of all generations, committed and retired, by number.
        traces: Where the document is.
        versions: The texts of its chunks, in order, of each version of it that was found.
    """

    state: IndexState
    manifests: dict[int, Manifest]
    traces: Traces
    versions: list[tuple[str, ...]]

    @property
    def probes(self) -> tuple[str, ...]:
        """Pieces of its text to look for."""
        return choose_probes(text for version in self.versions for text in version)


def survey_document(store: ObjectStore, doc_id: str) -> Survey:
    """Look through an index for a document.

    Raises:
        IndexFormatError: If there is no index, or a manifest cannot be read.
    """
    state = read_state(store)
    require_index(store, state)
    look = _Look(store, doc_id)
    manifests = manifests_of(store, state.current)
    checksums = needed_files(manifests)
    look.into_shards(checksums)
    look.into_parts()
    holding = set(look.traces.shards)
    look.traces.generations.extend(
        number for number, manifest in sorted(manifests.items()) if holding & set(manifest.folders)
    )
    return Survey(state, manifests, look.traces, list(look.versions))


def require_index(store: ObjectStore, state: IndexState) -> None:
    """Refuse an address at which there is no index, and an index that lost its ``CURRENT``.

    Raises:
        IndexFormatError: If it is one of both.
    """
    if state.current is not None:
        return
    if next(iter(store.list(GENERATIONS)), None) is not None:
        message = f"{store.url}/{CURRENT}: missing, but there are generations; restore it"
        raise IndexFormatError(message)
    if next(iter(store.list(RUNS)), None) is None:
        message = f"{store.url}: no index here"
        raise IndexFormatError(message)


def manifests_of(store: ObjectStore, current: Current | None) -> dict[int, Manifest]:
    """Read the manifests of all generations, committed and retired, by number.

    Raises:
        IndexFormatError: If one cannot be read.
    """
    if current is None:
        return {}
    return {
        entry.generation: read_manifest(store, entry.manifest, entry.manifest_sha256)
        for entry in current.entries
    }


def needed_files(manifests: Mapping[int, Manifest]) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of every file that generations need, by folder and by name."""
    return {
        folder: {name: file.sha256 for name, file in files.items()}
        for manifest in manifests.values()
        for folder, files in manifest.folders.items()
    }


class _Look:
    """What was found so far."""

    def __init__(self, store: ObjectStore, doc_id: str) -> None:
        self.traces = Traces()
        self.versions: dict[tuple[str, ...], None] = {}
        self._store = store
        self._doc_id = doc_id

    def into_shards(self, checksums: Mapping[str, Mapping[str, str]]) -> None:
        """Look into the document tables of all shards, and where one has it, into its chunks."""
        names = defaultdict[str, set[str]](set)
        for stored in self._store.list(SHARDS):
            folder, _, name = stored.key.rpartition("/")
            names[folder].add(name)
        for folder, files in checksums.items():
            if folder.startswith(SHARDS):
                names[folder].update(files)
        for folder in sorted(names):
            self._into_shard(folder, names[folder], checksums.get(folder))

    def _into_shard(
        self, folder: str, names: Iterable[str], checksums: Mapping[str, str] | None
    ) -> None:
        """Look into one shard; one that is cut short, and that nothing needs, tells what it can."""
        for name in (DOCUMENTS_FILE, CHUNKS_FILE):
            if name not in names:
                continue
            key = f"{folder}/{name}"
            try:
                rows = self._rows(key, checksums[name] if checksums else None)
            except (IndexFormatError, ObjectNotFoundError) as error:
                if checksums is not None:
                    self.traces.unreadable.append(f"{key}: {error}")
                continue
            if not rows.num_rows:
                return
            if folder not in self.traces.shards:
                self.traces.shards.append(folder)
            self._keep_texts(rows)

    def into_parts(self) -> None:
        """Look into all staged parts."""
        files = defaultdict[str, list[str]](list)
        for stored in self._store.list(RUNS):
            _, _, rest = stored.key.removeprefix(RUNS).partition("/")
            if rest.startswith(STAGED):
                folder, _, name = stored.key.rpartition("/")
                files[f"{folder}/{name.partition('.')[0]}"].append(stored.key)
        for part in sorted(files):
            self._into_part(part, files[part])

    def _into_part(self, part: str, keys: Iterable[str]) -> None:
        try:
            chunks, _ = read_part(self._store, part, [self._doc_id])
        except (ChecksumError, SchemaError):
            self.traces.broken_parts.append(part)
            for key in keys:
                self._keep_texts_of_broken(key)
            return
        if chunks.num_rows:
            self.traces.parts.append(part)
            self._keep_texts(chunks)

    def _keep_texts_of_broken(self, key: str) -> None:
        try:
            self._keep_texts(self._rows(key, None))
        except (IndexFormatError, KeyError):
            return

    def _rows(self, key: str, sha256: str | None) -> pa.Table:
        with local_copy(self._store, key, sha256) as path:
            return rows_of(read_texts(path), self._doc_id)

    def _keep_texts(self, rows: pa.Table) -> None:
        if rows.num_rows and schema.TEXT in rows.column_names:
            self.versions[tuple(map(str, rows[schema.TEXT].to_pylist()))] = None
