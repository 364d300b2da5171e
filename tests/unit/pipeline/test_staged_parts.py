"""Staged parts: written whole, checked, found again."""

import numpy as np
import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.errors import ChecksumError
from scp_ray.pipeline.plan import Locator
from scp_ray.pipeline.staged_parts import (
    delete_parts,
    read_part,
    staged_documents,
    write_part,
)
from scp_ray.testing import MemoryObjectStore

FOLDER = "runs/run/staged/00000"


def tables(*doc_ids: str) -> tuple[pa.Table, pa.Table]:
    expected = schema.chunks_schema(2)
    chunks = [
        {
            schema.DOC_ID: doc_id,
            schema.CHUNK_INDEX: 0,
            schema.NUM_CHUNKS: 1,
            schema.CHAR_START: 0,
            schema.CHAR_END: 1,
            schema.NUM_TOKENS: 1,
            schema.TEXT: "x",
            schema.PREFIX: "",
            schema.CNM_CATEGORY: None,
            schema.CNM_NOUNS: [],
            schema.CNM_MODEL: None,
            schema.STARTS_SPAN: True,
            schema.EMBEDDING: np.array([1.0, 0.0], dtype=np.float32),
        }
        for doc_id in doc_ids
    ]
    documents = [
        {
            schema.DOC_ID: doc_id,
            schema.SHARD_ID: 0,
            schema.SOURCE_URI: doc_id,
            schema.CONTENT_SHA256: "content",
            schema.FINGERPRINT: "print",
            schema.METADATA_JSON: "{}",
            schema.NUM_CHARACTERS: 1,
            schema.NUM_CHUNKS: 1,
        }
        for doc_id in doc_ids
    ]
    return (
        pa.Table.from_pylist(chunks, schema=expected),
        pa.Table.from_pylist(documents, schema=schema.STAGED),
    )


def locator(doc_id: str, content: str = "content") -> Locator:
    return Locator(doc_id, doc_id, -1, 1, content)


def test_part_is_read_back_for_the_documents_asked_for() -> None:
    store = MemoryObjectStore()
    part = write_part(store, FOLDER, *tables("a", "b", "c"))
    chunks, documents = read_part(store, part, ["a", "c"])
    assert chunks[schema.DOC_ID].to_pylist() == documents[schema.DOC_ID].to_pylist() == ["a", "c"]


def test_writing_the_same_rows_again_is_the_same_part() -> None:
    store = MemoryObjectStore()
    assert write_part(store, FOLDER, *tables("a")) == write_part(store, FOLDER, *tables("a"))
    assert len(list(store.list())) == 2


def test_only_wanted_content_and_fingerprint_are_found() -> None:
    store = MemoryObjectStore()
    part = write_part(store, FOLDER, *tables("a", "b"))
    found = staged_documents(store, [locator("a"), locator("b", "edited")], "print")
    assert {doc_id: document.part for doc_id, document in found.items()} == {"a": part}
    assert staged_documents(store, [locator("a")], "other settings") == {}


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"x"])
def test_damaged_documents_file_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    store = MemoryObjectStore()
    part = write_part(store, FOLDER, *tables("a"))
    key = part + ".documents.parquet"
    store.write(key, damage(store.read(key)))  # type: ignore[operator]
    assert staged_documents(store, [locator("a")], "print") == {}
    assert "ignoring a staged part" in caplog.text


def test_part_without_its_documents_file_does_not_count() -> None:
    store = MemoryObjectStore()
    part = write_part(store, FOLDER, *tables("a"))
    store.delete(part + ".documents.parquet")
    assert staged_documents(store, [locator("a")], "print") == {}


def test_damaged_chunks_are_refused_by_name() -> None:
    store = MemoryObjectStore()
    part = write_part(store, FOLDER, *tables("a"))
    store.write(part + ".chunks.parquet", b"other")
    with pytest.raises(ChecksumError, match="chunks.parquet"):
        read_part(store, part, ["a"])


def test_deleted_parts_leave_nothing() -> None:
    store = MemoryObjectStore()
    part = write_part(store, "runs/earlier/staged/00000", *tables("a"))
    write_part(store, FOLDER, *tables("b"))
    delete_parts(store, "run", [part])
    assert list(store.list()) == []
