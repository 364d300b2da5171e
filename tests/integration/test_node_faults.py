"""What dies in the middle of a run on Ray: processes, actors, nodes, the driver."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ray
from ray.cluster_utils import Cluster

from scp_ray.errors import ClusterError
from scp_ray.pipeline.executor import Stage, StageSpec
from scp_ray.pipeline.ray_executor import RayExecutor, connect
from scp_ray.pipeline.report import RunReport, RunStatus
from scp_ray.pipeline.verification import verify_index
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import Manifest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Run = Callable[..., RunReport]
ReadManifest = Callable[..., Manifest]
MakeSettings = Callable[..., Any]

ONE_BY_ONE = "cluster.documents_per_batch=1"


@dataclass(frozen=True)
class Entry:
    """One line of the diary: what a process did."""

    what: str
    pid: int
    node_id: str


@dataclass(frozen=True)
class Diary:
    """A file to which all processes append what they do."""

    path: Path

    def note(self, what: str) -> None:
        node_id = ray.get_runtime_context().get_node_id()
        with self.path.open("a") as file:
            file.write(f"{what} {os.getpid()} {node_id}\n")

    def entries(self, what: str | None = None) -> list[Entry]:
        text = self.path.read_text() if self.path.exists() else ""
        fields = [line.split(" ") for line in text.splitlines()]
        entries = [Entry(kind, int(pid), node_id) for kind, pid, node_id in fields]
        return [entry for entry in entries if what in {None, entry.what}]

    def wait_for(self, what: str, count: int = 1) -> list[Entry]:
        ends = time.monotonic() + 150
        while len(found := self.entries(what)) < count:
            assert time.monotonic() < ends, f"{what}: {found}"
            time.sleep(0.05)
        return found


def kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_actor() -> None:
    ray.kill(ray.get_runtime_context().current_actor, no_restart=False)
    time.sleep(60)


def wait_for_the_loss(diary: Diary) -> None:
    diary.wait_for("removed")


@dataclass(frozen=True)
class Accident:
    """Something that happens in a stage, in the middle of its work.

    Attributes:
        stage: Name of the stage.
        part: Attribute of the stage whose method is cut in two.
        happen: The accident itself.
        diary: Where it is noted before it happens.
        times: How often it happens.
        word: Of the texts in whose middle it happens.
    """

    stage: str
    part: str
    happen: Callable[[], None]
    diary: Diary
    times: int = 1
    word: str = "K-107"  # in one of the twelve manuals

    @property
    def name(self) -> str:
        return f"{self.stage}{self.part}"

    def strike(self) -> None:
        for number in range(self.times):
            try:
                self.diary.path.with_suffix(f".{self.name}-{number}").touch(exist_ok=False)
            except FileExistsError:  # perhaps of another process at this moment
                continue
            self.diary.note(self.name)
            self.happen()
            return


class CutInTwo:
    """An encoder or a store with an accident in the middle of what it does, or an annotator."""

    def __init__(self, whole: Any, accident: Accident) -> None:
        self._whole = whole
        self._accident = accident

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        half = len(texts) // 2
        first = self._whole.encode(texts[:half])
        if any(self._accident.word in text for text in texts):
            self._accident.strike()
        embeddings = np.concatenate([first, self._whole.encode(texts[half:])])
        self._accident.diary.note("embedded")
        return embeddings

    def upload(self, path: Path, key: str) -> None:
        self._whole.upload(path, key)
        self._accident.strike()

    def annotate(self, chunks: Sequence[str]) -> Any:
        self._accident.diary.note("annotated")
        return self._whole.annotate(chunks)


def make_dangerous(make: Callable[[], Stage], accidents: Sequence[Accident]) -> Stage:
    stage = make()
    for accident in accidents:
        setattr(stage, accident.part, CutInTwo(getattr(stage, accident.part), accident))
    return stage


class DangerousExecutor(RayExecutor):
    """Makes the stages with their accidents."""

    def __init__(self, settings: Any, *accidents: Accident) -> None:
        super().__init__(settings)
        self._accidents = accidents

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        yield from super().run(rows, [self._dangerous(spec) for spec in stages])

    def _dangerous(self, spec: StageSpec) -> StageSpec:
        accidents = [accident for accident in self._accidents if accident.stage == spec.name]
        return replace(spec, make=partial(make_dangerous, spec.make, accidents))


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def has_ended(pid: int) -> bool:
    return not Path("/proc", str(pid)).exists()


@pytest.fixture
def assert_same(
    run: Run, manifest: ReadManifest, tmp_path: Path
) -> Callable[[RunReport, str], None]:
    """Hold an index and its report against those of a run in this process, without accidents."""

    def check(report: RunReport, index: str) -> None:
        whole = run(index="whole")
        assert report.status is RunStatus.DONE
        assert report.documents == whole.documents
        assert report.chunks["embedded"] + report.chunks["adopted"] == whole.chunks["embedded"]
        assert report.chunks["published"] == whole.chunks["published"]
        assert manifest(index).shards == manifest("whole").shards
        assert verify_index(LocalObjectStore(tmp_path / index), lambda _line: None) == []
        assert not list((tmp_path / index).glob("runs/*/staged/**/*.parquet"))

    return check


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize(
    "accidents",
    [
        [("embed", "_encoder", kill_process), ("build", "_store", kill_process)],
        [("embed", "_encoder", kill_actor), ("embed", "_store", kill_process)],
    ],
    ids=["processes in mid-document and mid-shard", "actor, and process in mid-part"],
)
def test_what_dead_processes_did_is_done_again(
    run: Run,
    assert_same: Callable[[RunReport, str], None],
    small_settings: MakeSettings,
    diary: Diary,
    accidents: list[tuple[str, str, Callable[[], None]]],
) -> None:
    dangers = [Accident(*accident, diary) for accident in accidents]
    report = run(
        ONE_BY_ONE,
        index="hurt",
        executor=DangerousExecutor(small_settings(ONE_BY_ONE), *dangers),
    )
    entries = diary.entries()
    for danger in dangers:
        (struck,) = diary.entries(danger.name)
        assert has_ended(struck.pid)
        assert struck.pid not in {entry.pid for entry in entries[entries.index(struck) + 1 :]}
    (cut,) = diary.entries("embed_encoder")
    at = entries.index(cut)
    assert "embedded" in {entry.what for entry in entries[:at]}
    assert "embedded" in {entry.what for entry in entries[at:]}
    assert_same(report, "hurt")


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize(("stage", "part"), [("embed", "_encoder"), ("build", "_store")])
def test_process_that_dies_each_time_stops_the_run(
    run: Run, small_settings: MakeSettings, diary: Diary, tmp_path: Path, stage: str, part: str
) -> None:
    deadly = Accident(stage, part, kill_process, diary, times=100)
    settings = [ONE_BY_ONE, "cluster.max_restarts=1", "index.num_shards=1"]
    executor = DangerousExecutor(small_settings(*settings), deadly)
    with pytest.raises(ClusterError, match=f"{stage}.*again 1 times .cluster.max_restarts"):
        run(*settings, index="hurt", executor=executor)
    assert len(diary.entries(deadly.name)) == 2
    assert not (tmp_path / "hurt" / "CURRENT").exists()


@pytest.mark.usefixtures("ray_cluster")
def test_killed_driver_leaves_a_run_that_goes_on(
    run: Run,
    assert_same: Callable[[RunReport, str], None],
    small_settings: MakeSettings,
    corpus: Path,
    write_manual: Callable[..., Path],
    tmp_path: Path,
) -> None:
    for number in range(12, 100):
        write_manual(corpus, number)
    batches = "cluster.documents_per_batch=4"
    shape = small_settings().model_dump(include={"chunking": True, "index": {"num_shards"}})
    command = [sys.executable, "-m", "scp_ray.cli", "index", str(corpus), str(tmp_path / "hurt")]
    command += [f"--set={batches}", "--set=embedding.model=hash://32"]
    command += [
        f"--set={section}.{key}={value}"
        for section, values in shape.items()
        for key, value in values.items()
    ]
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as driver:
        assert driver.stderr is not None
        line = next(line for line in driver.stderr if line.startswith("embedded"))
        driver.kill()
        driver.stderr.read()
    assert driver.wait() == -signal.SIGKILL
    assert not line.startswith("embedded 100/")
    assert not (tmp_path / "hurt" / "CURRENT").exists()
    report = run(
        batches, "publish.lease_s=2", index="hurt", executor=RayExecutor(small_settings(batches))
    )
    assert report.chunks["adopted"] > 0
    assert report.chunks["embedded"] > 0
    assert_same(report, "hurt")


@pytest.fixture
def _no_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster that ends every task, as one that has run out of memory."""
    ray.shutdown()
    limits = {"memory_usage_threshold": 0.01, "memory_monitor_refresh_ms": 100}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "_system_config": limits}
    )
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    connect()
    yield
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.usefixtures("_no_memory")
def test_task_that_runs_out_of_memory_each_time_stops_the_run(
    run: Run, small_settings: MakeSettings
) -> None:
    with pytest.raises(ClusterError, match="OutOfMemoryError.*runs out of memory"):
        run(index="hurt", executor=RayExecutor(small_settings()))


