"""What holds for every file of reviews and of ratings."""

import csv
import io
import json
import math
import random
import tempfile
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from scp_ray.evaluation.audits.agreement import cohen_kappa, fleiss_kappa
from scp_ray.evaluation.audits.ocr_audit import audit_ratings
from scp_ray.evaluation.audits.ocr_report import report_ocr_audit
from scp_ray.evaluation.audits.projection import Share
from scp_ray.evaluation.audits.ratings import SCORES, OcrRating
from scp_ray.evaluation.audits.results import figures
from scp_ray.evaluation.audits.reviews import Review
from scp_ray.evaluation.audits.sampling import allocate
from scp_ray.evaluation.audits.tables import guarded, read_rows
from scp_ray.evaluation.audits.text_audit import TextAudit, audit_reviews
from scp_ray.evaluation.audits.text_report import report_text_audit
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import Report
from scp_ray.evaluation.pages.page import render_page
from scp_ray.evaluation.pages.summary import render_summary

NAMES = st.frozensets(st.sampled_from(["x", "y", "bad title"]), max_size=2)
given_names = st.one_of(st.none(), NAMES.map(lambda names: tuple(sorted(names))))
TEXTS = st.sampled_from(["", "a bad title", "one two three four five"])
LETTERS = st.sampled_from("abcd")
anything = st.text(max_size=20)


@st.composite
def review_files(
    draw: st.DrawFn,
    text: st.SearchStrategy[str] = TEXTS,
) -> list[Review]:
    """Reviews of which at least one is fully labelled."""
    numbers = count()
    sizes = {name: draw(st.one_of(st.none(), st.integers(20, 60))) for name in ("", "a", "b")}

    def make(rating: int | None, labels: Any, flags: Any) -> Review:
        stratum = draw(st.sampled_from(["", "a", "b"]))
        return Review(
            f"r{next(numbers)}",
            rating,
            labels,
            flags,
            draw(text),
            draw(text),
            stratum,
            draw(st.sampled_from(["", "ann"])),
            sizes[stratum],
        )

    others = draw(
        st.lists(
            st.tuples(st.one_of(st.none(), st.integers(1, 5)), given_names, given_names),
            max_size=15,
        )
    )
    return [make(draw(st.integers(1, 5)), (), ("x",)), *(make(*values) for values in others)]


@st.composite
def rating_files(draw: st.DrawFn, name: st.SearchStrategy[str] = LETTERS) -> list[OcrRating]:
    """Ratings of up to eight cases, some of them not by all raters."""
    raters = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    slices = draw(st.lists(name, min_size=1, max_size=8))
    ratings = [
        OcrRating(f"case {place}", slice_name, rater, draw(st.integers(1, 5)), draw(st.booleans()))
        for place, slice_name in enumerate(slices)
        for rater in raters
    ]
    kept = [one for one in ratings if draw(st.integers(0, 4)) > 0]
    return kept or ratings


def _shares(audit: TextAudit) -> list[Share]:
    issues = [one.share for one in audit.issues]
    return [*audit.ratings.values(), *audit.bands.values(), audit.flagged, audit.detailed, *issues]


@given(review_files(), st.randoms(use_true_random=False))
def test_order_of_reviews_makes_no_difference(reviews: list[Review], chance: random.Random) -> None:
    shuffled = chance.sample(reviews, len(reviews))
    assert figures("text", "f", audit_reviews(shuffled)) == figures(
        "text", "f", audit_reviews(reviews)
    )


@given(review_files())
def test_estimates_lie_in_their_intervals_and_within_what_is_possible(
    reviews: list[Review],
) -> None:
    audit = audit_reviews(reviews)
    num_open = audit.num_texts - audit.num_labelled
    for share in _shares(audit):
        low, point, high = share.projected.low, share.projected.point, share.projected.high
        assert share.count <= low <= point <= high <= share.count + num_open
        assert 0.0 <= share.share.low <= share.share.point <= share.share.high <= 1.0
        assert num_open == 0 or low < high
    mean = audit.mean_rating
    assert 1.0 <= mean.low <= mean.point <= mean.high <= 5.0


@given(review_files())
def test_counts_add_up(reviews: list[Review]) -> None:
    audit = audit_reviews(reviews)
    for shares in (audit.ratings, audit.bands):
        assert sum(share.count for share in shares.values()) == audit.num_labelled
        assert math.isclose(sum(one.projected.point for one in shares.values()), audit.num_texts)
    table = audit.flags_and_detail
    assert table.both + table.only_flags == audit.flagged.count
    assert table.both + table.only_detail == audit.detailed.count
    assert (
        sum((table.both, table.only_flags, table.only_detail, table.neither)) == audit.num_labelled
    )
    for groups in (audit.by_stratum, audit.by_template, audit.by_reviewer):
        assert sum(group.num_reviews for group in groups) == audit.num_reviews == len(reviews)
        assert sum(group.num_labelled for group in groups) == audit.num_labelled
    flags = {one.name: one.share.count for one in audit.issues if one.kind == "flag"}
    for one in audit.flags_in_narratives:
        assert one.named + one.silent + one.without_narrative == flags.pop(one.flag)
        assert one.only_named == [lead.flag for lead in audit.leads].count(one.flag)
    assert not flags
    assert all(0.0 < pair.overlap <= 1.0 for pair in audit.pairs)


@given(rating_files(), st.randoms(use_true_random=False))
def test_order_of_ratings_makes_no_difference(
    ratings: list[OcrRating], chance: random.Random
) -> None:
    assert audit_ratings(chance.sample(ratings, len(ratings))) == audit_ratings(ratings)


def _holds(interval: Interval) -> bool:
    return 0.0 <= interval.low <= interval.point <= interval.high <= 1.0


