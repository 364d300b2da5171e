"""What every annotator does, whatever it writes."""

import json
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.annotators.factory import make_annotator
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.config import load_settings
from scp_ray.protocols import Annotator, GenerationRequest
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore, ScriptedGenerator


def answer(request: GenerationRequest) -> str:
    """Answer something that depends on every character of the request."""
    number = zlib.crc32(request.content.encode("utf-8", "surrogatepass"))
    if request.choices:
        return request.choices[number % 2]
    fields = {"category": "heater", "nouns": [f"heater {number % 3}"], "model": None}
    return json.dumps(fields | {"model": f"Tarn {number % 5}" if number % 7 else None})


def open_cache(fingerprint: str) -> StoredAnnotationCache:
    return StoredAnnotationCache(MemoryObjectStore(), fingerprint)


@pytest.fixture(
    scope="module", params=[(n, f) for n in ("none", "heuristic", "llm") for f in (True, False)]
)
def annotator(request: pytest.FixtureRequest) -> Iterator[Annotator]:
    """Every annotator, with and without the document's fallback."""
    name, fallback = request.param
    made: Annotator
    if name == "llm":
        made = LlmAnnotator(
            lambda: ScriptedGenerator(answer, seed=1),
            open_cache("0" * 64),
            lookahead=4,
            document_fallback=fallback,
            max_calls=None,
        )
    else:
        chop = [f"chop.annotator={name}", f"chop.document_fallback={fallback}"]
        made = make_annotator(load_settings(None, chop, {}), open_cache)
    yield made
    made.close()


lines = st.sampled_from(
    [
        "# Tarn Heat 40 User Manual",
        "Tarn Velo 7",
        "## Contents",
        "## Timer",
        "== History ==",
        "Keep the heater dry and read this manual.",
        "",
        "\r",
        "| a | b |",
        "```",
    ]
)
texts = st.text(max_size=80) | st.lists(lines, max_size=12).map("\n".join)
documents = st.lists(texts, max_size=8)


several = st.lists(documents, max_size=4)


@given(batch=several)
def test_one_annotation_a_chunk_the_same_every_time_and_beside_any_other_document(
    annotator: Annotator, batch: list[list[str]]
) -> None:
    annotated = annotator.annotate(batch)
    assert [len(one.annotations) for one in annotated] == [len(chunks) for chunks in batch]
    alone = [annotator.annotate([tuple(chunks)])[0].annotations for chunks in batch]
    assert [one.annotations for one in annotated] == alone


@given(chunks=documents.filter(bool))
def test_the_first_chunk_starts_a_span_and_the_others_inherit(
    annotator: Annotator, chunks: list[str]
) -> None:
    document = annotator.annotate([chunks])[0]
    assert document.annotations[0].starts_span
    for before, after in pairwise(document.annotations):
        assert after.starts_span or after.cnm == before.cnm
    assert document.usage.decisions == len(chunks) - 1
    assert document.usage.extractions == sum(one.starts_span for one in document.annotations)


@given(chunks=documents)
def test_fields_are_missing_or_short_text_that_can_be_stored(
    annotator: Annotator, chunks: list[str]
) -> None:
    for one in annotator.annotate([chunks])[0].annotations:
        assert len(one.cnm.nouns) <= 2
        for field in (one.cnm.category, *one.cnm.nouns, one.cnm.model):
            assert field is None or 0 < len(field.encode()) <= 500
