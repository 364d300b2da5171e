"""No signatures."""

from scp_ray.annotators.none import annotate_empty


def test_every_signature_is_empty_and_a_document_is_one_span() -> None:
    annotations = annotate_empty(["# Tarn Heat 40 User Manual", "text", "more"])
    assert all(annotation.cnm.is_empty for annotation in annotations)
    assert [annotation.starts_span for annotation in annotations] == [True, False, False]


def test_no_chunks_give_no_annotations() -> None:
    assert annotate_empty([]) == []
