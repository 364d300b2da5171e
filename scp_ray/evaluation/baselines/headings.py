"""Which lines of a text are headings, by a small rule. Pure.

A heading is a Markdown line (``#`` to ``######``) outside of fenced code, or a bare line between
blank lines or ends of the text that has at most 80 characters and 12 words, a letter, and no
closing punctuation mark, is no list item and no table row, and is

- all in capitals: ``SAFETY INSTRUCTIONS``;
- in title case: its words of four letters and more begin with capitals or digits, and so does its
  first word: ``Cleaning the Filter``;
- numbered, with a capital behind the number: ``3.2 Cleaning the filter``.

Source: our choice. The product's own rules for titles (``scp_ray.annotators``) look for where one
document ends and another begins, and want more evidence.
"""

import re
from collections.abc import Iterator
from typing import Final

_MAX_CHARACTERS: Final = 80
_MAX_WORDS: Final = 12
_LONG_WORD: Final = 4
_FENCES: Final = ("```", "~~~")
_CLOSED: Final = tuple(".?!;:,…")
_MARKED: Final = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_LIST_ITEM: Final = re.compile(r"[-*+•◦▪·–][ \t]")
_NUMBERED: Final = re.compile(r"\(?\d{1,3}(?:\.\d{1,3}){0,4}[.)]?[ \t]+(?=\S)")


def heading_starts(text: str) -> list[int]:
    """Return where the headings of a text begin, ascending, white space left out; linear time."""
    starts: list[int] = []
    is_code = False
    before = ""
    lines = list(_lines(text))
    for (start, line), (_, after) in zip(lines, [*lines[1:], (len(text), "")], strict=True):
        stripped = line.strip()
        if stripped.startswith(_FENCES):
            is_code = not is_code
        elif stripped and not is_code:
            is_alone = not before.strip() and not after.strip()
            if _MARKED.match(line) or (is_alone and is_bare_heading(stripped)):
                starts.append(start + len(line) - len(line.lstrip()))
        before = line
    return starts


def is_bare_heading(line: str) -> bool:
    """Whether a line without markup and without white space around has the shape of a heading."""
    words = line.split()
    if len(line) > _MAX_CHARACTERS or len(words) > _MAX_WORDS or line.endswith(_CLOSED):
        return False
    if "|" in line or _LIST_ITEM.match(line) or not any(map(str.isalpha, line)):
        return False
    number = _NUMBERED.match(line)
    if number and line[number.end()].isupper():
        return True
    is_titled = all(_begins_high(word) for word in words if len(word) >= _LONG_WORD)
    return line.isupper() or (is_titled and _begins_high(words[0]))


def _begins_high(word: str) -> bool:
    first = word.lstrip("([\"'“‘")[:1]
    return first.isupper() or first.isdecimal()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield start and beginning of each line: as much as tells that it is too long."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end == -1 else end
        yield start, text[start : min(end, start + 2 * _MAX_CHARACTERS)]
        start = end + 1
