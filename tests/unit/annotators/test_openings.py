"""What the beginning of a document looks like."""

import pytest

from scp_ray.annotators.openings import breaks_off, opening_likeness, short_lines
from scp_ray.annotators.surroundings import Surroundings

END_OF_HEATER = "The heater warms the room. Clean the filter of the heater every month. " * 10
END_OF_BICYCLE = "Inflate both tyres before riding. Brakes need grease; chains cleaning. " * 10


def around(after: str, before: str = "") -> Surroundings:
    return Surroundings(before + after, len(before), len(before))


@pytest.mark.parametrize(
    ("after", "likeness"),
    [
        ("\n\n## Contents\n\nText.", 2),
        ("\n\nABOUT THIS MANUAL\n\nText.", 2),
        ("\n\nOperator's edition\n\nGetting started\n", 2),
        ("\n\n## Front view\n\nText.\n\n## Back view\n\nText.\n\n## Turning on\n", 1),
        ("\n\n## Front view\n\nText.\n\n## Back view\n\nText.", 0),
        ("\n\nA heater. Keep these instructions.", 1),
        ("\n\nIt warms the room.\n\n" + "Text. " * 300 + "\n\n## Contents\n", 0),
        ("", 0),
    ],
)
def test_how_much_a_text_is_like_the_beginning_of_a_document(after: str, likeness: int) -> None:
    first_lines = {"front view", "back view", "turning on"}
    assert opening_likeness(around(after), first_lines) == likeness


def test_short_lines_are_headings_and_titles() -> None:
    text = "## Front View\n- Power key\n| a | b |\nA sentence.\n\nOK\n" + "long " * 30 + "\nCare"
    assert short_lines(f"{text}\nCaring") == ["front view", "caring"]


def test_a_break_in_the_vocabulary() -> None:
    assert breaks_off(around(END_OF_BICYCLE, END_OF_HEATER))
    assert not breaks_off(around(END_OF_HEATER, END_OF_HEATER))
    assert not breaks_off(around("Too short to say.", END_OF_HEATER))
