"""Reads ratings of OCR results: one row is what one rater said of one case."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scp_ray.evaluation.audits.rows import Row, require_unique
from scp_ray.evaluation.audits.tables import read_rows

SCORES: Final = range(1, 6)
"""The ordinal scale of a score, 1 (worst) to 5."""

RATING_COLUMNS: Final = ("case", "slice", "rater", "score", "pass")


@dataclass(frozen=True, slots=True)
class OcrRating:
    """What one rater said of one case.

    Attributes:
        case: What was read; it belongs to one slice.
        slice_name: The kind of picture, such as receipts.
        rater: Who rated it, each case at most once.
        score: 1 (worst) to 5.
        passed: Whether the reading is good enough.
    """

    case: str
    slice_name: str
    rater: str
    score: int
    passed: bool


def read_ratings(path: Path) -> list[OcrRating]:
    """Read a file of ratings, in its order; ``docs/audits.md`` describes the columns.

    Raises:
        ConfigError: If the file or a row is not in the format; the row and the reason are named.
    """
    rows = read_rows(path, RATING_COLUMNS)
    ratings = [_parse(row) for row in rows]
    require_unique(rows, [(one.case, one.rater) for one in ratings], "case and rater")
    _check_slices(rows, ratings)
    return ratings


def _parse(row: Row) -> OcrRating:
    return OcrRating(
        row.required_text("case"),
        row.required_text("slice"),
        row.required_text("rater"),
        row.required_number("score", SCORES[0], SCORES[-1]),
        row.verdict("pass"),
    )


def _check_slices(rows: Sequence[Row], ratings: Sequence[OcrRating]) -> None:
    slices: dict[str, str] = {}
    for row, rating in zip(rows, ratings, strict=True):
        before = slices.setdefault(rating.case, rating.slice_name)
        if before != rating.slice_name:
            row.refuse(
                f"case {rating.case!r} is of slice {rating.slice_name!r}, before of {before!r}"
            )
