"""Which shard group holds which shards of a generation."""

from dataclasses import dataclass

from scp_ray.config import Settings
from scp_ray.storage.manifest import Manifest

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The groups of a running service; every process of it comes to the same answer.

    Attributes:
        groups: The shards of each group in the generation that the service was started with.
            A later one with the same shards keeps them, so that unchanged shards stay where they
            are; one that has others is spread anew, over as many groups.
    """

    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, manifest: Manifest, settings: Settings) -> "ShardMap":
        """Spread the shards over the groups that the settings ask for."""
        wanted = settings.serve.num_groups or num_groups_for(
            manifest, settings.serve.memory_per_replica_mb
        )
        return cls(tuple(map(tuple, spread_shards(manifest, wanted))))

    def shards_of(self, manifest: Manifest) -> list[list[int]]:
        """Return the shards of each group in a generation; a group may have none."""
        shard_ids = sorted(entry.shard_id for entry in manifest.shards)
        if sorted(shard for group in self.groups for shard in group) == shard_ids:
            return [list(group) for group in self.groups]
        spread = spread_shards(manifest, len(self.groups))
        return spread + [[] for _ in range(len(self.groups) - len(spread))]


def num_groups_for(manifest: Manifest, memory_mb: int) -> int:
    """Return how many groups it takes until none holds more than a replica's memory.

    A shard that is larger by itself has a group of its own.
    """
    sizes = {entry.shard_id: entry.size_bytes for entry in manifest.shards}
    num_groups = max(1, -(-sum(sizes.values()) // (memory_mb * _MB)))
    while num_groups < len(sizes):
        groups = spread_shards(manifest, num_groups)
        if all(
            len(group) == 1 or sum(sizes[shard] for shard in group) <= memory_mb * _MB
            for group in groups
        ):
            break
        num_groups += 1
    return min(num_groups, len(sizes))


def spread_shards(manifest: Manifest, num_groups: int) -> list[list[int]]:
    """Return the shards of each group: the largest first, each to the group with least so far.

    Every group has a shard, and of the empty ones no group has many more than another.
    """
    groups: list[list[int]] = [[] for _ in range(min(num_groups, len(manifest.shards)))]
    sizes = [0] * len(groups)
    for shard in sorted(manifest.shards, key=lambda entry: (-entry.size_bytes, entry.shard_id)):
        smallest = min(range(len(groups)), key=lambda place: (sizes[place], len(groups[place])))
        groups[smallest].append(shard.shard_id)
        sizes[smallest] += shard.size_bytes
    return [sorted(group) for group in groups]
