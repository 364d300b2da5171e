"""Titles and the category and model that they name; all products are invented."""

import pytest

from scp_ray.annotators.names import Designator
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.titles import Title, read_title

MANUAL = (
    "\n\nThis manual is for the owner of the {thing}. Read it before you use the {thing}. "
    "Do not open the {thing}. Keep your device dry."
)


def read(title: str, thing: str = "heater", more: str = "") -> Title:
    text = title + MANUAL.format(thing=thing) + more
    return read_title(title, Surroundings(text, 0, len(title)))


@pytest.mark.parametrize(
    ("title", "thing", "category", "model"),
    [
        (
            "Halvor RXC-225B Room Air Conditioner – User Manual",
            "air conditioner",
            "room air conditioner",
            "Halvor RXC-225B",
        ),
        ("User Guide: Colder AX-3000", "router", None, "Colder AX-3000"),
        (
            "Operating Instructions for the Bravia Lumo 40 Pro espresso machine",
            "machine",
            "espresso machine",
            "Bravia Lumo 40 Pro",
        ),
        ("Nebula Note 10+ User Manual", "phone", None, "Nebula Note 10+"),
        ("Nebula S20+ 5G User Manual", "phone", None, "Nebula S20+ 5G"),
        ("Nebula Z Flap", "phone", None, "Nebula Z Flap"),
        ("Bravia Lumo Barista S: Instructions for Use", "machine", None, "Bravia Lumo Barista S"),
        (
            "Northwick Fell 500 – Installation and Operating Manual (Robotic Mower)",
            "mower",
            "robotic mower",
            "Northwick Fell 500",
        ),
        (
            "Operator's Manual: Northwick Fell 300X Robotic Mower with Bluetooth",
            "mower",
            "robotic mower",
            "Northwick Fell 300X",
        ),
        (
            "Colder BE-7200 – Wi-Fi 7 Router for Home and Home Office",
            "router",
            "wi-fi 7 router",
            "Colder BE-7200",
        ),
        (
            "Administrator's Manual – Colder BE-9300 Pro Tri-Band Wi-Fi 7 Router",
            "router",
            "tri-band wi-fi 7 router",
            "Colder BE-9300 Pro",
        ),
        ("Ostra EOS 5D Mark IV Camera Manual", "camera", "camera", "Ostra EOS 5D Mark IV"),
        ("Ostra Series 6 WAT284GB Washer", "washer", "washer", "Ostra Series 6 WAT284GB"),
        (
            "Ostra Magna S ECAM 22.110.B Grinder",
            "grinder",
            "grinder",
            "Ostra Magna S ECAM 22.110.B",
        ),
        (
            "Espresso Machine Bravia Lumo 20 – User Manual",
            "espresso machine",
            "espresso machine",
            "Bravia Lumo 20",
        ),
        (
            "Instructions for use of the coffee grinder Bravia Mola 3",
            "grinder",
            "coffee grinder",
            "Bravia Mola 3",
        ),
        ("Getting started with the Colder AX-3000", "router", None, "Colder AX-3000"),
        ("How to use your Nebula S9", "phone", None, "Nebula S9"),
        ("Roombo i7+ Robot Vacuum Owner's Guide", "vacuum", "robot vacuum", "Roombo i7+"),
        ("Ostra Server 2019 Installation Guide", "server", None, "Ostra Server 2019"),
        ("Installation Manual - Halvor RXC-225B / RXC-235B", "unit", None, "Halvor RXC-225B"),
        ("Thinko X1 Gen 9 and X2 Gen 6 User Guide", "laptop", None, "Thinko X1 Gen 9"),
        ("User Manual Model: AX-3000", "router", None, "AX-3000"),
        ("1. Colder AX-3000™ [User Guide](guide.html)", "router", None, "Colder AX-3000"),
        ("User Manual for Colder Breeze", "router", None, "Colder Breeze"),
        ("Bedienungsanleitung Halvor RXC-225B", "gerät", None, "Halvor RXC-225B"),
        ("Manuel d'utilisation – Colder AX-3000", "routeur", None, "Colder AX-3000"),
        ("Manual de usuario Colder AX-3000", "router", None, "Colder AX-3000"),
    ],
)
def test_category_and_model_of_a_title(
    title: str, thing: str, category: str | None, model: str
) -> None:
    found = read(title, thing)
    assert (found.category, found.model) == (category, model)


@pytest.mark.parametrize(
    "title",
    [
        "Quick Start Guide",
        "Owner's Manual",
        "Heater Handbook",
        "Annual Report 2023",
        "2023 Annual Report",
        "Chapter 3",
        "Error code E4",
        "Document No. HM-225B",
        "The History of Coffee",
        "Connect the Colder AX-3000",
        "Q3 2024 Results",
        "5 ways to save power",
        "Vim usr_10.txt",
        "User Manual - by Anna Berg",
        "",
    ],
)
def test_titles_that_name_no_product(title: str) -> None:
    found = read(title)
    assert (found.model, found.category) == (None, None)


def test_a_title_in_capitals_is_written_as_the_text_writes_it() -> None:
    found = read(
        "NORTHWICK FELL 800 AWD ROBOTIC LAWN MOWER – OPERATOR'S MANUAL",
        "mower",
        " Ask the Northwick dealer. The new Fell dial clicks.",
    )
    assert found.model == "Northwick Fell 800 AWD"
    assert found.category == "robotic lawn mower"


def test_a_word_that_the_text_puts_after_the_number_belongs_to_the_name() -> None:
    more = " The Lumo 40 Barista and the Lumo 40 differ."
    assert read("Bravia Lumo 40 Barista", "machine", more).model == "Bravia Lumo 40 Barista"


def test_an_abbreviation_of_the_text_is_not_part_of_the_name() -> None:
    found = read("Ostra KX-500 TV", "tv set", " A TV needs air. The TV gets warm.")
    assert found.model == "Ostra KX-500"


def test_names_without_a_designator_must_be_names_in_the_text() -> None:
    assert read("Colder Breeze", "router").model is None
    assert read("Colder Breeze", "router", " Ask a Colder dealer for a Breeze.").model == (
        "Colder Breeze"
    )


@pytest.mark.parametrize(
    ("title", "names_document", "designator"),
    [
        ("Colder AX-3000 User Guide", True, Designator.CODE),
        ("Colder AX-3000", False, Designator.CODE),
        ("Fell 300 Manual", True, Designator.NUMBER),
        ("Nebula Z", False, Designator.LETTER),
        ("Safety", False, Designator.NONE),
    ],
)
def test_what_a_title_proves(title: str, *, names_document: bool, designator: Designator) -> None:
    found = read(title)
    assert found.names_document is names_document
    assert found.designator is designator
