"""The annotator that writes no signatures."""

from collections.abc import Sequence

from scp_ray.records import EMPTY_CNM, ChunkAnnotation


class NoneAnnotator:
    """Gives every chunk the empty signature; a document is one span. Stateless.

    Attributes:
        revision: Never changes.
    """

    def __init__(self) -> None:
        """Need nothing."""
        self.revision = "none-1"

    def annotate(self, chunks: Sequence[str]) -> list[ChunkAnnotation]:
        """Return an empty annotation a chunk, in chunk order."""
        return [ChunkAnnotation(EMPTY_CNM, starts_span=not index) for index in range(len(chunks))]
