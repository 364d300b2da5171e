"""The corpus against the published generation."""

import random

import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.errors import DuplicateDocumentError, QuarantineReason
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.plan import (
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


def published(content: str = "content", fingerprint: str = "print") -> PublishedDocument:
    return PublishedDocument(0, content, fingerprint, 3, "/corpus/a.md")


def test_every_state() -> None:
    plan = plan_corpus(
        inventory(
            {schema.DOC_ID: "new"},
            {schema.DOC_ID: "same"},
            {schema.DOC_ID: "edited", schema.CONTENT_SHA256: "other"},
            {schema.DOC_ID: "resettled"},
            {schema.DOC_ID: "bad", schema.REASON: "empty", schema.DETAIL: "no text"},
        ),
        {
            "same": published(),
            "edited": published(),
            "resettled": published(fingerprint="old settings"),
            "gone": published(),
            "bad": published(),
        },
        "print",
        num_shards=4,
    )
    assert plan.states == {
        "new": DocumentState.NEW,
        "same": DocumentState.SAME,
        "edited": DocumentState.CHANGED,
        "resettled": DocumentState.CHANGED,
        "gone": DocumentState.REMOVED,
        "bad": DocumentState.QUARANTINED,
    }
    assert {locator.doc_id for locator in plan.todo} == {"new", "edited", "resettled"}
    assert plan.doc_ids(DocumentState.CHANGED) == ["edited", "resettled"]
    assert plan.quarantined[0].reason is QuarantineReason.EMPTY


def test_todo_goes_by_shard_and_long_documents_first_whatever_the_input_order() -> None:
    rows = [{schema.DOC_ID: f"doc{i}", schema.SIZE_BYTES: i % 7} for i in range(50)]
    first = plan_corpus(inventory(*rows), {}, "print", num_shards=5).todo
    random.Random(1).shuffle(rows)
    assert plan_corpus(inventory(*rows), {}, "print", num_shards=5).todo == first
    order = [(shard_of(locator.doc_id, 5), -locator.size_bytes) for locator in first]
    assert order == sorted(order)


def test_duplicate_names_both_sources() -> None:
    tables = inventory(
        {schema.DOC_ID: "a", schema.SOURCE_KEY: "rows.jsonl", schema.ROW_INDEX: 4},
        {schema.DOC_ID: "a", schema.SOURCE_KEY: "a"},
    )
    with pytest.raises(DuplicateDocumentError, match="'a' is claimed by a and rows.jsonl#4"):
        plan_corpus(tables, {}, "print", num_shards=1)


def test_further_duplicates_are_counted() -> None:
    tables = inventory(*[{schema.DOC_ID: name} for name in ("a", "a", "b", "b")])
    with pytest.raises(DuplicateDocumentError, match="and 1 more doc_ids"):
        plan_corpus(tables, {}, "print", num_shards=1)


def test_equal_texts_are_two_documents() -> None:
    tables = inventory({schema.DOC_ID: "a"}, {schema.DOC_ID: "b"})
    assert plan_corpus(tables, {}, "print", num_shards=1).count(DocumentState.NEW) == 2


def test_locators_table_follows_its_schema() -> None:
    todo = plan_corpus(inventory({schema.DOC_ID: "a"}), {}, "print", num_shards=3).todo
    table = locators_table(todo, 3)
    assert table.schema == schema.LOCATORS
    assert table[schema.SHARD_ID].to_pylist() == [shard_of("a", 3)]
