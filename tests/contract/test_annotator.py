"""What every annotator does, whatever it writes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.annotators.factory import make_annotator
from scp_ray.protocols import Annotator
from scp_ray.sections import AnnotatorName, ChopConfig

ANNOTATORS = [
    make_annotator(ChopConfig(annotator=name, document_fallback=fallback))
    for name in (AnnotatorName.NONE, AnnotatorName.HEURISTIC)
    for fallback in (True, False)
]
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


@pytest.mark.parametrize("annotator", ANNOTATORS)
@given(chunks=documents)
def test_one_annotation_a_chunk_the_same_every_time(
    annotator: Annotator, chunks: list[str]
) -> None:
    annotations = annotator.annotate(chunks)
    assert len(annotations) == len(chunks)
    assert annotations == annotator.annotate(tuple(chunks))


@pytest.mark.parametrize("annotator", ANNOTATORS)
@given(chunks=documents.filter(bool))
def test_the_first_chunk_starts_a_span_and_the_others_inherit(
    annotator: Annotator, chunks: list[str]
) -> None:
    annotations = annotator.annotate(chunks)
    assert annotations[0].starts_span
    for before, after in pairwise(annotations):
        assert after.starts_span or after.cnm == before.cnm


@pytest.mark.parametrize("annotator", ANNOTATORS)
@given(chunks=documents)
def test_fields_are_missing_or_short_text_that_can_be_stored(
    annotator: Annotator, chunks: list[str]
) -> None:
    for one in annotator.annotate(chunks):
        assert len(one.cnm.nouns) <= 2
        for field in (one.cnm.category, *one.cnm.nouns, one.cnm.model):
            assert field is None or 0 < len(field.encode()) <= 500


def test_annotators_name_their_revision() -> None:
    assert all(annotator.revision for annotator in ANNOTATORS)
