"""Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.corpus import parquet
from scp_ray.corpus.parquet import read_parquet
from scp_ray.corpus.rows import RowContent
from scp_ray.errors import DocumentError, QuarantineReason

LIMIT = 1000
NAMES = pa.array(["a", "b"])
TEXTS = pa.array(["one", "two"])


def write(folder: Path, row_group_size: int = 10, **columns: pa.Array) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return path


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_any_kind_of_string_is_text(tmp_path: Path, kind: pa.DataType) -> None:
    rows = list(read_parquet(write(tmp_path, doc_id=NAMES, text=TEXTS.cast(kind)), LIMIT))
    assert [(row.row_index, row.doc_id, row.content) for row in rows] == [
        (0, "a", RowContent("one", {})),
        (1, "b", RowContent("two", {})),
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        pa.array([{"model": "225B", "year": 2024}, {"model": None, "year": 2025}]),
        pa.array([[("model", 225)], None], type=pa.map_(pa.string(), pa.int64())),
    ],
)
def test_metadata_is_a_struct_or_a_map(tmp_path: Path, metadata: pa.Array) -> None:
    first, second = read_parquet(
        write(tmp_path, doc_id=NAMES, text=TEXTS, metadata=metadata, more=TEXTS), LIMIT
    )
    assert isinstance(first.content, RowContent)
    assert isinstance(second.content, RowContent)
    assert first.content.metadata["model"] in {"225B", 225}
    assert "model" not in second.content.metadata


def test_rows_keep_their_places_over_groups_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_MAX_BATCH_ROWS", 3)
    texts = [f"text {i}" for i in range(25)]
    path = write(tmp_path, 10, doc_id=pa.array(texts), text=pa.array(texts))
    rows = list(read_parquet(path, LIMIT))
    assert [(row.row_index, row.doc_id) for row in rows] == list(enumerate(texts))
    wanted = frozenset({0, 9, 24, 99})
    assert [row.row_index for row in read_parquet(path, LIMIT, wanted)] == [0, 9, 24]


def test_bad_rows_do_not_stop_the_rest(tmp_path: Path) -> None:
    names = pa.array(["a", None, "c", "d", "e"])
    texts = pa.array([None, "two", "  ", "x" * 2000, "five"])
    *bad, good = read_parquet(write(tmp_path, doc_id=names, text=texts), LIMIT)
    assert [(row.doc_id, row.content.reason) for row in bad] == [  # type: ignore[union-attr]
        ("a", QuarantineReason.INVALID_ROW),
        (None, QuarantineReason.INVALID_ROW),
        ("c", QuarantineReason.EMPTY),
        ("d", QuarantineReason.OVERSIZED),
    ]
    assert good.content == RowContent("five", {})


def test_nested_metadata_and_nan_are_bad_rows(tmp_path: Path) -> None:
    metadata = pa.array([{"k": float("nan"), "n": None}, {"k": 1.0, "n": [1]}])
    rows = list(read_parquet(write(tmp_path, doc_id=NAMES, text=TEXTS, metadata=metadata), LIMIT))
    details = [row.content.detail for row in rows if isinstance(row.content, DocumentError)]
    assert details == [
        "metadata.k must be a finite number, not nan",
        "metadata.n must be a string, a number or a boolean, not list",
    ]


def test_a_string_that_is_not_utf8_is_a_bad_row(tmp_path: Path) -> None:
    offsets = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0")
    texts = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xffa"))
    bad, good = read_parquet(write(tmp_path, doc_id=NAMES, text=texts), LIMIT)
    assert isinstance(bad.content, DocumentError)
    assert bad.content.reason is QuarantineReason.UNDECODABLE
    assert good.content == RowContent("a", {})


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"doc_id": NAMES}, "must have one column text; it has doc_id"),
        ({"id": NAMES, "text": TEXTS}, "must have one column doc_id"),
        ({"doc_id": pa.array([1, 2]), "text": TEXTS}, "doc_id must be a string, not int64"),
        ({"doc_id": NAMES, "text": pa.array([b"x", b"y"])}, "text must be a string, not binary"),
        ({"doc_id": NAMES, "text": TEXTS, "metadata": TEXTS}, "metadata must be a struct or a map"),
    ],
)
def test_other_columns_are_an_invalid_file(
    tmp_path: Path, columns: dict[str, pa.Array], match: str
) -> None:
    with pytest.raises(DocumentError, match=match) as caught:
        list(read_parquet(write(tmp_path, **columns), LIMIT))
    assert caught.value.reason is QuarantineReason.INVALID_ROW


def test_two_columns_of_one_name_are_an_invalid_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_arrays([NAMES, TEXTS, TEXTS], ["doc_id", "text", "text"]), path)
    with pytest.raises(DocumentError, match="must have one column text"):
        list(read_parquet(path, LIMIT))


@pytest.mark.parametrize("size", [0, 3, 100, -8])
def test_a_cut_off_file_is_broken(tmp_path: Path, size: int) -> None:
    path = write(tmp_path, doc_id=NAMES, text=TEXTS)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DocumentError, match="not a readable Parquet file") as caught:
        list(read_parquet(path, LIMIT))
    assert caught.value.reason is QuarantineReason.BROKEN


def test_a_name_of_a_column_that_is_not_utf8_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path, doc_id=NAMES, text=TEXTS)
    path.write_bytes(path.read_bytes().replace(b"doc_id", b"doc\xffid"))
    with pytest.raises(DocumentError, match="not a readable Parquet file"):
        list(read_parquet(path, LIMIT))


def test_damage_in_the_middle_comes_after_the_good_rows(tmp_path: Path) -> None:
    texts = pa.array([f"text {i} " + "x" * 50 for i in range(200)])
    path = write(tmp_path, 100, doc_id=texts, text=texts)
    place = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 200] = b"\xff" * 200
    path.write_bytes(data)
    rows = read_parquet(path, LIMIT)
    assert [next(rows).row_index for _ in range(100)] == list(range(100))
    with pytest.raises(DocumentError, match="broken"):
        next(rows)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.parquet"):
        list(read_parquet(tmp_path / "gone.parquet", LIMIT))
