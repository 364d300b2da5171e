"""CURRENT, the one object that ever changes, and the commit that swaps it."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scp_ray.errors import (
    IndexFormatError,
    LeaseLostError,
    ObjectNotFoundError,
    PreconditionFailedError,
)
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.keys import CURRENT, generation_folder
from scp_ray.storage.manifest import (
    FORMAT_VERSION,
    Manifest,
    Sha256,
    check_format_version,
    read_manifest,
)


class GenerationEntry(BaseModel):
    """One committed generation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: Annotated[int, Field(ge=1)]
    manifest: str
    manifest_sha256: Sha256

    @model_validator(mode="after")
    def _names_its_own_manifest(self) -> Self:
        if not self.manifest.startswith(generation_folder(self.generation, "")):
            message = f"{self.manifest} is not the manifest of generation {self.generation}"
            raise ValueError(message)
        return self


class RetiredEntry(BaseModel):
    """A generation that was taken off the list, whose files running readers may still need.

    Attributes:
        entry: The generation.
        retired_at: UTC time, seconds since 1970.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    entry: GenerationEntry
    retired_at: float


class Current(BaseModel):
    """The content of ``CURRENT``.

    Attributes:
        format_version: As in the manifest.
        generation: The generation that readers take; 0 = none was committed yet.
        fence: Fencing token of the last writer; it only grows.
        generations: The committed generations that were not retired, ascending.
        retired: Retired ones whose files are still there.
        last_generation: The largest number ever committed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int
    generation: int
    fence: int
    generations: list[GenerationEntry]
    retired: list[RetiredEntry] = []
    last_generation: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        numbers = [entry.generation for entry in self.generations]
        is_listed = self.generation in numbers or (not numbers and self.generation == 0)
        is_ascending = all(earlier < later for earlier, later in pairwise(numbers))
        if not (is_listed and is_ascending and self.last_generation >= max(numbers, default=0)):
            message = (
                f"generation {self.generation}, {numbers} and last_generation "
                f"{self.last_generation} do not fit together"
            )
            raise ValueError(message)
        return self

    @property
    def entries(self) -> list[GenerationEntry]:
        """All generations whose files are there, the retired ones last."""
        return [*self.generations, *(one.entry for one in self.retired)]

    @property
    def entry(self) -> GenerationEntry | None:
        """The generation that readers take; None before the first one."""
        if self.generation == 0:
            return None
        return next(row for row in self.generations if row.generation == self.generation)


@dataclass(frozen=True, slots=True)
class IndexState:
    """What a run found when it started: the base of its commit.

    Attributes:
        current: Content of ``CURRENT``, or None where there is no index yet.
        version: Version of that object for the compare-and-swap, or None.
        manifest: The current generation's manifest, or None.
    """

    current: Current | None
    version: str | None
    manifest: Manifest | None

    @property
    def next_generation(self) -> int:
        """Largest number ever committed plus one."""
        return (self.current.last_generation if self.current else 0) + 1


def read_state(store: ObjectStore) -> IndexState:
    """Read ``CURRENT`` and the manifest that it names.

    Raises:
        ChecksumError: If the manifest's bytes are others.
        IndexFormatError: If either is of a newer format, or malformed.
    """
    current, version = _read_current(store)
    entry = current.entry if current else None
    manifest = read_manifest(store, entry.manifest, entry.manifest_sha256) if entry else None
    return IndexState(current, version, manifest)


def _read_current(store: ObjectStore) -> tuple[Current | None, str | None]:
    try:
        data, version = store.read_versioned(CURRENT)
    except ObjectNotFoundError:
        return None, None
    check_format_version(store, data)
    try:
        current = Current.model_validate_json(data)
        _ = current.entry
    except (ValidationError, StopIteration) as error:
        message = f"{store.url}/{CURRENT}: malformed: {error}"
        raise IndexFormatError(message) from error
    return current, version


def read_entry(store: ObjectStore) -> GenerationEntry | None:
    """Return the generation that readers take, as ``CURRENT`` names it; None where there is none.

    Raises:
        IndexFormatError: If ``CURRENT`` is of a newer format, or malformed.
    """
    current, _ = _read_current(store)
    return current.entry if current else None


def swap_current(store: ObjectStore, current: Current, expected: str | None) -> None:
    """Replace ``CURRENT``, if it is still of the version that it was read with.

    Raises:
        LeaseLostError: If a later holder of the lease had written it before it was read.
        PreconditionFailedError: If somebody changed it since.
    """
    found, version = _read_current(store)
    if version == expected:  # else the store refuses
        _check_fence(store, found, current.fence)
    text = current.model_dump_json(indent=1) + "\n"
    store.compare_and_swap(CURRENT, text.encode(), expected=expected)


def read_fence(store: ObjectStore) -> int:
    """Return the fencing token of the last writer, 0 where nothing was written."""
    current, _ = _read_current(store)
    return current.fence if current else 0


def write_fence(store: ObjectStore, fence: int) -> None:
    """Raise the fence in ``CURRENT``, so that no earlier holder of the lease can commit any more.

    Raises:
        LeaseLostError: If a later holder has been there.
    """
    while True:
        current, version = _read_current(store)
        _check_fence(store, current, fence)
        if current is None:
            current = Current(
                format_version=FORMAT_VERSION, generation=0, fence=fence, generations=[]
            )
        try:
            swap_current(store, current.model_copy(update={"fence": fence}), version)
        except PreconditionFailedError:  # the earlier holder committed just now
            continue
        return


def require_fence(store: ObjectStore, fence: int) -> None:
    """Stop a holder of the lease that a later one has replaced.

    Raises:
        LeaseLostError: If a later holder has raised the fence in ``CURRENT``.
    """
    _check_fence(store, _read_current(store)[0], fence)


def _check_fence(store: ObjectStore, found: Current | None, fence: int) -> None:
    if found is not None and found.fence > fence:
        message = f"{store.url}: another run took the index over meanwhile"
        raise LeaseLostError(message)


def load_current(store: ObjectStore) -> Manifest:
    """Return the manifest of the current generation.

    Raises:
        IndexFormatError: If there is no index here.
    """
    manifest = read_state(store).manifest
    if manifest is None:
        message = f"{store.url}: no index here; build one with `scp-ray index CORPUS {store.url}`"
        raise IndexFormatError(message)
    return manifest


def commit(store: ObjectStore, state: IndexState, manifest: Manifest, fence: int) -> None:
    """Publish a generation: write its manifest, read it back, swap ``CURRENT``.

    Readers see the old generation or the new one. Shard files must be in the store already.

    Args:
        store: The index.
        state: What the run started from.
        manifest: The new generation, numbered ``state.next_generation``.
        fence: Fencing token of the lease under which it was made.

    Raises:
        PreconditionFailedError: If another run committed since ``state`` was read.
    """
    data = manifest.to_json()
    sha256 = hashlib.sha256(data).hexdigest()
    store.write(manifest.key, data)
    read_verified(store, manifest.key, sha256)
    entry = GenerationEntry(
        generation=manifest.generation, manifest=manifest.key, manifest_sha256=sha256
    )
    earlier = state.current.generations if state.current else []
    current = Current(
        format_version=FORMAT_VERSION,
        generation=manifest.generation,
        fence=fence,
        generations=[*earlier, entry],
        retired=state.current.retired if state.current else [],
        last_generation=manifest.generation,
    )
    try:
        swap_current(store, current, state.version)
    except PreconditionFailedError:
        # The swap may have been made and its answer lost, and a takeover written its fence since.
        committed, _ = _read_current(store)
        if committed is None or entry not in committed.generations:
            raise
