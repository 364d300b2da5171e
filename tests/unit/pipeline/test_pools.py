"""Actor pools from the shape of a cluster."""

import pytest

from scp_ray.config import load_settings
from scp_ray.errors import InfeasiblePlanError
from scp_ray.pipeline.pools import (
    ANNOTATE_POOL,
    BUILD_TASK,
    EMBED_POOL,
    READ_POOL,
    ClusterShape,
    NodeShape,
    Pool,
    size_pools,
)


def pools(*nodes: NodeShape, assignments: tuple[str, ...] = ()) -> dict[str, Pool]:
    return size_pools(load_settings(None, assignments, {}), ClusterShape(nodes))


@pytest.mark.parametrize("cpus", [1, 2, 3, 4, 8, 16, 64, 192])
@pytest.mark.parametrize("count", [1, 3])
def test_the_pipeline_always_fits_beside_itself(cpus: int, count: int) -> None:
    sized = pools(*[NodeShape(cpus)] * count)
    reserved = sum(
        sized[name].size * sized[name].num_cpus for name in (READ_POOL, ANNOTATE_POOL, EMBED_POOL)
    )
    assert reserved <= cpus * count
    embed = sized[EMBED_POOL]
    assert embed.size * embed.num_threads <= cpus * count
    assert embed.num_cpus <= cpus


def test_one_encoder_takes_a_small_node_whole() -> None:
    embed = pools(NodeShape(2))[EMBED_POOL]
    assert (embed.size, embed.num_threads, embed.num_gpus) == (1, 2, 0.0)


def test_one_encoder_a_gpu() -> None:
    embed = pools(NodeShape(16, 4), NodeShape(16, 4), NodeShape(8))[EMBED_POOL]
    assert (embed.size, embed.num_gpus) == (8, 1.0)


def test_shares_of_gpus_are_counted_by_node() -> None:
    nodes = [NodeShape(16, 1), NodeShape(16, 1)]
    share = "embedding.gpus_per_actor=0.6"
    assert pools(*nodes, assignments=(share,))[EMBED_POOL].size == 2
    with pytest.raises(InfeasiblePlanError, match="room for 2, asked for 3"):
        pools(*nodes, assignments=(share, "cluster.embed_actors=3"))


def test_gpu_actors_need_cpus_on_the_same_node() -> None:
    assert pools(NodeShape(4, 8), NodeShape(64))[EMBED_POOL].size == 3


VLLM = ("chop.annotator=vllm", "llm.model=m")


def test_engines_take_the_gpus_and_encoders_the_cpus() -> None:
    sized = pools(NodeShape(16, 4), NodeShape(16), assignments=VLLM)
    assert (sized[ANNOTATE_POOL].size, sized[ANNOTATE_POOL].num_gpus) == (4, 1.0)
    assert (sized[EMBED_POOL].size, sized[EMBED_POOL].num_gpus) == (8, 0.0)
    spread = pools(NodeShape(16, 4), assignments=(*VLLM, "vllm.tensor_parallel_size=2"))
    assert (spread[ANNOTATE_POOL].size, spread[ANNOTATE_POOL].num_gpus) == (2, 2.0)


@pytest.mark.parametrize("node", [NodeShape(4, 1), NodeShape(2), NodeShape(1)])
def test_a_small_machine_can_run_an_engine(node: NodeShape) -> None:
    assert pools(node, assignments=VLLM)[ANNOTATE_POOL].size == 1


def test_engines_and_encoders_cannot_take_the_same_gpus() -> None:
    with pytest.raises(InfeasiblePlanError, match="8 GPUs together, and the cluster has 16 and 4"):
        pools(NodeShape(16, 4), assignments=(*VLLM, "embedding.device=cuda"))


def test_several_batches_wait_at_one_model() -> None:
    assert pools(NodeShape(4), assignments=VLLM)[ANNOTATE_POOL].concurrent_calls > 1
    assert pools(NodeShape(4))[ANNOTATE_POOL].concurrent_calls == 1


def test_small_head_does_not_shrink_the_encoders_of_large_nodes() -> None:
    embed = pools(NodeShape(1), *[NodeShape(64)] * 4)[EMBED_POOL]
    assert (embed.size, embed.num_threads) == (64, 4)


def test_more_encoders_than_places_are_made_smaller() -> None:
    embed = pools(NodeShape(8), assignments=("cluster.embed_actors=4",))[EMBED_POOL]
    assert (embed.size, embed.num_threads, embed.num_cpus) == (4, 2, 1.5)


def test_share_of_a_gpu() -> None:
    embed = pools(NodeShape(16, 1), assignments=("embedding.gpus_per_actor=0.5",))[EMBED_POOL]
    assert (embed.size, embed.num_gpus) == (2, 0.5)


def test_gpus_are_left_alone_when_cpu_is_asked_for() -> None:
    embed = pools(NodeShape(16, 1), assignments=("embedding.device=cpu",))[EMBED_POOL]
    assert embed.num_gpus == 0.0


def test_build_threads_are_reserved() -> None:
    build = pools(NodeShape(8), assignments=("index.build_threads=4",))[BUILD_TASK]
    assert (build.size, build.num_cpus) == (2, 4.0)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("embedding.gpus_per_actor=1", "the nodes have room for 0"),
        ("embedding.device=cuda", "the nodes have room for 0"),
        ("cluster.embed_actors=3", "the nodes have room for 2"),
        ("index.build_threads=3", "largest node has 2 CPUs"),
        ("cluster.parse_tasks=100", r"reserve .* CPUs and 0 GPUs together, and the cluster has 2"),
        ("cluster.annotate_actors=100", "lower cluster.parse_tasks"),
    ],
)
def test_infeasible_plans_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(InfeasiblePlanError, match=message):
        pools(NodeShape(2), assignments=(assignment,))


def test_too_many_gpu_actors_are_refused() -> None:
    with pytest.raises(InfeasiblePlanError, match="room for 1, asked for 2"):
        pools(NodeShape(8, 1), assignments=("cluster.embed_actors=2",))


def test_cluster_without_workers_is_refused() -> None:
    with pytest.raises(InfeasiblePlanError, match="no node with CPUs"):
        pools()
