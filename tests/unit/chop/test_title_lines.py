"""Lines that may be titles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.chop.overlap import shared_characters
from scp_ray.chop.title_lines import titles_of

PASSAGE = """the bag.
Empty it.

Velaris BX-40

## Overview
See the cover
The camera sees 120 degrees.

This line ends like a sentence.

**Night light**
"""
TITLES = ["Velaris BX-40", "Overview", "Night light"]


def new_titles(chunk: str, next_chunk: str, num_shared: int) -> list[str]:
    return titles_of(chunk, next_chunk, num_shared).new


def titles_after(chunk: str, next_chunk: str) -> list[str]:
    return new_titles(chunk, next_chunk, shared_characters(chunk, next_chunk))


def test_short_lines_that_begin_a_paragraph_are_titles() -> None:
    assert new_titles("Remove ", PASSAGE, 0) == TITLES


def test_titles_that_the_first_chunk_shows_are_not_new() -> None:
    middle = PASSAGE.index("## Overview")
    assert titles_after(PASSAGE[:middle], PASSAGE[10:]) == TITLES[1:]
    assert titles_after(PASSAGE, PASSAGE[10:]) == []
    assert titles_after("Overview\n\nThe lid.", PASSAGE) == [TITLES[0], TITLES[2]]


@given(
    cut=st.integers(1, len(PASSAGE) - 1),
    num_shared=st.integers(0, 30),
    end=st.sampled_from(["\n", "\r\n", "\x0c", "\u2028"]),
)
def test_every_title_is_asked_about_once_wherever_the_text_is_cut(
    cut: int, num_shared: int, end: str
) -> None:
    """But for one that a cut without overlap goes through, which neither chunk shows."""
    text = PASSAGE.replace("\n", end)
    cut = min(cut, len(text) - 1)
    start = max(0, cut - num_shared)
    chunks = ["", text[:cut], text[start:]]
    shared = [0, cut - start]
    found = new_titles(*chunks[:2], shared[0]) + new_titles(*chunks[1:], shared[1])
    cut_through = {
        title
        for title in TITLES
        if start == cut and text.index(title) < cut <= text.index(title) + len(title)
    }
    assert set(TITLES) - cut_through <= set(found)
    assert len(found) == len(set(found))


def test_a_title_at_the_end_of_a_chunk_counts_with_its_end() -> None:
    assert new_titles("Wait.\n\nLumo T2", "Lumo T2\n\nPut bread in.", 7) == ["Lumo T2"]
    assert new_titles("Wait.\n\nLumo T2", "Put bread in.", 0) == []
    assert new_titles("", "Lumo T2", 0) == []


@pytest.mark.parametrize(
    "line",
    [
        "long " * 20,
        "---",
        "***",
        "| Part | No |",
        "12",
        "•",
        "```bash",
        "<!-- image -->",
        "- Press Start",
        "Press it.",
        "Note:",
        "Why?",
        "(See the cover.)",
        "请按下按钮。",
        "The camera of the BX-40 sees\nin the dark",
    ],
)
def test_long_lines_sentences_and_lines_of_marks_are_no_titles(line: str) -> None:
    assert new_titles("Wait.", f"\n\n{line}\n\n", 0) == []


@pytest.mark.parametrize(
    "line", ["BX-40 (EN)", "**Ostra K1**", "## Ostra  K1 ##", "\u200bOstra\xa0K1"]
)
def test_marks_spaces_and_unseen_characters_are_no_part_of_a_title(line: str) -> None:
    title = "BX-40 (EN)" if "BX" in line else "Ostra K1"
    assert new_titles("Wait.", f"\u200b\n{line}\nPress Start.\n\nOSTRA K1\n", 0)[0] == title
    assert new_titles(f"{title.upper()}\n\nWait.", f"\n\n{line}\n\n", 0) == []
