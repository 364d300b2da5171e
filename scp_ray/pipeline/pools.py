"""How many actors and tasks of each stage run at once, from what the cluster has.

Embedding is nearly all of the work without an LLM, so it gets the machine: one encoder per four
cores of a node, or per GPU share. Reading and annotating reserve little, so that they always find
room beside it; what they really use is short.
"""

from dataclasses import dataclass, replace

from scp_ray.config import Settings
from scp_ray.errors import InfeasiblePlanError
from scp_ray.sections import AnnotatorName

READ_POOL = "read"
ANNOTATE_POOL = "annotate"
EMBED_POOL = "embed"
INVENTORY_TASK = "inventory"
BUILD_TASK = "build"

_CPUS_PER_ENCODER = 4  # beyond that an encoder of this size gains little from more threads
_FRONT_CPUS = 0.125
_EMBED_CPU_SHARE = 0.75
_LEAST_CPUS_PER_ENCODER = 1.0
_LLM_CALLS = 16  # batches of documents that one annotator has in flight


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
        concurrent_calls: Calls that each works on at once.
    """

    size: int
    num_cpus: float
    num_gpus: float = 0.0
    num_threads: int = 1
    concurrent_calls: int = 1


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
        ANNOTATE_POOL: _annotate_pool(settings, cluster, front),
        EMBED_POOL: _embed_pool(settings, cluster),
        BUILD_TASK: _build_pool(settings, cluster),
    }
    _check_fits(pools, cluster)
    return pools


def _annotate_pool(settings: Settings, cluster: ClusterShape, front: int) -> Pool:
    """Return one engine per GPU share for ``vllm``; one caller is enough for a server."""
    name, config = settings.chop.annotator, settings.cluster
    if not name.needs_llm:
        return Pool(config.annotate_actors or front, _FRONT_CPUS)
    share = _engine_gpus(settings, cluster)
    pool = Pool(config.annotate_actors or 1, _FRONT_CPUS)
    if share:
        pool = _gpu_pool("cluster.annotate_actors", config.annotate_actors, cluster, share)
    return replace(pool, num_cpus=_FRONT_CPUS, concurrent_calls=_LLM_CALLS)


def _engine_gpus(settings: Settings, cluster: ClusterShape) -> float:
    """Return the GPUs of one engine in this cluster, 0 where none runs on a GPU."""
    if settings.chop.annotator is not AnnotatorName.VLLM:
        return 0.0
    if settings.vllm.gpus_per_actor is not None:
        return settings.vllm.gpus_per_actor
    return float(settings.vllm.tensor_parallel_size if _has_gpus(cluster) else 0)


def _has_gpus(cluster: ClusterShape) -> bool:
    return any(node.num_gpus for node in cluster.nodes)


def _embed_pool(settings: Settings, cluster: ClusterShape) -> Pool:
    share = settings.embedding.gpus_per_actor
    is_free = _has_gpus(cluster) and not _engine_gpus(settings, cluster)
    wants_gpu = settings.embedding.device.startswith("cuda") or (
        settings.embedding.device == "auto" and is_free
    )
    share = (1.0 if wants_gpu else 0.0) if share is None else share
    if not share:
        return _cpu_pool(settings, cluster)
    pool = _gpu_pool("cluster.embed_actors", settings.cluster.embed_actors, cluster, share)
    return replace(pool, num_threads=settings.embedding.num_threads or 1)


def _gpu_pool(setting: str, wanted: int, cluster: ClusterShape, share: float) -> Pool:
    fitting = sum(
        min(int(node.num_gpus / share), int(node.num_cpus * _EMBED_CPU_SHARE))
        for node in cluster.nodes
    )
    size = wanted or fitting
    if not 0 < size <= fitting:
        message = (
            f"actors with {share:g} GPUs and one CPU each: the nodes have room for {fitting}, "
            f"asked for {max(size, 1)} ({setting})"
        )
        raise InfeasiblePlanError(message)
    return Pool(size, 1.0, share)


def _cpu_pool(settings: Settings, cluster: ClusterShape) -> Pool:
    """Encoders of equal size, as many as the nodes hold; smaller nodes are left to other stages."""
    largest = max(node.num_cpus for node in cluster.nodes)
    size = settings.cluster.embed_actors
    unit = min(float(_CPUS_PER_ENCODER), largest)
    while size > _places(cluster, unit) and unit > _LEAST_CPUS_PER_ENCODER:
        unit /= 2  # more encoders were asked for than have room: each gets less
    if size > _places(cluster, unit):
        message = (
            f"cluster.embed_actors is {size}; the nodes have room for {_places(cluster, unit)}"
        )
        raise InfeasiblePlanError(message)
    threads = settings.embedding.num_threads or max(1, int(unit))
    return Pool(size or _places(cluster, unit), _EMBED_CPU_SHARE * unit, 0.0, threads)


def _places(cluster: ClusterShape, unit: float) -> int:
    return sum(int(node.num_cpus // unit) for node in cluster.nodes)


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
    gpus = sum(pool.size * pool.num_gpus for pool in together)
    num_gpus = sum(node.num_gpus for node in cluster.nodes)
    if cpus > cluster.num_cpus or gpus > num_gpus:
        message = (
            f"the actors of the pipeline reserve {cpus:g} CPUs and {gpus:g} GPUs together, and the "
            f"cluster has {cluster.num_cpus:g} and {num_gpus:g}; lower cluster.parse_tasks, "
            "cluster.annotate_actors or cluster.embed_actors, or set embedding.device=cpu"
        )
        raise InfeasiblePlanError(message)
