"""The lines of a PDF to Markdown."""

import pytest

from scp_ray.corpus.pdf_text import Line, lines_to_markdown

HEIGHT = 800.0


def page(number: int, *texts: str, size: float = 10, first: float = 100) -> list[Line]:
    """Place lines at the usual distance below one another."""
    return [line(text, number, first + 12 * i, size) for i, text in enumerate(texts)]


def line(text: str, number: int = 1, top: float = 100, size: float = 10) -> Line:
    return Line(text, number, top, top / HEIGHT, size)


def test_nothing_is_nothing() -> None:
    assert lines_to_markdown([]) == ""


def test_larger_sizes_are_headings_by_rank() -> None:
    lines = [
        line("Aqua 300", top=100, size=24),
        line("Setup", top=140, size=16.2),
        *page(1, "The hose is in the drum.", "Take it out.", first=170),
        line("Drain", top=220, size=16),
        *page(1, "Put the hose into the sink.", first=250),
    ]
    assert lines_to_markdown(lines) == (
        "# Aqua 300\n\n## Setup\n\nThe hose is in the drum.\nTake it out.\n\n"
        "## Drain\n\nPut the hose into the sink."
    )


def test_a_heading_over_two_lines_is_one() -> None:
    lines = [
        *page(1, *["The text of the page goes on and on and on."] * 4),
        line("Operation of the drum", top=200, size=20),
        line("in daily use", top=224, size=20),
        line("Next chapter", top=280, size=20),
    ]
    assert lines_to_markdown(lines).endswith(
        "\n\n# Operation of the drum in daily use\n\n# Next chapter"
    )


@pytest.mark.parametrize("text", ["12 345", "word " * 31])
def test_large_figures_and_long_large_text_are_no_headings(text: str) -> None:
    lines = [*page(1, *["The text of the page goes on."] * 20), line(text, top=500, size=20)]
    assert not lines_to_markdown(lines).splitlines()[-1].startswith("#")


def test_a_larger_distance_is_a_new_paragraph() -> None:
    lines = page(1, "One.", "Two.", "Three.") + page(1, "Four.", "Five.", first=150)
    assert lines_to_markdown(lines) == "One.\nTwo.\nThree.\n\nFour.\nFive."


def test_a_paragraph_goes_on_over_a_page_with_a_small_letter() -> None:
    lines = page(1, "Hold the", "button") + page(2, "until the lamp is on.") + page(3, "Then go.")
    assert lines_to_markdown(lines) == "Hold the\nbutton\nuntil the lamp is on.\n\nThen go."


@pytest.mark.parametrize("bullet", ["•", "▪", "●", "\ufffd"])
def test_bullets_become_list_items(bullet: str) -> None:
    assert lines_to_markdown(page(1, f"{bullet} Fill the tank.")) == "- Fill the tank."


def test_a_table_is_taken_as_it_is_between_blank_lines() -> None:
    table = Line("| a | b |\n| --- | --- |", 1, 124, 0.155, 1.0, is_table=True)
    lines = [*page(1, "Before the", "table."), table, line("after it.", top=160)]
    assert lines_to_markdown(lines) == (
        "Before the\ntable.\n\n| a | b |\n| --- | --- |\n\nafter it."
    )


def test_a_divided_word_is_joined_where_the_text_has_it_whole() -> None:
    lines = page(
        1, "Start the instal-", "lation. The installation takes the self-", "cleaning oven."
    )
    assert lines_to_markdown(lines) == (
        "Start the installation. The installation takes the self-\ncleaning oven."
    )


def test_running_headers_and_page_numbers_are_left_out() -> None:
    lines = [
        part
        for number in (1, 2, 3, 4)
        for part in (
            line("Aqua 300 manual", number, 20),
            *page(number, f"The Aqua 300 washes, part {number} of the manual."),
            line(f"Page {number + 2} of 9", number, 780),
            line(f"- {number + 2} -", number, 790),
        )
    ]
    assert lines_to_markdown(lines) == "\n\n".join(
        f"The Aqua 300 washes, part {number} of the manual." for number in (1, 2, 3, 4)
    )


def test_a_header_keeps_its_first_occurrence_where_it_says_more_than_the_text() -> None:
    lines = [
        part
        for number in (1, 2, 3)
        for part in (line(f"{number} Model X200", number, 20), *page(number, "Text of a page."))
    ]
    assert lines_to_markdown(lines).count("Model X200") == 1
    assert lines_to_markdown(lines).startswith("1 Model X200\n\n")


def test_different_models_at_the_same_place_are_no_running_header() -> None:
    lines = [
        part
        for number, model in ((1, 225), (2, 226), (3, 227))
        for part in (line(f"Model {model}", number, 20), *page(number, "Text of a page."))
    ]
    assert all(f"Model {model}" in lines_to_markdown(lines) for model in (225, 226, 227))


def test_what_repeats_inside_the_page_stays() -> None:
    lines = [part for number in (1, 2) for part in page(number, "Unplug it.", first=400)]
    assert lines_to_markdown(lines).count("Unplug it.") == 2
