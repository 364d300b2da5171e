"""Review sheets, written and read back."""

import csv
from pathlib import Path

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.reviews import ReviewedSpan, read_reviews
from scp_ray.evaluation.audits.sampling import Answer, Drawn
from scp_ray.evaluation.audits.sheets import check_target, write_sheet

HOSTILE = '=HYPERLINK("http://x","y")\r\n"quoted", été \x00'


def _drawn(rank: int, text: str = "text", query_id: str = "-q") -> Drawn:
    answer = Answer(query_id, "=1+1", rank, "a.md", 3, 10, 20, text, -0.5, "kettle", 7)
    return Drawn(answer, 40)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_sheets_are_read_back_as_open_reviews(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"sheet.{ending}"
    write_sheet(path, [_drawn(2), _drawn(3, HOSTILE)])
    first, second = read_reviews(path)
    assert [first.review_id, second.review_id] == ["-q#2", "-q#3"]
    assert (first.template, first.stratum, first.stratum_size) == ("kettle", "rank 2-3", 40)
    assert first.span == ReviewedSpan("a.md", 10, 20)
    assert not first.is_started
    assert not second.is_started


def test_no_cell_of_csv_is_a_formula(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet(path, [_drawn(2, HOSTILE)])
    with path.open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    starts = [cell[:1] for name, cell in row.items() if name != "score"]
    assert not {"=", "+", "-", "@"} & set(starts)
    assert row["text"] == f"'{HOSTILE}"
    assert row["score"] == "-0.5"
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")


def test_files_that_are_there_are_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("somebody's work")
    with pytest.raises(ConfigError, match=r"sheet\.csv is there already"):
        write_sheet(path, [_drawn(1)])
    assert path.read_text() == "somebody's work"


def test_other_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a name that ends in \.csv, \.jsonl"):
        check_target(tmp_path / "sheet.xlsx")
    with pytest.raises(ConfigError, match="absent: no such folder"):
        check_target(tmp_path / "absent" / "sheet.csv")
