"""The build audit."""

from collections.abc import Callable

import numpy as np
import pytest

from scp_ray.errors import IndexQualityError
from scp_ray.index.audit import ShardAudit, audit_graph, require_quality
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.reachability import NO_LINK
from scp_ray.protocols import Float32Array
from scp_ray.retrieval.positional_code import store_vectors
from scp_ray.sections import IndexConfig


@pytest.fixture
def graph(unit_vectors: Callable[[int, int], Float32Array], small_config: IndexConfig) -> HnswGraph:
    positions = np.random.default_rng(5).uniform(size=400)
    return HnswGraph.build(store_vectors(unit_vectors(400, 0), positions, 0.2), small_config)


def test_a_sound_graph_has_full_recall(graph: HnswGraph, small_config: IndexConfig) -> None:
    config = small_config.model_copy(update={"ef_search": 400})
    assert audit_graph(graph, config) == ShardAudit(20, 1.0, 1.0, 0)


def test_a_narrow_search_is_seen(graph: HnswGraph, small_config: IndexConfig) -> None:
    wide = audit_graph(graph, small_config.model_copy(update={"audit_queries": 400}))
    narrow = audit_graph(
        graph, small_config.model_copy(update={"audit_queries": 400, "ef_search": 10})
    )
    assert narrow.num_queries == 400
    assert narrow.first_pass_recall < wide.first_pass_recall
    assert narrow.second_pass_recall < wide.second_pass_recall
    assert narrow.recall == min(narrow.first_pass_recall, narrow.second_pass_recall)


def test_cut_links_are_seen(graph: HnswGraph, small_config: IndexConfig) -> None:
    links = graph.link_table()
    node = 17 if links.entry != 17 else 18
    links.slots[links.slots == node] = NO_LINK
    audit = audit_graph(graph, small_config)
    assert audit.num_unreachable >= 1
    with pytest.raises(
        IndexQualityError, match=r"vectors cannot be reached\. Raise index\.m \(8\)"
    ):
        require_quality(audit, small_config)


def test_ties_with_the_tenth_count_as_found(small_config: IndexConfig) -> None:
    embeddings = np.zeros((60, 4), dtype=np.float32)
    embeddings[np.arange(60), np.arange(60) % 4] = 1.0
    positions = np.linspace(0.0, 1.0, 60)
    graph = HnswGraph.build(store_vectors(embeddings, positions, 0.2), small_config)
    assert audit_graph(graph, small_config).first_pass_recall == 1.0


def test_fewer_vectors_than_ten_and_none(small_config: IndexConfig) -> None:
    few = store_vectors(np.eye(3, dtype=np.float32), np.zeros(3), 0.2)
    assert audit_graph(HnswGraph.build(few, small_config), small_config).num_queries == 3
    nothing = HnswGraph.build(np.empty((0, 5), dtype=np.float32), small_config)
    assert audit_graph(nothing, small_config) == ShardAudit(0, 1.0, 1.0, 0)


def test_low_recall_is_refused_with_figures_and_settings(small_config: IndexConfig) -> None:
    require_quality(ShardAudit(20, 0.95, 0.96, 0), small_config)
    with pytest.raises(
        IndexQualityError,
        match=r"0\.9800 in the first pass and 0\.9400 in the second, over 20 .*ef_search \(64\)",
    ):
        require_quality(ShardAudit(20, 0.98, 0.94, 0), small_config)
