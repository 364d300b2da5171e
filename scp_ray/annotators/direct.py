"""Annotators that need no model: one function over the chunks of one document."""

from collections.abc import Callable, Sequence

from scp_ray.errors import AnnotationError
from scp_ray.records import NO_USAGE, AnnotatedDocument, AnnotationUsage, ChunkAnnotation


class DirectAnnotator:
    """An ``Annotator`` that calls a function for one document after the other.

    Safe to share between threads if the function is.
    """

    def __init__(self, annotate_one: Callable[[Sequence[str]], list[ChunkAnnotation]]) -> None:
        """Take the function; an AnnotationError of it is that document's failure."""
        self._annotate_one = annotate_one

    def annotate(self, documents: Sequence[Sequence[str]]) -> list[AnnotatedDocument]:
        """Annotate the chunks of each document."""
        return [self._annotated(chunks) for chunks in documents]

    def ask_ahead(self, pieces: Sequence[Sequence[str]]) -> AnnotationUsage:
        """Ask nobody."""
        del pieces
        return NO_USAGE

    def close(self) -> None:
        """Have nothing to end."""

    def _annotated(self, chunks: Sequence[str]) -> AnnotatedDocument:
        try:
            annotations = self._annotate_one(chunks)
        except AnnotationError as error:
            return AnnotatedDocument([], failure=str(error))
        num_spans = sum(annotation.starts_span for annotation in annotations)
        usage = AnnotationUsage(decisions=max(0, len(chunks) - 1), extractions=num_spans)
        return AnnotatedDocument(annotations, usage)
