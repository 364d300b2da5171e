"""The annotator that writes no signatures."""

from collections.abc import Sequence

from scp_ray.records import EMPTY_CNM, ChunkAnnotation

NONE_REVISION = "none-1"
"""Never changes."""


def annotate_empty(chunks: Sequence[str]) -> list[ChunkAnnotation]:
    """Give every chunk the empty signature; a document is one span."""
    return [ChunkAnnotation(EMPTY_CNM, starts_span=not index) for index in range(len(chunks))]
