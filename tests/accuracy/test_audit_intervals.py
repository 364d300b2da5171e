"""How often the intervals of a projection hold the truth."""

from collections.abc import Callable

import numpy as np
import pytest

from scp_ray.evaluation.audits.projection import population_of
from scp_ray.evaluation.audits.reviews import Review

DRAWS = 1000


@pytest.mark.parametrize(
    ("sizes", "truths", "labelled"),
    [
        ({"": 770}, {"": 77}, {"": 318}),
        ({"": 770}, {"": 39}, {"": 100}),
        ({"": 60}, {"": 3}, {"": 20}),
        ({"a": 300, "b": 1500}, {"a": 240, "b": 300}, {"a": 50, "b": 50}),
        (
            {"a": 200, "b": 400, "c": 1400},
            {"a": 180, "b": 200, "c": 140},
            {"a": 33, "b": 33, "c": 34},
        ),
    ],
)
def test_intervals_hold_the_truth_19_times_of_20(
    sizes: dict[str, int],
    truths: dict[str, int],
    labelled: dict[str, int],
    record_property: Callable[[str, object], None],
) -> None:
    generator = np.random.default_rng(20)
    truth, num_held = sum(truths.values()), 0
    for _ in range(DRAWS):
        reviews = []
        for name, size in sizes.items():
            num_hit = generator.hypergeometric(truths[name], size - truths[name], labelled[name])
            for place in range(labelled[name]):
                flags = ("x",) if place < num_hit else ()
                reviews.append(
                    Review(f"{name}{place:04d}", 3, (), flags, "", "", name, "", stratum_size=size)
                )
        found = population_of(reviews).share(lambda review: bool(review.flags)).projected
        num_held += found.low <= truth <= found.high
    record_property("coverage", num_held / DRAWS)
    assert 0.935 <= num_held / DRAWS <= 0.985