@given(rating_files())
def test_rates_and_kappas_are_in_bounds_and_add_up(ratings: list[OcrRating]) -> None:
    audit = audit_ratings(ratings)
    for one in (*audit.slices, audit.overall):
        assert _holds(one.pass_rate)
        assert _holds(one.pass_rate_by_case)
        assert one.pass_rate_by_case.low <= one.pass_rate.low + 1e-12
        assert one.pass_rate_by_case.high >= one.pass_rate.high - 1e-12
        assert all(
            kappa is None or -1.0 <= kappa <= 1.0 for kappa in (one.kappa_pass, one.kappa_score)
        )
    assert sum(one.num_passed for one in audit.slices) == audit.overall.num_passed
    assert sum(one.num_ratings for one in audit.slices) == audit.overall.num_ratings == len(ratings)
    assert sum(one.num_cases for one in audit.slices) == audit.overall.num_cases == len(audit.cases)
    assert sum(one.num_ratings for one in audit.raters) == len(ratings)
    assert len(audit.pairs) == math.comb(len(audit.raters), 2)
    spreads = [case.spread for case in audit.cases]
    assert spreads == sorted(spreads, reverse=True)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(2, 6))
def test_full_agreement_is_kappa_1(scores: list[int], num_raters: int) -> None:
    audit = audit_ratings(
        OcrRating(f"c{place}", "s", f"r{rater}", score, passed=score > 2)
        for place, score in enumerate(scores)
        for rater in range(num_raters)
    )
    assert (audit.overall.kappa_pass, audit.overall.kappa_score) == (1.0, 1.0)
    assert {(pair.weighted_kappa, pair.kappa_pass) for pair in audit.pairs} == {(1.0, 1.0)}
    assert {(case.spread, case.split) for case in audit.cases} == {(0.0, 0.0)}


pairs_of_scores = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30)


@given(pairs_of_scores)
def test_weighted_kappa_is_its_definition(pairs: list[tuple[int, int]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    by_chance = sum((one - other) ** 2 for one in first for other in second) / len(pairs)
    expected = 1.0 if by_chance == 0 else 1 - sum((a - b) ** 2 for a, b in pairs) / by_chance
    found = cohen_kappa(first, second, SCORES)
    assert found == pytest.approx(expected, abs=1e-9)
    assert cohen_kappa(second, first, SCORES) == pytest.approx(found, abs=1e-9)


@given(st.lists(st.lists(st.integers(1, 5), min_size=4, max_size=4), min_size=1, max_size=10))
def test_fleiss_kappa_is_its_definition(cases: list[list[int]]) -> None:
    shares = [sum(case.count(value) for case in cases) / (4 * len(cases)) for value in SCORES]
    by_chance = sum(share**2 for share in shares)
    alike = sum(case.count(value) * (case.count(value) - 1) for case in cases for value in SCORES)
    observed = alike / (len(cases) * 4 * 3)
    expected = 1.0 if by_chance == 1 else (observed - by_chance) / (1 - by_chance)
    assert fleiss_kappa(cases) == pytest.approx(expected, abs=1e-9)


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 50), max_size=6), st.integers(1, 200))
def test_quotas_are_even_and_use_everything(available: dict[str, int], size: int) -> None:
    quotas = allocate(available, size)
    assert sum(quotas.values()) == min(size, sum(available.values()))
    assert all(0 <= quotas[name] <= number for name, number in available.items())
    unfilled = [quotas[name] for name, number in available.items() if quotas[name] < number]
    assert not unfilled or max(quotas.values()) - min(unfilled) <= 1


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@settings(max_examples=60)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5))
def test_three_formats_hold_the_same_texts(rows: list[tuple[str, str]]) -> None:
    table = [{"id": f"r{place}", "a": a, "b": b} for place, (a, b) in enumerate(rows)]
    target = io.StringIO(newline="")
    csv.writer(target).writerows(
        [["id", "a", "b"], *([guarded(cell) for cell in row.values()] for row in table)]
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.csv").write_bytes(target.getvalue().encode("utf-8-sig"))
        (folder / "t.jsonl").write_text("\n".join(map(json.dumps, table)), encoding="utf-8")
        pq.write_table(pa.Table.from_pylist(table), folder / "t.parquet")
        expected = [{key: value for key, value in row.items() if value.strip()} for row in table]
        for file in sorted(folder.iterdir()):
            assert [dict(row.cells) for row in read_rows(file, ["id"])] == expected, file.name


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _reports(reviews: list[Review], ratings: list[OcrRating]) -> list[Report]:
    return [
        report_text_audit(audit_reviews(reviews), reviews[0].narrative),
        report_ocr_audit(audit_ratings(ratings), ratings[0].rater),
    ]


ALLOWED = {
    *"html body h1 h2 p section table tbody thead tr title style head".split(),
    *"meta div th td svg line rect text".split(),
}


ALLOWED_ATTRIBUTES = {
    *"lang charset http-equiv content name class scope role tabindex aria-label".split(),
    *"viewbox x x1 x2 y y1 y2 width height text-anchor".split(),
}


@settings(max_examples=60)
@given(review_files(text=anything), rating_files(name=anything))
def test_whatever_files_say_is_shown_and_nothing_more(
    reviews: list[Review], ratings: list[OcrRating]
) -> None:
    for report in _reports(reviews, ratings):
        page, summary = render_page(report), render_summary(report)
        tags = _Tags(page)
        assert tags.seen <= ALLOWED
        assert tags.attributes <= ALLOWED_ATTRIBUTES
        assert all(
            character.isprintable() or character in "\n\u200c\u200d" for character in summary
        )
        page.encode()
