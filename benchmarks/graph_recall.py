"""Recall of a shard's graph against exact search, with real questions, in both passes.

The graph itself is asked: a small shard would be scanned when it is served. The vectors of both
passes are those that a query makes, the second with the prior of the first and its weights.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import rounded
from scp_ray.config import Settings
from scp_ray.index.audit import RECALL_AT, TIE_TOLERANCE
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.node_rows import NodeRows
from scp_ray.index.reachability import reached_nodes
from scp_ray.index.shard import Shard
from scp_ray.index.shard_files import GRAPH_FILE, read_nodes
from scp_ray.protocols import Float32Array, Float64Array
from scp_ray.records import PositionPrior
from scp_ray.retrieval.merge import merge_first_pass
from scp_ray.retrieval.positional_code import first_pass_vector, second_pass_vector, store_vectors
from scp_ray.retrieval.prior import prior_in_force
from scp_ray.retrieval.shard_search import first_pass
from scp_ray.retrieval.two_pass import prior_of

PASSES = ("first_pass", "second_pass")


def measure_shards(
    folders: Sequence[Path], queries: Float32Array, settings: Settings
) -> dict[str, Any]:
    """Ask every shard of one index all questions.

    Args:
        folders: Files of each shard that has documents.
        queries: Vectors of the questions, shape (n, dim).
        settings: Give ``index.ef_search`` and the weights of a query.

    Returns:
        For each pass ``recall``, the mean over questions and shards, ``worst_shard``, and
        ``num_lost``, pairs of question and shard in which nothing was found that should be; beside
        them counts, and how many questions had a prior in force.
    """
    ef_search = settings.index.ef_search
    shards = [
        Shard(folder, shard_id=number, ef_search=ef_search) for number, folder in enumerate(folders)
    ]
    priors = [_prior(shards, query, settings) for query in queries]
    by_shard = [
        _shard_recalls(shard, folder, queries, priors, settings)
        for shard, folder in zip(shards, folders, strict=True)
    ]
    recalls = np.stack(by_shard, axis=1)
    return {
        "num_chunks": sum(shard.num_chunks for shard in shards),
        "num_shards": len(shards),
        "num_queries": len(queries),
        "num_priors_in_force": sum(prior is not None for prior in priors),
        "num_unreachable": sum(map(_num_unreachable, folders)),
        **{name: _summed_up(recall) for name, recall in zip(PASSES, recalls, strict=True)},
    }


def pass_recall(
    graph: HnswGraph, rows: NodeRows, stored: Float32Array, vectors: Float32Array, ef_search: int
) -> Float64Array:
    """Return recall@10 of each query vector against a scan of all stored vectors.

    A row that was found and is as near as the tenth of the scan is a hit, so ties count.

    Args:
        graph: Holds each stored vector once.
        rows: The rows of its nodes.
        stored: Stored vector of each row, shape (num_rows, d + 2).
        vectors: Shape (n, d + 2).
        ef_search: Candidates of a walk.
    """
    depth = min(RECALL_AT, len(stored))
    recalls = np.empty(len(vectors))
    for place, vector in enumerate(vectors):
        products, nodes = graph.search(vector[np.newaxis], RECALL_AT, ef_search=ef_search)
        is_found = nodes[0] >= 0
        found, _ = rows.expand(products[0, is_found], nodes[0, is_found])
        tenth = np.partition(stored @ vector, -depth)[-depth]
        recalls[place] = np.count_nonzero(found[:depth] >= tenth - TIE_TOLERANCE) / depth
    return recalls


def _prior(
    shards: Sequence[Shard], query: Float32Array, settings: Settings
) -> PositionPrior | None:
    params = settings.query_params()
    hits = merge_first_pass([first_pass(shard, query, params) for shard in shards], params)
    return prior_in_force(prior_of(hits, params), params)


def _shard_recalls(
    shard: Shard,
    folder: Path,
    queries: Float32Array,
    priors: Sequence[PositionPrior | None],
    settings: Settings,
) -> list[Float64Array]:
    """Return the recall of every question, first pass and second pass."""
    every = np.arange(shard.num_chunks)
    stored = store_vectors(shard.embeddings(every), shard.positions(every), shard.code_weight)
    graph = HnswGraph.open(folder / GRAPH_FILE)
    rows = NodeRows(read_nodes(folder), graph.num_nodes)
    retrieval = settings.retrieval
    second = [
        second_pass_vector(
            query,
            prior,
            retrieval.position_weight,
            shard.code_weight,
            lexical_weight=retrieval.lexical_weight,
        )
        for query, prior in zip(queries, priors, strict=True)
    ]
    return [
        pass_recall(graph, rows, stored, np.stack(vectors), settings.index.ef_search)
        for vectors in ([first_pass_vector(query) for query in queries], second)
    ]


def _num_unreachable(folder: Path) -> int:
    graph = HnswGraph.open(folder / GRAPH_FILE)  # its links are a view of it
    return int(np.count_nonzero(~reached_nodes(graph.link_table())))


def _summed_up(recalls: Float64Array) -> dict[str, float]:
    """Sum up the recall of each shard (rows) and question (columns)."""
    return {
        "recall": rounded(float(recalls.mean())),
        "worst_shard": rounded(float(recalls.mean(axis=1).min())),
        "num_lost": int(np.count_nonzero(recalls == 0.0)),
    }