@pytest.fixture
def two_nodes() -> Iterator[Cluster]:
    """A head without CPUs, and two nodes of two CPUs each that soon count as dead."""
    ray.shutdown()
    checks = {"health_check_period_ms": 500, "health_check_failure_threshold": 3}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": checks}
    )
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    connect()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def _long_manuals(corpus: Path, write_manual: Callable[..., Path]) -> None:
    """Manuals that are too long to be kept anywhere but on the node that annotated them."""
    for number in range(12):
        write_manual(corpus, number, 1500)


@pytest.mark.usefixtures("_long_manuals")
def test_lost_node_takes_no_document_with_it(
    run: Run,
    assert_same: Callable[[RunReport, str], None],
    small_settings: MakeSettings,
    diary: Diary,
    two_nodes: Cluster,
) -> None:
    def remove_the_node_that_annotated() -> None:
        diary.wait_for("embed_encoder")
        lost_id = diary.wait_for("annotated", 12)[0].node_id
        (lost,) = (node for node in two_nodes.worker_nodes if node.node_id == lost_id)
        two_nodes.remove_node(lost, allow_graceful=False)
        diary.note("removed")

    accidents = [
        Accident("annotate", "_annotator", time.time, diary),
        Accident("embed", "_encoder", partial(wait_for_the_loss, diary), diary, 100, word=""),
    ]
    remover = threading.Thread(target=remove_the_node_that_annotated)
    remover.start()
    executor = DangerousExecutor(small_settings(ONE_BY_ONE), *accidents)
    report = run(ONE_BY_ONE, index="hurt", executor=executor)
    remover.join()
    annotated = diary.entries("annotated")
    assert len({entry.node_id for entry in annotated[:12]}) == 1
    assert len(annotated) > 12  # what was on the lost node only
    assert {entry.node_id for entry in annotated[12:]} == {
        node.node_id for node in two_nodes.worker_nodes
    }
    assert_same(report, "hurt")
