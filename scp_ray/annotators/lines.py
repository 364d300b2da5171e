"""The lines of a text that may be titles or headings; prose, lists and tables are passed over.

Marked-up headings are Markdown (``##`` or underlined) and wiki (``= =``). A bare line counts when
it has the shape of a title and its neighbours are other sentences or blank.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

BARE = 0
"""Level of a line without markup."""

MAX_LINE_CHARACTERS = 120

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_LIST_MARKER = re.compile(r"(?:[-*+•·‣▪◦–—]|\(?[a-zA-Z][.)])\s")
_UNDERLINES = {"=": 1, "-": 2}
_MIN_UNDERLINE = 3
_FENCES = ("```", "~~~")
_EMPHASIS = "*_` \t"
_MAX_BARE_WORDS = 14
_SENTENCE_ENDS = (".", "?", "!")
_LINE_ENDS = (*_SENTENCE_ENDS, ";", ",", ":")
_CLOSED_ENDS = (*_SENTENCE_ENDS, '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may be a title or a heading.

    Attributes:
        char_start: Its first character in the text.
        char_end: One past its last character.
        text: Without markup.
        level: Rank of a marked-up heading, 1 = highest; ``BARE`` for a line without markup.
        is_alone: Whether blank lines, or the ends of the text, are on both sides.
    """

    char_start: int
    char_end: int
    text: str
    level: int
    is_alone: bool


def read_lines(text: str) -> list[Line]:
    """Return the possible titles and headings of a text, in text order, in linear time."""
    found: list[Line] = []
    is_code, previous = False, ""
    for start, end, line, following in _with_following(text):
        if line.startswith(_FENCES):
            is_code = not is_code
        elif line and not is_code and end - start <= MAX_LINE_CHARACTERS:
            level, heading = _heading(text[start:end], following)
            is_heading = level != BARE or (
                has_title_shape(heading) and _is_apart(previous, following)
            )
            if heading and is_heading:
                is_alone = not previous and not following
                found.append(Line(start, end, heading, level, is_alone))
        previous = line
    return found


def opening_lines(text: str, num_lines: int) -> list[Line]:
    """Return the first lines that are not blank, whatever they look like, up to a long one."""
    found: list[Line] = []
    previous = ""
    for start, end, line, following in _with_following(text):
        if end - start > MAX_LINE_CHARACTERS or len(found) == num_lines:
            break
        if any(character.isalnum() for character in line):
            level, heading = _heading(text[start:end], following)
            is_alone = not previous and not following
            found.append(Line(start, end, heading, level, is_alone))
        previous = line
    return found


def _is_apart(previous: str, following: str) -> bool:
    """Whether a bare line neither goes on from the line before nor into the one after."""
    is_after_end = not previous or previous.endswith(_CLOSED_ENDS) or previous.startswith("|")
    return is_after_end and not following[:1].islower()


def _with_following(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield start, end, stripped line and the stripped line that follows."""
    start = 0
    end = _line_end(text, start)
    line = _shown(text, start, end)
    while start <= len(text):
        next_start = end + 1
        next_end = _line_end(text, next_start)
        following = _shown(text, next_start, next_end)
        yield start, end, line, following
        start, end, line = next_start, next_end, following


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end == -1 else end


def _shown(text: str, start: int, end: int) -> str:
    """Return the stripped line, or its beginning if it is too long to be a heading."""
    return text[start : min(end, start + MAX_LINE_CHARACTERS)].strip()


def _heading(raw: str, following: str) -> tuple[int, str]:
    """Return level and text of a line."""
    if match := _ATX.match(raw):
        return len(match[1]), match[2].strip(_EMPHASIS)
    line = raw.strip()
    if line.startswith("=") and line.endswith("="):
        level, inner = _wiki_heading(line)
        if inner:
            return level, inner
    if _is_underlined(line, following):
        return _UNDERLINES[following[0]], line.strip(_EMPHASIS)
    return BARE, line.strip(_EMPHASIS)


def _is_underlined(line: str, following: str) -> bool:
    is_underline = len(following) >= _MIN_UNDERLINE and set(following) == {following[0]}
    if not is_underline or following[0] not in _UNDERLINES:
        return False
    return "|" not in line and not line.endswith(_LINE_ENDS)


def _wiki_heading(line: str) -> tuple[int, str]:
    inner = line.strip("= ")
    before, _, after = line.partition(inner) if inner else (line, "", "")
    level = before.count("=")
    return (level, inner) if level == after.count("=") else (BARE, "")


def has_title_shape(line: str) -> bool:
    """Whether a line without markup could be a title: short, capital first, no sentence end."""
    first_word = line.split(maxsplit=1)[0] if line else ""
    return (
        any(character.isupper() or character.isdigit() for character in first_word)
        and any(character.isalpha() for character in line)
        and not line.endswith(_LINE_ENDS)
        and not _LIST_MARKER.match(line)
        and "|" not in line
        and first_word[0].isalnum()
        and len(line.split()) <= _MAX_BARE_WORDS
    )
