"""The whole audit of reviews."""

from collections.abc import Callable

import pytest

from scp_ray.evaluation.audits.reviews import Review
from scp_ray.evaluation.audits.text_audit import TextAudit, audit_reviews

MakeReview = Callable[..., Review]


@pytest.fixture
def audit(review: MakeReview) -> TextAudit:
    """Four labelled reviews of two strata, one begun, one open."""
    return audit_reviews(
        [
            review(1, stratum="a", template="t", reviewer="ann", flags=("x",), labels=("bad",)),
            review(
                3, stratum="a", template="t", reviewer="bob", narrative="one two three four five"
            ),
            review(3, stratum="b", reviewer="ann", labels=("good",)),
            review(4, stratum="b", reviewer="ann", labels=("good",)),
            review(5, stratum="b", flags=None),
            review(None, stratum="a"),
        ]
    )


def test_reviews_are_counted(audit: TextAudit) -> None:
    assert (audit.num_reviews, audit.num_labelled, audit.num_partial) == (6, 4, 1)
    assert (audit.num_texts, audit.strata, audit.too_thin) == (6, ("a", "b"), ())


def test_ratings_and_bands(audit: TextAudit) -> None:
    assert {name: one.count for name, one in audit.ratings.items()} == {
        "1": 1, "2": 0, "3": 2, "4": 1, "5": 0,
    }  # fmt: skip
    assert {name: one.count for name, one in audit.bands.items()} == {"1-2": 1, "3": 2, "4-5": 1}
    assert audit.bands["3"].projected.point == pytest.approx(3 / 2 + 3 / 2)
    assert audit.mean_rating.point == pytest.approx((2 + 3.5) / 2)


def test_flags_and_details(audit: TextAudit) -> None:
    assert (audit.flagged.count, audit.detailed.count) == (1, 1)


def test_groups_have_rates_of_their_labelled(audit: TextAudit) -> None:
    a, b = audit.by_stratum
    assert (a.name, a.num_reviews, a.num_labelled, a.mean_rating) == ("a", 3, 2, 2)
    assert a.flagged is not None
    assert a.flagged.point == 0.5
    assert [(one.label, one.count) for one in b.labels] == [("good", 2)]
    assert [group.name for group in audit.by_template] == ["", "t"]
    assert [(group.name, group.num_labelled) for group in audit.by_reviewer] == [
        ("", 0), ("ann", 3), ("bob", 1),
    ]  # fmt: skip


def test_group_without_a_labelled_review_has_no_rates(audit: TextAudit) -> None:
    nobody = audit.by_reviewer[0]
    assert (nobody.num_reviews, nobody.mean_rating, nobody.flagged, nobody.labels) == (
        2, None, None, (),
    )  # fmt: skip
