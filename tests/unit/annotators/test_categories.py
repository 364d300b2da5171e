"""Categories from titles, the lines below them and definitions."""

import pytest

from scp_ray.annotators.categories import (
    MIN_THING_COUNT,
    as_category,
    category_of_definition,
    category_of_fragment,
    without_additions,
)
from scp_ray.annotators.surroundings import Surroundings

TEXT = (
    "The room heater warms the room. Your heater has a lid and a Wi-Fi module. "
    "Clean the espresso machine. The machine is heavy. Read the important information and "
    "this information. Ask a Tarn dealer."
)
AROUND = Surroundings(TEXT, 0, 0)


@pytest.mark.parametrize(
    ("words", "min_thing_count", "category"),
    [
        ("Room Heater", MIN_THING_COUNT, "room heater"),
        ("Wi-Fi Heater", MIN_THING_COUNT, "Wi-Fi heater"),
        ("ROOM HEATER", MIN_THING_COUNT, "room heater"),
        ("LED Heater for Bathrooms", MIN_THING_COUNT, "LED heater"),
        ("Espresso Machine", MIN_THING_COUNT, "espresso machine"),
        ("Dual-boiler machine", MIN_THING_COUNT, "dual-boiler machine"),
        ("Machine", MIN_THING_COUNT, None),
        ("Robotic Mower", MIN_THING_COUNT, None),
        ("Robotic Mower", 0, "robotic mower"),
        ("Dealer Tarn", 0, None),
        ("Important Information", 0, None),
        ("User Manual", 0, None),
        ("Gen 9", 0, None),
        ("one two three four five six heater", 0, None),
        ("", 0, None),
    ],
)
def test_words_as_a_category(words: str, min_thing_count: int, category: str | None) -> None:
    assert as_category(words.split(), AROUND, min_thing_count=min_thing_count) == category


@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("Room heater with two fans. Document TH-4.", "room heater"),
        ("Heater with two fans", "heater"),
        ("Room heater, white", "room heater"),
        ("Room heater", "room heater"),
        ("Heater", None),
        ("SAFETY", None),
        ("ROOM HEATER", None),
        ("About the heater", None),
        ("Document TH-4 heater", None),
        ("keep the heater dry", None),
        ("Front lid", None),
        ("", None),
    ],
)
def test_the_line_under_a_title(line: str, category: str | None) -> None:
    assert category_of_fragment(line, AROUND) == category


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("The Heat 40 is a small room heater that fits anywhere.", "small room heater"),
        ("The Heat 40 is an award in itself.", None),
        ("The Heat 400 is a room heater.", None),
        ("It warms.", None),
    ],
)
def test_a_definition_in_the_text(sentence: str, category: str | None) -> None:
    around = Surroundings(f"{sentence} {TEXT}", 0, 0)
    assert category_of_definition("Tarn Heat 40", around) == category


def test_additions_are_cut_off_but_not_at_the_start() -> None:
    assert without_additions(["Heater", "with", "timer"]) == ["Heater"]
    assert without_additions(["With", "timer"]) == ["With", "timer"]
