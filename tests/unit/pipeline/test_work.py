"""Work items as rows and back."""

from scp_ray import schema
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.pipeline.work import WorkItem, items_from_table, items_to_table
from scp_ray.records import ActivePeriod, AnnotationUsage, ChunkAnnotation, ChunkSpan, Cnm

ITEM = WorkItem(
    "doc",
    3,
    "folder/doc",
    "hash",
    '{"year": 2025}',
    "some text",
    [ChunkSpan(0, 4, 1), ChunkSpan(5, 9, 1)],
    [ChunkAnnotation(Cnm("c", ("n",), None), True), ChunkAnnotation(Cnm(), False)],
    AnnotationUsage(decisions=1, extractions=1, llm_calls=3),
    0.5,
    0.25,
    ActivePeriod("node:7", 10.5, 12.0),
)


def test_rows_and_back() -> None:
    table = items_to_table([ITEM])
    assert table.schema == schema.WORK
    assert items_from_table(table) == [ITEM]


def test_chunk_texts() -> None:
    assert ITEM.chunk_texts == ["some", "text"]


def test_failed_item_lets_go_of_what_was_made() -> None:
    failed = ITEM.failed(DocumentError(QuarantineReason.BROKEN, "why"))
    (back,) = items_from_table(items_to_table([failed]))
    assert (back.text, back.spans, back.annotations) == ("", [], [])
    assert back.failure is not None
    assert (back.failure.reason, back.failure.detail) == (QuarantineReason.BROKEN, "why")
