"""Which lines are headings."""

import time

import pytest

from scp_ray.evaluation.baselines.headings import heading_starts, is_bare_heading


def headings(text: str) -> list[str]:
    return [text[start:].split("\n", 1)[0] for start in heading_starts(text)]


def test_markdown_headings_count_wherever_they_stand() -> None:
    text = "# Care\nWash it.\n  ## With soap\n#hashtag\n    # code\n####### seven\n#\n"
    assert headings(text) == ["# Care", "## With soap"]


def test_code_has_no_headings() -> None:
    assert headings("```sh\n# a comment\n```\n# Care\n") == ["# Care"]


def test_bare_headings_stand_between_blank_lines() -> None:
    text = "SAFETY\n\nDo not open it.\n\nCleaning the Filter\n\nRinse it.\nWATER TANK\nFill it.\n"
    assert headings(text) == ["SAFETY", "Cleaning the Filter"]


@pytest.mark.parametrize(
    "line",
    ["SAFETY INSTRUCTIONS", "Cleaning the Filter", "3.2 Cleaning the filter", "4) Care", "Care"],
)
def test_shapes_of_headings(line: str) -> None:
    assert is_bare_heading(line)


@pytest.mark.parametrize(
    "line",
    [
        "Rinse the Filter.",
        "Rinse the filter with water",
        "You need:",
        "- Soap",
        "| Soap | Water |",
        "230",
        "* * *",
        "1. rinse the filter",
        "VERY " * 13 + "LONG",
        "SUPERCALIFRAGILISTIC " * 4 + "WORDS",
    ],
)
def test_shapes_of_other_lines(line: str) -> None:
    assert not is_bare_heading(line)


@pytest.mark.parametrize("unit", ["A", "# ", "\n", "A\n\n", "1."])
def test_time_is_linear(unit: str) -> None:
    began = time.process_time()
    heading_starts(unit * 200_000)
    assert time.process_time() - began < 5  # quadratic: minutes
