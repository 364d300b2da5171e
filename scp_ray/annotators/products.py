"""Finds the products that a text is about, and from where on it is about each.

The first one comes from the opening of the text. Another begins only at a line that looks like
the title of a new document: names of accessories and sister models are all over a manual, in
sentences, captions and headings, and must not take over.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scp_ray.annotators.categories import category_of_definition, category_of_fragment
from scp_ray.annotators.lines import BARE, Line, has_title_shape, opening_lines
from scp_ray.annotators.names import Designator, designator_of, is_same_product, name_key
from scp_ray.annotators.openings import (
    FIRST_CHARACTERS,
    breaks_off,
    has_opening_heading,
    opening_likeness,
    reads_like_manual,
    short_lines,
)
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.titles import Title, read_title
from scp_ray.annotators.wording import DOCUMENT_WORDS

_MIN_CANDIDATES = 100
_TEXT_PER_CANDIDATE = 1000  # characters; bounds the work on a text that is nothing but titles
_OPENING_LINES = 4
_MIN_CONTEXT_EVIDENCE = 2
_MIN_EVIDENCE = 4
_PROSE = re.compile(r"[^\n]{40}|[a-z]\.(?:\s|$)")
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
    finder = _ProductFinder(text, headings)
    finder.read_opening()
    budget = _MIN_CANDIDATES + len(text) // _TEXT_PER_CANDIDATE
    for line in lines:
        if budget and finder.may_be_title(line):
            budget -= 1
            finder.read_candidate(line)
    return finder.products


class _ProductFinder:
    """Goes through a text once, from its start, and collects its products."""

    def __init__(self, text: str, headings: Sequence[Line]) -> None:
        self.products: list[Product] = []
        self._text = text
        self._headings = headings
        self._title_end = 0
        self._first_lines: set[str] = set()

    def read_opening(self) -> None:
        """Take the product that the first lines of the text name."""
        lines = opening_lines(self._text, _OPENING_LINES)
        for index, first in enumerate(lines):
            is_section = index > 0 and first.level > 1
            if is_section or not (has_title_shape(first.text) or _goes_on(first)):
                return
            line = _joined(first, lines[index + 1 :])
            around = Surroundings(self._text, line.char_start, line.char_end)
            title = read_title(line.text, around)
            if title.model and self._is_apart(line, title) and _is_trusted(title, around):
                self._accept(line, title, around)
                return

    def may_be_title(self, line: Line) -> bool:
        """Whether a line can be the title of another document, by itself."""
        words = line.text.split()
        names_document = not DOCUMENT_WORDS.isdisjoint(map(str.casefold, words))
        if line.char_start < self._title_end or (line.level > 1 and not names_document):
            return False
        is_named = any(designator_of(word) is not Designator.NONE for word in words)
        return names_document or is_named or self._is_family(line.text)

    def read_candidate(self, line: Line) -> None:
        """Take the product of a line if enough speaks for the start of another document."""
        around = Surroundings(self._text, line.char_start, line.char_end)
        title = read_title(line.text, around)
        if self._is_another(line, title, around) and self._begins_document(line, title, around):
            self._accept(line, title, around)

    def _is_another(self, line: Line, title: Title, around: Surroundings) -> bool:
        """Whether a title names a product, and not the one that the text is about already."""
        if title.model is None:
            return False
        if self.products and (
            is_same_product(title.model, self.products[-1].model)
            or not _PROSE.search(self._text, self._title_end, self._beginning_until(line))
        ):
            return False
        if self._is_family(title.model):
            return True
        is_full_title = title.names_document and line.level <= 1 and " " in title.model
        is_distinct = title.designator is not Designator.NONE or is_full_title
        return is_distinct and _is_trusted(title, around)

    def _begins_document(self, line: Line, title: Title, around: Surroundings) -> bool:
        """Weigh what the line itself and what its context say."""
        current_lines = self._first_lines_until(line)
        likeness = opening_likeness(around, self._first_lines, current_lines)
        below = self._heading_below(line)
        if below and not likeness:
            return False
        is_new = str(title.model).casefold() not in around.before.casefold()
        context = likeness + is_new + breaks_off(around)
        is_alone = line.is_alone or not around.has_blank_lines
        form = is_alone + self._outranks(line, below) + title.names_document
        return context >= _MIN_CONTEXT_EVIDENCE and context + form >= _MIN_EVIDENCE

    def _accept(self, line: Line, title: Title, around: Surroundings) -> None:
        if self.products:
            self._first_lines.update(self._first_lines_until(line))
        model = str(title.model)
        category = title.category or _category_below(model, around)
        self.products.append(Product(line.char_start, model, category))
        self._title_end = line.char_end

    def _is_family(self, name: str) -> bool:
        """Whether a name begins like the product that the text is about."""
        current = self.products[-1:]
        return any(name_key(name)[:1] == name_key(product.model)[:1] for product in current)

    def _is_apart(self, line: Line, title: Title) -> bool:
        """Whether a line of the opening is no broken-off sentence."""
        following = self._text[line.char_end + 1 : line.char_end + 2]
        return line.level != BARE or title.names_document or not following.islower()

    def _heading_below(self, line: Line) -> Line | None:
        index = bisect_left(self._headings, line.char_end, key=lambda one: one.char_start)
        below = self._headings[index] if index < len(self._headings) else None
        return below if below and below.char_start - line.char_end < FIRST_CHARACTERS else None

    def _outranks(self, line: Line, below: Line | None) -> bool:
        """Whether the next heading is of a lower rank, or there is none."""
        if below is None:
            return True
        if line.level != BARE:
            return below.level > line.level
        return self._text[below.char_start : below.char_end].strip() != below.text

    def _beginning_until(self, line: Line) -> int:
        """Return where the beginning of the current document ends, at the latest at ``line``."""
        return min(self._title_end + FIRST_CHARACTERS, line.char_start)

    def _first_lines_until(self, line: Line) -> list[str]:
        return short_lines(self._text[self._title_end : self._beginning_until(line)])


def _goes_on(line: Line) -> bool:
    return line.text.endswith(_JOINED_ENDS)


def _joined(line: Line, following: Sequence[Line]) -> Line:
    """Join a title that goes on in the next line."""
    if not following or not _goes_on(line):
        return line
    text = f"{line.text} {following[0].text}"
    return replace(line, char_end=following[0].char_end, text=text)


def _category_below(model: str, around: Surroundings) -> str | None:
    """Read the category from the line under a title, or from a definition soon after it."""
    lines = (line.strip() for line in around.after[:FIRST_CHARACTERS].split("\n"))
    below = (line for line in lines if line and not read_title(line, around).names_document)
    line = next(below, "#")
    category = None if line.startswith("#") else category_of_fragment(line, around)
    return category or category_of_definition(model, around)


def _is_trusted(title: Title, around: Surroundings) -> bool:
    """Whether a name is a product's: by the title, its shape, or a text like a manual's."""
    is_numbered = title.designator is not Designator.NONE
    if title.designator is Designator.CODE or (title.names_document and is_numbered):
        return True
    return reads_like_manual(around) or (is_numbered and has_opening_heading(around))
