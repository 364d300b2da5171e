"""Reads a title: which product it names, of which category, and whether it names a manual.

    Tarn HX-225B Pro Room Heater – User Manual
    └─── model ────┘ └ category ┘  └ document ┘

A title is cut into segments and the words for the document are taken off. What is left is cut
after the product's designator (``HX-225B``, ``40``, ``S``) and its suffixes (``Pro``); where
there is none, after the words that the text knows as proper names only.
"""

import re
from dataclasses import dataclass

from scp_ray.annotators.categories import MIN_THING_COUNT, as_category
from scp_ray.annotators.names import Designator, designator_of
from scp_ray.annotators.naming import is_shouted, split_name
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.wording import CUTTING_WORDS, DOCUMENT_WORDS, TITLE_QUALIFIERS

_SEGMENT_BREAK = re.compile(r"\s[-–—|/·•]+(?:\s|$)|[:;()\[\]–—|]|,\s")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_DROPPED = str.maketrans("‐‑", "--", '™®©*`\\“”„«»"')
_POSSESSIVE = re.compile(r"(?:['’]s|['’])$")
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]\s")


@dataclass(frozen=True, slots=True)
class Title:
    """What a line says if it is a title.

    Attributes:
        model: The product's name; None if the line names none.
        category: What the product is; None without a model.
        names_document: Whether the line says that it heads a manual, a guide, ...
        designator: The strongest designator in the name.
    """

    model: str | None
    category: str | None
    names_document: bool
    designator: Designator


def read_title(line: str, surroundings: Surroundings) -> Title:
    """Read a line as a title, with the help of how the text after it writes its words."""
    segments, names_document = _without_document_words(line)
    name: list[str] = []
    category: str | None = None
    for words in segments:
        found, rest = (
            ([], words) if name else split_name(words, surroundings, names_document=names_document)
        )
        name = name or found
        if name and category is None and rest:
            min_count = 0 if found else MIN_THING_COUNT
            category = as_category(rest, surroundings, min_thing_count=min_count)
    strongest = max(map(designator_of, name), key=lambda kind: kind.value, default=Designator.NONE)
    shown = [surroundings.as_written(word) if is_shouted(word) else word for word in name]
    return Title(" ".join(shown) or None, category, names_document, strongest)


def _without_document_words(line: str) -> tuple[list[list[str]], bool]:
    """Return the segments of a title without the words for the document, and without additions."""
    plain = _NUMBERING.sub("", _LINK.sub(r"\1", line).translate(_DROPPED), count=1)
    segments: list[list[str]] = []
    names_document = False
    for segment in _SEGMENT_BREAK.split(plain):
        words = segment.split()
        outside = _outside_document_words(words)
        names_document |= outside != [words]
        parts = [trimmed for part in outside if (trimmed := _trimmed(part))]
        segments += [part for part in parts if part[0].casefold() not in CUTTING_WORDS]
    return segments, names_document


def _outside_document_words(words: list[str]) -> list[list[str]]:
    """Return what stands before and after the first word for a document and its qualifiers."""
    plain = [_POSSESSIVE.sub("", word.casefold()) for word in words]
    found = next((index for index, word in enumerate(plain) if word in DOCUMENT_WORDS), None)
    if found is None:
        return [words]
    first = last = found
    while first and plain[first - 1] in TITLE_QUALIFIERS:
        first -= 1
    while last + 1 < len(plain) and plain[last + 1] in TITLE_QUALIFIERS | DOCUMENT_WORDS:
        last += 1
    return [words[:first], words[last + 1 :]]


def _trimmed(words: list[str]) -> list[str]:
    """Drop qualifiers and articles at either end."""
    first, last = 0, len(words)
    while first < last and words[first].casefold() in TITLE_QUALIFIERS:
        first += 1
    while last > first and words[last - 1].casefold() in TITLE_QUALIFIERS:
        last -= 1
    return words[first:last]
