"""Annotators that are one function."""

from collections.abc import Sequence

from scp_ray.annotators.direct import DirectAnnotator
from scp_ray.annotators.none import annotate_empty
from scp_ray.errors import AnnotationError
from scp_ray.records import ChunkAnnotation


def annotate_unless_poisoned(chunks: Sequence[str]) -> list[ChunkAnnotation]:
    if "poison" in chunks:
        message = "poison in chunk 1"
        raise AnnotationError(message)
    return annotate_empty(chunks)


def test_a_document_that_fails_harms_no_other() -> None:
    annotator = DirectAnnotator(annotate_unless_poisoned)
    first, second, third = annotator.annotate([["a", "b", "c"], ["a", "poison"], ["a"]])
    assert (first.failure, second.failure, third.failure) == (None, "poison in chunk 1", None)
    assert [len(one.annotations) for one in (first, second, third)] == [3, 0, 1]
    assert (first.usage.decisions, first.usage.extractions) == (2, 1)
