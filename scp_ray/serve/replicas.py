"""What runs in the replicas behind the front: shard groups and query encoders."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle

from scp_ray.config import Settings
from scp_ray.protocols import Encoder
from scp_ray.retrieval.two_pass import Mapper, one_by_one
from scp_ray.serve.access_log import start_logging
from scp_ray.serve.coordinator import CoordinatorHandle
from scp_ray.serve.generation_holder import GenerationHolder
from scp_ray.serve.group_calls import GroupCall, answer_calls
from scp_ray.serve.query_encoding import (
    MAX_TEXTS,
    EncodeCall,
    Encoded,
    encode_calls,
    encode_each,
    load_query_encoder,
)
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.serve.shard_map import ShardMap
from scp_ray.storage.manifest import Manifest, read_manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import GenerationEntry

_CANARY = "canary"


@dataclass(frozen=True, slots=True)
class ServedIndex:
    """What every process of a service is told: where the index is, and how it is served.

    Attributes:
        index: Address.
        settings: Settings of the service.
        shard_map: Which group holds what.
        is_direct: Whether fronts listen themselves.
    """

    index: str
    settings: Settings
    shard_map: ShardMap
    is_direct: bool

    def manifest(self, entry: GenerationEntry) -> Manifest:
        """Read the manifest of a generation.

        Raises:
            ChecksumError: If it is missing or damaged.
        """
        return read_manifest(open_store(self.index), entry.manifest, entry.manifest_sha256)

    @property
    def num_threads(self) -> int:
        """Threads of one replica."""
        return max(1, int(self.settings.serve.cpus_per_replica))


class SearchThreads:
    """The threads of a process that searches; searches of one question share them too.

    Attributes:
        executor: Runs calls.
        run: Searches shards.
    """

    def __init__(self, num_threads: int) -> None:
        self.executor = ThreadPoolExecutor(num_threads, "scp_ray call")
        # A call waits for its shards, so these need threads of their own.
        shards = ThreadPoolExecutor(num_threads, "scp_ray shard") if num_threads > 1 else None
        self.run: Mapper = shards.map if shards else one_by_one


def open_group(served: ServedIndex, manifest: Manifest, number: int, run: Mapper) -> ShardGroup:
    """Open a group of a generation, and search it once.

    Raises:
        ScpRayError: If a file is missing or damaged, or a search finds nothing where chunks are.
    """
    shard_ids = served.shard_map.shards_of(manifest)[number]
    group = ShardGroup.open(served.index, manifest, shard_ids, served.settings, run)
    group.check(served.settings)
    return group


class GroupReplica:
    """A shard group in a process of its own."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, served: ServedIndex, number: int, coordinator: "DeploymentHandle[Any]"
    ) -> None:
        start_logging()
        self._served = served
        self._number = number
        self._threads = SearchThreads(served.num_threads)
        self._holder = GenerationHolder(
            *replica_names(), CoordinatorHandle(coordinator), self._open
        )
        await self._holder.start()

    async def answer(self, calls: Sequence[GroupCall]) -> list[Any]:
        """Answer calls; see ``answer_calls``."""
        return await answer_calls(calls, self._holder.part, self._threads.executor)

    def check_health(self) -> None:
        """Have Serve restart a replica that is alive and cannot search."""
        for group in self._holder.parts:
            group.check(self._served.settings)

    def _open(self, entry: GenerationEntry) -> ShardGroup:
        manifest = self._served.manifest(entry)
        return open_group(self._served, manifest, self._number, self._threads.run)


class EncoderReplica:
    """The query encoder in a process of its own: text in, vector out."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, served: ServedIndex, coordinator: "DeploymentHandle[Any]"
    ) -> None:
        start_logging()
        self._served = served
        self._executor = ThreadPoolExecutor(1, "scp_ray encoder")
        self._holder = GenerationHolder(
            *replica_names(), CoordinatorHandle(coordinator), self._open
        )
        await self._holder.start()

    async def answer(self, calls: Sequence[EncodeCall]) -> list[Encoded]:
        """Encode questions, together with those of other fronts that wait."""
        return await self._gathered(calls)

    @serve.batch(max_batch_size=MAX_TEXTS, batch_wait_timeout_s=0.0)
    async def _gathered(self, lists: list[Sequence[EncodeCall]]) -> list[list[Encoded]]:
        calls = [call for some in lists for call in some]
        encoded = iter(await encode_calls(calls, self._holder.part, self._executor))
        return [[next(encoded) for _ in some] for some in lists]

    def _open(self, entry: GenerationEntry) -> Encoder:
        manifest = self._served.manifest(entry)
        return open_encoder(manifest, self._served.settings, self._holder.parts)


def open_encoder(manifest: Manifest, settings: Settings, earlier: Iterable[Encoder]) -> Encoder:
    """Return the encoder of a generation: an earlier one's if it is the same, else a new one.

    A new one encodes a word, which also warms it.

    Raises:
        EncoderError: If it is not here, or gives no usable vector.
    """
    for encoder in earlier:
        if encoder.revision == manifest.encoder.revision:
            return encoder
    encoder = load_query_encoder(manifest, settings)
    for encoded in encode_each(encoder, [_CANARY]):
        if isinstance(encoded, Exception):
            raise encoded
    return encoder


def replica_names() -> tuple[str, str]:
    """Return the names of this replica and of its deployment."""
    context = serve.get_replica_context()
    return context.replica_id.unique_id, context.deployment
