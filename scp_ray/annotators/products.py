"""Finds the products that a text is about, and from where on it is about each.

The first one comes from the opening of the text. Another begins only at a line that looks like
the title of a new document: names of accessories and sister models are all over a manual, in
sentences, captions and headings, and must not take over.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scp_ray.annotators.cohesion import cohesion
from scp_ray.annotators.categories import category_of_definition, category_of_fragment
from scp_ray.annotators.lines import BARE, Line, has_title_shape, opening_lines
from scp_ray.annotators.names import Designator, designator_of, is_same_product, name_key
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.titles import Title, read_title
from scp_ray.annotators.wording import (
    DOCUMENT_WORDS,
    GENERIC_THINGS,
    OPENING_HEADINGS,
    OPENING_PREFIXES,
)

_TEXT_PER_CANDIDATE = 1000  # characters; bounds the work on a text that is nothing but titles
_OPENING_LINES = 4
_COHESION_CHARACTERS = 1500
_LOW_COHESION = 0.2  # at 1,500 characters; 2 in 100 places inside a manual are below
_NEAR_CHARACTERS = 1500
_FIRST_CHARACTERS = 4000
_MAX_SHORT_LINE = 60
_MAX_LINES_BEFORE_OPENING = 2
_MIN_REPEATED_LINES = 3
_MIN_MENTIONS = 3
_MIN_CONTEXT_EVIDENCE = 2
_MIN_EVIDENCE = 4
_PROSE = re.compile(r"[^\n]{40}|[a-z]\.(?:\s|$)")
_MENTION = re.compile(r"\b(?:your|this|these|the) ([^\W\d_]{4,})\b", re.IGNORECASE)
_JOINED_ENDS = ("–", "—", "-", ":", " for", " the", " of", " and", " &")


@dataclass(frozen=True, slots=True)
class Product:
    """A product and where the text begins to be about it.

    Attributes:
        char_start: First character of its title.
        model: Its name.
        category: What it is, if the text says so.
    """

    char_start: int
    model: str
    category: str | None


def find_products(text: str, lines: Sequence[Line], headings: Sequence[Line]) -> list[Product]:
    """Return the products that a text is about, in text order.

    Args:
        text: The whole text.
        lines: Its possible titles, in text order.
        headings: Its section headings, in text order.
    """
    finder = _Finder(text, headings)
    finder.read_opening()
    budget = 1 + len(text) // _TEXT_PER_CANDIDATE
    for line in lines:
        if budget and finder.may_be_title(line):
            budget -= 1
            finder.read_candidate(line)
    return finder.products


class _Finder:
    """Goes through a text once and collects its products."""

    def __init__(self, text: str, headings: Sequence[Line]) -> None:
        self.products: list[Product] = []
        self._text = text
        self._headings = headings
        self._heading_starts = [line.char_start for line in headings]
        self._first_lines: set[str] = set()
        self._title_end = 0

    def read_opening(self) -> None:
        """Take the product that the first lines of the text name."""
        lines = opening_lines(self._text, _OPENING_LINES)
        for index, line in enumerate(lines):
            if not has_title_shape(line.text) and not line.text.endswith(_JOINED_ENDS):
                return
            if index and line.level > lines[0].level:
                return
            title_line = _joined(line, lines[index + 1 :])
            around = Surroundings(self._text, title_line.char_start, title_line.char_end)
            title = read_title(title_line.text, around)
            if title.model and self._is_apart(title_line, title) and _is_trusted(title, around):
                self._accept(title_line, title, around)
                return

    def may_be_title(self, line: Line) -> bool:
        """Whether a line can be the title of another document, as far as it shows itself."""
        if line.char_start < self._title_end or len(line.text.split()) < 1:
            return False
        words = line.text.casefold().split()
        names_document = not DOCUMENT_WORDS.isdisjoint(words)
        if line.level > 1 and not names_document:
            return False
        family = {name_key(product.model)[:1] for product in self.products[-1:]}
        is_named = any(designator_of(word) is not Designator.NONE for word in line.text.split())
        return names_document or is_named or name_key(line.text)[:1] in family

    def read_candidate(self, line: Line) -> None:
        """Take the product of a line if all speaks for the start of another document."""
        around = Surroundings(self._text, line.char_start, line.char_end)
        title = read_title(line.text, around)
        if title.model is None:
            return
        if self.products:
            current = self.products[-1]
            if is_same_product(title.model, current.model):
                return
            is_family = name_key(title.model)[:1] == name_key(current.model)[:1]
            if not _PROSE.search(self._text, self._title_end, line.char_start):
                return
        else:
            is_family = False
        if not (is_family or _is_trusted(title, around)):
            return
        if title.designator is Designator.NONE and not (
            is_family or self._is_full_title(line, title)
        ):
            return
        context = (
            self._opens(around)
            + (title.model.casefold() not in around.before.casefold())
            + _breaks(around)
        )
        is_apart = line.is_alone or not around.has_blank_lines
        evidence = context + is_apart + self._stands_out(line) + title.names_document
        if context >= _MIN_CONTEXT_EVIDENCE and evidence >= _MIN_EVIDENCE:
            self._accept(line, title, around)

    def _accept(self, line: Line, title: Title, around: Surroundings) -> None:
        category = title.category or self._category_below(title, around)
        self.products.append(Product(line.char_start, str(title.model), category))
        self._title_end = line.char_end
        self._first_lines.update(_short_lines(around.after[:_FIRST_CHARACTERS]))

    def _category_below(self, title: Title, around: Surroundings) -> str | None:
        below = (line.strip() for line in around.after[:_NEAR_CHARACTERS].split("\n"))
        for line in (line for line in below if line and not read_title(line, around).names_document):
            category = None if line.startswith("#") else category_of_fragment(line, around)
            return category or category_of_definition(str(title.model), around)
        return None

    def _is_apart(self, line: Line, title: Title) -> bool:
        following = self._text[line.char_end + 1 : line.char_end + 2]
        return line.level != BARE or title.names_document or not following.islower()

    def _stands_out(self, line: Line) -> bool:
        """Whether the next heading is of a lower rank, or there is none."""
        next_one = bisect_left(self._heading_starts, line.char_end)
        if next_one == len(self._headings):
            return True
        heading = self._headings[next_one]
        is_marked = self._text[heading.char_start : heading.char_end].strip() != heading.text
        return is_marked if line.level == BARE else heading.level > line.level

    def _is_full_title(self, line: Line, title: Title) -> bool:
        is_long = len(str(title.model).split()) > 1
        return title.names_document and line.level <= 1 and is_long

    def _opens(self, around: Surroundings) -> int:
        """Say how much what follows is like the beginning of a document: 0, 1 or 2."""
        first, *others = _short_lines(around.after[:_NEAR_CHARACTERS]) or [""]
        if any(_is_opening(text) for text in (first, *others[:_MAX_LINES_BEFORE_OPENING])):
            return 2
        repeated = sum(text in self._first_lines for text in {first, *others})
        if repeated >= _MIN_REPEATED_LINES:
            return 1
        return int(_mentions(around.after[:_NEAR_CHARACTERS], DOCUMENT_WORDS) > 0)


def _short_lines(text: str) -> list[str]:
    """Return the lines that are no sentences, folded and without markup."""
    lines = (line.strip(" #*=|").casefold() for line in text.split("\n"))
    return [line for line in lines if line and len(line) <= _MAX_SHORT_LINE and line[-1].isalnum()]


def _is_opening(text: str) -> bool:
    return text in OPENING_HEADINGS or text.startswith(OPENING_PREFIXES)


def _joined(line: Line, following: Sequence[Line]) -> Line:
    """Join a title that goes on in the next line."""
    if not following or not line.text.endswith(_JOINED_ENDS):
        return line
    text = f"{line.text} {following[0].text}"
    return replace(line, char_end=following[0].char_end, text=text)


def _is_trusted(title: Title, around: Surroundings) -> bool:
    """Whether the name is a product's: by the title, its shape, or a text like a manual."""
    is_numbered = title.designator is not Designator.NONE
    if title.designator is Designator.CODE or (title.names_document and is_numbered):
        return True
    return _mentions(around.after, DOCUMENT_WORDS | GENERIC_THINGS) >= _MIN_MENTIONS


def _mentions(text: str, words: frozenset[str]) -> int:
    return sum(match[1].casefold() in words for match in _MENTION.finditer(text))


def _breaks(around: Surroundings) -> bool:
    shared = cohesion(around.before[-_COHESION_CHARACTERS:], around.after[:_COHESION_CHARACTERS])
    return shared is not None and shared < _LOW_COHESION
