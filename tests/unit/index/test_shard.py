"""A shard opened from its files."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.errors import IndexFormatError
from scp_ray.index import shard as shard_module
from scp_ray.index import shard_files
from scp_ray.index.build import build_shard
from scp_ray.index.shard import Shard
from scp_ray.protocols import Float32Array
from scp_ray.records import ChunkKey
from scp_ray.retrieval.filters import allowed_rows, parse_filter
from scp_ray.retrieval.positional_code import first_pass_vector
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import two_pass_query
from scp_ray.sections import IndexConfig
from scp_ray.testing.shard_tables import shard_tables

MakeVectors = Callable[[int, int], Float32Array]


def test_it_knows_its_sizes_and_rows(shard: Shard, documents: dict[str, Float32Array]) -> None:
    assert (shard.shard_id, shard.num_chunks, shard.num_documents) == (2, 40, 3)
    assert (shard.dim, shard.code_weight) == (16, 0.2)
    assert shard.keys(np.array([39, 9])) == [ChunkKey("c", 0), ChunkKey("b", 0)]
    assert shard.positions(np.array([39, 9, 38])).tolist() == [0.5, 0.0, 1.0]
    np.testing.assert_array_equal(shard.embeddings(np.array([39])), documents["c"])
    assert shard.stored_chunks([39])[0].text == "c 0"


@pytest.mark.parametrize("exact", [False, True])
def test_a_chunk_s_own_vector_finds_it_first(shard: Shard, *, exact: bool) -> None:
    for row in range(40):
        vector = first_pass_vector(shard.embeddings(np.array([row]))[0])
        products, rows = shard.nearest(vector, 1, exact=exact)
        assert rows.tolist() == [row]
        assert products[0] * np.sqrt(1.04) == pytest.approx(1.0, abs=1e-6)


def test_the_graph_and_the_scan_agree(
    shard: Shard, unit_vectors: MakeVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_module, "SCAN_SHARE", 1.0)
    vector = first_pass_vector(unit_vectors(1, 9)[0])
    walked, scanned = (shard.nearest(vector, 12, exact=exact) for exact in (False, True))
    np.testing.assert_array_equal(walked[1], scanned[1])
    np.testing.assert_allclose(walked[0], scanned[0], atol=1e-6)


def test_a_deep_walk_becomes_a_scan_and_never_shows_a_missing_row(
    shard: Shard, unit_vectors: MakeVectors
) -> None:
    products, rows = shard.nearest(first_pass_vector(unit_vectors(1, 9)[0]), 99, exact=False)
    assert sorted(rows.tolist()) == list(range(40))
    assert np.all(np.diff(products) <= 0)


def test_all_rows_of_a_shared_vector_are_found(
    small_config: IndexConfig,
    unit_vectors: MakeVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shard_module, "SCAN_SHARE", 1.0)
    vectors = unit_vectors(30, 0)
    documents = {
        f"doc-{number:02d}": vectors[number % 30 : number % 30 + 1] for number in range(60)
    }
    build_shard(*shard_tables(documents, dim=16), small_config, tmp_path)
    shard = Shard(tmp_path, shard_id=0, ef_search=64)
    _, rows = shard.nearest(first_pass_vector(vectors[7]), 2, exact=False)
    assert rows[:2].tolist() == [7, 37]


def test_a_filter_allows_rows_by_any_field(shard: Shard, unit_vectors: MakeVectors) -> None:
    conditions = parse_filter({"metadata.year": {"lt": 2022}, "cnm.category": "pump"})
    allowed = allowed_rows(conditions, shard)
    assert np.flatnonzero(allowed).tolist() == list(range(9))
    params = Settings().query_params(top_k=20, min_index_gap=1)
    outcome = two_pass_query([shard], Question(unit_vectors(1, 5)[0]), params, allowed=[allowed])
    assert {hit.key.doc_id for hit in outcome.selection.kept} == {"a"}
    assert len(outcome.selection.kept) == 9


def test_a_shard_without_documents_answers(small_config: IndexConfig, tmp_path: Path) -> None:
    build_shard(*shard_tables({}, dim=16), small_config, tmp_path)
    shard = Shard(tmp_path, shard_id=0, ef_search=64)
    assert (shard.num_chunks, shard.dim) == (0, 16)
    query = np.eye(16, dtype=np.float32)[0]
    for exact in (False, True):
        products, rows = shard.nearest(first_pass_vector(query), 3, exact=exact)
        assert (products.shape, rows.shape) == ((0,), (0,))
        outcome = two_pass_query([shard], Question(query), Settings().query_params(exact=exact))
        assert outcome.selection.exhausted
    assert allowed_rows(parse_filter({"cnm.model": "x"}), shard).shape == (0,)


@pytest.mark.parametrize("name", shard_files.FILES)
def test_files_of_another_shard_are_refused(
    shard_folder: Path,
    small_config: IndexConfig,
    unit_vectors: MakeVectors,
    tmp_path: Path,
    name: str,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    build_shard(*shard_tables({"x": unit_vectors(5, 7)}, dim=16), small_config, other)
    shutil.copy(other / name, shard_folder / name)
    with pytest.raises(IndexFormatError, match="files are not of one shard"):
        Shard(shard_folder, shard_id=0, ef_search=64)


@pytest.mark.parametrize("name", shard_files.FILES)
def test_a_missing_file_is_named(shard_folder: Path, name: str) -> None:
    (shard_folder / name).unlink()
    with pytest.raises(IndexFormatError, match=name):
        Shard(shard_folder, shard_id=0, ef_search=64)
