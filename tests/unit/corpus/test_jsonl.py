"""JSON Lines files."""

from pathlib import Path

import pytest

from scp_ray.corpus.jsonl import read_jsonl
from scp_ray.corpus.rows import RowContent
from scp_ray.errors import DocumentError

GOOD = b'{"doc_id": "a", "text": "one"}'
LIMIT = 1000


def write(folder: Path, data: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(data)
    return path


def test_rows_come_in_order_with_their_places(tmp_path: Path) -> None:
    data = GOOD + b"\r\n\n  \n" + b'{"text": "two\\r\\n", "doc_id": "b"}'
    rows = list(read_jsonl(write(tmp_path, data), LIMIT))
    assert [(row.row_index, row.doc_id) for row in rows] == [(0, "a"), (3, "b")]
    assert rows[0].size_bytes == len(GOOD)
    assert rows[1].content == RowContent("two\r\n", {})


def test_a_mark_at_the_start_is_passed_over(tmp_path: Path) -> None:
    (row,) = read_jsonl(write(tmp_path, b"\xef\xbb\xbf" + GOOD), LIMIT)
    assert row.doc_id == "a"


@pytest.mark.parametrize(
    ("line", "reason", "match"),
    [
        (b'{"doc_id": "a"', "invalid_row", "not valid JSON"),
        (b'{"doc_id": "a", "text": "t"} x', "invalid_row", "Extra data"),
        (b'["a", "t"]', "invalid_row", "must be an object, not list"),
        (b'{"doc_id": "a", "text": "t", "metadata": {"k": NaN}}', "invalid_row", "NaN is not"),
        (b'{"doc_id": "a", "text": "t", "metadata": {"k": 1e999}}', "invalid_row", "finite"),
        (b'{"doc_id": "a", "text": "\xff"}', "undecodable", "byte 25 of the line is not UTF-8"),
        (b"[" * 900, "invalid_row", "not valid JSON"),
        (b'{"doc_id": "a", "text": "' + b"x" * LIMIT + b'"}', "oversized", "has 1028 bytes"),
    ],
)
def test_a_bad_line_does_not_stop_the_rest(
    tmp_path: Path, line: bytes, reason: str, match: str
) -> None:
    path = write(tmp_path, b"\n".join([GOOD, line, GOOD]))
    first, bad, last = read_jsonl(path, LIMIT)
    assert isinstance(bad.content, DocumentError)
    assert bad.row_index == 1
    assert bad.content.reason == reason
    assert match in bad.content.detail
    assert isinstance(first.content, RowContent)
    assert last == type(last)(2, "a", len(GOOD), RowContent("one", {}))


def test_deep_nesting_is_a_bad_line(tmp_path: Path) -> None:
    (row,) = read_jsonl(write(tmp_path, b"[" * 200_000), 1_000_000)
    assert isinstance(row.content, DocumentError)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path, ending: bytes) -> None:
    (row,) = read_jsonl(write(tmp_path, GOOD + ending), len(GOOD))
    assert isinstance(row.content, RowContent)
    (row,) = read_jsonl(write(tmp_path, GOOD + ending), len(GOOD) - 1)
    assert isinstance(row.content, DocumentError)


def test_only_wanted_rows_are_parsed(tmp_path: Path) -> None:
    path = write(tmp_path, b"\n".join([GOOD, b"bad", GOOD, b"bad", GOOD]))
    assert [row.row_index for row in read_jsonl(path, LIMIT, frozenset({2, 4, 9}))] == [2, 4]
    assert list(read_jsonl(path, LIMIT, frozenset())) == []


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.jsonl"):
        list(read_jsonl(tmp_path / "gone.jsonl", LIMIT))
