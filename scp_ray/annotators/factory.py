"""Chooses the annotator that the settings name."""

from scp_ray.annotators.heuristic import HeuristicAnnotator
from scp_ray.annotators.none import NoneAnnotator
from scp_ray.protocols import Annotator
from scp_ray.sections import AnnotatorName, ChopConfig


def make_annotator(config: ChopConfig) -> Annotator:
    """Return the annotator of the settings."""
    if config.annotator is AnnotatorName.NONE:
        return NoneAnnotator()
    return HeuristicAnnotator(document_fallback=config.document_fallback)
