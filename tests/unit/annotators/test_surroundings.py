"""How the text around a title writes its words."""

import pytest

from scp_ray.annotators.surroundings import WINDOW_CHARACTERS, Surroundings

TITLE = "VELTRA MK-20 AIR DRIER"
AFTER = (
    "\nThe air drier is for rooms. Empty the Tank Guard when your air drier stops. "
    "The tank holds 4 l. The Veltra app and the Veltra MK-20 Pro speak Wi-Fi."
)
AROUND = Surroundings(f"Before. {TITLE}{AFTER}", 8, 8 + len(TITLE))


def test_the_text_on_either_side() -> None:
    assert AROUND.before == "Before. "
    assert AROUND.after == AFTER


def test_no_more_than_a_window_is_looked_at() -> None:
    around = Surroundings("x" * 100_000, 50_000, 50_010)
    assert len(around.before) == len(around.after) == WINDOW_CHARACTERS


def test_common_words_are_written_small_somewhere() -> None:
    assert AROUND.is_common("DRIER")
    assert AROUND.is_common("Tank")
    assert not AROUND.is_common("Veltra")


def test_proper_words_are_never_written_small() -> None:
    assert AROUND.is_proper("VELTRA")
    assert AROUND.is_proper("wi-fi")
    assert not AROUND.is_proper("Tank")
    assert not AROUND.is_proper("Robot")


def test_words_that_are_there_at_all() -> None:
    assert AROUND.has("GUARD")
    assert not AROUND.has("AWD")


def test_things_follow_an_article() -> None:
    assert AROUND.thing_count("drier") == 2
    assert AROUND.thing_count("rooms") == 0
    assert AROUND.thing_count("robot") == 0


def test_names_that_go_on() -> None:
    assert AROUND.has_name("MK-20 Pro")
    assert not AROUND.has_name("MK-20 Plus")
    assert not AROUND.has_name("The air")


@pytest.mark.parametrize(
    ("word", "written"), [("VELTRA", "Veltra"), ("WI-FI", "Wi-Fi"), ("ROBOT", "ROBOT")]
)
def test_words_as_the_text_writes_them(word: str, written: str) -> None:
    assert AROUND.as_written(word) == written


def test_blank_lines_nearby() -> None:
    assert not AROUND.has_blank_lines
    assert Surroundings("One.\n\nTitle\nTwo.", 6, 11).has_blank_lines
