"""Projection from labelled reviews to all, by hand."""

from collections.abc import Callable

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.projection import Population, population_of
from scp_ray.evaluation.audits.reviews import Review
from scp_ray.evaluation.intervals import NORMAL_95, Interval, wilson

MakeReview = Callable[..., Review]


def _rating(review: Review) -> int:
    return review.rating or 0


def _share_of(rating: int) -> Callable[[Review], bool]:
    return lambda review: review.rating == rating


@pytest.fixture
def two_strata(review: MakeReview) -> Population:
    """Of 60 texts of a 10 are labelled, five of them 4; of 40 of b 8, all of them 2."""
    ratings = {"a": [4] * 5 + [2] * 5 + [None] * 50, "b": [2] * 8 + [None] * 32}
    return population_of(
        [review(one, stratum=name) for name, mine in ratings.items() for one in mine]
    )


def test_shares_weigh_by_the_size_of_the_stratum(two_strata: Population) -> None:
    found = two_strata.share(_share_of(4))
    assert found.count == 5
    assert found.projected.point == pytest.approx(60 * 5 / 10 + 0)
    assert found.share.point == pytest.approx(0.3)
    # With one hit and one miss more, half of a and a tenth of b have it, 0.34 of all.
    spread = 0.36 * (50 / 60) * 0.25 / 9 + 0.16 * (32 / 40) * 0.09 / 7
    effective = 0.34 * 0.66 / spread
    expected = wilson(0.3 * effective, effective)
    assert (found.share.low, found.share.high) == pytest.approx((expected.low, expected.high))
    assert found.projected.low == pytest.approx(100 * expected.low)


def test_one_stratum_counts_as_one_sample_without_end(review: MakeReview) -> None:
    found = population_of([review(rating) for rating in [4] * 6 + [2] * 4 + [None] * 90])
    effective = 9 / 0.9
    assert found.share(_share_of(4)).share == wilson(0.6 * effective, effective)


def test_strata_that_are_all_or_nothing_do_not_look_certain(review: MakeReview) -> None:
    ratings = {"a": [4] * 9 + [None] * 41, "b": [2] * 9 + [None] * 41}
    reviews = [review(one, stratum=name) for name, mine in ratings.items() for one in mine]
    found = population_of(reviews).share(_share_of(4)).share
    assert found.point == 0.5
    assert found.low < 0.45
    assert found.high > 0.55


def test_mean_weighs_by_the_size_of_the_stratum(two_strata: Population) -> None:
    found = two_strata.mean(_rating)
    assert found.point == pytest.approx(0.6 * 3 + 0.4 * 2)
    variance = 0.6**2 * (50 / 60) * (10 / 9) / 10  # the ratings of a deviate by 1, ten of them
    assert found.high - found.point == pytest.approx(NORMAL_95 * variance**0.5)


def test_nothing_is_open_where_all_are_labelled(review: MakeReview) -> None:
    population = population_of([review(2), review(4), review(4)])
    assert population.share(_share_of(4)).projected == Interval(2, 2, 2)
    assert population.mean(_rating) == Interval(*[pytest.approx(10 / 3)] * 3)


def test_counts_stay_within_what_is_possible(review: MakeReview) -> None:
    population = population_of([review(4), review(4), review(None)])
    assert population.share(_share_of(4)).projected == Interval(3, 2, 3)
    assert population.share(_share_of(2)).projected == Interval(0, 0, 1)


def test_one_labelled_review_of_many_tells_next_to_nothing(review: MakeReview) -> None:
    population = population_of([review(4), *[review(None) for _ in range(9)]])
    assert population.share(_share_of(4)).projected == Interval(10, 1, 10)
    assert population.share(_share_of(2)).projected == Interval(0, 0, 9)
    assert population.mean(_rating) == Interval(4, 1, 5)


def test_thin_stratum_makes_all_be_projected_together(review: MakeReview) -> None:
    thick = [review(3, stratum="a") for _ in range(4)]
    thin = [review(5, stratum="b"), *[review(None, stratum="b") for _ in range(5)]]
    population = population_of([*thick, *thin])
    assert population.too_thin == ("b",)
    assert [stratum.size for stratum in population.strata] == [10]
    assert population.share(_share_of(5)).share.point == pytest.approx(1 / 5)


def test_single_text_that_is_labelled_is_a_whole_stratum(review: MakeReview) -> None:
    reviews = [review(5, stratum="b"), review(3, stratum="a"), review(3, stratum="a")]
    population = population_of([*reviews, review(None, stratum="a")])
    assert population.too_thin == ()
    assert population.share(_share_of(5)).share.point == pytest.approx(1 / 4)


def test_strata_may_be_larger_than_the_file(review: MakeReview) -> None:
    first = [review(rating, stratum="first", stratum_size=10) for rating in (5, 5, 3)]
    later = [review(rating, stratum="later", stratum_size=90) for rating in (3, 3, 5)]
    population = population_of([*first, *later])
    assert population.num_texts == 100
    assert population.share(_share_of(5)).share.point == pytest.approx(0.1 * 2 / 3 + 0.9 / 3)


def test_without_a_labelled_review_there_is_nothing_to_project(review: MakeReview) -> None:
    with pytest.raises(ConfigError, match="no review is fully labelled"):
        population_of([review(None), review(3, flags=None)])
