"""Where a text begins to be about a product, and what must not take over."""

import pytest

from scp_ray.annotators.lines import read_lines
from scp_ray.annotators.products import Product, find_products
from scp_ray.annotators.sections import section_headings

HEATER_SECTIONS = {
    "About this manual": "This manual is for the owner of the heater. Keep it with the heater.",
    "Safety": "Keep the heater away from curtains. Pull the plug before you clean the heater.",
    "Timer": "Turn the dial until the hour you want is shown, then press the timer key twice.",
    "Thermostat": "The thermostat switches the heater off when the room is warm enough.",
    "Warranty": "The warranty covers faults of material for two years after you bought it.",
}
BIKE_SECTIONS = {
    "Before you begin": "Inflate both tyres and check the brakes of the bicycle before riding.",
    "Battery": "Charge the battery with the supplied charger for six hours before riding.",
    "Chain": "Grease the chain of the bicycle after each ride in rain, then wipe it dry.",
}


def manual(title: str, sections: dict[str, str], mark: str = "## ") -> str:
    parts = [f"{mark}{heading}\n\n{prose}" for heading, prose in sections.items()]
    return "\n\n".join([title, *parts]) + "\n\n"


def found(text: str) -> list[Product]:
    lines = read_lines(text)
    return find_products(text, lines, section_headings(text, lines))


def models(text: str) -> list[str]:
    return [product.model for product in found(text)]


@pytest.mark.parametrize(
    "opening",
    [
        "# Tarn Heat 40 User Manual",
        "Tarn Heat 40",
        "## Tarn Heat 40",
        "OWNER'S MANUAL\n\nTarn Heat 40",
        "Tarn\n\nTarn Heat 40 –\nInstruction Manual",
        "Operating Instructions for the\nTarn Heat 40",
        "---\ntitle: Tarn Heat 40 User Manual\n---",
    ],
)
def test_the_opening_names_the_product(opening: str) -> None:
    [product] = found(manual(opening, HEATER_SECTIONS))
    assert product.model == "Tarn Heat 40"


def test_a_product_begins_at_its_title() -> None:
    text = manual("OWNER'S MANUAL\n\n# Tarn Heat 40", HEATER_SECTIONS)
    assert found(text)[0].char_start == text.index("# Tarn")


@pytest.mark.parametrize(
    ("opening", "category"),
    [
        ("# Tarn Heat 40 Room Heater", "room heater"),
        ("# Tarn Heat 40\n\nRoom heater with two fans.", "room heater"),
        ("# Tarn Heat 40\n\nOwner's guide\n\nRoom heater with two fans.", "room heater"),
        ("# Tarn Heat 40\n\nThe Heat 40 is a room heater. Use the heater daily.", "room heater"),
        ("# Tarn Heat 40\n\nBox of parts for it.", None),
    ],
)
def test_the_category_comes_from_the_opening_too(opening: str, category: str | None) -> None:
    assert found(manual(opening, HEATER_SECTIONS))[0].category == category


@pytest.mark.parametrize(
    "text",
    [
        "Good evening. If I were smart, I would go home now.\n\nIn 1941 a man came here.\n",
        "as of december 31, 2017, the company had debt of 40.\n\n5 | 6\n",
        "# The history of the valley\n\n## Apollo 11\n\nIt landed.\n",
        "Apollo 11\n\nThe crew came home after eight days.\n",
        "to the RXC-225B\nand further parts.\n",
        "",
    ],
)
def test_texts_without_a_product(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("title", ["Tarn Velo 7", "# Tarn Velo 7", "Tarn Velo 7 User Manual"])
@pytest.mark.parametrize("sections", [HEATER_SECTIONS, BIKE_SECTIONS])
def test_a_title_in_the_middle_starts_another_product(title: str, sections: dict[str, str]) -> None:
    before = manual("Tarn Heat 40", HEATER_SECTIONS)
    products = found(before + manual(title, sections))
    assert [product.model for product in products] == ["Tarn Heat 40", "Tarn Velo 7"]
    assert products[1].char_start == len(before)


def test_a_manual_without_markup_may_follow_another() -> None:
    first = manual("Tarn Heat 40", HEATER_SECTIONS, mark="")
    second = manual("Ostra Velo X7", BIKE_SECTIONS, mark="")
    assert models(first + second) == ["Tarn Heat 40", "Ostra Velo X7"]


def test_a_manual_without_headings_may_follow_another() -> None:
    heater = "\n\n".join([*HEATER_SECTIONS.values()] * 2)
    bike = "\n\n".join([*BIKE_SECTIONS.values()] * 3)
    text = f"Tarn Heat TX-40\n\n{heater}\n\nOstra Velo X7\n\n{bike}"
    assert models(text) == ["Tarn Heat TX-40", "Ostra Velo X7"]


def test_manuals_may_follow_each_other_without_blank_lines() -> None:
    text = manual("Tarn Heat 40", HEATER_SECTIONS) + manual("Tarn Velo 7", BIKE_SECTIONS)
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    assert models(text) == ["Tarn Heat 40", "Tarn Velo 7"]


def test_a_sister_without_a_number_is_known_by_its_family() -> None:
    text = manual("Tarn Heat 40", HEATER_SECTIONS)
    text += manual("Tarn Brook", HEATER_SECTIONS) + "Ask a Tarn dealer about the new Brook."
    assert models(text) == ["Tarn Heat 40", "Tarn Brook"]


@pytest.mark.parametrize(
    "mention",
    [
        "The remote control of the Tarn Heat 60 does not fit this heater.",
        "Tarn Heat 60",
        "Tarn Watch 3",
        "## Tarn Heat 60",
        "## Tarn Heat 60\nTarn Heat 60",
        "- Tarn Heat 60",
        "# Tarn Heat 40",
        "Heat 40",
        "Tarn Heat 60 User Manual",
        "## Tarn Heat 60 User Manual",
        "| Tarn Heat 60 | yes |",
        "See https://tarn.example/heat60.",
        "TH-3401",
    ],
)
def test_names_inside_a_manual_do_not_take_over(mention: str) -> None:
    sections = dict(HEATER_SECTIONS)
    sections["Timer"] += f"\n\n{mention}"
    assert models(manual("Tarn Heat 40", sections)) == ["Tarn Heat 40"]


def test_two_names_in_one_opening_are_one_title() -> None:
    text = manual("Tarn Heat 40\n\nTarn Heat 60", HEATER_SECTIONS)
    assert models(text) == ["Tarn Heat 40"]


def test_a_title_may_be_found_though_the_opening_has_none() -> None:
    preface = "The maker thanks you for your trust in the things that it has made.\n\n"
    assert models(preface + manual("# Tarn Heat 40", HEATER_SECTIONS)) == ["Tarn Heat 40"]


def test_a_numbered_line_needs_a_text_like_a_manual() -> None:
    essay = "The crew left early, and nobody saw them go over the hills at dawn.\n\n"
    chapters = "".join(f"Apollo {number}\n\n## The crew\n\n{essay}" for number in range(7, 14))
    assert models(f"# Journeys\n\n{essay}{chapters}") == []
