"""Runs chains of stages as Ray Data pipelines."""

import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import ray
import ray.data
from ray.exceptions import RayError, RayTaskError
from ray.util.annotations import RayDeprecationWarning

from scp_ray.config import Settings, bound_out_of_memory_retries, ray_address
from scp_ray.errors import ClusterError, EngineDeadError, ScpRayError
from scp_ray.pipeline.executor import Stage, StageSpec, close_stage
from scp_ray.pipeline.pools import (
    ANNOTATE_POOL,
    EMBED_POOL,
    ClusterShape,
    NodeShape,
    Pool,
    size_pools,
)

_log = logging.getLogger(__name__)

_OUT_OF_MEMORY_RETRIES = 3  # of a task; an actor's are its restarts
_SAID_CHARACTERS = 500  # of what Ray says
_MAX_BLOCKS = 2000  # of the driver's input; Ray keeps some kilobytes of state for each
_ONE_ROW = 1  # bytes of a block: it is full with its first row


class RayExecutor:
    """Runs every chain as one Ray Data pipeline over the cluster that this process is in.

    A restarted actor or task gets its batch again, so a stage must be able to see a batch twice.

    Args:
        settings: Give pool sizes, restarts and batch sizes.

    Raises:
        InfeasiblePlanError: If the cluster can never run the pools.
    """

    def __init__(self, settings: Settings) -> None:
        self.pools = size_pools(settings, declared_shape(settings) or cluster_shape())
        self.encoder_threads = self.pools[EMBED_POOL].num_threads
        self.num_annotators = self.pools[ANNOTATE_POOL].size
        self._max_restarts = settings.cluster.max_restarts

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        """Send ``rows`` through ``stages`` and yield what comes out, as it comes.

        Raises:
            ClusterError: If a process dies more often than ``cluster.max_restarts`` allows, or
                Ray cannot go on for another reason.
        """
        if not rows.num_rows:
            return
        try:
            yield from self._outcomes(rows, stages)
        except RayError as error:
            _raise_cause(error)
            if isinstance(error, RayTaskError):  # what the code of a stage raised
                raise
            raise self._cluster_error(stages, error) from error

    def _outcomes(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        block_rows = max(stages[0].batch_rows, -(-rows.num_rows // _MAX_BLOCKS))
        blocks = [rows.slice(start, block_rows) for start in range(0, rows.num_rows, block_rows)]
        dataset: ray.data.Dataset = ray.data.from_arrow(list[pa.Table | bytes](blocks))
        if any(spec.multiplies_rows for spec in stages):
            # A block goes to one actor, which takes its batches one after the other.
            dataset.context.target_max_block_size = _ONE_ROW
        num_blocks = len(blocks)
        for spec in stages:
            dataset = self._with_stage(dataset, spec, num_blocks)
            if spec.multiplies_rows:
                num_blocks = sys.maxsize
        batches: Iterable[Any] = dataset.iter_batches(
            batch_size=None, batch_format="pyarrow", prefetch_batches=0
        )
        yield from batches

    def _cluster_error(self, stages: list[StageSpec], error: RayError) -> ClusterError:
        names = ", ".join(spec.name for spec in stages)
        said = " ".join(str(error).split())[:_SAID_CHARACTERS]
        message = (
            f"Ray gave up on the stages {names}: {type(error).__name__}. A process that dies is "
            f"started again {self._max_restarts} times (cluster.max_restarts); one that runs out "
            f"of memory dies each time. Ray says: {said}"
        )
        return ClusterError(message)

    def _with_stage(
        self, dataset: ray.data.Dataset, spec: StageSpec, num_blocks: int
    ) -> ray.data.Dataset:
        pool = self.pools[spec.pool or spec.name]
        common: dict[str, Any] = {
            "batch_size": spec.batch_rows,
            "batch_format": "pyarrow",
            "zero_copy_batch": True,
            "num_cpus": pool.num_cpus,
            "num_gpus": pool.num_gpus,
        }
        limit = self._max_restarts
        size = min(pool.size, num_blocks)  # more would have nothing to do
        if spec.pool is None:
            run_once: Any = partial(_run_once, spec)  # Ray types a batch as a union of formats
            tasks = ray.data.TaskPoolStrategy(size)
            return _mapped(dataset, run_once, compute=tasks, max_retries=limit, **common)
        return _mapped(
            dataset,
            _StageActor,
            fn_constructor_args=[spec],
            compute=_actor_pool(size, pool),
            max_restarts=limit,
            max_task_retries=-1,  # each look for an actor on a lost node is one: restarts count
            **common,
        )


def _actor_pool(size: int, pool: Pool) -> ray.data.ActorPoolStrategy:
    if pool.concurrent_calls == 1:
        return ray.data.ActorPoolStrategy(size=size)
    return ray.data.ActorPoolStrategy(
        size=size,
        max_concurrent_calls_per_actor=pool.concurrent_calls,
        max_tasks_in_flight_per_actor=pool.concurrent_calls,
    )


def _mapped(dataset: ray.data.Dataset, fn: Any, **arguments: Any) -> ray.data.Dataset:  # noqa: ANN401
    """Call ``map_batches`` without its warning that bounds of retries will be named otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RayDeprecationWarning)
        return dataset.map_batches(fn, **arguments)


class _StageActor:
    """Keeps one stage between calls; Ray Data wants a class with ``__call__``."""

    def __init__(self, spec: StageSpec) -> None:
        self._stage: Stage
        try:
            self._stage = spec.make()
        except ScpRayError as error:
            # Ray would start the actor again and then say only that it does not start.
            self._stage = partial(_refuse, error)

    def __del__(self) -> None:
        """Be told by Ray that the actor's work is done."""
        close_stage(getattr(self, "_stage", None))

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        try:
            yield from self._stage(batch)
        except EngineDeadError:
            # An error would end the run, and the next call would meet the same dead engine. When
            # the process ends, Ray starts another one, so many times, and gives it the batch.
            _log.exception("the engine is dead; its actor ends")
            os._exit(1)


def _refuse(error: ScpRayError, batch: pa.Table) -> Iterator[pa.Table]:
    del batch
    raise error


def _run_once(spec: StageSpec, batch: pa.Table) -> Iterator[pa.Table]:
    yield from spec.make()(batch)


def _raise_cause(error: BaseException) -> None:
    """Raise the error of scp_ray that a stage raised, out of what Ray wrapped around it."""
    cause: BaseException | None = error
    while cause is not None:
        inner = getattr(cause, "cause", None)
        for candidate in (inner, cause):
            if isinstance(candidate, ScpRayError):
                raise candidate from error
        cause = cause.__cause__


def declared_shape(settings: Settings) -> ClusterShape | None:
    """Return the nodes that ``cluster.nodes`` says an autoscaler can give, None if it does not."""
    nodes = [
        NodeShape(node.num_cpus, node.num_gpus)
        for node in settings.cluster.nodes
        for _ in range(node.count)
    ]
    return ClusterShape(tuple(nodes)) if nodes else None


def cluster_shape() -> ClusterShape:
    """Return the CPUs and GPUs of each live node that can run work."""
    nodes = [
        NodeShape(node["Resources"].get("CPU", 0.0), node["Resources"].get("GPU", 0.0))
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]
    return ClusterShape(tuple(node for node in nodes if node.num_cpus > 0))


def connect() -> str:
    """Join the Ray cluster of ``RAY_ADDRESS``, or start one for this process.

    Returns:
        Where it is and what it has, for people.

    Raises:
        ClusterError: If a cluster is there but cannot be joined.
    """
    if not ray.is_initialized():
        bound_out_of_memory_retries(_OUT_OF_MEMORY_RETRIES)
        try:
            ray.init(
                ray_address(),
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, RuntimeError, ValueError, RayError) as error:
            message = (
                f"cannot join or start Ray: {error}. RAY_ADDRESS names the cluster and "
                "RAY_AUTH_TOKEN_PATH the file of its token; without RAY_ADDRESS one is started"
            )
            raise ClusterError(message) from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what stops a run is raised
    address = ray.get_runtime_context().gcs_address
    return f"Ray at {address}, {cluster_shape().num_cpus:g} CPUs"
