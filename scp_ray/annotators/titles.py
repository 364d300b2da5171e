"""Reads a title: which product it names, of which category, and whether it names a manual.

    Halden RXC-225B Room Air Conditioner – User Manual
    └── model ─────┘ └── category ─────┘   └ document ┘

A title is cut into segments, the words for the document are taken off, and what is left is cut
after the product's designator (``RXC-225B``, ``40``, ``S``) and its suffixes (``Pro``).
"""

import re
from dataclasses import dataclass

from scp_ray.annotators.names import Designator, designator_of, is_name_suffix
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.wording import (
    CUTTING_WORDS,
    DOCUMENT_WORDS,
    GENERIC_THINGS,
    NUMBERED_PARTS,
    TITLE_QUALIFIERS,
)

_SEGMENT_BREAK = re.compile(r"\s+[-–—|/·•]+\s+|\s*[–—|]\s*$|[:;()\[\]]\s*|,\s+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_DROPPED = str.maketrans("‐‑", "--", '™®©*`\\“”"')
_POSSESSIVE = re.compile(r"['’]s$|['’]$")
_NUMBERING = re.compile(r"\d+[.)]\s")
_MAX_NAME_WORDS = 6
_MAX_CATEGORY_WORDS = 6
_MIN_HEAD_COUNT = 2  # small-letter uses that show a word to be a thing of this text


@dataclass(frozen=True, slots=True)
class Title:
    """What a line says if it is a title.

    Attributes:
        model: The product's name; None if the line names none.
        category: What the product is, in small letters where the text writes it so.
        names_document: Whether the line says that it heads a manual, guide, ...
        designator: The strongest designator in the name.
    """

    model: str | None
    category: str | None
    names_document: bool
    designator: Designator


def read_title(line: str, surroundings: Surroundings) -> Title:
    """Read a line as a title, by the words that the text after it uses."""
    segments, names_document = _without_document_words(line)
    model: list[str] = []
    category: str | None = None
    for words in segments:
        name, rest = ([], words) if model else _split_name(words, surroundings, names_document)
        model = model or name
        category = category or (_category(rest, surroundings) if rest else None)
    designators = [designator_of(word) for word in model]
    strongest = max(designators, key=lambda kind: kind.value, default=Designator.NONE)
    shown = [surroundings.as_written(word) if _is_shouted(word) else word for word in model]
    return Title(" ".join(shown) or None, category if model else None, names_document, strongest)


def category_of_fragment(line: str, surroundings: Surroundings) -> str | None:
    """Read a category from a line under a title: ``Room air conditioner, cooling only. ...``."""
    if not line[:1].isupper() or line.isupper():
        return None
    fragment = re.split(r"[.,;:()–—]", line, maxsplit=1)[0].translate(_DROPPED)
    words = _cut(fragment.split())
    is_cut_short = len(" ".join(words)) < len(line.strip())
    if len(words) < 1 + (not is_cut_short) or any(
        word.casefold() in TITLE_QUALIFIERS for word in words
    ):
        return None
    if any(designator_of(word) is Designator.CODE for word in words):
        return None
    return _category(words, surroundings)


def _without_document_words(line: str) -> tuple[list[list[str]], bool]:
    """Return the segments of a title without the words for the document; none left empty."""
    plain = _NUMBERING.sub("", _LINK.sub(r"\1", line).translate(_DROPPED), count=1)
    segments: list[list[str]] = []
    names_document = False
    for segment in _SEGMENT_BREAK.split(plain):
        words = segment.split()
        rest = _outside_document_words(words)
        names_document |= len(rest) != 1 or rest[0] != words
        segments += [part for part in map(_trimmed, rest) if part]
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


def _cut(words: list[str]) -> list[str]:
    stops = (i for i, word in enumerate(words) if i and word.casefold() in CUTTING_WORDS)
    return words[: next(stops, len(words))]


def _split_name(
    words: list[str], surroundings: Surroundings, names_document: bool
) -> tuple[list[str], list[str]]:
    """Cut a segment into a product's name and the words of its category; either may be empty."""
    words = _cut(words)
    lead = _leading_category(words, surroundings)
    words, leading = words[lead:], words[:lead]
    end = _name_end(words, surroundings)
    if not end or end > _MAX_NAME_WORDS:
        return [], [*leading, *words]
    return words[:end], leading or words[end:]


def _leading_category(words: list[str], surroundings: Surroundings) -> int:
    """Count the words before the name, as in ``Espresso machine Brevia Lumo 20``."""
    lead = 0
    while lead < len(words) and _is_plain(words[lead], surroundings):
        lead += 1
    if lead == len(words) or not lead:
        return 0
    is_thing = surroundings.lower_count(words[lead - 1]) >= _MIN_HEAD_COUNT
    return lead if words[lead - 1].islower() or (lead > 1 and is_thing) else 0


def _is_plain(word: str, surroundings: Surroundings) -> bool:
    return word.isalpha() and (word.islower() or surroundings.is_common(word))


def _name_end(words: list[str], surroundings: Surroundings) -> int:
    """Return how many words belong to the name that the words begin with; 0 if none does."""
    first = _first_designator(words)
    if first is None:
        return _proper_run(words, surroundings)
    end = first + 1
    while end < len(words) and _extends_name(words[end], surroundings):
        end += 1
    is_letter = designator_of(words[first]) is Designator.LETTER
    if is_letter and end < len(words) and not surroundings.is_common(words[-1]):
        return len(words)
    return end


def _first_designator(words: list[str]) -> int | None:
    """Return the index of the word that tells the product from its sisters, if there is one."""
    for index, word in enumerate(words):
        kind = designator_of(word)
        if kind is Designator.CODE:
            return index
        if kind is not Designator.NONE and index:
            return None if words[index - 1].casefold() in NUMBERED_PARTS else index
    return None


def _extends_name(word: str, surroundings: Surroundings) -> bool:
    return is_name_suffix(word) or surroundings.is_proper(word)


def _proper_run(words: list[str], surroundings: Surroundings) -> int:
    """Count the leading words that the text knows as proper names only."""
    run = 0
    while run < len(words) and surroundings.is_proper(words[run]):
        run += 1
    return run


def _is_shouted(word: str) -> bool:
    return word.isalpha() and word.isupper() and len(word) > 1


def _category(words: list[str], surroundings: Surroundings) -> str | None:
    """Return the words as a category, if they can be one."""
    words = _cut(words)
    if not words or len(words) > _MAX_CATEGORY_WORDS:
        return None
    head = words[-1].casefold()
    if not head.isalpha() or head in GENERIC_THINGS | TITLE_QUALIFIERS:
        return None
    if not (words[-1].islower() or ...):
        return None
    return " ".join(_as_common(word, surroundings) for word in words)
