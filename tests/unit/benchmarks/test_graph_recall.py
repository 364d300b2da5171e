"""Recall of graphs against a scan."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.graph_recall import measure_shards, pass_recall
from scp_ray.config import Settings
from scp_ray.index.build import build_shard
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.node_rows import NodeRows
from scp_ray.protocols import Float32Array
from scp_ray.sections import IndexConfig
from scp_ray.testing.shard_tables import shard_tables

DIM = 16
EF_SEARCH = 64


def unit_vectors(count: int, dim: int = DIM, seed: int = 0) -> Float32Array:
    drawn = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    unit: Float32Array = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two shards, one of which has only three chunks."""
    made = []
    for number, count in enumerate((60, 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        tables = shard_tables({f"doc-{number}": unit_vectors(count, seed=number)}, dim=DIM)
        build_shard(*tables, IndexConfig(), folder)
        made.append(folder)
    return made


def test_small_shards_are_found_whole(folders: list[Path]) -> None:
    figures = measure_shards(folders, unit_vectors(5, seed=9), Settings())
    whole = {"recall": 1.0, "worst_shard": 1.0, "num_lost": 0}
    assert figures["first_pass"] == figures["second_pass"] == whole
    assert (figures["num_chunks"], figures["num_shards"]) == (63, 2)
    assert figures["num_queries"] == 5
    assert figures["num_unreachable"] == 0


def test_what_the_graph_does_not_hold_is_missed() -> None:
    stored = unit_vectors(200)
    graph = HnswGraph.build(stored[:100], IndexConfig())
    rows = NodeRows(np.arange(100), 100)
    recalls = pass_recall(graph, rows, stored, unit_vectors(20, seed=3), EF_SEARCH)
    assert recalls.shape == (20,)
    assert 0.3 < recalls.mean() < 0.7
    whole = pass_recall(graph, rows, stored[:100], unit_vectors(20, seed=3), EF_SEARCH)
    assert whole.min() == 1.0


def test_rows_that_share_a_node_count_each_and_ties_are_hits() -> None:
    nodes = unit_vectors(4)
    node_of_row = np.array([0] * 30 + [1, 2, 3])
    graph = HnswGraph.build(nodes, IndexConfig())
    rows = NodeRows(node_of_row, 4)
    recalls = pass_recall(graph, rows, nodes[node_of_row], nodes[:1], EF_SEARCH)
    assert recalls.tolist() == [1.0]
