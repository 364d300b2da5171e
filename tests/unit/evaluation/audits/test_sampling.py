"""Which results are drawn for review."""

import random
from collections import Counter

import pytest

from scp_ray.evaluation.audits.sampling import Answer, allocate, draw_sample


def _answer(query: int, rank: int) -> Answer:
    return Answer(f"q{query}", "How?", rank, "a.md", 3, 10, 20, "text", 0.5, "kettle", 1)


ANSWERS = [_answer(query, rank) for query in range(20) for rank in range(1, 11)]


def test_bands_of_ranks_get_equal_numbers() -> None:
    drawn = draw_sample(ANSWERS, 30)
    strata = Counter(one.answer.stratum for one in drawn)
    assert strata == {"rank 1": 10, "rank 2-3": 10, "rank 4 and more": 10}
    assert {one.answer.stratum: one.stratum_size for one in drawn} == {
        "rank 1": 20, "rank 2-3": 40, "rank 4 and more": 140,
    }  # fmt: skip
    assert {one.answer.rank for one in drawn if one.answer.stratum == "rank 2-3"} == {2, 3}


def test_what_a_band_lacks_goes_to_the_others() -> None:
    strata = Counter(one.answer.stratum for one in draw_sample(ANSWERS, 120))
    assert strata == {"rank 1": 20, "rank 2-3": 40, "rank 4 and more": 60}


def test_all_are_drawn_where_there_are_fewer() -> None:
    drawn = draw_sample(ANSWERS, 10_000)
    assert {one.answer.review_id for one in drawn} == {one.review_id for one in ANSWERS}


def test_order_of_the_results_makes_no_difference() -> None:
    shuffled = random.Random(3).sample(ANSWERS, len(ANSWERS))
    assert draw_sample(shuffled, 30) == draw_sample(ANSWERS, 30)


def test_rows_come_in_random_order() -> None:
    strata = [one.answer.stratum for one in draw_sample(ANSWERS, 30)]
    assert len({tuple(strata[:10]), tuple(strata[10:20]), tuple(strata[20:])}) == 3
    assert all(len(set(strata[start : start + 10])) > 1 for start in (0, 10, 20))


def test_every_result_is_as_likely_as_any_other_of_its_band() -> None:
    answers = [_answer(query, rank) for query in range(3000) for rank in (1, 2)]
    firsts = [one.answer for one in draw_sample(answers, 3000) if one.answer.rank == 1]
    early = sum(int(one.query_id[1:]) < 1500 for one in firsts)
    assert len(firsts) == 1500
    assert early == pytest.approx(750, abs=4 * 19.4)  # four standard deviations


@pytest.mark.parametrize(
    ("available", "size", "quotas"),
    [
        ({"a": 9, "b": 9}, 4, {"a": 2, "b": 2}),
        ({"a": 9, "b": 9}, 5, {"a": 3, "b": 2}),
        ({"a": 1, "b": 9}, 6, {"a": 1, "b": 5}),
        ({"a": 1, "b": 2}, 6, {"a": 1, "b": 2}),
        ({"a": 5, "b": 5, "c": 5}, 1, {"a": 1, "b": 0, "c": 0}),
        ({}, 3, {}),
    ],
)
def test_rows_are_shared_out_evenly(
    available: dict[str, int], size: int, quotas: dict[str, int]
) -> None:
    assert allocate(available, size) == quotas
