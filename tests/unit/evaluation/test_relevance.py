"""When a hit is relevant."""

import pytest

from scp_ray.evaluation.relevance import HitSpan, RelevantSpan, covers, is_relevant


@pytest.mark.parametrize(
    ("span", "hit", "expected"),
    [
        ((100, 140), (0, 120), True),  # half of a short span
        ((100, 140), (0, 119), False),
        ((100, 140), (120, 900), True),
        ((100, 140), (121, 900), False),
        ((100, 141), (0, 120), False),  # half of 41 is 20.5
        ((100, 141), (0, 121), True),
        ((1000, 3000), (0, 1100), True),  # 100 characters of a long span
        ((1000, 3000), (0, 1099), False),
        ((1000, 3000), (1500, 1600), True),
        ((1000, 3000), (1500, 1599), False),
        ((1000, 1200), (0, 1100), True),  # 200 characters: half is 100
        ((1000, 1200), (0, 1099), False),
        ((5, 6), (5, 6), True),
        ((5, 6), (0, 5), False),  # touching is not sharing
        ((5, 6), (6, 9), False),
        ((5, 6), (900, 990), False),
    ],
)
def test_half_or_a_hundred_characters(
    span: tuple[int, int], hit: tuple[int, int], *, expected: bool
) -> None:
    assert covers(HitSpan("a", *hit), RelevantSpan("a", *span)) is expected
    assert not covers(HitSpan("b", *hit), RelevantSpan("a", *span))


def test_one_covered_span_is_enough() -> None:
    spans = [RelevantSpan("a", 0, 10), RelevantSpan("b", 50, 60)]
    assert is_relevant(HitSpan("b", 40, 70), spans)
    assert not is_relevant(HitSpan("a", 40, 70), spans)
    assert not is_relevant(HitSpan("a", 40, 70), [])
