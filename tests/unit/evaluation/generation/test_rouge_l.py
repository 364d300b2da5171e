"""ROUGE-L, by hand and against Google's library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.evaluation.generation.rouge_l import rouge_l

TEXTS = st.text(st.sampled_from("abcAB  12.-_é\u0130\n"), max_size=60)


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Rinse the filter.", "rinse the filter", 1.0),
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("the gunman kill police", "police kill the gunman", 0.5),  # order counts: 2 of 4
        ("a b c d", "a x c", 4 / 7),  # 2 of 4 and 2 of 3
        ("", "a", 0.0),
        ("水", "水", 0.0),
    ],
)
def test_by_hand(answer: str, reference: str, expected: float) -> None:
    assert rouge_l(answer, reference) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_as_the_library(answer: str, reference: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL"]).score(reference, answer)["rougeL"].fmeasure
    assert rouge_l(answer, reference) == pytest.approx(theirs)
