"""The whole audit of OCR ratings."""

from collections.abc import Callable
from statistics import fmean

import pytest

from scp_ray.evaluation.audits.ocr_audit import audit_ratings
from scp_ray.evaluation.audits.ratings import OcrRating
from scp_ray.evaluation.intervals import wilson

MakeRatings = Callable[..., list[OcrRating]]


def test_slices_come_best_first_with_their_rates(ratings: MakeRatings) -> None:
    audit = audit_ratings(ratings("poor", "155", "111") + ratings("clean", "555", "444"))
    clean, poor = audit.slices
    assert (clean.name, clean.num_cases, clean.num_ratings, clean.num_passed) == ("clean", 2, 6, 6)
    assert (poor.name, poor.num_passed, poor.pass_rate) == ("poor", 2, wilson(2, 6))
    assert (clean.median_score, poor.median_score) == (4.5, 1)
    assert (audit.overall.name, audit.overall.num_passed) == ("all", 8)


def test_interval_by_case_is_as_wide_as_cases_are_few(ratings: MakeRatings) -> None:
    (one,) = audit_ratings(ratings("s", "555", "444", "111", "222")).slices
    assert one.kappa_pass == 1.0
    assert one.pass_rate_by_case == wilson(2, 4)
    assert one.pass_rate == wilson(6, 12)


def test_fleiss_kappa_is_over_cases_that_all_rated(ratings: MakeRatings) -> None:
    (one,) = audit_ratings(ratings("s", "555", "111", "51")).slices
    assert (one.num_cases, one.num_complete, one.kappa_pass, one.kappa_score) == (3, 2, 1.0, 1.0)


def test_single_rater_has_no_kappa_and_counts_by_case(ratings: MakeRatings) -> None:
    audit = audit_ratings(ratings("s", "5", "1"))
    assert audit.overall.kappa_pass is None
    assert audit.overall.pass_rate_by_case == audit.overall.pass_rate == wilson(1, 2)
    assert audit.pairs == ()
    assert {case.spread for case in audit.cases} == {0.0}


def test_pairs_are_over_cases_that_both_rated(ratings: MakeRatings) -> None:
    audit = audit_ratings(ratings("s", "551", "114", "3"))
    first, second, third = audit.pairs
    assert (first.first, first.second, first.num_cases) == ("rater 0", "rater 1", 2)
    assert (first.weighted_kappa, first.kappa_pass) == (1.0, 1.0)
    # Observed distances 4 and 3: (16 + 9) / 2; by chance (16 + 1 + 0 + 9) / 4.
    assert second.weighted_kappa == pytest.approx(1 - 12.5 / 6.5)
    assert second.kappa_pass == third.kappa_pass == -1.0


def test_raters_who_share_no_case_have_no_kappa() -> None:
    one, other = (
        OcrRating("a", "s", "ann", 5, passed=True),
        OcrRating("b", "s", "bob", 5, passed=True),
    )
    (pair,) = audit_ratings([one, other]).pairs
    assert (pair.num_cases, pair.weighted_kappa, pair.kappa_pass) == (0, None, None)


def test_raters_have_their_own_rates(ratings: MakeRatings) -> None:
    first, second = audit_ratings(ratings("s", "51", "31", "44")).raters
    assert (first.name, first.num_ratings, first.pass_rate) == ("rater 0", 3, wilson(3, 3))
    assert (second.median_score, second.pass_rate) == (1, wilson(1, 3))


def test_most_disputed_cases_come_first(ratings: MakeRatings) -> None:
    cases = audit_ratings(ratings("s", "333", "345", "234", "151")).cases
    assert [case.case for case in cases] == ["s-3", "s-2", "s-1", "s-0"]
    assert cases[0].spread == pytest.approx(fmean([4, 0, 4]))
    assert cases[1].split == pytest.approx(2 / 3)
    assert cases[2].scores == {"rater 0": 3, "rater 1": 4, "rater 2": 5}
    assert [case.num_passed for case in cases] == [1, 2, 3, 3]


def test_distance_of_scores_counts_before_split_verdicts(ratings: MakeRatings) -> None:
    far, split = audit_ratings(ratings("s", "233", "353")).cases
    assert (far.case, far.split) == ("s-1", 0.0)
    assert far.spread > split.spread
    assert split.split > 0.0


def test_without_a_case_that_all_rated_ratings_of_a_case_count_as_one(ratings: MakeRatings) -> None:
    all_but_one = [
        one for place, one in enumerate(ratings("s", "555", "111")) if place not in {2, 3}
    ]
    overall = audit_ratings(all_but_one).overall
    assert (overall.num_complete, overall.kappa_pass) == (0, None)
    assert overall.pass_rate_by_case == wilson(1, 2)
