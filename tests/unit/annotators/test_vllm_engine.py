"""What the annotator vllm makes of requests and answers; the engine itself: tests/integration."""

import pytest

from scp_ray.annotators.vllm_engine import complete_choice, needed_tokens
from scp_ray.chop.prompting import TITLE_CLASSES
from scp_ray.protocols import GenerationRequest


@pytest.mark.parametrize(
    ("choices", "needed"),
    [
        (("TRUE", "FALSE"), 1),
        (TITLE_CLASSES, 1),
        (("TRUE", "TRY"), 9),
        (("TRUE",), 1),
        ((), 9),
    ],
)
def test_one_token_is_enough_where_the_first_character_tells_the_choice(
    choices: tuple[str, ...], needed: int
) -> None:
    assert needed_tokens(GenerationRequest("Say.", "a", 9, choices=choices)) == needed


@pytest.mark.parametrize(
    ("text", "completed"),
    [("TRUE", "TRUE"), ("F", "FALSE"), ("T", "TRUE"), ("", ""), ("x", "x"), ("TRUEST", "TRUEST")],
)
def test_the_beginning_of_a_choice_stands_for_it(text: str, completed: str) -> None:
    assert complete_choice(text, ("TRUE", "FALSE")) == completed


def test_a_beginning_that_several_choices_share_stands_for_none() -> None:
    assert complete_choice("TR", ("TRUE", "TRY")) == "TR"


def test_an_answer_without_choices_is_left_alone() -> None:
    assert complete_choice("{}", ()) == "{}"
