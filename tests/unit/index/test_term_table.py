"""Sorted tables of terms."""

from pathlib import Path

import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index.term_table import (
    Collection,
    SortedTerms,
    TermTable,
    read_term_table,
    write_term_table,
)

TERMS = ["", "225b", "a", "ab", "é", "日本", "𝔘"]
COLLECTION = Collection(terms_revision="1", num_chunks=9, num_terms=40)


def table_of(terms: list[str]) -> pa.Table:
    return pa.table(
        {schema.TERM: terms, schema.CHUNK_FREQUENCY: list(range(len(terms)))}, schema=schema.TERMS
    )


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_term_table(TermTable(table_of(TERMS), COLLECTION), tmp_path / "terms")
    table, collection = read_term_table(tmp_path / "terms")
    assert table.to_pydict() == table_of(TERMS).to_pydict()
    assert collection == COLLECTION


@pytest.mark.parametrize("terms", [TERMS, TERMS[:1], []])
def test_every_term_is_found_and_no_other(terms: list[str]) -> None:
    found = SortedTerms(table_of(terms))
    assert [found.find(term) for term in terms] == list(range(len(terms)))
    for other in ("b", "aa", "zz", "\ud800", "𝔘𝔘"):
        assert found.find(other) is None


def test_a_slice_of_a_table_is_searched_alone() -> None:
    found = SortedTerms(table_of(TERMS).slice(2, 3))
    assert [found.find(term) for term in TERMS] == [None, None, 0, 1, 2, None, None]


@pytest.mark.parametrize("data", [b"", b"ARROW1\0\0 not really", b"x" * 1000])
def test_another_file_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "terms"
    path.write_bytes(data)
    with pytest.raises(IndexFormatError, match=f"{path}: not a table of terms"):
        read_term_table(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError, match="terms: not a table of terms"):
        read_term_table(tmp_path / "terms")


def test_a_table_that_names_no_collection_is_refused(tmp_path: Path) -> None:
    with (
        pa.OSFile(str(tmp_path / "terms"), "wb") as sink,
        pa.ipc.new_file(sink, schema.TERMS) as writer,
    ):
        writer.write_table(table_of(TERMS))
    with pytest.raises(IndexFormatError, match="not a table of terms"):
        read_term_table(tmp_path / "terms")
