"""What the report of a text audit says."""

from collections.abc import Callable

from scp_ray.evaluation.audits.reviews import Review
from scp_ray.evaluation.audits.text_audit import audit_reviews
from scp_ray.evaluation.audits.text_report import report_text_audit
from scp_ray.evaluation.pages.summary import render_summary

MakeReview = Callable[..., Review]


def _shown(reviews: list[Review]) -> str:
    """Return the summary with single spaces, so that it does not matter where lines break."""
    return " ".join(render_summary(report_text_audit(audit_reviews(reviews), "r.csv")).split())


def test_sections_without_content_are_left_out(review: MakeReview) -> None:
    report = report_text_audit(audit_reviews([review(3), review(4), review(None)]), "r.csv")
    assert [section.title for section in report.sections] == ["Ratings", "Flags and narratives"]
    assert report.subtitle == "r.csv: 3 reviews, 2 fully labelled, projected to 3"


def test_how_it_was_projected_is_said(review: MakeReview) -> None:
    strata = [review(3, stratum=name) for name in "aabb"]
    assert "Projected by stratum: a, b." in _shown(strata)
    assert "drawn at random from all." in _shown([review(3), review(4)])
    thin = [*strata, review(3, stratum="c"), review(None, stratum="c"), review(None)]
    assert "fewer than two are labelled of those without a stratum, c." in _shown(thin)


def test_projected_counts_are_whole_texts(review: MakeReview) -> None:
    reviews = [review(3), review(3), review(4), *(review(None) for _ in range(4))]
    report = report_text_audit(audit_reviews(reviews), "r.csv")
    table = report.sections[0].table
    assert table is not None
    (row,) = [cells for cells in table.rows if cells[0] == "3"]
    assert row[1] == "2"
    assert row[4] == "5"  # two of three, of seven texts
    low, high = map(int, row[5].split(" to "))
    assert 2 <= low < 5 < high <= 6


def test_begun_reviews_are_told(review: MakeReview) -> None:
    assert "not fully labelled, and left out: 1." in _shown(
        [review(3), review(3), review(4, flags=None)]
    )


def test_reviews_that_name_a_flag_are_shown(review: MakeReview) -> None:
    reviews = [review(flags=("bad title",)), review(review_id="look", narrative="bad  title " * 60)]
    report = report_text_audit(audit_reviews(reviews), "r.csv")
    table = report.sections[-1].table
    assert table is not None
    ((review_id, flag, narrative),) = table.rows
    assert (review_id, flag, len(narrative)) == ("look", "bad title", 240)
    assert narrative.startswith("bad title bad title")


def test_groups_show_their_most_frequent_labels(review: MakeReview) -> None:
    reviews = [review(stratum="s", labels=("good",)), review(stratum="s", labels=("bad", "good"))]
    shown = _shown([*reviews, review(stratum="t")])
    assert "s good 2 of 2 100.0 % 34.2 to 100.0 % s bad 1 of 2 50.0 %" in shown
