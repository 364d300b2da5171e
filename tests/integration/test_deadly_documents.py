"""Documents on which engines die: they are set aside, and the run goes on."""

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
import ray

from scp_ray.annotators import factory
from scp_ray.config import Settings
from scp_ray.errors import ClusterError, EngineDeadError
from scp_ray.pipeline.executor import Stage, StageSpec
from scp_ray.pipeline.pools import ANNOTATE_POOL
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.report import RunReport, RunStatus
from scp_ray.protocols import GenerationRequest
from scp_ray.storage.manifest import Manifest
from scp_ray.testing import ScriptedGenerator

LLM = ["chop.annotator=openai", "llm.model=m", "openai.base_url=http://127.0.0.1:9/v1"]
Index = Callable[..., RunReport]


def answer(request: GenerationRequest) -> str:
    number = zlib.crc32(request.content.encode())
    if request.choices:
        return request.choices[number % 5 == 0]
    return json.dumps({"category": "kettle", "nouns": [], "model": None})


def make_mortal(diary: Path, words: Sequence[str], make: Callable[[], Stage]) -> Stage:
    """Make a stage, in an actor, whose engine dies of some words and notes it in a diary."""

    def mortal(request: GenerationRequest) -> str:
        for word in words:
            if word in request.content:
                with diary.open("a") as file:
                    file.write(f"{word} {os.getpid()}\n")
                message = "engine core died"
                raise EngineDeadError(message)
        return answer(request)

    factory.make_generator = lambda *_: ScriptedGenerator(mortal)
    return make()


class MortalExecutor(RayExecutor):
    """Its annotators have such an engine."""

    def __init__(self, settings: Settings, diary: Path, words: Sequence[str]) -> None:
        super().__init__(settings)
        self._make_mortal = partial(make_mortal, diary, words)

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        yield from super().run(rows, [self._mortal(spec) for spec in stages])

    def _mortal(self, spec: StageSpec) -> StageSpec:
        if spec.pool != ANNOTATE_POOL:
            return spec
        return replace(spec, make=partial(self._make_mortal, spec.make))


@pytest.fixture(autouse=True)
def _workers_have_this_module(ray_cluster: None) -> Iterator[None]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def index(run: Index, small_settings: Callable[..., Settings], tmp_path: Path) -> Index:
    """Index with engines that die of the words ``dies_of``."""

    def index_once(*assignments: str, dies_of: Sequence[str], into: str = "index") -> RunReport:
        settings = [*LLM, *assignments]
        executor = MortalExecutor(small_settings(*settings), tmp_path / "diary", dies_of)
        return run(*settings, executor=executor, index=into)

    return index_once


@pytest.fixture
def write_deadly(corpus: Path, write_manual: Callable[..., Path]) -> Callable[[int, str], None]:
    """Write a manual with a word in it."""

    def write(number: int, word: str, sentences: int = 60) -> None:
        path = write_manual(corpus, number, sentences=sentences)
        path.write_text(f"{path.read_text()}\n\n## {word}\n\nIt ends here.\n")

    return write


def test_they_are_set_aside_and_all_others_are_indexed(
    index: Index,
    write_deadly: Callable[..., None],
    manifest: Callable[..., Manifest],
    tmp_path: Path,
) -> None:
    """One of them is so long that both annotators share it."""
    whole = index(dies_of=[], into="whole")
    write_deadly(70, "DEADLY-1")
    write_deadly(71, "DEADLY-2", sentences=900)
    settings = ["cluster.annotate_actors=2", "cluster.max_restarts=4", "llm.piece_chunks=16"]
    report = index(*settings, dies_of=["DEADLY-1", "DEADLY-2"])
    assert report.status is RunStatus.PARTIAL
    assert len(report.quarantined) == 2
    assert all("the engine of the language model died" in one.detail for one in report.quarantined)
    assert report.documents["published"] == whole.documents["published"]
    assert manifest().shards == manifest("whole").shards
    deaths = [line.split() for line in (tmp_path / "diary").read_text().splitlines()]
    assert {word for word, _ in deaths} == {"DEADLY-1", "DEADLY-2"}
    assert len({process for _, process in deaths}) >= 3  # one alone for each, and one before


def test_an_engine_that_dies_of_everything_ends_the_run(index: Index) -> None:
    with pytest.raises(ClusterError, match=r"cluster\.max_restarts"):
        index("cluster.max_restarts=1", dies_of=[""])
