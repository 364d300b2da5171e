"""Reviews and ratings of which a test names only what matters."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from scp_ray.evaluation.audits.ratings import OcrRating
from scp_ray.evaluation.audits.reviews import Review


@pytest.fixture
def review() -> Callable[..., Review]:
    """Make a labelled review with an id of its own; ``rating=None`` makes an open one."""
    numbers = count(1)

    def make(rating: int | None = 3, **values: Any) -> Review:
        given: tuple[str, ...] | None = None if rating is None else ()
        defaults = {
            "review_id": f"r{next(numbers):03d}",
            "labels": given,
            "flags": given,
            "narrative": "",
            "template": "",
            "stratum": "",
            "reviewer": "",
        }
        return Review(rating=rating, **{**defaults, **values})

    return make


@pytest.fixture
def ratings() -> Callable[..., list[OcrRating]]:
    """Make the ratings of cases from digits, a rater each; 3 and more passes."""

    def make(slice_name: str, *cases: str) -> list[OcrRating]:
        return [
            OcrRating(
                f"{slice_name}-{place}", slice_name, f"rater {rater}", int(score), score >= "3"
            )
            for place, case in enumerate(cases)
            for rater, score in enumerate(case)
        ]

    return make
