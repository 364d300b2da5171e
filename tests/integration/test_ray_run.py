"""The same plan in process and on Ray, whatever the blocks, batches and cluster."""

import functools
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from scp_ray.errors import EncoderError, InfeasiblePlanError
from scp_ray.pipeline.executor import InProcessExecutor, StageSpec
from scp_ray.pipeline.ray_executor import RayExecutor, cluster_shape
from scp_ray.pipeline.report import RunReport
from scp_ray.storage.manifest import Manifest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Run = Callable[..., RunReport]
ReadManifest = Callable[..., Manifest]


class ShufflingExecutor(InProcessExecutor):
    """Sends the documents through the stages in another order."""

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        order = list(range(rows.num_rows))
        random.Random(7).shuffle(order)
        yield from super().run(rows.take(order), stages)


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("documents_per_batch", [1, 5, 100])
def test_ray_gives_the_files_that_this_process_gives(
    run: Run,
    manifest: ReadManifest,
    small_settings: Callable[..., object],
    documents_per_batch: int,
) -> None:
    batching = f"cluster.documents_per_batch={documents_per_batch}"
    report = run(batching, index="ray", executor=RayExecutor(small_settings(batching)))
    run(index="local")
    assert report.documents["published"] == 12
    assert manifest("ray").shards == manifest("local").shards


def test_order_of_documents_changes_nothing(run: Run, manifest: ReadManifest) -> None:
    run("cluster.documents_per_batch=4", index="shuffled", executor=ShufflingExecutor())
    run(index="local")
    assert manifest("shuffled").shards == manifest("local").shards


@pytest.mark.usefixtures("ray_cluster")
def test_rows_of_one_file_are_spread_over_the_actors(
    run: Run, manifest: ReadManifest, corpus: Path, small_settings: Callable[..., object]
) -> None:
    lines = [f'{{"doc_id": "row-{n}", "text": "Row {n} says {n % 7} words."}}' for n in range(300)]
    (corpus / "rows.jsonl").write_text("\n".join(lines))
    run(index="ray", executor=RayExecutor(small_settings()))
    run(index="local")
    assert manifest("ray").num_documents == 312
    assert manifest("ray").shards == manifest("local").shards


class Twelve:
    """Makes twelve rows of one."""

    def __call__(self, _batch: pa.Table) -> Iterator[pa.Table]:
        yield from (pa.table({"process": [number]}) for number in range(12))


class Process:
    """Says for each row, after a while, in which process it is."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        time.sleep(1.0)
        yield pa.table({"process": [os.getpid()] * batch.num_rows})


@pytest.mark.usefixtures("ray_cluster")
def test_rows_that_a_stage_makes_of_one_are_spread_over_the_actors_of_the_next(
    small_settings: Callable[..., object],
) -> None:
    stages = [
        StageSpec("cut", Twelve, 1, "read", multiplies_rows=True),
        StageSpec("ask", Process, 1, "annotate"),
    ]
    executor = RayExecutor(small_settings("cluster.annotate_actors=2"))
    tables = executor.run(pa.table({"document": [0]}), stages)
    processes = [process for table in tables for process in table["process"].to_pylist()]
    assert len(processes) == 12
    assert len(set(processes)) == 2


@pytest.mark.usefixtures("ray_cluster")
def test_error_of_a_stage_arrives_as_itself(
    run: Run, small_settings: Callable[..., object]
) -> None:
    with pytest.raises(EncoderError, match="no-such-model"):
        run("embedding.model=/no-such-model", executor=RayExecutor(small_settings()))


@pytest.mark.usefixtures("ray_cluster")
def test_plan_that_the_cluster_can_never_run_is_refused(
    small_settings: Callable[..., object],
) -> None:
    assert cluster_shape().num_cpus == 2
    with pytest.raises(InfeasiblePlanError, match="the nodes have room for 0"):
        RayExecutor(small_settings("embedding.gpus_per_actor=1"))


class DyingOnce:
    """A stage whose process dies the first time that it sees a certain row."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        if 7 in batch["n"].to_pylist() and not self._marker.exists():
            self._marker.touch()
            os._exit(1)
        yield batch


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("pool", [None, "embed"])
def test_work_of_a_dead_process_is_done_again(
    tmp_path: Path, small_settings: Callable[..., object], pool: str | None
) -> None:
    rows = pa.table({"n": range(20)})
    stage = StageSpec("build", functools.partial(DyingOnce, tmp_path / "died"), 4, pool)
    out = pa.concat_tables(RayExecutor(small_settings()).run(rows, [stage]))
    assert (tmp_path / "died").exists()
    assert sorted(out["n"].to_pylist()) == list(range(20))


@pytest.mark.usefixtures("ray_cluster")
def test_closing_the_iterator_ends_the_work(
    tmp_path: Path, small_settings: Callable[..., object]
) -> None:
    rows = pa.table({"n": range(400)})
    stage = StageSpec("embed", functools.partial(Slow, tmp_path), 1, "embed")
    tables = RayExecutor(small_settings()).run(rows, [stage])
    next(tables)
    tables.close()
    time.sleep(2)  # what was under way ends
    ended = len(list(tmp_path.iterdir()))
    time.sleep(2)
    assert len(list(tmp_path.iterdir())) == ended < 400


class Slow:
    """Leaves a file for each row that it sees."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        time.sleep(0.05)
        (self._folder / str(batch["n"][0].as_py())).touch()
        yield batch
