"""Shapes of product names, and when two are the same."""

import pytest

from scp_ray.annotators.names import (
    Designator,
    designator_of,
    is_name_suffix,
    is_same_product,
    is_year,
    name_key,
)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("RXC-225B", Designator.CODE),
        ("S10+", Designator.CODE),
        ("i7+", Designator.CODE),
        ("40", Designator.NUMBER),
        ("300X", Designator.NUMBER),
        ("10+", Designator.NUMBER),
        ("22.110.B", Designator.NUMBER),
        ("Z", Designator.LETTER),
        ("IV", Designator.LETTER),
        ("XII", Designator.NONE),
        ("Heat", Designator.NONE),
        ("2024", Designator.NONE),
        ("Q3", Designator.NONE),
        ("FY24", Designator.NONE),
        ("usr_10.txt", Designator.NONE),
        ("example.org/A10", Designator.NONE),
        ("5,000", Designator.NONE),
        ("10%", Designator.NONE),
        ("a", Designator.NONE),
        ("", Designator.NONE),
    ],
)
def test_kinds_of_designators(token: str, kind: Designator) -> None:
    assert designator_of(token) is kind


def test_years() -> None:
    assert is_year("2019")
    assert not is_year("20190")


@pytest.mark.parametrize("token", ["Pro", "MAX", "5G", "II", "X", "edition"])
def test_suffixes_of_names(token: str) -> None:
    assert is_name_suffix(token)


@pytest.mark.parametrize("token", ["Heater", "with", "User"])
def test_other_words_are_no_suffixes(token: str) -> None:
    assert not is_name_suffix(token)


def test_spellings_of_one_name_have_one_key() -> None:
    assert name_key("Tarn Note10+") == name_key("tarn NOTE 10+") == ("tarn", "note", "10", "+")


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [
        ("Tarn Heat 40", "TARN HEAT 40", True),
        ("Tarn Heat 40", "Heat 40", True),
        ("Heat 40", "Tarn Heat 40", True),
        ("Tarn Heat 40", "Tarn Heat 40 Pro", False),
        ("Tarn Heat 40", "Tarn Heat 400", False),
        ("Tarn S9", "Tarn S9+", False),
        ("Tarn Heat 40", "", False),
    ],
)
def test_when_two_names_are_one_product(name: str, other: str, *, expected: bool) -> None:
    assert is_same_product(name, other) is expected
