"""One document on its way through the stages, as a record and as a row of ``schema.WORK``."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa

from scp_ray import schema
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.records import NO_USAGE, ActivePeriod, AnnotationUsage, ChunkAnnotation, ChunkSpan, Cnm


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A document and what the stages so far made of it.

    Attributes:
        doc_id: The document.
        shard_id: Where its rows go.
        source_uri: Where it was read.
        content_sha256: Its content, as planned.
        metadata_json: Its metadata, as canonical JSON.
        text: Its text; empty once it failed.
        spans: Its chunks.
        annotations: One for each chunk, after annotation.
        usage: What annotation took.
        read_s: Seconds of reading, parsing and chunking.
        annotate_s: Seconds of annotation.
        active: When a language model was asked about it, or None.
        failure: Why it is quarantined, or None.
    """

    doc_id: str
    shard_id: int
    source_uri: str
    content_sha256: str
    metadata_json: str = "{}"
    text: str = ""
    spans: list[ChunkSpan] = field(default_factory=list)
    annotations: list[ChunkAnnotation] = field(default_factory=list)
    usage: AnnotationUsage = NO_USAGE
    read_s: float = 0.0
    annotate_s: float = 0.0
    active: ActivePeriod | None = None
    failure: DocumentError | None = None

    @property
    def chunk_texts(self) -> list[str]:
        """Text of each chunk."""
        return [self.text[span.char_start : span.char_end] for span in self.spans]

    def failed(self, failure: DocumentError) -> "WorkItem":
        """Return the item as quarantined; what was made of it is let go."""
        return replace(self, text="", spans=[], annotations=[], failure=failure)


def items_to_table(items: Iterable[WorkItem]) -> pa.Table:
    """Return the rows of ``items``, schema ``WORK``."""
    return pa.Table.from_pylist([_row(item) for item in items], schema=schema.WORK)


def items_from_table(table: pa.Table) -> list[WorkItem]:
    """Return the records of a table of schema ``WORK``."""
    return [_item(row) for row in table.to_pylist()]


def _row(item: WorkItem) -> dict[str, object]:
    return {
        schema.DOC_ID: item.doc_id,
        schema.SHARD_ID: item.shard_id,
        schema.SOURCE_URI: item.source_uri,
        schema.CONTENT_SHA256: item.content_sha256,
        schema.METADATA_JSON: item.metadata_json,
        schema.TEXT: item.text,
        schema.CHUNK_SPANS: [
            {
                schema.CHAR_START: span.char_start,
                schema.CHAR_END: span.char_end,
                schema.NUM_TOKENS: span.num_tokens,
            }
            for span in item.spans
        ],
        schema.ANNOTATIONS: [annotation_row(annotation) for annotation in item.annotations],
        schema.USAGE: asdict(item.usage),
        schema.READ_S: item.read_s,
        schema.ANNOTATE_S: item.annotate_s,
        schema.ACTIVE: asdict(item.active) if item.active else None,
        schema.REASON: item.failure.reason if item.failure else None,
        schema.DETAIL: item.failure.detail if item.failure else None,
    }


def annotation_row(annotation: ChunkAnnotation) -> dict[str, object]:
    """Return the CNM columns of one chunk."""
    return {
        schema.CNM_CATEGORY: annotation.cnm.category,
        schema.CNM_NOUNS: list(annotation.cnm.nouns),
        schema.CNM_MODEL: annotation.cnm.model,
        schema.STARTS_SPAN: annotation.starts_span,
    }


def _item(row: dict[str, object]) -> WorkItem:
    spans = row.pop(schema.CHUNK_SPANS)
    annotations = row.pop(schema.ANNOTATIONS)
    usage, active = row.pop(schema.USAGE), row.pop(schema.ACTIVE)
    reason, detail = row.pop(schema.REASON), row.pop(schema.DETAIL)
    return WorkItem(
        **row,  # type: ignore[arg-type]
        spans=[ChunkSpan(**span) for span in spans],  # type: ignore[attr-defined]
        annotations=[_annotation(columns) for columns in annotations],  # type: ignore[attr-defined]
        usage=AnnotationUsage(**usage),  # type: ignore[arg-type]
        active=ActivePeriod(**active) if active else None,  # type: ignore[arg-type]
        failure=DocumentError(QuarantineReason(str(reason)), str(detail)) if reason else None,
    )


def _annotation(columns: dict[str, object]) -> ChunkAnnotation:
    cnm = Cnm(
        columns[schema.CNM_CATEGORY],  # type: ignore[arg-type]
        tuple(columns[schema.CNM_NOUNS]),  # type: ignore[arg-type]
        columns[schema.CNM_MODEL],  # type: ignore[arg-type]
    )
    return ChunkAnnotation(cnm, bool(columns[schema.STARTS_SPAN]))
