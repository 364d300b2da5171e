"""Reading ratings of OCR results."""

from pathlib import Path

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.ratings import OcrRating, read_ratings

HEAD = "case,slice,rater,score,pass\n"
ROW = "c1,receipts,ann,4,yes\n"


def _file(folder: Path, content: str) -> Path:
    file = folder / "ratings.csv"
    file.write_text(content)
    return file


def test_ratings_are_read_in_order(tmp_path: Path) -> None:
    assert read_ratings(_file(tmp_path, HEAD + ROW + "c1,receipts,bob,2,no\n")) == [
        OcrRating("c1", "receipts", "ann", 4, passed=True),
        OcrRating("c1", "receipts", "bob", 2, passed=False),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("c1,receipts,ann,5,yes", r"case and rater \('c1', 'ann'\) was used before, in .*line 2"),
        ("c1,screens,bob,5,yes", "case 'c1' is of slice 'screens', before of 'receipts'"),
        ("c2,receipts,ann,0,yes", "score is 0, not from 1 to 5"),
        ("c2,receipts,ann,6,yes", "score is 6, not from 1 to 5"),
        ("c2,receipts,ann,,yes", "score is blank"),
        ("c2,receipts,ann,4.5,yes", "score is not a whole number: '4.5'"),
        ("c2,receipts,ann,4,", "pass is neither true nor false: None"),
        ("c2,receipts,ann,4,perhaps", "pass is neither true nor false: 'perhaps'"),
        ("c2,,ann,4,yes", "slice is blank"),
        (",receipts,ann,4,yes", "case is blank"),
        ("c2,receipts,,4,yes", "rater is blank"),
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, row: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"ratings\.csv, line 3: {reason}"):
        read_ratings(_file(tmp_path, HEAD + ROW + row))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no column slice, pass; it has case, rater, score"):
        read_ratings(_file(tmp_path, "case,rater,score\na,b,3\n"))


@pytest.mark.parametrize("value", ["1.5", '["receipts"]', "true", '{"a": 1}'])
def test_slices_that_are_no_text_are_refused(tmp_path: Path, value: str) -> None:
    row = '{"case": "c", "slice": %s, "rater": "r", "score": 3, "pass": true}'
    file = tmp_path / "ratings.jsonl"
    file.write_text("\n".join([row % '"receipts"', row % value]))
    with pytest.raises(ConfigError, match=r"ratings\.jsonl, line 2: slice is not a text"):
        read_ratings(file)
