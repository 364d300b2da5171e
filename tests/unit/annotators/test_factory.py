"""The annotator that the settings name."""

from scp_ray.annotators.factory import make_annotator
from scp_ray.sections import AnnotatorName, ChopConfig

CHUNKS = ["# Tarn Heat 40 User Manual\n\n## Safety\n\nKeep the heater dry."]


def test_the_heuristic_annotator_writes_signatures() -> None:
    annotator = make_annotator(ChopConfig(annotator=AnnotatorName.HEURISTIC))
    assert annotator.annotate(CHUNKS)[0].cnm.model == "Tarn Heat 40"


def test_none_writes_no_signatures() -> None:
    annotator = make_annotator(ChopConfig(annotator=AnnotatorName.NONE))
    assert annotator.annotate(CHUNKS)[0].cnm.is_empty


def test_annotators_have_different_revisions() -> None:
    revisions = {make_annotator(ChopConfig(annotator=name)).revision for name in AnnotatorName}
    assert len(revisions) == len(AnnotatorName)
