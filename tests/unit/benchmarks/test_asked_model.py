"""Asking a model about documents, with a scripted model behind the real annotator."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.asked_model import AskedModel, costs, with_earlier
from benchmarks.chunked_texts import ChunkedText
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.chop.prompting import CHANGES, CONTINUES
from scp_ray.protocols import Generation, GenerationRequest
from scp_ray.records import AnnotationUsage, Cnm
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore

TEXT = ChunkedText("a", "Kettle. Lid. NEW T2. Tray.", ((0, 8), (8, 13), (13, 21), (21, 26)))


class TellingModel:
    """Says that another product begins where the second passage says NEW."""

    async def generate(self, request: GenerationRequest) -> Generation:
        await asyncio.sleep(0)
        if request.choices:
            starts = "NEW" in request.content.partition("<second>")[2]
            return Generation(CHANGES if starts else CONTINUES, 100, 60, 1)
        model = '"T2"' if "T2" in request.content else "null"
        return Generation(f'{{"category": null, "nouns": [], "model": {model}}}', 50, 0, 9)

    async def close(self) -> None:
        pass


@pytest.fixture
def model() -> AskedModel:
    cache = StoredAnnotationCache(MemoryObjectStore(), "0" * 64)
    annotator = LlmAnnotator(
        TellingModel, cache, lookahead=4, document_fallback=False, max_calls=None
    )
    yield AskedModel(annotator, cache)
    annotator.close()


def test_pairs_are_decided_on_their_own(model: AskedModel) -> None:
    assert model.decisions(TEXT, [1, 2]) == {1: False, 2: True}
    assert model.usage.llm_calls == 4  # two pairs, a signature and its name


def test_a_document_gives_decisions_and_the_signatures_of_its_spans(model: AskedModel) -> None:
    decisions, cnms = model.signatures(TEXT)
    assert decisions == [True, False, True]
    assert cnms == {0: Cnm(), 2: Cnm(model="T2")}
    before = model.usage.llm_calls
    assert before == 6
    model.signatures(TEXT)
    assert model.usage.llm_calls == before


def test_what_earlier_runs_took_is_added(tmp_path: Path) -> None:
    usage = AnnotationUsage(llm_calls=2, prompt_tokens=10)
    assert with_earlier(tmp_path / "u.json", usage, 1.5) == (usage, 1.5)
    assert with_earlier(tmp_path / "u.json", usage, 2.0) == (usage + usage, 3.5)
    nothing = AnnotationUsage()
    assert with_earlier(tmp_path / "u.json", nothing, 0.0) == (usage + usage, 3.5)


def test_costs_are_shares_of_the_calls() -> None:
    usage = AnnotationUsage(
        llm_calls=8, retries=2, fallbacks=1, prompt_tokens=400, cached_prompt_tokens=300
    )
    figures = costs(usage, 12.0)
    assert (figures["retry_share"], figures["fallback_share"]) == (0.25, 0.125)
    assert (figures["cached_prompt_share"], figures["seconds"]) == (0.75, 12.0)


def test_nothing_asked_costs_nothing() -> None:
    assert set(costs(AnnotationUsage(), 0.0).values()) == {0}


def test_without_the_model_what_it_answered_before_counts(model: AskedModel) -> None:
    model.decisions(TEXT, [1])
    kept = AskedModel(None, model.cache)
    assert kept.decisions(TEXT, [0, 1, 2]) == {1: False}
    assert kept.first_signatures(TEXT, [0, 2]) == {2: Cnm(model="T2")}
    with pytest.raises(ValueError, match="needs the model"):
        kept.signatures(TEXT)
