"""The annotator over a real engine of vLLM: what it promises, and how it ends.

The model is a tiny one with random weights, so only the plumbing is looked at. vLLM must be there:
without it these tests fail.
"""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scp_ray.annotators.vllm_engine import VllmGenerator
from scp_ray.chop.parsing import parse_cnm
from scp_ray.chop.prompting import continuity_request, extraction_request
from scp_ray.errors import ConfigError, EngineDeadError, GenerationError, RequestRefusedError
from scp_ray.protocols import GenerationRequest
from scp_ray.sections import LlmConfig, VllmConfig

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of torch and vLLM, at import
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

ENDLESS = GenerationRequest("Count.", "1 2 3", max_tokens=8000)
PAIR = continuity_request("Press the lever. Wait.", "Wait. Clean the filter.")
SMALL = VllmConfig(enforce_eager=True, max_num_seqs=64)


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _wait_until_ended(pids: list[int], within_s: float = 60.0) -> list[int]:
    deadline = time.monotonic() + within_s
    while any(map(_is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [pid for pid in pids if _is_alive(pid)]


def _descendants(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for file in listed for child in file.read_text().split()]
    return children + [grandchild for child in children for grandchild in _descendants(child)]


class Engine:
    """A generator on an event loop of its own, asked from the test's thread."""

    def __init__(self, make: Callable[[], VllmGenerator]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

        async def made() -> VllmGenerator:
            return make()

        try:
            self.generator = self.run(made())
        except BaseException:
            self._end_loop()
            raise

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def ask(self, *requests: GenerationRequest) -> list[Any]:
        async def all_at_once() -> list[Any]:
            asked = (self.generator.generate(request) for request in requests)
            return await asyncio.gather(*asked, return_exceptions=True)

        return self.run(all_at_once())

    def close(self) -> None:
        self.run(self.generator.close())
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def engine(tiny_llm: Path) -> Iterator[Engine]:
    """One engine for the tests that leave it alive."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        environment.setenv("HF_HUB_OFFLINE", "1")
        llm = LlmConfig(model=str(tiny_llm))
        engine = Engine(lambda: VllmGenerator(llm, SMALL))
        yield engine
        engine.close()


def test_a_decision_is_one_of_its_words_and_costs_one_token(engine: Engine) -> None:
    pairs = [continuity_request(f"Press {n}.", f"Hold {n}.") for n in range(32)]

    decisions = engine.ask(*pairs)

    assert {decision.text for decision in decisions} <= {"TRUE", "FALSE"}
    assert [decision.output_tokens for decision in decisions] == [1] * 32


def test_an_extraction_keeps_to_the_schema(engine: Engine) -> None:
    requests = [extraction_request(f"Orbis K-{n} Kettle. Press the lever.") for n in range(4)]

    answers = engine.ask(*(replace(request, max_tokens=4000) for request in requests))

    for answer in answers:
        assert set(json.loads(answer.text)) == {"category", "nouns", "model"}
        parse_cnm(answer.text)


def test_an_answer_ends_where_its_tokens_do(engine: Engine) -> None:
    (answer,) = engine.ask(replace(ENDLESS, max_tokens=7))

    assert answer.output_tokens == 7


def test_instructions_come_from_the_prefix_cache(engine: Engine) -> None:
    other = continuity_request("Rinse the blade.", "Dry the blade.")
    engine.ask(PAIR)

    (answer,) = engine.ask(other)

    assert answer.cached_prompt_tokens > 0.8 * answer.prompt_tokens


def test_a_prompt_that_does_not_fit_is_refused_and_harms_no_other(engine: Engine) -> None:
    too_long = replace(PAIR, content="x" * 10_000)

    refusal, answer = engine.ask(too_long, PAIR)

    assert isinstance(refusal, RequestRefusedError)
    assert "vllm.max_model_len" in str(refusal)
    assert answer.text in {"TRUE", "FALSE"}


def test_a_request_that_takes_too_long_is_given_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.generator, "_timeout_s", 0.5)
    started = time.monotonic()

    failures = engine.ask(*[ENDLESS] * 4)

    assert time.monotonic() - started < 10
    assert all(type(failure) is GenerationError for failure in failures)
    assert all("llm.timeout_s" in str(failure) for failure in failures)
    assert engine.generator._engine.get_num_unfinished_requests() == 0


def test_a_cancelled_request_leaves_the_engine(engine: Engine) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(engine.generator.generate(ENDLESS))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task])

    engine.run(cancelled())

    assert engine.generator._engine.get_num_unfinished_requests() == 0


def test_when_its_process_is_killed_all_requests_say_so_at_once(engine: Engine) -> None:
    """The last one for this engine."""

    async def asked_and_killed() -> list[Any]:
        waiting = [asyncio.ensure_future(engine.generator.generate(ENDLESS)) for _ in range(4)]
        await asyncio.sleep(1.0)
        for child in multiprocessing.active_children():
            os.kill(child.pid or 0, signal.SIGKILL)
        return await asyncio.gather(*waiting, return_exceptions=True)

    started = time.monotonic()

    failures = [*engine.run(asked_and_killed()), *engine.ask(PAIR)]

    assert time.monotonic() - started < 30
    assert [type(failure) for failure in failures] == [EngineDeadError] * 5


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    llm = LlmConfig(model=str(tmp_path / "nothing"))

    with pytest.raises(ConfigError, match=r"llm\.model .*nothing"):
        Engine(lambda: VllmGenerator(llm, SMALL))


def test_a_length_that_the_model_does_not_have_is_named(tiny_llm: Path) -> None:
    llm, engine = LlmConfig(model=str(tiny_llm)), VllmConfig(max_model_len=100_000)

    with pytest.raises(ConfigError, match="max_model_len"):
        Engine(lambda: VllmGenerator(llm, engine))


def test_what_only_gpus_have_is_refused_on_cpus(
    tiny_llm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")  # taken back, unlike what an engine sets
    llm, engine = LlmConfig(model=str(tiny_llm)), VllmConfig(batch_invariant=True)

    with pytest.raises(ConfigError, match=r"vllm\.batch_invariant is for GPUs"):
        Engine(lambda: VllmGenerator(llm, engine))


@pytest.mark.filterwarnings("ignore:Unclosed context:ResourceWarning")  # of vLLM, when it fails
def test_want_of_memory_says_what_to_lower(tiny_llm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1000000")
    llm = LlmConfig(model=str(tiny_llm))

    with pytest.raises(GenerationError, match=r"memory.*lower vllm\.max_model_len"):
        Engine(lambda: VllmGenerator(llm, SMALL))

    assert not multiprocessing.active_children()


ANNOTATE = """
import json, sys
from functools import partial
from pathlib import Path
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.annotators.vllm_engine import VllmGenerator
from scp_ray.sections import LlmConfig, VllmConfig
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.local import LocalObjectStore

if __name__ == "__main__":
    model, store = sys.argv[1:]
    annotator = LlmAnnotator(
        partial(VllmGenerator, LlmConfig(model=model), VllmConfig(enforce_eager=True)),
        StoredAnnotationCache(LocalObjectStore(Path(store)), "0" * 64),
        lookahead=4,
        document_fallback=True,
        max_calls=None,
    )
    documents = [[f"Press {n}.", f"Hold {n}.", f"Orbis K-{n} Kettle."] for n in range(3)]
    annotated = annotator.annotate(documents)
    print(json.dumps([len(document.annotations) for document in annotated]), flush=True)
    sys.stdin.readline()
    annotator.close()
"""


@pytest.fixture
def annotating(tiny_llm: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has annotated three documents and closes its annotator when told to."""
    script = tmp_path / "annotate.py"
    script.write_text(ANNOTATE, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), str(tiny_llm), str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"},
        text=True,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert json.loads(said or process.communicate()[1]) == [3, 3, 3]
        yield process


def test_an_annotator_that_is_closed_ends_its_engine_and_says_nothing(
    annotating: subprocess.Popen[str],
) -> None:
    processes = _descendants(annotating.pid)

    _, complaints = annotating.communicate("close\n")

    assert annotating.returncode == 0
    assert "Error" not in complaints
    assert _wait_until_ended(processes) == []


def test_an_annotator_that_is_killed_without_notice_leaves_no_engine(
    annotating: subprocess.Popen[str],
) -> None:
    processes = _descendants(annotating.pid)

    annotating.kill()

    assert len(processes) >= 3  # the engine, its worker and the guard
    assert _wait_until_ended(processes) == []
