"""Annotation by the actors of a run on Ray against the bare engine on the same prompts."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from benchmarks.shard_rows import stored_rows
from scp_ray import schema
from scp_ray.annotators.llm_modules import decision_questions, extraction_key
from scp_ray.annotators.vllm_engine import VllmGenerator
from scp_ray.chop.prompting import all_go_on, decision_requests, extraction_request
from scp_ray.config import Settings
from scp_ray.pipeline.executor import Executor, StageSpec, close_stage
from scp_ray.pipeline.pools import ANNOTATE_POOL
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.protocols import Generation, GenerationRequest

_READY, _BEGUN, _ENDED = "ready", "begun", "ended"


@dataclass(frozen=True, slots=True)
class Marks:
    """When the calls of the annotators began and ended, in seconds of the clock.

    Attributes:
        ready: When the first annotator was ready, its engine started.
        begun: Of each call.
        ended: Of each call.
        num_annotators: Processes that were called.
    """

    ready: float
    begun: list[float]
    ended: list[float]
    num_annotators: int

    @property
    def seconds(self) -> float:
        """From the first call to the end of the last one."""
        return max(self.ended) - min(self.begun)


class MarkingExecutor:
    """Runs chains as another executor does, and notes when annotators are called.

    Args:
        executor: The other one.
        file: Where to; all processes append to it.
    """

    def __init__(self, executor: Executor, file: Path) -> None:
        self._executor = executor
        self._file = file
        self.encoder_threads = executor.encoder_threads
        self.num_annotators = executor.num_annotators

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        """Send ``rows`` through ``stages`` and yield what comes out, as it comes."""
        return self._executor.run(rows, [self._marked(spec) for spec in stages])

    def _marked(self, spec: StageSpec) -> StageSpec:
        if spec.pool != ANNOTATE_POOL:
            return spec
        return replace(spec, make=partial(_MarkingStage, spec, self._file))


class _MarkingStage:
    def __init__(self, spec: StageSpec, file: Path) -> None:
        self._file = file
        self._stage = spec.make()
        self._mark(_READY)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        self._mark(_BEGUN)
        yield from self._stage(batch)
        self._mark(_ENDED)

    def close(self) -> None:
        close_stage(self._stage)

    def _mark(self, what: str) -> None:
        with self._file.open("a", encoding="ascii") as file:
            file.write(f"{what} {time.time()} {os.getpid()}\n")


def read_marks(file: Path) -> Marks:
    """Return what a ``MarkingExecutor`` noted."""
    marks = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
    times = {
        what: [float(moment) for kind, moment, _ in marks if kind == what]
        for what in (_READY, _BEGUN, _ENDED)
    }
    callers = {process for kind, _, process in marks if kind == _BEGUN}
    return Marks(min(times[_READY]), times[_BEGUN], times[_ENDED], len(callers))


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, and how long it took.

    Attributes:
        seconds: From the first question to the last answer.
        num_requests: Requests.
        prompt_tokens: Tokens of the requests.
        cached_prompt_tokens: Those of them that the engine had in its prefix cache.
        output_tokens: Tokens of the answers.
    """

    seconds: float
    num_requests: int
    prompt_tokens: int
    cached_prompt_tokens: int
    output_tokens: int


class AnnotateJob:
    """Runs ``scp-ray index`` on the Ray cluster of this process, into fresh folders.

    Args:
        work: Folder for the indexes.
    """

    def __init__(self, work: Path) -> None:
        self._work = work
        self._num_runs = 0

    def run(self, corpus: Path, settings: Settings) -> "JobRun":
        """Index a corpus with an empty annotation cache."""
        self._num_runs += 1
        index = self._work / f"index-{self._num_runs}"
        file = self._work / f"marks-{self._num_runs}"
        request = IndexRequest(str(corpus), str(index), settings)
        executor = MarkingExecutor(RayExecutor(settings), file)
        report = index_corpus(request, executor, lambda _line: None)
        return JobRun(report, read_marks(file), index)


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of the job.

    Attributes:
        report: Its report.
        marks: Of its annotators.
        index: Folder of its index.
    """

    report: RunReport
    marks: Marks
    index: Path

    @property
    def num_chunks(self) -> int:
        """Chunks of the corpus."""
        return self.report.chunks["published"]

    @property
    def chunks_per_s(self) -> float:
        """Chunks a second, from the first call of an annotator to the end of the last one."""
        return self.num_chunks / self.marks.seconds

    @property
    def asked(self) -> Asked:
        """What its annotators asked."""
        usage = self.report.annotation
        return Asked(
            self.marks.seconds,
            usage["llm_calls"],
            usage["prompt_tokens"],
            usage["cached_prompt_tokens"],
            usage["output_tokens"],
        )

    def requests(self) -> list[GenerationRequest]:
        """Return what its annotators needed to ask of each pair and each span's first chunk."""
        rows = stored_rows(self.index).chunks
        columns = [schema.DOC_ID, schema.TEXT, schema.STARTS_SPAN]
        found: dict[bytes, GenerationRequest] = {}
        for _, group in groupby(rows.select(columns).to_pylist(), lambda row: row[schema.DOC_ID]):
            document = list(group)
            texts = [row[schema.TEXT] for row in document]
            for pair in pairwise(texts):
                found |= decision_questions(*pair)
            starts = [row[schema.TEXT] for row in document if row[schema.STARTS_SPAN]]
            found |= {extraction_key(text): extraction_request(text) for text in starts}
        return list(found.values())


@dataclass(frozen=True, slots=True)
class BareRun:
    """What an engine does alone.

    Attributes:
        at_once: All requests at once.
        strict: Other documents, one after the other, with one request at a time.
    """

    at_once: Asked
    strict: Asked


def ask_bare(
    settings: Settings, requests: Sequence[GenerationRequest], documents: Sequence[Sequence[str]]
) -> BareRun:
    """Ask a new engine in a process of its own; its start is not counted.

    Args:
        settings: Of the model and the engine.
        requests: Asked all at once.
        documents: Chunks of other documents, asked about one request at a time after that.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_ask_bare, settings, requests, documents).result()


def _ask_bare(
    settings: Settings, requests: Sequence[GenerationRequest], documents: Sequence[Sequence[str]]
) -> BareRun:
    async def asked() -> BareRun:
        engine = VllmGenerator(settings.llm, settings.vllm)
        try:
            started = time.perf_counter()
            answers = await asyncio.gather(*(engine.generate(request) for request in requests))
            at_once = _asked(started, answers)
            started = time.perf_counter()
            strict = _asked(started, [answer async for answer in _strictly(engine, documents)])
        finally:
            await engine.close()
        return BareRun(at_once, strict)

    return asyncio.run(asked())


async def _strictly(
    engine: VllmGenerator, documents: Sequence[Sequence[str]]
) -> AsyncIterator[Generation]:
    for document in documents:
        yield await engine.generate(extraction_request(document[0]))
        for chunk, next_chunk in pairwise(document):
            answers = [await engine.generate(one) for one in decision_requests(chunk, next_chunk)]
            for answer in answers:
                yield answer
            if not all_go_on(answer.text for answer in answers):
                yield await engine.generate(extraction_request(next_chunk))


def _asked(started: float, answers: Sequence[Generation]) -> Asked:
    return Asked(
        time.perf_counter() - started,
        len(answers),
        sum(answer.prompt_tokens for answer in answers),
        sum(answer.cached_prompt_tokens for answer in answers),
        sum(answer.output_tokens for answer in answers),
    )
