"""The lines of a PDF to Markdown: running headers out, headings by font size, paragraphs."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_MARGIN_SHARE = 0.1  # of the page height, at the top and at the bottom
_SAME_PLACE = 3.0  # points
_MAX_PAGE_OFFSET = 40  # between a printed page number and the count of pages
_HEADING_RATIO = 1.15  # to the size of most of the text
_MAX_HEADING_WORDS = 30
_MAX_LEVEL = 6
_PARAGRAPH_RATIO = 1.25  # to the usual distance of two lines
_MAX_PITCH = 2.0  # font sizes; more is what a page of single lines has
_PAGE_NUMBER = re.compile(
    r"^(?P<first>\d{1,4})\b|\b(?P<last>\d{1,4})(?:\s*(?:/|of|von|de|di|sur)\s*\d{1,4})?(?=\W*$)"
)
_PAGE_WORDS = frozenset(
    ["page", "p", "pg", "seite", "página", "pagina", "of", "von", "de", "di", "sur"]
)
_WORD = re.compile(r"[^\W_]+")
_BULLET = re.compile(r"^[•▪■●◦‣·\ufffd]\s+")
_HEAD = re.compile(r"([^\W\d_]+)-$")
_TAIL = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page, or a whole table.

    Attributes:
        text: The words, or Markdown where ``is_table``.
        page: Page count from 1.
        top: Distance from the top of the page in points.
        place: The same as a share of the page height, in [0, 1].
        size: Font size of most of its characters in points.
        is_table: Whether it is taken as it is.
    """

    text: str
    page: int
    top: float
    place: float
    size: float
    is_table: bool = False


def lines_to_markdown(lines: Sequence[Line]) -> str:
    """Write the lines of a document as Markdown.

    Args:
        lines: In reading order, page by page.

    Returns:
        Headings as ``#`` lines, one level a font size, largest first; list items as ``-`` lines;
        a blank line between paragraphs; the line breaks of the page inside of them. A header or
        footer that repeats is left out, but no word of it that stands nowhere else.
    """
    kept, words = _without_repetition(lines)
    levels = _levels(kept)
    pitch = _usual_pitch(kept)
    pieces: list[str] = []
    previous: Line | None = None
    for line in kept:
        text = line.text if line.is_table else _BULLET.sub("- ", line.text)
        level = _level(line, levels)
        separator = "" if previous is None else _separator(previous, line, levels, pitch)
        if separator == "\n" and _is_divided(pieces[-1], text, words):
            pieces[-1] = pieces[-1].removesuffix("-")
            separator = ""
        starts_heading = level and separator != " "
        pieces += [separator, f"{'#' * level} {text}" if starts_heading else text]
        previous = line
    return "".join(pieces)


def _is_divided(text: str, following: str, words: Collection[str]) -> bool:
    """Whether a word is divided between two lines: it stands undivided somewhere else."""
    head = _HEAD.search(text)
    tail = _TAIL.match(following)
    return bool(head and tail and (head[1] + tail[0]).lower() in words)


def _without_repetition(lines: Sequence[Line]) -> tuple[list[Line], set[str]]:
    """Return the lines without running headers and footers, and the words of all other lines."""
    keys = [_margin_key(line) if _is_in_margin(line) else None for line in lines]
    counts = Counter(key for key in keys if key is not None)
    repeats = [key is not None and counts[key] > 1 for key in keys]
    words = set()
    for line, is_repeated in zip(lines, repeats, strict=True):
        if not is_repeated:
            words.update(_words(line.text))
    kept = []
    seen = set(words) | _PAGE_WORDS
    for line, key, is_repeated in zip(lines, keys, repeats, strict=True):
        named = _words(key[0]) if key is not None and is_repeated else set()
        if not is_repeated or not named <= seen:
            kept.append(line)
        seen |= named
    return kept, words


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _is_in_margin(line: Line) -> bool:
    return not line.is_table and not _MARGIN_SHARE <= line.place <= 1 - _MARGIN_SHARE


def _margin_key(line: Line) -> tuple[str, int | None, int]:
    """Name a header by its text, without the number that runs with the pages, and its place."""
    text = line.text
    offset = None
    match = _PAGE_NUMBER.search(text)
    if match:
        distance = int(match["first"] or match["last"]) - line.page
        if abs(distance) <= _MAX_PAGE_OFFSET:
            offset = distance
            text = f"{text[: match.start()]} {text[match.end() :]}"
    return text, offset, round(line.top / _SAME_PLACE)


def _levels(lines: Sequence[Line]) -> dict[float, int]:
    """Rank the font sizes that are clearly larger than that of most of the text."""
    weights: Counter[float] = Counter()
    for line in lines:
        if not line.is_table:
            weights[_rounded(line.size)] += len(line.text)
    if not weights:
        return {}
    usual = weights.most_common(1)[0][0]
    larger = sorted((size for size in weights if size >= _HEADING_RATIO * usual), reverse=True)
    return {size: min(rank, _MAX_LEVEL) for rank, size in enumerate(larger, start=1)}


def _rounded(size: float) -> float:
    return round(2 * size) / 2


def _level(line: Line, levels: dict[float, int]) -> int:
    """Return the level of a heading, 0 for other lines."""
    is_heading = not line.is_table and any(map(str.isalpha, line.text))
    if not is_heading or len(line.text.split()) > _MAX_HEADING_WORDS:
        return 0
    return levels.get(_rounded(line.size), 0)


def _usual_pitch(lines: Sequence[Line]) -> float:
    """Return the distance between the tops of two lines, in font sizes."""
    pitches = [
        (line.top - previous.top) / line.size
        for previous, line in pairwise(lines)
        if _are_alike(previous, line)
    ]
    return min(median(pitches), _MAX_PITCH) if pitches else 1.0


def _are_alike(previous: Line, line: Line) -> bool:
    """Whether two lines may belong to one paragraph: same page, same size, one below the other."""
    return (
        not (previous.is_table or line.is_table)
        and previous.page == line.page
        and _rounded(previous.size) == _rounded(line.size)
        and line.top > previous.top
    )


def _separator(previous: Line, line: Line, levels: dict[float, int], pitch: float) -> str:
    level = _level(line, levels)
    if level != _level(previous, levels):
        return "\n\n"
    if _are_alike(previous, line):
        is_near = line.top - previous.top <= _PARAGRAPH_RATIO * pitch * line.size
    else:  # a new column or page: prose goes on with a small letter
        is_near = not (previous.is_table or line.is_table) and line.text[:1].islower()
    if not is_near:
        return "\n\n"
    return " " if level else "\n"
