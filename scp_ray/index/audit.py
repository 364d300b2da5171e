"""The build audit: does a search of the graph find what an exact search finds?"""

from dataclasses import dataclass

import numpy as np

from scp_ray.errors import IndexQualityError
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.reachability import reached_nodes
from scp_ray.protocols import Float32Array
from scp_ray.retrieval.positional_code import CODE_DIM, positional_code
from scp_ray.sections import IndexConfig, RetrievalConfig

RECALL_AT = 10
# Two float32 inner products of one pair of unit vectors differ by less.
TIE_TOLERANCE = 1e-6
_SEED = 1
_BLOCK_NODES = 16_384


@dataclass(frozen=True, slots=True)
class ShardAudit:
    """What the audit measured.

    Attributes:
        num_queries: Vectors of the shard that were searched for.
        first_pass_recall: Recall@10 against exact search, in [0, 1], with the vector's embedding
            alone. A found vector as near as the tenth counts.
        second_pass_recall: The same with a position prior.
        num_unreachable: Vectors that no search can reach.
    """

    num_queries: int
    first_pass_recall: float
    second_pass_recall: float
    num_unreachable: int

    @property
    def recall(self) -> float:
        """The lower one of both passes."""
        return min(self.first_pass_recall, self.second_pass_recall)


def audit_graph(graph: HnswGraph, config: IndexConfig) -> ShardAudit:
    """Measure a graph on ``audit_queries`` of its own vectors, drawn with a fixed seed.

    The second pass has the default ``retrieval.position_weight`` and, for each query, a position
    drawn evenly from [0, 1].
    """
    num_unreachable = int(np.count_nonzero(~reached_nodes(graph.link_table())))
    if graph.num_nodes == 0:
        return ShardAudit(0, 1.0, 1.0, num_unreachable)
    first, second = _queries(graph.vectors, config)
    thresholds = _exact_thresholds(graph.vectors, first, second)
    recalls = [
        _recall(graph, queries, threshold, config)
        for queries, threshold in zip((first, second), thresholds, strict=True)
    ]
    return ShardAudit(len(first), recalls[0], recalls[1], num_unreachable)


def require_quality(audit: ShardAudit, config: IndexConfig) -> None:
    """Refuse a graph that misses ``min_recall`` or has vectors that no search can reach.

    Raises:
        IndexQualityError: With the figures and the settings to raise.
    """
    if audit.recall >= config.min_recall and audit.num_unreachable == 0:
        return
    message = (
        f"recall@{RECALL_AT} is {audit.first_pass_recall:.4f} in the first pass and "
        f"{audit.second_pass_recall:.4f} in the second, over {audit.num_queries} queries "
        f"(index.min_recall is {config.min_recall}); {audit.num_unreachable} vectors cannot be "
        f"reached. Raise index.m ({config.m}), index.ef_construction ({config.ef_construction}) "
        f"or index.ef_search ({config.ef_search})"
    )
    raise IndexQualityError(message)


def _queries(vectors: Float32Array, config: IndexConfig) -> tuple[Float32Array, Float32Array]:
    """Return the vectors of both passes, shape (n, d + 2) each, equal but for the code."""
    generator = np.random.default_rng(_SEED)
    num_queries = min(config.audit_queries, len(vectors))
    sample = np.sort(generator.choice(len(vectors), size=num_queries, replace=False))
    first = vectors[sample]
    first[:, -CODE_DIM:] = 0.0
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = first.copy()
    weight = RetrievalConfig().position_weight / config.positional_code_weight
    second[:, -CODE_DIM:] = weight * positional_code(generator.uniform(size=num_queries))
    return first, second


def _exact_thresholds(
    vectors: Float32Array, first: Float32Array, second: Float32Array
) -> list[Float32Array]:
    """Return each query's tenth largest inner product, by a full scan, for both passes."""
    depth = min(RECALL_AT, len(vectors))
    best = [np.full((len(first), depth), -np.inf, dtype=np.float32) for _ in range(2)]
    for start in range(0, len(vectors), _BLOCK_NODES):
        block = vectors[start : start + _BLOCK_NODES]
        semantic = first @ block.T
        with_prior = semantic + second[:, -CODE_DIM:] @ block[:, -CODE_DIM:].T
        for place, products in enumerate((semantic, with_prior)):
            merged = np.concatenate([best[place], products], axis=1)
            best[place] = np.partition(merged, -depth, axis=1)[:, -depth:]
    return [products.min(axis=1) for products in best]


def _recall(
    graph: HnswGraph, queries: Float32Array, thresholds: Float32Array, config: IndexConfig
) -> float:
    depth = min(RECALL_AT, graph.num_nodes)
    products, nodes = graph.search(
        queries, depth, ef_search=config.ef_search, num_threads=config.build_threads
    )
    is_hit = (nodes >= 0) & (products >= thresholds[:, np.newaxis] - TIE_TOLERANCE)
    return float(is_hit.mean())
