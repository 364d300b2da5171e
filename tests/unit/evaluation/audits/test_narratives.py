"""Flags against narratives."""

from collections.abc import Callable

import pytest

from scp_ray.evaluation.audits.narratives import (
    FlagInNarratives,
    FlagsAndDetail,
    flags_and_detail,
    flags_in_narratives,
    has_detail,
    leads,
)
from scp_ray.evaluation.audits.reviews import Review

MakeReview = Callable[..., Review]


@pytest.mark.parametrize(
    ("flag", "narrative", "is_named"),
    [
        ("title not aligned", "The TITLE is not really aligned.", True),
        ("title not aligned", "Titles: not aligned!", True),
        ("title not aligned", "The title is aligned", False),
        ("title not aligned", "not aligned", False),
        ("title not aligned", "", False),
        ("the unit is wrong", "wrong unit, twice", True),
        ("the of and", "it is", False),
        ("the of and", "of the and", True),
        ("!!", "!! anything !!", False),
    ],
)
def test_when_a_narrative_names_a_flag(
    review: MakeReview, flag: str, narrative: str, is_named: bool
) -> None:
    reviews = [review(flags=(flag,)), review(narrative=narrative)]
    assert bool(leads(reviews)) is is_named
    (found,) = flags_in_narratives(reviews)
    assert found.only_named == is_named


def test_detail_is_five_words(review: MakeReview) -> None:
    assert has_detail(review(narrative="one  two\nthree four five"))
    assert not has_detail(review(narrative="one two three four"))


def test_flags_and_detail_are_counted(review: MakeReview) -> None:
    long = "a b c d e"
    reviews = [review(flags=("x",), narrative=long), review(flags=("x",)), review()]
    reviews += [review(narrative=long), review(narrative=long)]
    assert flags_and_detail(reviews) == FlagsAndDetail(1, 1, 2, 1)


def test_flag_is_compared_with_every_narrative(review: MakeReview) -> None:
    reviews = [
        review(flags=("bad title",), narrative="a bad title"),
        review(flags=("bad title",), narrative="nothing to say at all"),
        review(flags=("bad title",)),
        review(narrative="titles are bad"),
        review(narrative="fine"),
        review(),
    ]
    # Over the four with a narrative: both 1, neither 1, one each way; as by chance.
    (found,) = flags_in_narratives(reviews)
    assert found == FlagInNarratives("bad title", 1, 1, 1, 1, 0.0, 3)


def test_flags_without_any_narrative_have_no_kappa(review: MakeReview) -> None:
    (found,) = flags_in_narratives([review(flags=("x",)), review()])
    assert (found.kappa, found.without_narrative, found.median_words) == (None, 1, 0)


def test_leads_are_flags_named_but_not_ticked(review: MakeReview) -> None:
    reviews = [
        review(review_id="b", narrative="bad title, blurry too"),
        review(review_id="a", flags=("blurry",), narrative="blurry bad title"),
        review(review_id="c", flags=("bad title",)),
    ]
    found = [(lead.review_id, lead.flag) for lead in leads(reviews)]
    assert found == [("a", "bad title"), ("b", "bad title"), ("b", "blurry")]
