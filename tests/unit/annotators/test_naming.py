"""Where a name begins and ends among the words of a title."""

import pytest

from scp_ray.annotators.naming import is_shouted, split_name
from scp_ray.annotators.surroundings import Surroundings

TEXT = "The room heater is warm. Your heater has a lid. Ask a Tarn dealer for the Tarn Brook."


def split(words: str, *, names_document: bool = False) -> tuple[str, str]:
    name, rest = split_name(words.split(), Surroundings(TEXT, 0, 0), names_document=names_document)
    return " ".join(name), " ".join(rest)


@pytest.mark.parametrize(
    ("words", "name", "rest"),
    [
        ("Tarn Heat 40 Room Heater", "Tarn Heat 40", "Room Heater"),
        ("Tarn Heat 40 with Timer", "Tarn Heat 40", ""),
        ("Room Heater Tarn Heat 40", "Tarn Heat 40", "Room Heater"),
        ("room heater Tarn Heat 40", "Tarn Heat 40", "room heater"),
        ("Tarn Brook heater", "Tarn Brook", "heater"),
        ("HX-5", "HX-5", ""),
        ("Heat 40 and Heat 60", "Heat 40", ""),
        ("One Two Three Four Five Six HX-5", "", "One Two Three Four Five Six HX-5"),
        ("40", "", "40"),
        ("40 Tarn 50", "", "40 Tarn 50"),
        ("Step 3", "", "Step 3"),
        ("Clean the Tarn Heat 40", "", "Clean the Tarn Heat 40"),
        ("Heater Lid", "", "Heater Lid"),
        ("", "", ""),
    ],
)
def test_name_and_rest(words: str, name: str, rest: str) -> None:
    assert split(words) == (name, rest)


def test_a_year_belongs_to_the_name_only_in_the_title_of_a_manual() -> None:
    assert split("Tarn Brook 2020", names_document=True) == ("Tarn Brook 2020", "")
    assert split("Annual Report 2020") == ("", "Annual Report 2020")


def test_two_unknown_names_are_trusted_only_in_the_title_of_a_manual() -> None:
    assert split("Ostra Velo", names_document=True) == ("Ostra Velo", "")
    assert split("Ostra Velo") == ("", "Ostra Velo")
    assert split("Mounting", names_document=True) == ("", "Mounting")


@pytest.mark.parametrize(
    ("word", "expected"), [("AWD", True), ("Awd", False), ("S", False), ("S10", False)]
)
def test_words_in_capitals(word: str, *, expected: bool) -> None:
    assert is_shouted(word) is expected
