"""Agreement against worked examples of the literature."""

import pytest

from scp_ray.evaluation.audits.agreement import cohen_kappa, fleiss_kappa

# Ten subjects, fourteen raters, five categories; kappa is 0.210 in Fleiss' worked example.
COUNTS = """\
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7"""


def test_fleiss_kappa_of_the_worked_example() -> None:
    cases = [
        [value for value, number in enumerate(map(int, line.split())) for _ in range(number)]
        for line in COUNTS.splitlines()
    ]
    assert fleiss_kappa(cases) == pytest.approx(0.210, abs=5e-4)


def test_cohen_kappa_by_hand() -> None:
    # Both yes 20, both no 15, of 50: observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_weighted_kappa_by_hand() -> None:
    # Observed distances 0 and 1, squared and averaged 0.5; by chance (0 + 9 + 16 + 1) / 4 = 6.5.
    assert cohen_kappa([1, 5], [1, 4], range(1, 6)) == pytest.approx(1 - 0.5 / 6.5)


def test_scale_counts_also_where_values_of_it_are_not_used() -> None:
    far = cohen_kappa([1, 5, 1], [1, 5, 5], range(1, 6))
    near = cohen_kappa([1, 2, 1], [1, 2, 2], range(1, 6))
    assert far == pytest.approx(near)


@pytest.mark.parametrize("values", [[3, 3, 3], [1, 5, 3]])
def test_full_agreement_is_1(values: list[int]) -> None:
    assert cohen_kappa(values, values) == cohen_kappa(values, values, range(1, 6)) == 1.0
    assert fleiss_kappa([[value] * 4 for value in values]) == 1.0


def test_one_constant_rater_agrees_by_chance_alone() -> None:
    assert cohen_kappa([1, 1, 1, 1], [1, 1, 0, 0]) == 0.0
    assert cohen_kappa([1, 1], [0, 0]) == 0.0


def test_without_pairs_of_ratings_there_is_no_kappa() -> None:
    assert cohen_kappa([], []) is None
    assert fleiss_kappa([]) is None
    assert fleiss_kappa([[1], [2]]) is None
