"""Whole runs with a language model: what is asked, what is paid, and what is kept after a fault."""

import json
import signal
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from scp_ray.annotators.llm_modules import decision_questions, extraction_key
from scp_ray.errors import CallLimitError, EngineDeadError
from scp_ray.index.shard_files import read_chunks
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.report import RunReport
from scp_ray.protocols import GenerationRequest
from scp_ray.storage.manifest import Manifest
from scp_ray.testing import ScriptedGenerator

Run = Callable[..., RunReport]
LLM = ["chop.annotator=openai", "llm.model=m", "openai.base_url=http://127.0.0.1:9/v1"]


def answer(request: GenerationRequest) -> str:
    """Answer by the text: one pair in five changes, and a signature is one of a few."""
    number = zlib.crc32(request.content.encode())
    if request.choices:
        return request.choices[number % 5 == 0]
    return json.dumps({"category": "kettle", "nouns": [f"kettle {number % 9}"], "model": None})


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ScriptedGenerator:
    """The language model of every run in this process."""
    made = ScriptedGenerator(answer, seed=1)
    monkeypatch.setattr("scp_ray.annotators.factory.make_generator", lambda *_: made)
    return made


def documents_of(index: Path, manifest: Manifest) -> list[list[tuple[str, bool]]]:
    """Chunk texts of each document, and whether they start a span."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for shard in manifest.shards:
        if shard.folder is None:
            continue
        table = read_chunks(index / shard.folder).select(["doc_id", "text", "starts_span"])
        for row in table.to_pylist():
            found.setdefault(row["doc_id"], []).append((row["text"], row["starts_span"]))
    return list(found.values())


def needed_keys(documents: list[list[tuple[str, bool]]]) -> set[bytes]:
    keys: set[bytes] = set()
    for chunks in documents:
        for one, after in pairwise(chunks):
            keys.update(decision_questions(one[0], after[0]))
        keys.update(extraction_key(text) for text, starts_span in chunks if starts_span)
    return keys


def test_every_question_is_paid_once(
    run: Run,
    corpus: Path,
    tmp_path: Path,
    manifest: Callable[..., Manifest],
    generator: ScriptedGenerator,
) -> None:
    (corpus / "copy.md").write_bytes((corpus / "manual_003.md").read_bytes())
    report = run(*LLM)
    documents = documents_of(tmp_path / "index", manifest())
    spans = sum(starts for chunks in documents for _, starts in chunks)
    chunks = sum(map(len, documents))
    assert report.annotation["decisions"] == chunks - len(documents)
    assert report.annotation["extractions"] == report.annotation["spans"] == spans
    assert report.annotation["llm_calls"] == len(needed_keys(documents))
    assert len(generator.requests) == len(needed_keys(documents))
    questions = sum(
        len(decision_questions(one[0], after[0]))
        for document in documents
        for one, after in pairwise(document)
    )
    assert questions > len(needed_keys(documents)) - spans  # titles that documents share
    assert report.annotation["cache_hits"] == questions + spans - len(needed_keys(documents))
    assert run(*LLM, index="second").annotation["llm_calls"] == len(needed_keys(documents))
    assert run(*LLM, "embedding.model=hash://48", allow_removals=True).annotation["llm_calls"] == 0


def test_the_report_shows_rates_and_what_the_engine_had_at_work(
    run: Run, tmp_path: Path, manifest: Callable[..., Manifest], generator: ScriptedGenerator
) -> None:
    report = run(*LLM)
    documents = documents_of(tmp_path / "index", manifest())
    starts = [starts for chunks in documents for _, starts in chunks[1:]]
    prompt, cached = (report.annotation[name] for name in ("prompt_tokens", "cached_prompt_tokens"))
    assert generator.requests
    assert report.annotation_rates == {
        "continuity": round(1 - sum(starts) / len(starts), 4),
        "prefix_cache": round(cached / prompt, 4),
    }
    [steps] = report.active_documents["engines"].values()
    assert 0 < max(steps) <= len(documents)
    assert report.active_documents["step_s"] == 1
    again = run(*LLM)
    assert (again.annotation_rates, again.active_documents) == ({}, {})


def test_a_run_stops_before_it_overspends_and_the_next_goes_on(
    run: Run, manifest: Callable[..., Manifest], generator: ScriptedGenerator
) -> None:
    whole = run(*LLM, index="whole").annotation["llm_calls"]
    generator.requests.clear()
    with pytest.raises(CallLimitError, match="max-llm-calls"):
        run(*LLM, "llm.max_calls=40")
    assert len(generator.requests) == 40
    report = run(*LLM)
    assert report.annotation["llm_calls"] == whole - 40
    assert manifest().shards == manifest("whole").shards


def test_an_engine_that_dies_ends_the_run_and_its_answers_are_kept(
    run: Run,
    manifest: Callable[..., Manifest],
    generator: ScriptedGenerator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = run(*LLM, index="whole").annotation["llm_calls"]
    num_answered = 0

    def dying(request: GenerationRequest) -> str:
        nonlocal num_answered
        if num_answered == 50:
            message = "engine core died"
            raise EngineDeadError(message)
        num_answered += 1
        return answer(request)

    mortal = ScriptedGenerator(dying, seed=2)
    monkeypatch.setattr("scp_ray.annotators.factory.make_generator", lambda *_: mortal)
    with pytest.raises(EngineDeadError, match="engine core died"):
        run(*LLM)
    monkeypatch.setattr("scp_ray.annotators.factory.make_generator", lambda *_: generator)
    assert run(*LLM).annotation["llm_calls"] == whole - 50
    assert manifest().shards == manifest("whole").shards


def test_all_annotators_share_the_questions_about_a_long_document(
    run: Run,
    corpus: Path,
    write_manual: Callable[..., Path],
    manifest: Callable[..., Manifest],
    generator: ScriptedGenerator,
) -> None:
    write_manual(corpus, 99, sentences=900)
    alone = run(*LLM, index="alone").annotation
    generator.requests.clear()
    several = InProcessExecutor()
    several.num_annotators = 3
    report = run(*LLM, "llm.piece_chunks=16", executor=several)
    assert manifest().shards == manifest("alone").shards
    same = ("decisions", "extractions", "llm_calls", "prompt_tokens")
    assert [report.annotation[name] for name in same] == [alone[name] for name in same]
    assert report.annotation["cache_hits"] > 150  # about the long one, asked ahead


KILLED_RUN = textwrap.dedent(
    """
    import json, os, signal, sys, zlib
    from scp_ray.annotators import factory, llm
    from scp_ray.config import load_settings
    from scp_ray.pipeline.executor import InProcessExecutor
    from scp_ray.pipeline.preparation import IndexRequest
    from scp_ray.pipeline.run import index_corpus
    from scp_ray.testing import ScriptedGenerator

    corpus, index, dies_at, *assignments = sys.argv[1:]
    num_asked = 0

    def answer(request):
        global num_asked
        num_asked += 1
        if num_asked == int(dies_at):
            os.kill(os.getpid(), signal.SIGKILL)
        number = zlib.crc32(request.content.encode())
        if request.choices:
            return request.choices[number % 5 == 0]
        cnm = {"category": "kettle", "nouns": [f"kettle {number % 9}"], "model": None}
        return json.dumps(cnm)

    factory.make_generator = lambda *_: ScriptedGenerator(answer, seed=1)
    settings = load_settings(None, assignments, {})
    index_corpus(IndexRequest(corpus, index, settings), InProcessExecutor(), print)
    """
)


@pytest.mark.parametrize("dies_at", [3, 60, 111])
def test_after_a_kill_what_was_flushed_or_staged_is_not_paid_again(
    run: Run,
    corpus: Path,
    tmp_path: Path,
    manifest: Callable[..., Manifest],
    generator: ScriptedGenerator,
    dies_at: int,
) -> None:
    """Batches of two documents: the cache is flushed after each, so at most two are asked again."""
    assignments = [
        *("embedding.model=hash://32", "index.num_shards=3", "chunking.chunk_size_tokens=60"),
        *("chunking.overlap_tokens=15", "publish.lease_s=0.5", "cluster.documents_per_batch=2"),
        *LLM,
    ]
    whole = run(*assignments, index="whole").annotation["llm_calls"]
    arguments = [str(corpus), str(tmp_path / "index"), str(dies_at), *assignments]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_RUN, *arguments], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    report = run(*assignments)
    per_batch = 2 * 2 * max(document_sizes(tmp_path, manifest()))
    assert whole - dies_at < report.annotation["llm_calls"] <= whole - dies_at + per_batch
    assert manifest().shards == manifest("whole").shards


def document_sizes(tmp_path: Path, manifest: Manifest) -> list[int]:
    return [len(chunks) for chunks in documents_of(tmp_path / "index", manifest)]
