"""Evidence that another document begins at a line of a text."""

import re
from collections.abc import Collection

from scp_ray.annotators.cohesion import cohesion
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.wording import (
    DOCUMENT_WORDS,
    GENERIC_THINGS,
    OPENING_HEADINGS,
    OPENING_PREFIXES,
)

FIRST_CHARACTERS = 4000
"""How much of a document counts as its beginning."""

_OPENING_CHARACTERS = 300
_NEAR_CHARACTERS = 1500
_LOW_COHESION = 0.2  # at 1,500 characters; 2 in 100 places inside a manual are below
_MIN_SHORT_LINE = 5
_MAX_SHORT_LINE = 60
_MIN_REPEATED_LINES = 3
_NOT_HEADINGS = ("-", "•", "|")
_MIN_MENTIONS = 3
_MENTION = re.compile(r"\b(?:your|this|the) ([^\W\d_]{4,})\b", re.IGNORECASE)
_SELF_MENTION = re.compile(rf"\b(?:this|these) (?:{'|'.join(sorted(DOCUMENT_WORDS))})\b")


def opening_likeness(around: Surroundings, *first_lines: Collection[str]) -> int:
    """Say how much what follows a line is like the beginning of a document: 0, 1 or 2.

    Args:
        around: The text around the line.
        *first_lines: Short lines with which the documents before this one begin, from
            ``short_lines``.

    Returns:
        2 if a heading such as *Contents* or *About this manual* follows at once; 1 if the
        headings of an earlier beginning come again, or the text speaks of ``this manual``.
    """
    if has_opening_heading(around):
        return 2
    following = around.after[:_NEAR_CHARACTERS]
    known = {line for line in short_lines(following) if any(line in lines for lines in first_lines)}
    if len(known) >= _MIN_REPEATED_LINES:
        return 1
    return int(_SELF_MENTION.search(following) is not None)


def has_opening_heading(around: Surroundings) -> bool:
    """Whether a heading with which a document begins follows at once."""
    lines = short_lines(around.after[:_OPENING_CHARACTERS])
    return any(line in OPENING_HEADINGS or line.startswith(OPENING_PREFIXES) for line in lines)


def reads_like_manual(around: Surroundings) -> bool:
    """Whether what follows speaks of ``this manual``, or of ``your device`` more than once."""
    if _SELF_MENTION.search(around.after):
        return True
    mentions = (match[1].casefold() for match in _MENTION.finditer(around.after))
    return sum(word in GENERIC_THINGS for word in mentions) >= _MIN_MENTIONS


def short_lines(text: str) -> list[str]:
    """Return the lines that are neither sentences nor list items, folded and without markup."""
    lines = (
        line.strip(" #*=").casefold()
        for line in text.split("\n")
        if not line.startswith(_NOT_HEADINGS)
    )
    return [
        line
        for line in lines
        if _MIN_SHORT_LINE <= len(line) <= _MAX_SHORT_LINE and line[-1].isalnum()
    ]


def breaks_off(around: Surroundings) -> bool:
    """Whether the words before and after a line have little to do with each other."""
    before, after = around.before[-_NEAR_CHARACTERS:], around.after[:_NEAR_CHARACTERS]
    shared = cohesion(before, after)
    return shared is not None and shared < _LOW_COHESION
