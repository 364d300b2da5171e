"""How many actors and tasks of each stage run at once, from what the cluster has.

Embedding is nearly all of the work without an LLM, so it gets the machine: one encoder per four
cores of a node, or per GPU share. Reading and annotating reserve little, so that they always find
room beside it; what they really use is short.
"""

from dataclasses import dataclass

from scp_ray.config import Settings
from scp_ray.errors import InfeasiblePlanError

READ_POOL = "read"
ANNOTATE_POOL = "annotate"
EMBED_POOL = "embed"
INVENTORY_TASK = "inventory"
BUILD_TASK = "build"

_CPUS_PER_ENCODER = 4  # beyond that an encoder of this size gains little from more threads
_FRONT_CPUS = 0.125
_EMBED_CPU_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class NodeShape:
    """Logical CPUs and GPUs of a node."""

    num_cpus: float
    num_gpus: float = 0.0


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """The nodes that can run work."""

    nodes: tuple[NodeShape, ...]

    @property
    def num_cpus(self) -> float:
        """Logical CPUs of all nodes."""
        return sum(node.num_cpus for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Pool:
    """Size of one stage.

    Attributes:
        size: Actors, or most tasks at once.
        num_cpus: Logical CPUs that each reserves.
        num_gpus: GPUs, or the share of one, that each reserves.
        num_threads: CPU threads that each may use.
    """

    size: int
    num_cpus: float
    num_gpus: float = 0.0
    num_threads: int = 1


def size_pools(settings: Settings, cluster: ClusterShape) -> dict[str, Pool]:
    """Return the pool of each stage.

    Raises:
        InfeasiblePlanError: If no node can hold an actor, or all nodes together not all actors.
    """
    if not cluster.nodes:
        message = "the Ray cluster has no node with CPUs to work on"
        raise InfeasiblePlanError(message)
    config = settings.cluster
    cpus = int(cluster.num_cpus)
    front = max(1, cpus // 4)
    pools = {
        INVENTORY_TASK: Pool(config.parse_tasks or max(1, cpus), 1.0),
        READ_POOL: Pool(config.parse_tasks or front, _FRONT_CPUS),
        ANNOTATE_POOL: Pool(config.annotate_actors or front, _FRONT_CPUS),
        EMBED_POOL: _embed_pool(settings, cluster),
        BUILD_TASK: _build_pool(settings, cluster),
    }
    _check_fits(pools, cluster)
    return pools


def _embed_pool(settings: Settings, cluster: ClusterShape) -> Pool:
    gpus = [node.num_gpus for node in cluster.nodes if node.num_gpus]
    share = settings.embedding.gpus_per_actor
    wants_gpu = settings.embedding.device.startswith("cuda") or (
        settings.embedding.device == "auto" and bool(gpus)
    )
    share = (1.0 if wants_gpu else 0.0) if share is None else share
    if share:
        fitting = sum(int(count / share) for count in gpus)
        if not fitting:
            message = f"embedding.gpus_per_actor is {share}, but no node has as many GPUs"
            raise InfeasiblePlanError(message)
        size = settings.cluster.embed_actors or fitting
        return Pool(size, 1.0, share, settings.embedding.num_threads or 1)
    smallest = min(node.num_cpus for node in cluster.nodes)
    per_node = max(1, int(smallest // _CPUS_PER_ENCODER))
    size = settings.cluster.embed_actors or per_node * len(cluster.nodes)
    per_node = max(per_node, -(-size // len(cluster.nodes)))
    threads = settings.embedding.num_threads or max(1, int(smallest // per_node))
    return Pool(size, _EMBED_CPU_SHARE * smallest / per_node, 0.0, threads)


def _build_pool(settings: Settings, cluster: ClusterShape) -> Pool:
    threads = settings.index.build_threads
    fitting = sum(int(node.num_cpus // threads) for node in cluster.nodes)
    if not fitting:
        largest = max(node.num_cpus for node in cluster.nodes)
        message = f"index.build_threads is {threads}, but the largest node has {largest:g} CPUs"
        raise InfeasiblePlanError(message)
    return Pool(settings.cluster.build_tasks or fitting, float(threads), 0.0, threads)


def _check_fits(pools: dict[str, Pool], cluster: ClusterShape) -> None:
    together = [pools[name] for name in (READ_POOL, ANNOTATE_POOL, EMBED_POOL)]
    cpus = sum(pool.size * pool.num_cpus for pool in together)
    if cpus > cluster.num_cpus:
        message = (
            f"the actors of the pipeline reserve {cpus:g} CPUs together and the cluster has "
            f"{cluster.num_cpus:g}; lower cluster.parse_tasks, cluster.annotate_actors or "
            "cluster.embed_actors"
        )
        raise InfeasiblePlanError(message)
    gpus = sum(node.num_gpus for node in cluster.nodes)
    embed = pools[EMBED_POOL]
    if embed.size * embed.num_gpus > gpus:
        message = (
            f"{embed.size} embedding actors with {embed.num_gpus:g} GPUs each do not fit the "
            f"cluster's {gpus:g} GPUs; lower cluster.embed_actors or embedding.gpus_per_actor"
        )
        raise InfeasiblePlanError(message)
