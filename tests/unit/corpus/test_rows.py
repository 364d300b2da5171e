"""What a row must be, and what names its content."""

import hashlib

import pytest

from scp_ray.corpus.rows import RowContent, checked_row, metadata_bytes
from scp_ray.errors import DocumentError, QuarantineReason


def test_a_good_row_keeps_its_text_and_metadata() -> None:
    metadata = {"model": "225B", "year": 2024, "weight_kg": 60.5, "is_new": True}
    row = checked_row(3, 99, {"doc_id": "a", "text": " Hold\r\n", "metadata": metadata, "x": [1]})
    assert (row.row_index, row.doc_id, row.size_bytes) == (3, "a", 99)
    assert row.content == RowContent(" Hold\r\n", metadata)


@pytest.mark.parametrize("metadata", [None, {}, {"model": None}])
def test_null_metadata_counts_as_absent(metadata: object) -> None:
    row = checked_row(0, 1, {"doc_id": "a", "text": "t", "metadata": metadata})
    assert row.content == RowContent("t", {})


@pytest.mark.parametrize(
    ("fields", "reason", "match"),
    [
        ({"text": "t"}, "invalid_row", "doc_id is missing"),
        ({"doc_id": 7, "text": "t"}, "invalid_row", "doc_id must be a string, not int"),
        ({"doc_id": " ", "text": "t"}, "invalid_row", "doc_id is empty"),
        ({"doc_id": "\ud800", "text": "t"}, "invalid_row", "doc_id has half of a surrogate"),
        ({"doc_id": "a"}, "invalid_row", "text is missing"),
        ({"doc_id": "a", "text": ["t"]}, "invalid_row", "text must be a string, not list"),
        ({"doc_id": "a", "text": "\udfff"}, "invalid_row", "text has half of a surrogate"),
        ({"doc_id": "a", "text": ""}, "empty", "text is empty"),
        ({"doc_id": "a", "text": " \n"}, "empty", "nothing but white space"),
        ({"doc_id": "a", "text": "t", "metadata": "x"}, "invalid_row", "must be a map, not str"),
        ({"doc_id": "a", "text": "t", "metadata": {"k": {}}}, "invalid_row", "metadata.k must be"),
        ({"doc_id": "a", "text": "t", "metadata": {"k": [1]}}, "invalid_row", "metadata.k must be"),
        ({"doc_id": "a", "text": "t", "metadata": {"k": float("inf")}}, "invalid_row", "finite"),
        ({"doc_id": "a", "text": "t", "metadata": {"k": "\ud800"}}, "invalid_row", "surrogate"),
        ({"doc_id": "a", "text": "t", "metadata": {"\ud800": 1}}, "invalid_row", "a key of"),
        ({"doc_id": "a", "text": "t", "metadata": {1: 1}}, "invalid_row", "a key of metadata must"),
    ],
)
def test_a_bad_row_says_what_is_wrong_and_keeps_its_name(
    fields: dict[str, object], reason: str, match: str
) -> None:
    row = checked_row(0, 1, fields)
    assert isinstance(row.content, DocumentError)
    assert row.content.reason == QuarantineReason(reason)
    assert match in row.content.detail
    assert row.content.detail.isprintable()
    assert row.doc_id == ("a" if fields.get("doc_id") == "a" else None)


def test_the_hash_is_of_canonical_json() -> None:
    content = RowContent('é"', {"b": 1, "a": True})
    expected = '{"metadata":{"a":true,"b":1},"text":"é\\""}'
    assert content.sha256 == hashlib.sha256(expected.encode()).hexdigest()
    assert content.sha256 == RowContent('é"', {"a": True, "b": 1}).sha256


@pytest.mark.parametrize(
    "other", [RowContent("t ", {"a": 1}), RowContent("t", {"a": 1.5}), RowContent("t", {})]
)
def test_the_hash_tells_contents_apart(other: RowContent) -> None:
    assert other.sha256 != RowContent("t", {"a": 1}).sha256


def test_metadata_size() -> None:
    assert metadata_bytes(None) == 0
    assert metadata_bytes({"a": 1}) == len('{"a": 1}')
