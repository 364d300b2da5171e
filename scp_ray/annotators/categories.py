"""Product categories: read from words of a title, a line below it, or a definition."""

import re

from scp_ray.annotators.names import Designator, designator_of
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.wording import (
    CUTTING_WORDS,
    DOCUMENT_WORDS,
    GENERIC_THINGS,
    NEVER_CATEGORIES,
    TITLE_QUALIFIERS,
)

MAX_ABBREVIATION = 3
"""Most letters of a word in capitals that is taken for an abbreviation."""

MIN_THING_COUNT = 2
"""Uses that show a word to be a thing of the text, where nothing else does."""

_PHRASE_END = re.compile(r"[.,;:()–—\n]")
_DEFINITION = r"{name} (?:is|are) an? ([^.,;:()\n]{{3,80}})"
_DEFINITION_CHARACTERS = 3000
_MAX_WORDS = 6
_NO_HEADS = NEVER_CATEGORIES | DOCUMENT_WORDS | TITLE_QUALIFIERS | CUTTING_WORDS
_NO_CATEGORIES = _NO_HEADS | GENERIC_THINGS


def as_category(
    words: list[str], surroundings: Surroundings, *, min_thing_count: int
) -> str | None:
    """Return the words as a category, written as inside a sentence, if they can be one.

    Args:
        words: Words of a title or a sentence; additions (``with``, ``for``) are cut off.
        surroundings: The text that has the words.
        min_thing_count: How often the text must use the last of them as a thing; 0 where their
            place speaks for them, unless it is a proper name.
    """
    words = without_additions(words)
    if not 0 < len(words) <= _MAX_WORDS:
        return None
    head = words[-1]
    if not head.replace("-", "").isalpha():
        return None
    if all(word.casefold() in _NO_CATEGORIES for word in words) or head.casefold() in _NO_HEADS:
        return None
    if surroundings.thing_count(head) < min_thing_count or surroundings.is_proper(head):
        return None
    return " ".join(_in_small_letters(word, surroundings) for word in words)


def category_of_fragment(line: str, surroundings: Surroundings) -> str | None:
    """Read a category from a line under a title: ``Room heater with two fans. ...``."""
    if not line[:1].isupper() or line.isupper():
        return None
    words = _PHRASE_END.split(line, maxsplit=1)[0].split()
    kept = without_additions(words)
    is_heading = len(kept) == 1 and len(words) == 1
    is_sentence = any(word.casefold() in TITLE_QUALIFIERS for word in kept)
    has_code = any(designator_of(word) is Designator.CODE for word in kept)
    if is_heading or is_sentence or has_code:
        return None
    is_whole_line = len(" ".join(kept)) == len(" ".join(line.split()))
    return as_category(kept, surroundings, min_thing_count=MIN_THING_COUNT if is_whole_line else 1)


def category_of_definition(model: str, surroundings: Surroundings) -> str | None:
    """Read a category from ``The HX-225B is a room heater ...`` soon after the title."""
    pattern = _DEFINITION.format(name=re.escape(model.rsplit(maxsplit=1)[-1]))
    match = re.search(pattern, surroundings.after[:_DEFINITION_CHARACTERS])
    if match is None:
        return None
    return as_category(match[1].split(), surroundings, min_thing_count=MIN_THING_COUNT)


def without_additions(words: list[str]) -> list[str]:
    """Drop what follows ``with``, ``for`` and the like."""
    stops = (index for index, word in enumerate(words) if word.casefold() in CUTTING_WORDS)
    return words[: next((index for index in stops if index), len(words))]


def _in_small_letters(word: str, surroundings: Surroundings) -> str:
    """Write a word as the text does inside sentences; abbreviations stay as they are."""
    if surroundings.is_proper(word):
        return surroundings.as_written(word)
    is_shouted = word.isupper() and len(word) > MAX_ABBREVIATION
    is_titled = word.istitle() or word[1:].islower()
    return word.lower() if surroundings.is_common(word) or is_titled or is_shouted else word
