"""Reading reviews."""

import json
from pathlib import Path
from typing import Any

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.reviews import ReviewedSpan, check_spans, read_reviews

BLANK = {
    "rating": None,
    "labels": None,
    "flags": None,
    "narrative": None,
    "template": None,
    "stratum": None,
    "reviewer": None,
}
LABELLED = {**BLANK, "id": "a", "rating": 4, "labels": ["good"], "flags": []}
HEAD = "id,rating,labels,flags,narrative,template,stratum,reviewer"
SPAN = {"doc_id": "a.md", "char_start": 0, "char_end": 5}


def _jsonl(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "reviews.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def _csv(folder: Path, *rows: str) -> Path:
    file = folder / "reviews.csv"
    file.write_text("\n".join([HEAD, *rows]))
    return file


def test_fields_are_read(tmp_path: Path) -> None:
    more = {"narrative": "a b", "template": "t", "stratum": "s", "reviewer": "r", "stratum_size": 9}
    (review,) = read_reviews(_jsonl(tmp_path, {**LABELLED, **more, **SPAN}))
    assert (review.review_id, review.rating, review.labels, review.flags) == ("a", 4, ("good",), ())
    assert (review.narrative, review.template, review.stratum) == ("a b", "t", "s")
    assert (review.reviewer, review.stratum_size) == ("r", 9)
    assert review.span == ReviewedSpan("a.md", 0, 5)


@pytest.mark.parametrize(
    ("values", "is_complete", "is_started"),
    [
        ({}, False, False),
        ({"rating": 1, "labels": [], "flags": []}, True, True),
        ({"rating": 1, "flags": []}, False, True),
        ({"rating": 1, "labels": []}, False, True),
        ({"labels": ["x"], "flags": ["y"]}, False, True),
        ({"narrative": "later"}, False, True),
    ],
)
def test_what_is_fully_labelled(
    tmp_path: Path, values: dict[str, Any], is_complete: bool, is_started: bool
) -> None:
    (review,) = read_reviews(_jsonl(tmp_path, {**BLANK, "id": "a", **values}))
    assert (review.is_complete, review.is_started) == (is_complete, is_started)


def test_blank_names_in_csv_are_none_given_where_there_is_a_rating(tmp_path: Path) -> None:
    rated, open_one, begun = read_reviews(_csv(tmp_path, "a,3,,,,,,", "b,,,,,,,", "c,,x;y,,,,,"))
    assert (rated.labels, rated.flags, rated.is_complete) == ((), (), True)
    assert (open_one.labels, open_one.flags, open_one.is_started) == (None, None, False)
    assert (begun.labels, begun.is_complete, begun.is_started) == (("x", "y"), False, True)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**LABELLED, "id": ""}, "id is blank"),
        ({**LABELLED, "id": "a"}, r"id 'a' was used before, in .*line 1"),
        ({**LABELLED, "id": "b", "rating": 0}, "rating is 0, not from 1 to 5"),
        ({**LABELLED, "id": "b", "rating": 6}, "rating is 6, not from 1 to 5"),
        ({**LABELLED, "id": "b", "rating": "good"}, "rating is not a whole number: 'good'"),
        ({**LABELLED, "id": "b", "flags": 3}, "flags is not a list of names: 3"),
        ({**LABELLED, "id": "b", "narrative": ["x"]}, "narrative is not a text"),
        ({**LABELLED, "id": "b", "stratum_size": 7}, "stratum_size of '' is 7, before it was None"),
        ({**LABELLED, "id": "b", "doc_id": "a.md"}, "char_start is blank"),
        ({**LABELLED, "id": "b", **SPAN, "char_start": -1}, "char_start is -1, not from 0"),
        ({**LABELLED, "id": "b", **SPAN, "char_end": "x"}, "char_end is not a whole number: 'x'"),
        ({**LABELLED, "id": "b", **SPAN, "char_start": 5}, r"\(5\) is not after char_start \(5\)"),
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"reviews\.jsonl, line 2: .*{reason}"):
        read_reviews(_jsonl(tmp_path, LABELLED, row))


def test_stratum_cannot_have_more_rows_than_texts(tmp_path: Path) -> None:
    rows = [{**LABELLED, "id": name, "stratum": "s", "stratum_size": 2} for name in "abc"]
    with pytest.raises(ConfigError, match=r"line 3: stratum 's' has more rows than .* \(2\)"):
        read_reviews(_jsonl(tmp_path, *rows))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"reviews\.jsonl: no column rating, labels"):
        read_reviews(_jsonl(tmp_path, {"id": "a"}))


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ({}, "doc_id, char_start, char_end are blank, so it cannot be looked up in index/"),
        ({**SPAN, "doc_id": "z.md"}, "doc_id 'z.md' is not in index/"),
        ({**SPAN, "char_end": 11}, "the span 0-11 is outside the text of 'a.md', which has 10"),
    ],
)
def test_spans_outside_the_index_are_refused(
    tmp_path: Path, span: dict[str, Any], reason: str
) -> None:
    fits = {**LABELLED, **SPAN, "char_end": 10}
    reviews = read_reviews(_jsonl(tmp_path, fits, {**LABELLED, "id": "b", **span}))
    check_spans(reviews[:1], {"a.md": 10}, "index/")
    with pytest.raises(ConfigError, match=rf"reviews\.jsonl, line 2: {reason}"):
        check_spans(reviews, {"a.md": 10}, "index/")
