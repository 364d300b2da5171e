"""The sections of a text, and which of them a stretch of it is mostly in."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scp_ray.annotators.lines import BARE, Line

_MAX_BARE_WORDS = 8
_MAX_BARE_CHARACTERS = 60
_MIN_SECTION_CHARACTERS = 100  # on average; bare lines that are denser are no headings
_BARE_SHOUTED_LEVEL = 1
_BARE_LEVEL = 2


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, up to the next.

    Attributes:
        char_start: First character of the heading.
        path: Headings that the section is under, highest first, its own last.
    """

    char_start: int
    path: tuple[str, ...]


def section_headings(text: str, lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a text that head sections, in text order.

    These are the marked-up ones and a bare first line, or bare lines if none is marked up.
    """
    is_titled = bool(lines) and not text[: lines[0].char_start].strip()
    marked = [line for line in lines[is_titled:] if line.level != BARE]
    if marked:
        return [*lines[:is_titled], *marked]
    bare = [
        replace(line, level=_bare_level(line.text))
        for line in lines
        if line.is_alone
        and len(line.text) <= _MAX_BARE_CHARACTERS
        and len(line.text.split()) <= _MAX_BARE_WORDS
        and ": " not in line.text
        and line.text[-1].isalnum()
    ]
    return bare if len(bare) * _MIN_SECTION_CHARACTERS <= len(text) else []


def read_sections(headings: Sequence[Line], starts: Sequence[int]) -> list[Section]:
    """Return sections in text order.

    Args:
        headings: Section headings in text order.
        starts: Where a document begins, ascending; no section goes on past it, and a heading
            that stands right there is its title.
    """
    sections: list[Section] = []
    stack: list[Line] = []
    pending = list(reversed(starts))
    for line in headings:
        while pending and pending[-1] <= line.char_start:
            sections.append(Section(pending.pop(), ()))
            stack = []
        if sections and sections[-1].char_start == line.char_start:
            continue
        while stack and stack[-1].level >= line.level:
            stack.pop()
        stack.append(line)
        sections.append(Section(line.char_start, tuple(one.text for one in stack)))
    sections += [Section(start, ()) for start in reversed(pending)]
    return sections


def main_section(sections: Sequence[Section], span: tuple[int, int]) -> Section | None:
    """Return the section that most of ``text[span]`` is in, the first on a tie; None if in none."""
    start, end = span
    index = max(0, bisect_right(sections, start, key=_start_of) - 1)
    best, best_length = None, 0
    while index < len(sections) and sections[index].char_start < end:
        is_last = index + 1 == len(sections)
        section_end = end if is_last else min(end, sections[index + 1].char_start)
        length = section_end - max(start, sections[index].char_start)
        if length > best_length:
            best, best_length = sections[index], length
        index += 1
    return best


def _start_of(section: Section) -> int:
    return section.char_start


def _bare_level(text: str) -> int:
    return _BARE_SHOUTED_LEVEL if text.isupper() else _BARE_LEVEL
