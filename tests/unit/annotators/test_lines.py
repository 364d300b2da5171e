"""Lines that may be titles or headings."""

import pytest

from scp_ray.annotators.lines import BARE, has_title_shape, opening_lines, read_lines


def found(text: str) -> list[tuple[str, int]]:
    return [(line.text, line.level) for line in read_lines(text)]


@pytest.mark.parametrize(
    ("text", "heading", "level"),
    [
        ("# Tarn Heat 40", "Tarn Heat 40", 1),
        ("### Filling the tank ##", "Filling the tank", 3),
        ("  ## **Safety**", "Safety", 2),
        (" = Tarn valley = ", "Tarn valley", 1),
        (" = = History = = ", "History", 2),
        ("== History ==", "History", 2),
        ("Tarn Heat 40\n============", "Tarn Heat 40", 1),
        ("Safety\n------", "Safety", 2),
    ],
)
def test_marked_up_headings(text: str, heading: str, level: int) -> None:
    assert found(f"Some prose before it.\n\n{text}\nSome prose after it.") == [(heading, level)]


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag",
        "    # in a code block",
        "```\n# a comment\n```",
        "| # | Meaning |\n|---|---|",
        "= = unequal =",
        "====",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    assert found(f"Some prose before it,\n{text}\nsome prose after it.") == []


def test_a_bare_line_counts_between_blank_lines() -> None:
    assert found("One sentence.\n\nTarn Heat 40\n\nAnother one.") == [("Tarn Heat 40", BARE)]


def test_a_bare_line_counts_between_sentences_but_is_not_alone() -> None:
    [line] = read_lines("One sentence.\nTarn Heat 40\nAnother one.")
    assert line.text == "Tarn Heat 40"
    assert not line.is_alone


@pytest.mark.parametrize(
    "text",
    [
        "filters that fit the\nTarn Heat 40\nAnother one.",
        "One sentence.\nTarn Heat 40\nand its sisters.",
        "## Tarn Heat 40+\nTarn Heat 40+\n\nProse.",
    ],
)
def test_a_bare_line_that_hangs_together_with_its_neighbours_does_not_count(text: str) -> None:
    assert BARE not in [line.level for line in read_lines(text)]


def test_places_are_those_of_the_text() -> None:
    text = "Prose.\n\n## Safety\n\nProse."
    [line] = read_lines(text)
    assert text[line.char_start : line.char_end] == "## Safety"


def test_long_lines_are_passed_over() -> None:
    assert found("# " + "word " * 100) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Tarn Heat 40", True),
        ("iBrook 3 Owner's Manual", True),
        ("3.2 Filling the tank", True),
        ("", False),
        ("keep it dry", False),
        ("Keep it dry.", False),
        ("Parts supplied:", False),
        ("- Remote control RC-2", False),
        ("(see below)", False),
        ("a) Remote control", False),
        ("Code | Meaning", False),
        ("2024", False),
        ("One two three four five six seven eight nine ten eleven twelve more than so", False),
    ],
)
def test_shape_of_a_title(line: str, *, expected: bool) -> None:
    assert has_title_shape(line) is expected


def test_the_opening_is_the_first_lines_with_words() -> None:
    text = "---\n\nOWNER'S MANUAL\n# Tarn Heat 40\nA sentence.\nMore"
    lines = opening_lines(text, 3)
    assert [line.text for line in lines] == ["OWNER'S MANUAL", "Tarn Heat 40", "A sentence."]


def test_the_opening_ends_at_a_long_line() -> None:
    assert [line.text for line in opening_lines("Title\n" + "word " * 100, 5)] == ["Title"]
