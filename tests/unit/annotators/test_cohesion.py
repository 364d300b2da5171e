"""Lexical cohesion of two texts."""

import pytest

from scp_ray.annotators.cohesion import cohesion

HEATER = (
    "The heater warms the room. Turn the dial of the heater until the lamp of the dial glows. " * 5
)
BICYCLE = "Inflate both tyres before riding. Brakes need grease; chains need cleaning weekly. " * 5


def test_the_same_words_cohere() -> None:
    assert cohesion(HEATER, HEATER.upper()) == pytest.approx(1.0)


def test_other_words_do_not() -> None:
    assert cohesion(HEATER, BICYCLE) == pytest.approx(0.0)


def test_it_lies_between_for_a_mixture_and_has_no_direction() -> None:
    mixed = HEATER + BICYCLE
    value = cohesion(HEATER, mixed)
    assert value is not None
    assert 0.3 < value < 0.95
    assert cohesion(mixed, HEATER) == pytest.approx(value)


def test_a_short_text_says_nothing() -> None:
    assert cohesion(HEATER, "The heater warms the room.") is None
