"""The annotator that writes nothing."""

from scp_ray.annotators.none import NoneAnnotator
from scp_ray.records import EMPTY_CNM


def test_a_document_is_one_span_without_a_signature() -> None:
    annotations = NoneAnnotator().annotate(["# Tarn Heat 40 User Manual", "text", "more"])
    assert [one.cnm for one in annotations] == [EMPTY_CNM] * 3
    assert [one.starts_span for one in annotations] == [True, False, False]


def test_no_chunks() -> None:
    assert NoneAnnotator().annotate([]) == []
