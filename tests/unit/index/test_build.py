"""Building the files of a shard."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scp_ray import schema
from scp_ray.errors import IndexQualityError, RowAccountingError, SchemaError
from scp_ray.index import shard_files
from scp_ray.index.build import build_shard
from scp_ray.protocols import Float32Array
from scp_ray.sections import IndexConfig
from scp_ray.testing.shard_tables import shard_tables

Tables = tuple[pa.Table, pa.Table]


@pytest.fixture
def tables(documents: dict[str, Float32Array]) -> Tables:
    metadata = {"a": {"category": "pump"}, "c": {"category": "valve"}}
    return shard_tables(documents, dim=16, metadata=metadata)


def built(tables: Tables, config: IndexConfig, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    build_shard(*tables, config, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_rows_are_written_in_order_as_they_came(
    tables: Tables, documents: dict[str, Float32Array], small_config: IndexConfig, tmp_path: Path
) -> None:
    report = build_shard(*tables, small_config, tmp_path)
    assert (report.num_documents, report.num_chunks, report.num_nodes) == (3, 40, 40)
    assert report.audit.recall == 1.0
    rows = shard_files.read_chunks(tmp_path)
    assert rows[schema.DOC_ID].to_pylist() == ["a"] * 9 + ["b"] * 30 + ["c"]
    assert rows[schema.CHUNK_INDEX].to_pylist() == [*range(9), *range(30), 0]
    embeddings = np.concatenate([documents["a"], documents["b"], documents["c"]])
    assert shard_files.embedding_matrix(rows).tobytes() == embeddings.tobytes()
    assert shard_files.read_documents(tmp_path)[schema.DOC_ID].to_pylist() == ["a", "b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(shard_files.FILES)


def test_order_and_layout_of_the_rows_do_not_matter(
    tables: Tables, small_config: IndexConfig, tmp_path: Path
) -> None:
    rows, documents = tables
    expected = built(tables, small_config, tmp_path / "as they came")
    order = np.random.default_rng(0).permutation(rows.num_rows)
    shuffled = rows.take(order)
    pieces = pa.concat_tables([shuffled.slice(0, 11), shuffled.slice(11, 2), shuffled.slice(13)])
    backwards = documents.take([2, 1, 0])
    assert built((pieces, backwards), small_config, tmp_path / "shuffled") == expected
    in_order = rows.sort_by([(schema.DOC_ID, "ascending"), (schema.CHUNK_INDEX, "ascending")])
    assert built((in_order, documents), small_config, tmp_path / "in order") == expected


def test_rows_read_back_build_the_same_shard(
    tables: Tables, small_config: IndexConfig, tmp_path: Path
) -> None:
    expected = built(tables, small_config, tmp_path / "one")
    again = (
        shard_files.read_chunks(tmp_path / "one"),
        shard_files.read_documents(tmp_path / "one"),
    )
    assert built(again, small_config, tmp_path / "two") == expected


def test_equal_vectors_share_a_node(small_config: IndexConfig, tmp_path: Path) -> None:
    same = np.tile(np.eye(16, dtype=np.float32)[:1], (4, 1))
    documents = {f"doc-{number}": same for number in range(50)}
    report = build_shard(*shard_tables(documents, dim=16), small_config, tmp_path)
    assert (report.num_chunks, report.num_nodes) == (200, 4)
    assert report.audit.num_unreachable == 0
    assert shard_files.read_nodes(tmp_path).tolist() == [0, 1, 2, 3] * 50


def test_a_shard_without_documents_has_the_same_files(
    small_config: IndexConfig, tmp_path: Path
) -> None:
    report = build_shard(*shard_tables({}, dim=16), small_config, tmp_path)
    assert (report.num_documents, report.num_chunks, report.num_nodes) == (0, 0, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(shard_files.FILES)


def _twice(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(3, 1)])


def _without_one(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(0, 4), rows.slice(5)])


def _renumbered(rows: pa.Table) -> pa.Table:
    indexes = [5 if index == 6 else index for index in rows[schema.CHUNK_INDEX].to_pylist()]
    place = rows.schema.get_field_index(schema.CHUNK_INDEX)
    return rows.set_column(place, rows.schema.field(place), pa.array(indexes))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (_twice, "chunks missing or too many: b"),
        (_without_one, "chunks missing or too many: b"),
        (_renumbered, "chunks double or numbered wrongly: a, b"),
    ],
)
def test_lost_and_double_chunks_are_refused(
    tables: Tables,
    small_config: IndexConfig,
    tmp_path: Path,
    damage: Callable[[pa.Table], pa.Table],
    problem: str,
) -> None:
    with pytest.raises(RowAccountingError, match=problem):
        build_shard(damage(tables[0]), tables[1], small_config, tmp_path)


def test_chunks_and_documents_must_belong_together(
    tables: Tables, small_config: IndexConfig, tmp_path: Path
) -> None:
    rows, documents = tables
    with pytest.raises(RowAccountingError, match="chunks without a document: a, c"):
        build_shard(rows, documents.slice(0, 1), small_config, tmp_path)
    with pytest.raises(RowAccountingError, match="chunks missing or too many: c"):
        without_c = rows.filter(pc.not_equal(rows[schema.DOC_ID], "c"))
        build_shard(without_c, documents, small_config, tmp_path)
    with pytest.raises(RowAccountingError, match="two documents of one doc_id"):
        doubled = pa.concat_tables([documents, documents.slice(0, 1)])
        build_shard(rows, doubled, small_config, tmp_path)


def test_other_columns_are_refused(
    tables: Tables, small_config: IndexConfig, tmp_path: Path
) -> None:
    rows, documents = tables
    with pytest.raises(SchemaError, match="chunks of a shard: missing columns"):
        build_shard(rows.drop_columns([schema.TEXT]), documents, small_config, tmp_path)
    with pytest.raises(SchemaError, match="documents of a shard: missing columns"):
        build_shard(rows, rows, small_config, tmp_path)


def test_a_shard_of_poor_recall_is_not_written(small_config: IndexConfig, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((1500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    config = small_config.model_copy(
        update={"m": 4, "ef_construction": 8, "ef_search": 8, "min_recall": 1.0}
    )
    with pytest.raises(IndexQualityError, match=r"Raise index\.m \(4\)"):
        build_shard(*shard_tables({"a": vectors}, dim=16), config, tmp_path)
    assert list(tmp_path.iterdir()) == []
