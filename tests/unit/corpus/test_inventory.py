"""What a corpus holds, without parsing any of it."""

import hashlib
import io
import json
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.corpus import inventory
from scp_ray.corpus.inventory import inventory_file, list_inputs
from scp_ray.protocols import ObjectStore, StoredObject
from scp_ray.schema import INVENTORY
from scp_ray.sections import CorpusConfig

StoreOf = Callable[..., ObjectStore]
CONFIG = CorpusConfig()


def take_stock(
    store: ObjectStore, key: str, config: CorpusConfig = CONFIG
) -> list[dict[str, object]]:
    (source,) = (item for item in store.list() if item.key == key)
    table = inventory_file(store, source, config)
    assert table.schema == INVENTORY
    return table.to_pylist()


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_inputs_are_listed_by_key_without_hidden_files(store_of: StoreOf) -> None:
    keys = [
        "b.txt",
        "a/z.pdf",
        "a/B.MD",
        "a/logo.png",
        "README",
        ".git/x.txt",
        "a/.b.txt",
        "~$c.docx",
    ]
    supported, skipped = list_inputs(store_of(dict.fromkeys(keys, b"x")))
    assert [item.key for item in supported] == ["a/B.MD", "a/z.pdf", "b.txt"]
    assert [item.size_bytes for item in supported] == [1, 1, 1]
    assert skipped == ["README", "a/logo.png"]


def test_marks_of_empty_folders_are_no_files(bucket: type) -> None:
    assert list_inputs(bucket({"a/": b"", "a.txt/": b""})) == ([], [])


@pytest.mark.parametrize("key", ["a/Manual.pdf", "b.txt", "c.docx"])
def test_a_whole_file_is_one_row_named_by_its_bytes(store_of: StoreOf, key: str) -> None:
    data = b"\xff\x00 not parsed"
    assert take_stock(store_of({key: data}), key) == [
        {
            "doc_id": key,
            "source_key": key,
            "row_index": -1,
            "size_bytes": len(data),
            "content_sha256": hashlib.sha256(data).hexdigest(),
            "reason": None,
            "detail": None,
        }
    ]


def test_rows_of_jsonl_and_parquet_with_one_content_have_one_hash(store_of: StoreOf) -> None:
    metadata = {"model": "225B", "year": 2024}
    row = {"doc_id": "a", "text": "Hold.", "metadata": metadata}
    table = parquet(doc_id=["a"], text=["Hold."], metadata=[metadata])
    store = store_of({"r.jsonl": jsonl(row), "r.parquet": table})
    (line,) = take_stock(store, "r.jsonl")
    (cell,) = take_stock(store, "r.parquet")
    canonical = '{"metadata":{"model":"225B","year":2024},"text":"Hold."}'
    assert line["content_sha256"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert line["content_sha256"] == cell["content_sha256"]
    assert (line["doc_id"], line["row_index"], line["source_key"]) == ("a", 0, "r.jsonl")


def test_bad_rows_are_entries_with_a_reason_and_a_name(store_of: StoreOf) -> None:
    data = jsonl({"doc_id": "a", "text": "t"}, {"text": "t"}, {"doc_id": "c", "text": " "}) + b"{"
    good, unnamed, empty, broken = take_stock(store_of({"f/r.jsonl": data}), "f/r.jsonl")
    assert good["reason"] is None
    assert [
        (row["doc_id"], row["row_index"], row["reason"]) for row in (unnamed, empty, broken)
    ] == [
        ("f/r.jsonl#1", 1, "invalid_row"),
        ("c", 2, "empty"),
        ("f/r.jsonl#3", 3, "invalid_row"),
    ]
    assert unnamed["detail"] == "doc_id is missing"
    assert unnamed["content_sha256"] == ""


@pytest.mark.parametrize(
    ("key", "data", "reason"),
    [
        ("a.parquet", parquet(doc_id=["a"], text=["t"])[:-20], "broken"),
        ("a.parquet", parquet(doc_id=["a"], body=["t"]), "invalid_row"),
        ("a.txt", b"x" * 101, "oversized"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_entry(
    store_of: StoreOf, key: str, data: bytes, reason: str
) -> None:
    (row,) = take_stock(store_of({key: data}), key, CorpusConfig(max_document_bytes=100))
    assert (row["doc_id"], row["row_index"], row["reason"]) == (key, -1, reason)
    assert row["detail"]


def test_the_limit_is_for_a_row_and_not_for_its_file(store_of: StoreOf) -> None:
    rows = [{"doc_id": str(i), "text": "x" * (200 if i == 5 else 20)} for i in range(10)]
    stock = take_stock(
        store_of({"r.jsonl": jsonl(*rows)}), "r.jsonl", CorpusConfig(max_document_bytes=100)
    )
    assert [row["reason"] for row in stock] == [None] * 5 + ["oversized"] + [None] * 4


@pytest.mark.parametrize("key", ["a.txt", "a.jsonl", "a.parquet"])
def test_a_store_that_fails_is_an_entry(bucket: type, key: str) -> None:
    store = bucket({key: b"x"}, frozenset({key}))
    (row,) = take_stock(store, key)
    assert (row["doc_id"], row["reason"]) == (key, "unreadable")
    assert "503 slow down" in str(row["detail"])


@pytest.mark.parametrize("key", ["gone.txt", "gone.jsonl", "gone.parquet"])
def test_a_file_that_is_gone_is_an_entry(store_of: StoreOf, key: str) -> None:
    table = inventory_file(store_of({"a.txt": b"x"}), StoredObject(key, 1, "1"), CONFIG)
    assert table["reason"].to_pylist() == ["unreadable"]


@pytest.mark.parametrize("data", [b"", b"\n"])
def test_a_row_file_without_rows_is_an_entry(store_of: StoreOf, data: bytes) -> None:
    (entry,) = take_stock(store_of({"r.jsonl": data}), "r.jsonl")
    assert (entry["doc_id"], entry["reason"]) == ("r.jsonl", "empty")


def test_many_rows_make_one_table_in_order(
    store_of: StoreOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "_BATCH_ROWS", 7)
    data = jsonl(*({"doc_id": f"d{i}", "text": "t"} for i in range(50)))
    stock = take_stock(store_of({"r.jsonl": data}), "r.jsonl")
    assert [(row["doc_id"], row["row_index"]) for row in stock] == [(f"d{i}", i) for i in range(50)]
