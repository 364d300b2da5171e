"""The corpus against the published generation."""

import random

import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.errors import DuplicateDocumentError, QuarantineReason
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.plan import (
    CorpusPlan,
    DocumentState,
    PublishedDocument,
    locators_table,
    plan_corpus,
)


def inventory(*rows: dict[str, object]) -> list[pa.Table]:
    defaults = {
        schema.ROW_INDEX: -1,
        schema.SIZE_BYTES: 10,
        schema.CONTENT_SHA256: "content",
        schema.REASON: None,
        schema.DETAIL: None,
    }
    complete = [{**defaults, schema.SOURCE_KEY: row[schema.DOC_ID], **row} for row in rows]
    return [pa.Table.from_pylist([row], schema=schema.INVENTORY) for row in complete]


def published(
    doc_id: str, content: str = "content", fingerprint: str = "print"
) -> PublishedDocument:
    return PublishedDocument(doc_id, 0, content, fingerprint, 3, f"/corpus/{doc_id}")


def plan_of(
    tables: list[pa.Table], *documents: PublishedDocument, num_shards: int = 1
) -> CorpusPlan:
    by_id = {document.doc_id: document for document in documents}
    return plan_corpus(tables, by_id, "print", num_shards, "/corpus")


def test_every_state() -> None:
    plan = plan_of(
        inventory(
            {schema.DOC_ID: "new"},
            {schema.DOC_ID: "same"},
            {schema.DOC_ID: "edited", schema.CONTENT_SHA256: "other"},
            {schema.DOC_ID: "resettled"},
            {schema.DOC_ID: "after", schema.CONTENT_SHA256: "moved"},
            {schema.DOC_ID: "bad", schema.REASON: "empty", schema.DETAIL: "no text"},
        ),
        published("same"),
        published("edited"),
        published("resettled", fingerprint="old settings"),
        published("gone", content="gone for good"),
        published("before", content="moved"),
        published("bad"),
        num_shards=4,
    )
    assert plan.states == {
        "new": DocumentState.NEW,
        "same": DocumentState.SAME,
        "edited": DocumentState.CHANGED,
        "resettled": DocumentState.CHANGED,
        "after": DocumentState.RENAMED,
        "gone": DocumentState.REMOVED,
        "bad": DocumentState.QUARANTINED,
    }
    assert {locator.doc_id for locator in plan.todo} == {"new", "edited", "resettled"}
    assert {new: old.doc_id for new, old in plan.unchanged.items()} == {
        "same": "same",
        "after": "before",
    }
    assert plan.unchanged["after"].source_uri == "/corpus/after"
    assert plan.doc_ids(DocumentState.CHANGED) == ["edited", "resettled"]
    assert plan.quarantined[0].reason is QuarantineReason.EMPTY


def test_a_removed_document_has_one_new_name() -> None:
    plan = plan_of(inventory({schema.DOC_ID: "b"}, {schema.DOC_ID: "c"}), published("a"))
    assert plan.states == {"b": DocumentState.RENAMED, "c": DocumentState.NEW}


def test_a_document_of_another_format_now_is_read_anew() -> None:
    plan = plan_of(inventory({schema.DOC_ID: "a.html"}), published("a.txt"))
    assert plan.states == {"a.txt": DocumentState.REMOVED, "a.html": DocumentState.NEW}
    plan = plan_of(inventory({schema.DOC_ID: "b/c.TXT"}), published("a.txt"))
    assert plan.states == {"b/c.TXT": DocumentState.RENAMED}


def test_two_removed_documents_with_equal_text_are_two() -> None:
    tables = inventory({schema.DOC_ID: "c"}, {schema.DOC_ID: "d"})
    plan = plan_of(tables, published("a"), published("b"))
    assert {new: old.doc_id for new, old in plan.unchanged.items()} == {"c": "a", "d": "b"}


def test_a_copy_of_a_document_that_stays_is_new() -> None:
    plan = plan_of(inventory({schema.DOC_ID: "a"}, {schema.DOC_ID: "b"}), published("a"))
    assert plan.states == {"a": DocumentState.SAME, "b": DocumentState.NEW}


def test_a_renamed_document_of_other_settings_is_done_anew() -> None:
    plan = plan_of(inventory({schema.DOC_ID: "b"}), published("a", fingerprint="old"))
    assert plan.states == {"a": DocumentState.REMOVED, "b": DocumentState.NEW}


def test_todo_goes_by_shard_and_long_documents_first_whatever_the_input_order() -> None:
    rows = [{schema.DOC_ID: f"doc{i}", schema.SIZE_BYTES: i % 7} for i in range(50)]
    first = plan_of(inventory(*rows), num_shards=5).todo
    random.Random(1).shuffle(rows)
    assert plan_of(inventory(*rows), num_shards=5).todo == first
    order = [(shard_of(locator.doc_id, 5), -locator.size_bytes) for locator in first]
    assert order == sorted(order)


def test_duplicate_names_both_sources() -> None:
    tables = inventory(
        {schema.DOC_ID: "a", schema.SOURCE_KEY: "rows.jsonl", schema.ROW_INDEX: 4},
        {schema.DOC_ID: "a", schema.SOURCE_KEY: "a"},
    )
    with pytest.raises(DuplicateDocumentError, match="'a' is claimed by a and rows.jsonl#4"):
        plan_of(tables, num_shards=1)


def test_further_duplicates_are_counted() -> None:
    tables = inventory(*[{schema.DOC_ID: name} for name in ("a", "a", "b", "b")])
    with pytest.raises(DuplicateDocumentError, match="and 1 more doc_ids"):
        plan_of(tables, num_shards=1)


def test_equal_texts_are_two_documents() -> None:
    tables = inventory({schema.DOC_ID: "a"}, {schema.DOC_ID: "b"})
    assert plan_of(tables, num_shards=1).count(DocumentState.NEW) == 2


def test_locators_table_follows_its_schema() -> None:
    todo = plan_of(inventory({schema.DOC_ID: "a"}), num_shards=3).todo
    table = locators_table(todo, 3)
    assert table.schema == schema.LOCATORS
    assert table[schema.SHARD_ID].to_pylist() == [shard_of("a", 3)]
