"""Sets of characters."""

import pytest

from scp_ray.evaluation.stretches import Stretch, num_characters, num_shared, union


def _places(*places: tuple[str, int, int]) -> list[Stretch]:
    return [Stretch(*place) for place in places]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([("a", 0, 5)], [("a", 0, 5)]),
        ([("a", 3, 9), ("a", 0, 5)], [("a", 0, 9)]),
        ([("a", 0, 5), ("a", 5, 7)], [("a", 0, 7)]),  # they touch
        ([("a", 0, 5), ("a", 6, 7)], [("a", 0, 5), ("a", 6, 7)]),
        ([("a", 0, 9), ("a", 2, 3), ("b", 1, 4)], [("a", 0, 9), ("b", 1, 4)]),
        ([("b", 0, 5), ("a", 0, 5)], [("a", 0, 5), ("b", 0, 5)]),
    ],
)
def test_union_holds_each_character_once(
    places: list[tuple[str, int, int]], expected: list[tuple[str, int, int]]
) -> None:
    assert union(_places(*places)) == expected


def test_shared_characters_are_of_the_same_document() -> None:
    one, other = _places(("a", 0, 10), ("b", 0, 10)), _places(("a", 8, 20), ("c", 0, 10))
    assert num_shared(one, other) == num_shared(other, one) == 2
    assert num_characters(one) == 20
    assert num_shared(one, []) == num_characters([]) == 0
