"""The FAISS graph: building, searching, files."""

from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pytest

from scp_ray.errors import IndexFormatError, IndexQualityError
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.reachability import reached_nodes
from scp_ray.protocols import Float32Array
from scp_ray.sections import IndexConfig

MakeVectors = Callable[[int, int], Float32Array]


def test_it_finds_what_a_full_scan_finds(
    unit_vectors: MakeVectors, small_config: IndexConfig
) -> None:
    vectors, queries = unit_vectors(300, 0), unit_vectors(5, 1)
    graph = HnswGraph.build(vectors, small_config)
    products, nodes = graph.search(queries, 10, ef_search=300)
    exact = queries @ vectors.T
    np.testing.assert_array_equal(nodes, np.argsort(-exact, axis=1)[:, :10])
    np.testing.assert_allclose(products, -np.sort(-exact, axis=1)[:, :10], atol=1e-6)


def test_asking_for_more_than_ef_is_no_loss(
    unit_vectors: MakeVectors, small_config: IndexConfig
) -> None:
    vectors = unit_vectors(300, 0)
    graph = HnswGraph.build(vectors, small_config)
    _, nodes = graph.search(vectors[:1], 250, ef_search=8)
    assert len(set(nodes[0].tolist()) - {-1}) >= 245


def test_one_search_and_many_agree(unit_vectors: MakeVectors, small_config: IndexConfig) -> None:
    graph = HnswGraph.build(unit_vectors(200, 0), small_config)
    queries = unit_vectors(6, 1)
    together = graph.search(queries, 5, ef_search=50, num_threads=2)
    for place in range(6):
        alone = graph.search(queries[place : place + 1], 5, ef_search=50)
        np.testing.assert_array_equal(alone[1][0], together[1][place])


def test_more_than_there_are_is_marked(
    unit_vectors: MakeVectors, small_config: IndexConfig
) -> None:
    graph = HnswGraph.build(unit_vectors(3, 0), small_config)
    _, nodes = graph.search(unit_vectors(1, 1), 5, ef_search=8)
    assert sorted(nodes[0].tolist()) == [-1, -1, 0, 1, 2]


def test_the_same_vectors_give_the_same_bytes(
    unit_vectors: MakeVectors, small_config: IndexConfig, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        HnswGraph.build(unit_vectors(400, 0), small_config).write(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_written_graph_comes_back_mapped(
    unit_vectors: MakeVectors, small_config: IndexConfig, tmp_path: Path
) -> None:
    vectors, queries = unit_vectors(200, 0), unit_vectors(3, 1)
    built = HnswGraph.build(vectors, small_config)
    built.write(tmp_path / "graph")
    opened = HnswGraph.open(tmp_path / "graph")
    assert (opened.num_nodes, opened.dim) == (200, vectors.shape[1])
    np.testing.assert_array_equal(opened.vectors, vectors)
    for mine, theirs in zip(
        opened.search(queries, 5, ef_search=64), built.search(queries, 5, ef_search=64), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    assert "graph" in Path("/proc/self/maps").read_text()


def test_no_vectors_are_a_graph_too(small_config: IndexConfig, tmp_path: Path) -> None:
    HnswGraph.build(np.empty((0, 6), dtype=np.float32), small_config).write(tmp_path / "graph")
    graph = HnswGraph.open(tmp_path / "graph")
    assert (graph.num_nodes, graph.vectors.shape) == (0, (0, 6))
    _, nodes = graph.search(np.ones((1, 6), dtype=np.float32), 2, ef_search=8)
    assert nodes.tolist() == [[-1, -1]]
    assert reached_nodes(graph.link_table()).tolist() == []


@pytest.mark.parametrize("value", [0.0, 2.0, np.nan])
def test_a_vector_of_another_norm_is_refused(
    unit_vectors: MakeVectors, small_config: IndexConfig, value: float
) -> None:
    vectors = unit_vectors(20, 0)
    vectors[7] *= np.float32(value)
    with pytest.raises(IndexQualityError, match="vector 7 has norm"):
        HnswGraph.build(vectors, small_config)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    with pytest.raises(IndexFormatError, match="not a FAISS index"):
        HnswGraph.open(path)
    path.write_bytes(b"not an index")
    with pytest.raises(IndexFormatError, match="not a FAISS index"):
        HnswGraph.open(path)
    faiss.write_index(faiss.IndexFlatIP(4), str(path))
    with pytest.raises(IndexFormatError, match="not IndexFlat"):
        HnswGraph.open(path)
    faiss.write_index(faiss.IndexHNSWFlat(4, 8), str(path))
    with pytest.raises(IndexFormatError, match="HNSW graph for inner product"):
        HnswGraph.open(path)


def test_the_threads_of_others_are_put_back(
    unit_vectors: MakeVectors, small_config: IndexConfig
) -> None:
    before = faiss.omp_get_max_threads()
    config = small_config.model_copy(update={"build_threads": before + 1})
    HnswGraph.build(unit_vectors(50, 0), config)
    assert faiss.omp_get_max_threads() == before
