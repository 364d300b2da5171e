"""Reads reviews of texts: one row a review, labelled or still to be labelled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scp_ray.evaluation.audits.rows import Row, require_unique
from scp_ray.evaluation.audits.tables import read_rows
from scp_ray.schema import CHAR_END, CHAR_START, DOC_ID

LOWEST_RATING: Final = 1
HIGHEST_RATING: Final = 5
REVIEW_COLUMNS: Final = (
    "id",
    "rating",
    "labels",
    "flags",
    "narrative",
    "template",
    "stratum",
    "reviewer",
)
STRATUM_SIZE: Final = "stratum_size"
_SPAN_COLUMNS: Final = (DOC_ID, CHAR_START, CHAR_END)
_MOST: Final = 10**12


@dataclass(frozen=True, slots=True)
class ReviewedSpan:
    """What of an index was reviewed: half-open character offsets into one document's text."""

    doc_id: str
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Review:
    """One review.

    Attributes:
        review_id: Unique in its file.
        rating: 1 (worst) to 5; None where it is still to be given.
        labels: What the reviewer says of the text, sorted; None where still to be given.
        flags: Issues that the reviewer ticked, sorted; None where still to be given.
        narrative: What the reviewer wrote, may be empty.
        template: What the text was made from, may be empty.
        stratum: The part of all texts that it was drawn from, may be empty.
        reviewer: Who reviewed it, may be empty.
        stratum_size: Texts of the stratum, reviewed or not; None = as many as the file has.
        span: What of an index was reviewed, if it was a result of one.
        where: The file and line, for messages.
    """

    review_id: str
    rating: int | None
    labels: tuple[str, ...] | None
    flags: tuple[str, ...] | None
    narrative: str
    template: str
    stratum: str
    reviewer: str
    stratum_size: int | None = None
    span: ReviewedSpan | None = None
    where: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the review is fully labelled: rating, labels and flags are given."""
        return None not in {self.rating, self.labels, self.flags}

    @property
    def is_started(self) -> bool:
        """Whether anything was filled in."""
        return bool(self.rating or self.labels or self.flags or self.narrative)


def read_reviews(path: Path) -> list[Review]:
    """Read a file of reviews, in its order; ``docs/audits.md`` describes the columns.

    Raises:
        ConfigError: If the file or a row is not in the format; the row and the reason are named.
    """
    rows = read_rows(path, REVIEW_COLUMNS)
    reviews = [_parse(row) for row in rows]
    require_unique(rows, [review.review_id for review in reviews], "id")
    _check_stratum_sizes(rows, reviews)
    return reviews


def check_spans(reviews: Sequence[Review], num_characters: Mapping[str, int], index: str) -> None:
    """Check that every reviewed span lies in a document of the index.

    Args:
        reviews: Reviews of results of the index.
        num_characters: Length of each document's text by doc_id.
        index: The index, for messages.

    Raises:
        ConfigError: If a review has no span, an unknown doc_id or a span outside the text.
    """
    for review in reviews:
        row, span = Row(review.where, {}), review.span
        if span is None:
            row.refuse(
                f"{', '.join(_SPAN_COLUMNS)} are blank, so it cannot be looked up in {index}"
            )
        if span.doc_id not in num_characters:
            row.refuse(f"doc_id {span.doc_id!r} is not in {index}")
        if span.char_end > num_characters[span.doc_id]:
            row.refuse(
                f"the span {span.char_start}-{span.char_end} is outside the text of "
                f"{span.doc_id!r}, which has {num_characters[span.doc_id]} characters"
            )


def _parse(row: Row) -> Review:
    rating = row.whole_number("rating", LOWEST_RATING, HIGHEST_RATING)
    labels, flags = row.names("labels"), row.names("flags")
    is_open = row.is_csv and rating is None  # a blank cell says nothing there
    return Review(
        review_id=row.required_text("id"),
        rating=rating,
        labels=(labels or None) if is_open else labels,
        flags=(flags or None) if is_open else flags,
        narrative=row.text("narrative") or "",
        template=row.text("template") or "",
        stratum=row.text("stratum") or "",
        reviewer=row.text("reviewer") or "",
        stratum_size=row.whole_number(STRATUM_SIZE, 1, _MOST),
        span=_parse_span(row),
        where=row.where,
    )


def _parse_span(row: Row) -> ReviewedSpan | None:
    if row.text(DOC_ID) is None:
        return None
    char_start = row.required_number(CHAR_START, 0, _MOST)
    char_end = row.required_number(CHAR_END, 0, _MOST)
    if char_end <= char_start:
        row.refuse(f"char_end ({char_end}) is not after char_start ({char_start})")
    return ReviewedSpan(row.required_text(DOC_ID), char_start, char_end)


def _check_stratum_sizes(rows: Sequence[Row], reviews: Sequence[Review]) -> None:
    sizes: dict[str, int | None] = {}
    counts: dict[str, int] = {}
    for row, review in zip(rows, reviews, strict=True):
        stratum, size = review.stratum, review.stratum_size
        if sizes.setdefault(stratum, size) != size:
            row.refuse(f"stratum_size of {stratum!r} is {size}, before it was {sizes[stratum]}")
        counts[stratum] = counts.get(stratum, 0) + 1
        if size is not None and counts[stratum] > size:
            row.refuse(f"stratum {stratum!r} has more rows than its stratum_size ({size})")
