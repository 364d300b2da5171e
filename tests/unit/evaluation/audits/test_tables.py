"""Reading tables in three formats."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.tables import guarded, read_rows


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _cells(path: Path) -> list[dict[str, object]]:
    return [dict(row.cells) for row in read_rows(path, ["id", "note"])]


def test_three_formats_hold_the_same(tmp_path: Path) -> None:
    rows = [{"id": "a", "note": "x, y"}, {"id": "b", "note": None}]
    text = '{"id": "a", "note": "x, y"}\n\n{"id": "b", "note": null}\n'
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    expected: list[dict[str, object]] = [{"id": "a", "note": "x, y"}, {"id": "b"}]
    assert _cells(tmp_path / "t.parquet") == expected
    assert _cells(_file(tmp_path, "t.jsonl", text)) == expected
    assert _cells(_file(tmp_path, "t.csv", 'id,note\na,"x, y"\n,\nb,\n')) == expected
    assert _cells(_file(tmp_path, "T.CSV", '\ufeffid , note\r\na,"x, y"\r\nb,\r\n')) == expected


def test_rows_are_named_by_the_line_where_they_begin(tmp_path: Path) -> None:
    file = _file(tmp_path, "t.csv", 'id,note\na,"one\ntwo\nthree"\n\nb,x\n')
    places = [row.where for row in read_rows(file, ["id"])]
    assert places == [f"{file}, line 2", f"{file}, line 6"]
    file = _file(tmp_path, "t.jsonl", '\n{"id": "a"}\n')
    assert [row.where for row in read_rows(file, ["id"])] == [f"{file}, line 2"]
    pq.write_table(pa.table({"id": ["a", "b"]}), tmp_path / "t.parquet")
    assert read_rows(tmp_path / "t.parquet", ["id"])[1].where.endswith("t.parquet, row 2")


def test_missing_numbers_of_parquet_are_blank(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "note": [3.0, float("nan")]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert _cells(tmp_path / "t.parquet") == [{"id": "a", "note": 3.0}, {"id": "b"}]


@pytest.mark.parametrize("cell", ["=1+1", "@x", "-3", "+3", "'=x", "''-", "'plain", "plain", ""])
def test_guarded_cells_are_read_as_they_were(tmp_path: Path, cell: str) -> None:
    written = guarded(cell)
    assert not written.startswith(("=", "@", "-", "+"))
    file = _file(tmp_path, "t.csv", f'id,note\na,"{written}"\n')
    assert _cells(file)[0].get("note", "") == cell


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.xlsx", "", r"expected a name that ends in \.csv, \.jsonl, \.parquet"),
        ("t.csv", "", "no row in this file"),
        ("t.csv", "id,note\n", "no row in this file"),
        ("t.jsonl", "\n \n", "no row in this file"),
        ("t.csv", "id\na\n", "no column note; it has id"),
        ("t.csv", "id;note\na;b\n", "no column id, note; it has id;note"),
        ("t.jsonl", '{"id": "a"}', "no column note; it has id"),
        ("t.csv", "id,note,id\na,b,c\n", "line 1: column id is there twice"),
        ("t.csv", "id,note\na,b,c\n", "line 2: 3 cells under 2 columns"),
        ("t.csv", 'id,note\na,"b', "line 2: not CSV: unexpected end"),
        ("t.csv", b"id,note\na,b\nc,\xe9\n", "line 3: not UTF-8; save the file as UTF-8"),
        ("t.jsonl", b'{"id": "\xff"}', "line 1: not UTF-8"),
        ("t.jsonl", '{"id": "a", "note": 1}\n{', "line 2: not JSON"),
        ("t.jsonl", "[" * 100_000, "line 1: not JSON"),
        ("t.jsonl", "[1]", "line 1: not an object"),
        ("t.parquet", "PAR1 but no more", "not a readable Parquet file"),
        ("t.parquet", "", "not a readable Parquet file"),
    ],
)
def test_bad_files_are_refused_with_place_and_reason(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    with pytest.raises(ConfigError, match=rf"t\.\w+(: |, ){reason}"):
        read_rows(_file(tmp_path, name, content), ["id", "note"])


def test_parquet_text_that_is_no_text_is_refused(tmp_path: Path) -> None:
    broken = pa.array([b"ok", b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": broken}), tmp_path / "t.parquet")
    with pytest.raises(ConfigError, match=r"t\.parquet, row 2: a text is not UTF-8"):
        read_rows(tmp_path / "t.parquet", ["id"])


def test_repeated_columns_of_parquet_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ConfigError, match=r"t\.parquet: column id is there twice"):
        read_rows(tmp_path / "t.parquet", ["id"])


@pytest.mark.parametrize("name", ["absent.csv", "absent.jsonl"])
def test_absent_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot read .*{name}: No such file"):
        read_rows(tmp_path / name, ["id"])
    with pytest.raises(ConfigError, match=r"absent\.parquet: not a readable Parquet file"):
        read_rows(tmp_path / "absent.parquet", ["id"])
