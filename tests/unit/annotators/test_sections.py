"""Sections and which of them a chunk is in."""

from scp_ray.annotators.lines import read_lines
from scp_ray.annotators.sections import (
    Section,
    main_section,
    read_sections,
    section_headings,
)

PROSE = "Some words about it that fill the section, so that it is one.\n" * 3


def headings_of(text: str) -> list[str]:
    return [line.text for line in section_headings(text, read_lines(text))]


def test_marked_up_headings_make_bare_lines_prose() -> None:
    text = f"{PROSE}\n## Safety\n\n{PROSE}\n\nTarn Heat 40\n\n{PROSE}"
    assert headings_of(text) == ["Safety"]


def test_a_bare_first_line_is_over_marked_up_headings() -> None:
    text = f"Travel policy\n\n## Booking\n\n{PROSE}"
    lines = section_headings(text, read_lines(text))
    [_, section] = read_sections(lines, [])
    assert section.path == ("Travel policy", "Booking")


def test_bare_lines_are_headings_where_nothing_is_marked_up() -> None:
    text = f"SAFETY\n\n{PROSE}\n\nFirst use\n\n{PROSE}\n\nNote: read on\n\n{PROSE}"
    assert headings_of(text) == ["SAFETY", "First use"]


def test_a_list_of_short_lines_has_no_headings() -> None:
    assert headings_of("\n\n".join(["Milk", "Bread", "Salt", "Sugar"] * 10)) == []


def test_paths_follow_the_levels() -> None:
    text = f"# Use\n\n{PROSE}\n### Timer\n\n{PROSE}\n## Lock\n\n{PROSE}\n# Care\n\n{PROSE}"
    sections = read_sections(section_headings(text, read_lines(text)), [])
    assert [section.path for section in sections] == [
        ("Use",),
        ("Use", "Timer"),
        ("Use", "Lock"),
        ("Care",),
    ]


def test_shouted_bare_lines_are_over_the_others() -> None:
    text = f"CARE\n\n{PROSE}\n\nFilter\n\n{PROSE}"
    sections = read_sections(section_headings(text, read_lines(text)), [])
    assert sections[1].path == ("CARE", "Filter")


def test_a_document_start_ends_all_sections_and_its_title_heads_none() -> None:
    text = f"# Care\n\n{PROSE}\n# Tarn Heat 40\n\n{PROSE}\n## Safety\n\n{PROSE}"
    start = text.index("# Tarn")
    sections = read_sections(section_headings(text, read_lines(text)), [start])
    assert [section.path for section in sections] == [("Care",), (), ("Safety",)]


def test_a_document_may_start_after_the_last_heading() -> None:
    text = f"# Care\n\n{PROSE}"
    sections = read_sections(section_headings(text, read_lines(text)), [len(text)])
    assert sections[-1] == Section(len(text), ())


def test_the_main_section_is_the_longest_in_the_span() -> None:
    sections = [Section(10, ("a",)), Section(20, ("b",)), Section(50, ("c",))]
    assert main_section(sections, (12, 40)) == sections[1]
    assert main_section(sections, (12, 26)) == sections[0]
    assert main_section(sections, (45, 90)) == sections[2]


def test_the_first_section_wins_a_tie() -> None:
    sections = [Section(0, ("a",)), Section(10, ("b",))]
    assert main_section(sections, (5, 15)) == sections[0]


def test_text_before_the_first_heading_is_in_no_section() -> None:
    assert main_section([Section(50, ("a",))], (0, 40)) is None
    assert main_section([], (0, 40)) is None
