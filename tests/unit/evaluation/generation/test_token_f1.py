"""Token F1, by hand and against transformers' copy of the official evaluation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.evaluation.generation.token_f1 import token_f1

TEXTS = st.text(st.sampled_from("aA nN tTheE.,'-5é\u2019\n"), max_size=40)


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("The filter, please!", "a filter please", 1.0),
        ("rinse the filter", "rinse it", 0.5),  # 1 of 2 and 1 of 2
        ("rinse rinse rinse", "rinse twice", 0.4),  # 1 of 3 and 1 of 2
        ("open", "close", 0.0),
        ("", "close", 0.0),
        ("the", "a", 1.0),
        ("RXC-225B", "rxc225b", 1.0),
    ],
)
def test_by_hand(answer: str, reference: str, expected: float) -> None:
    assert token_f1(answer, reference) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_as_the_official_evaluation(answer: str, reference: str) -> None:
    from transformers.data.metrics.squad_metrics import compute_f1

    assert token_f1(answer, reference) == pytest.approx(compute_f1(reference, answer))
