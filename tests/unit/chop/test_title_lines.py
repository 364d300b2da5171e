"""Lines of a passage that may be titles."""

import pytest

from scp_ray.chop.title_lines import MAX_TITLES, title_lines

PASSAGE = """the bag.
Empty it.

Velaris BX-40

## Overview
See the cover
The camera sees 120 degrees.

This line ends like a sentence.

**Night light**
"""


def test_short_lines_that_begin_a_paragraph_are_titles() -> None:
    assert title_lines(PASSAGE, 5) == ["Velaris BX-40", "Overview", "Night light"]


def test_titles_of_the_shared_text_are_left_out_but_one_that_it_cuts() -> None:
    inside, behind = PASSAGE.index("BX-40"), PASSAGE.index("## Overview")
    assert title_lines(PASSAGE, inside)[0] == "Velaris BX-40"
    assert title_lines(PASSAGE, behind) == ["Overview", "Night light"]


def test_the_last_line_counts_with_its_end_only() -> None:
    assert title_lines("Lumo T2", 0) == []
    assert title_lines("Lumo T2\n", 0) == ["Lumo T2"]


@pytest.mark.parametrize(("start", "titles"), [(0, ["Lumo T2"]), (1, ["Lumo T2"]), (8, [])])
def test_the_first_line_counts_where_nothing_is_shared(start: int, titles: list[str]) -> None:
    assert title_lines("Lumo T2\nPut bread in.", start) == (titles if start == 0 else [])


def test_long_lines_and_lines_of_marks_are_no_titles() -> None:
    assert title_lines("\n\n" + "long " * 20 + "\n\n---\n\n***\n\n| | |\n", 0) == []


def test_no_more_than_some_are_shown() -> None:
    text = "".join(f"\nTitle {number}\n" for number in range(100))
    assert title_lines(text + text, 0) == title_lines(text, 0)
    assert title_lines(text, 0) == [f"Title {number}" for number in range(MAX_TITLES)]
