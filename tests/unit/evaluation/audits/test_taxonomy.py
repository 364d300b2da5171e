"""Issues and those that come together."""

from collections.abc import Callable

import pytest

from scp_ray.evaluation.audits.projection import population_of
from scp_ray.evaluation.audits.reviews import Review
from scp_ray.evaluation.audits.taxonomy import Issue, IssuePair, count_issues, count_pairs

MakeReview = Callable[..., Review]


@pytest.fixture
def reviews(review: MakeReview) -> list[Review]:
    """Two with both flags, one with one of them and a label of the same name."""
    both = [review(flags=("x", "y")) for _ in range(2)]
    return [*both, review(flags=("y",), labels=("y",)), review(), review(None)]


def test_issues_are_counted_by_kind_and_name(reviews: list[Review]) -> None:
    counts = [(one.kind, one.name, one.share.count) for one in count_issues(population_of(reviews))]
    assert counts == [("flag", "y", 3), ("flag", "x", 2), ("label", "y", 1)]


def test_issues_are_projected(reviews: list[Review]) -> None:
    first = count_issues(population_of(reviews))[0]
    assert first.share.projected.point == pytest.approx(5 * 3 / 4)


def test_pairs_are_counted_with_their_overlap(reviews: list[Review]) -> None:
    x, y, label = Issue("flag", "x"), Issue("flag", "y"), Issue("label", "y")
    labelled = [review for review in reviews if review.is_complete]
    assert count_pairs(labelled) == [IssuePair(x, y, 2, 2 / 3), IssuePair(y, label, 1, 1 / 3)]
